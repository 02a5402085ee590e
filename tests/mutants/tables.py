"""Bugs in commits, conflicts, layout, removal, evolution, and in what is on disk."""

from tests.mutants.mutant import Mutant

TRANSACTION = "tests/table/test_transaction.py"
OVERTAKEN = (
    f"{TRANSACTION}::test_a_removal_that_is_overtaken_keeps_what_others_did",
    f"{TRANSACTION}::test_a_removal_that_is_overtaken_by_a_merge",
)
LOST_ANSWERS = (
    f"{TRANSACTION}::test_a_commit_whose_answer_was_lost_is_made_once",
    f"{TRANSACTION}::test_an_answer_that_is_lost_while_another_wins_is_a_lost_race",
)
CONFLICTS = tuple(
    f"{TRANSACTION}::{name}"
    for name in (
        "test_a_delete_and_an_append_of_the_same_app_conflict",
        "test_a_delete_by_another_column_is_judged_by_statistics",
        "test_rows_whose_tuples_are_unknown_conflict_with_every_delete",
        "test_two_deletes_of_the_same_file_conflict",
        "test_a_merge_is_no_conflict",
        "test_a_rollback_that_brings_rows_back_conflicts",
    )
)
ROLLBACK = (
    f"{TRANSACTION}::test_a_rollback_keeps_what_only_grows",
    f"{TRANSACTION}::test_a_rollback_counts_as_a_drop_of_the_columns_it_takes_away",
)
ROW_IDS = (
    f"{TRANSACTION}::test_row_ids_are_dense_over_appends",
    f"{TRANSACTION}::test_row_ids_survive_a_rewrite",
)
LAYOUT = "tests/table/test_layout.py"
EVOLVE = "tests/table/test_evolve.py"
TRAPS = "tests/plan/test_traps.py"
VERSION_FILE = "tests/manifest/test_version_file.py"
MANIFEST_FILE = "tests/manifest/test_manifest_file.py"
LOG = "tests/table/test_log.py"

MUTANTS = (
    Mutant(
        name="transaction: an overtaken removal keeps its manifests",
        file="coalesce/table/commit/transaction.py",
        old="        kept = self._without_removed(head)\n",
        new='        kept = self.__dict__.setdefault("_kept", self._without_removed(head))\n',
        tests=OVERTAKEN,
        seen="what another writer appends while a delete commits is gone",
    ),
    Mutant(
        name="transaction: the same sequence is applied again",
        file="coalesce/table/commit/transaction.py",
        old="version.applied.get(self.applies[0], -1) >= self.applies[1]",
        new="version.applied.get(self.applies[0], -1) > self.applies[1]",
        tests=(f"{TRANSACTION}::test_two_that_write_the_same_sequence_at_once_apply_it_once",),
        seen="a job that is repeated at the same time as its first run doubles its rows",
    ),
    Mutant(
        name="transaction: row ids go on from where it began",
        file="coalesce/table/commit/transaction.py",
        old="refs(written, number, head.next_row_id)",
        new="refs(written, number, self.base.next_row_id)",
        tests=(*OVERTAKEN, *ROW_IDS),
        seen="two concurrent appends give out the same row ids",
    ),
    Mutant(
        name="transaction: what is added now is merged at once",
        file="coalesce/table/commit/transaction.py",
        old="settled = [r for r in all_refs if r.added_version <= head.number]",
        new="settled = [r for r in all_refs if r.added_version <= head.number + 1]",
        tests=(*OVERTAKEN, *ROW_IDS, f"{TRANSACTION}::test_an_append_that_is_overtaken_while_manifests_merge"),
        seen="an append that is overtaken while manifests merge gives its rows another commit's ids",
    ),
    Mutant(
        name="transaction: versions of one millisecond",
        file="coalesce/table/commit/transaction.py",
        old="timestamp_ms=max(time.time_ns() // 1_000_000, head.timestamp_ms + 1),",
        new="timestamp_ms=max(time.time_ns() // 1_000_000, head.timestamp_ms),",
        tests=(f"{LOG}::test_versions_come_one_after_the_other_in_time",),
        seen="as_of= finds one of several versions by chance",
    ),
    Mutant(
        name="log: a create whose answer was lost is another's",
        file="coalesce/table/commit/log.py",
        old="        if not created:\n            # A store",
        new="        if not created and failure is not None:\n            # A store",
        tests=LOST_ANSWERS,
        seen="on an object store that repeats a request, rows are committed twice",
    ),
    Mutant(
        name="log: a remembered version is taken on trust",
        file="coalesce/table/commit/log.py",
        old="            if known[0] == digest_of(data):\n",
        new="            if known[1].number == number:\n",
        tests=(
            f"{LOG}::test_an_object_of_a_dropped_table_never_brings_its_rows_back",
            f"{LOG}::test_a_commit_never_lands_on_another_table_in_the_same_place",
        ),
        seen="a table dropped and created again is written on top of the old one's files",
    ),
    Mutant(
        name="log: a gap at the end of the list goes unseen",
        file="coalesce/table/commit/log.py",
        old="    if numbers[-1] - numbers[0] != len(numbers) - 1:\n",
        new="    if numbers[-1] - numbers[0] > len(numbers):\n",
        tests=(f"{LOG}::test_a_gap_is_named",),
        seen="a table whose version file was lost is read as if nothing were wrong",
    ),
    Mutant(
        name="conflicts: rows that a rollback brings back are no new rows",
        file="coalesce/table/commit/conflicts.py",
        old="            added = set(index.paths(planned.files)) - before\n",
        new="            added = set(index.paths(planned.files)) - before - set(index.paths(planned.files))\n",
        tests=CONFLICTS,
        seen="a delete that raced with a rollback leaves rows it should have taken, and says nothing",
    ),
    Mutant(
        name="conflicts: files that came are taken for files that went",
        file="coalesce/table/commit/conflicts.py",
        old="wanted = lost_files(base, head, manifests)",
        new="wanted = lost_files(head, base, manifests)",
        tests=CONFLICTS,
        seen="two deletes of different rows of one shared file: each brings the other's rows back",
    ),
    Mutant(
        name="changes: what a merge moves is lost",
        file="coalesce/table/commit/changes.py",
        old="    return lost - paths_only_in(new, old, manifests) if lost else lost\n",
        new="    return lost\n",
        tests=CONFLICTS,
        seen="deletes conflict with appends that have nothing to do with them, every sixteenth time",
    ),
    Mutant(
        name="merge: manifests of two specs become one",
        file="coalesce/table/commit/merge.py",
        old="classes[ref.spec_id, _size_class(ref.files)].append(ref)",
        new="classes[0, _size_class(ref.files)].append(ref)",
        tests=(
            f"{TRANSACTION}::test_files_under_several_specs_go_to_a_manifest_each",
            f"{TRANSACTION}::test_manifests_of_two_specs_are_never_merged",
        ),
        seen="files are judged by a spec they were not written under, or the table cannot be read any more",
    ),
    Mutant(
        name="sizes: NaN that is alone is not found",
        file="coalesce/table/layout.py",
        old="{one_nan(t) for t in alone}",
        new="set(alone)",
        tests=(LAYOUT,),
        seen="the logical partition of NaN moves back and forth with every write",
    ),
    Mutant(
        name="layout: a slice of no rows",
        file="coalesce/table/layout.py",
        old="    position = bisect_right(ends, start)\n    while",
        new="    position = bisect_left(ends, start)\n    while",
        tests=(LAYOUT,),
        seen="files claim tuples of which they hold no row, and such partitions are listed for ever",
    ),
    Mutant(
        name="rule: as large as the threshold is small",
        file="coalesce/model/rule.py",
        old="            if size is not None and size >= threshold:\n",
        new="            if size is not None and size > threshold:\n",
        tests=(LAYOUT,),
        seen="a logical partition of exactly `below` bytes shares",
    ),
    Mutant(
        name="removal: nobody knows what it was for",
        file="coalesce/table/removal.py",
        old="    transaction.matching = predicate\n",
        new="    transaction.matching = transaction.matching\n",
        tests=CONFLICTS,
        seen="rows that another writer adds while a delete is under way stay, although they match",
    ),
    Mutant(
        name="removal: an empty text is dropped as NULL",
        file="coalesce/table/removal.py",
        old="    return IsNull(column) if value is None else InSet",
        new="    return IsNull(column) if not value else InSet",
        tests=("tests/table/test_tuples.py", f"{TRANSACTION}::test_partitions_that_look_alike_are_dropped_one_by_one"),
        seen="drop_partition(app='') drops the rows whose app is NULL, and keeps those of ''",
    ),
    Mutant(
        name="rollback: names of columns it takes away are free again",
        file="coalesce/table/removal.py",
        old="has_dropped_or_renamed=head.has_dropped_or_renamed or old.schema != head.schema,",
        new="has_dropped_or_renamed=head.has_dropped_or_renamed,",
        tests=ROLLBACK,
        seen="add x, roll back, add x: readers that go by name show the first x's values",
    ),
    Mutant(
        name="rollback: ids of columns it takes away are free again",
        file="coalesce/table/removal.py",
        old="        properties=old.properties,\n",
        new="        properties=old.properties,\n        max_column_id=old.max_column_id,\n",
        tests=ROLLBACK,
        seen="add x, roll back, add y: y shows the values of x in a version that has x's files again",
    ),
    Mutant(
        name="evolve: only the current spec's buckets forbid a wider type",
        file="coalesce/table/evolve.py",
        old="hashed = [f for f in head.partition_fields if",
        new="hashed = [f for f in head.spec.fields if",
        tests=(EVOLVE,),
        seen="a date of old files is not found any more after it became a timestamp",
    ),
    Mutant(
        name="evolve: names in another case are not found",
        file="coalesce/table/evolve.py",
        old="        if field.name.lower() == name.lower():\n            return i\n",
        new="        if field.name == name:\n            return i\n",
        tests=(EVOLVE,),
        seen="rename_column('N', 'm') says that there is no column 'N'",
    ),
    Mutant(
        name="evolve: a date's default keeps its number",
        file="coalesce/table/evolve.py",
        old="        default *= _DAY_MICROS\n",
        new="        default += 0\n",
        tests=(EVOLVE,),
        seen="rows older than the column show the first seconds of 1970 once it is a timestamp",
    ),
    Mutant(
        name="evolve: ids inside a struct are used again",
        file="coalesce/table/evolve.py",
        old="path[:-1], insert)), max_column_id=next(ids) - 1)",
        new="path[:-1], insert)), max_column_id=field.id)",
        tests=(EVOLVE,),
        seen="the next column shows the values of a member of the struct added before",
    ),
    Mutant(
        name="evolve: replacing a schema frees its names",
        file="coalesce/table/evolve.py",
        old="    dropped = head.has_dropped_or_renamed or bool(gone)\n",
        new="    dropped = head.has_dropped_or_renamed\n",
        tests=(EVOLVE,),
        seen="a column that replaces another of its name has the same physical name in other files",
    ),
    Mutant(
        name="version file: a default of nothing is none",
        file="coalesce/manifest/version_file.py",
        old="    if field.default is not None and isinstance(",
        new="    if field.default and isinstance(",
        tests=(f"{VERSION_FILE}::test_a_default_that_python_takes_for_nothing_is_a_default",),
        seen="rows older than a column with DEFAULT 0 hold NULL",
    ),
    Mutant(
        name="version file: a group of NULL is no group",
        file="coalesce/manifest/version_file.py",
        old="        groups.setdefault(name, []).append(to_json(type_, value))\n",
        new="        groups.setdefault(name, []).extend([to_json(type_, value)] if value is not None else [])\n",
        tests=(f"{VERSION_FILE}::test_null_is_a_member_of_its_group",),
        seen="after the table is opened again, rows without an app leave the group they were put into",
    ),
    Mutant(
        name="manifest: row ids begin one file too late",
        file="coalesce/manifest/manifest_file.py",
        old="inherited = ref.first_row_id + np.cumsum(counted) - counted",
        new="inherited = ref.first_row_id + np.cumsum(counted)",
        tests=(f"{MANIFEST_FILE}::test_what_an_entry_lacks_it_inherits_from_the_version", *ROW_IDS),
        seen="rows of two commits have the same ids",
    ),
    Mutant(
        name="manifest: negative counts may add up",
        file="coalesce/model/entries.py",
        old="    if known.min(initial=0) < 0:\n",
        new="    if known.min(initial=0) < -1:\n",
        tests=(f"{MANIFEST_FILE}::test_one_entry_with_unknown_tuples_leaves_the_manifest_without_bounds", TRAPS),
        seen="an entry that contradicts itself is believed, and its file left out",
    ),
    Mutant(
        name="manifest: bounds leave NaN out",
        file="coalesce/model/entries.py",
        old='return float("nan") if lower is None else lower, float("nan")',
        new='return float("nan") if lower is None else lower, pc.max(numbers).as_py()',
        tests=(f"{MANIFEST_FILE}::test_bounds_of_floats_and_of_long_strings", TRAPS),
        seen="`x > 5` misses the logical partition of NaN",
    ),
    Mutant(
        name="paths: the metadata directory in capitals is data",
        file="coalesce/manifest/paths.py",
        old="METADATA in (s.lower() for s in segments)",
        new="METADATA in segments",
        tests=("tests/manifest/test_paths.py",),
        seen="on a disk that does not tell cases apart, a manifest can name a version file as data",
    ),
    Mutant(
        name="paths: a scheme of digits is a path",
        file="coalesce/manifest/paths.py",
        old='_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")',
        new='_SCHEME = re.compile(r"[A-Za-z]+://")',
        tests=("tests/manifest/test_paths.py",),
        seen="a manifest from elsewhere makes an engine read s3a:… or C:…",
    ),
)
