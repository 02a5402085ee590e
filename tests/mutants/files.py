"""Bugs in storage, and in reading and writing data files with Arrow."""

from tests.mutants.mutant import Mutant

LOCAL = "tests/storage/test_local.py"
CONTRACT = "tests/storage/test_contract.py"
READ = "tests/arrow/test_read.py"
GROUPS = "tests/arrow/test_row_groups.py"
REWRITE = "tests/arrow/test_rewrite.py"
ENCODE = "tests/arrow/test_encode.py"
WRITE = "tests/arrow/test_write.py"
SCAN = "tests/arrow/test_scan.py"

MUTANTS = (
    Mutant(
        name="local: a directory that somebody else made is taken to be on the disk",
        file="coalesce/storage/local.py",
        old="            os.mkdir(directory)\n        _sync_directory(parent)\n",
        new="            os.mkdir(directory)\n            _sync_directory(parent)\n",
        tests=(f"{LOCAL}::test_directories_that_another_writer_has_just_made_are_synced_too",),
        seen="after a power cut a committed version is gone with its directory",
    ),
    Mutant(
        name="local: bytes are not synced before they get their name",
        file="coalesce/storage/local.py",
        old="temporary = self._write_beside(target, data, durable=True)",
        new="temporary = self._write_beside(target, data, durable=False)",
        tests=(f"{LOCAL}::test_file_name_and_directories_are_synced_in_order",),
        seen="after a power cut a committed version is an empty file",
    ),
    Mutant(
        name="local: a listing skips the directory it begins in",
        file="coalesce/storage/local.py",
        old="                        if below > after or after.startswith(below):\n",
        new="                        if below > after:\n",
        tests=(f"{LOCAL}::test_only_what_follows_is_looked_at",),
        seen="the newest version is not found",
    ),
    Mutant(
        name="local: whose link it is, nobody asks",
        file="coalesce/storage/local.py",
        old="                if os.stat(temporary).st_nlink != 2:\n                    return False\n",
        new="                return False\n",
        tests=(f"{LOCAL}::test_a_link_whose_answer_was_lost_is_ours",),
        seen="over NFS a commit that was made is reported as lost, and made again",
    ),
    Mutant(
        name="objects: a create replaces",
        file="coalesce/storage/objects.py",
        old='data, mode="create", use_multipart=False)',
        new='data, mode="overwrite", use_multipart=False)',
        tests=(f"{CONTRACT}::test_only_the_first_put_if_absent_creates",),
        seen="on S3 two writers commit the same version, and one's rows are gone",
    ),
    Mutant(
        name="read: a name will do where the id is missing",
        file="coalesce/arrow/column_places.py",
        old="    return lambda field: places.get(field.id)\n",
        new="    named = _first_places(m.name for m in members)\n"
        "    return lambda field: places.get(field.id, named.get(field.physical_name))\n",
        tests=(f"{READ}::test_a_name_is_nothing_where_there_are_ids", f"{READ}::test_columns_are_found_by_id"),
        seen="a column shows the values of a dropped one of the same name",
    ),
    Mutant(
        name="incoming: rows without keys are none",
        file="coalesce/arrow/records.py",
        old="pa.table(columns) if columns else bare_rows(len(records))",
        new="pa.table(columns)",
        tests=("tests/arrow/test_incoming.py",),
        seen="rows that hold nothing but defaults are lost",
    ),
    Mutant(
        name="incoming: a stream that is used up has no rows",
        file="coalesce/arrow/once.py",
        old="    if closed or _was_read(data):\n",
        new="    if closed:\n",
        tests=("tests/arrow/test_incoming.py",),
        seen="an overwrite that is repeated with the same reader empties the table",
    ),
    Mutant(
        name="read: one tuple is taken for all",
        file="coalesce/arrow/read.py",
        old="    if entry.tuples is not None and len(entry.tuples) == 1 and entry.trusted and not entry.dead:\n",
        new="    if entry.tuples is not None and len(entry.tuples) == 1 and not entry.dead:\n",
        tests=(
            f"{READ}::test_a_list_of_one_tuple_that_is_not_complete_says_nothing",
            f"{READ}::test_partition_columns_from_the_physical_key",
        ),
        seen="rows of other logical partitions are shown as those of the one that is listed",
    ),
    Mutant(
        name="read: a float is what its tuple says",
        file="coalesce/arrow/read.py",
        old="return told and (field.type not in FLOATING or self.position(field) is None)",
        new="return told",
        tests=(f"{READ}::test_a_float_keeps_its_bits_in_spite_of_its_tuple",),
        seen="-0.0 comes back as 0.0",
    ),
    Mutant(
        name="read: tuples are taken to lie in order",
        file="coalesce/arrow/read.py",
        old="return claimed and self.located.counted",
        new="return self.located.counted",
        tests=(GROUPS, f"{SCAN}::test_places_are_not_trusted_without_the_footers_word"),
        seen="of a file that another program wrote, row groups with matching rows are skipped",
    ),
    Mutant(
        name="read: a row's own id is overruled by its file",
        file="coalesce/arrow/read.py",
        old="columns = [pc.coalesce(own[0], row_ids), pc.coalesce(own[1], versions)]",
        new="columns = [pc.coalesce(row_ids, own[0]), pc.coalesce(own[1], versions)]",
        tests=(f"{REWRITE}::test_rows_keep_their_ids_and_versions",),
        seen="rows that survive two deletes change their ids",
    ),
    Mutant(
        name="groups: a number of NaN is none",
        file="coalesce/arrow/row_groups.py",
        old="no_nan = file.entry.statistics.get(column_id, ColumnStatistics()).nan_count == 0",
        new="no_nan = file.entry.statistics.get(column_id, ColumnStatistics()).nan_count is not None",
        tests=(GROUPS,),
        seen="`x > 5` misses NaN in some row groups",
    ),
    Mutant(
        name="groups: a tuple's place is counted by tuples left",
        file="coalesce/arrow/places.py",
        old='first = int(np.searchsorted(wanted_ends, begin, side="right"))',
        new='first = int(np.searchsorted(wanted_ends, begin + 1, side="right"))',
        tests=(GROUPS, f"{SCAN}::test_tuples_tell_where_rows_lie"),
        seen="a tuple with a single row in a row group is not found there",
    ),
    Mutant(
        name="groups: what some tuples say is taken for the word of all",
        file="coalesce/arrow/places.py",
        old="decided = bool((may[inside] == sure[inside]).all())",
        new="decided = bool((may[inside] == sure[inside]).any())",
        tests=("tests/arrow/test_places.py", SCAN),
        seen="rows of which nothing was known are left out, or come without having been looked at",
    ),
    Mutant(
        name="groups: a constant that is NULL bounds nothing",
        file="coalesce/arrow/row_groups.py",
        old="        return ColumnStatistics(null_count=rows)\n",
        new="        return ColumnStatistics(null_count=0)\n",
        tests=(GROUPS, "tests/plan/test_traps.py"),
        seen="`app IS NULL` finds no rows in files that hold nothing else",
    ),
    Mutant(
        name="rows: what only Spark can tell is taken for TRUE",
        file="coalesce/arrow/row_filter.py",
        old="    found = must_be_true(outcomes)\n",
        new="    found = may_be_true(outcomes)\n",
        tests=(f"{SCAN}::test_unknown_conditions_need_spark",),
        seen="a condition that Arrow does not understand is left out without a word",
    ),
    Mutant(
        name="tuples: NULL is the next one's first value",
        file="coalesce/arrow/tuples.py",
        old="combined = pa.array(codes * (len(encoded.dictionary) + 1) + positions)",
        new="combined = pa.array(codes * max(len(encoded.dictionary), 1) + positions)",
        tests=("tests/arrow/test_tuples.py", f"{WRITE}::test_awkward_values_are_tuples_of_their_own"),
        seen="rows of two logical partitions are written as one",
    ),
    Mutant(
        name="tuples: the last row speaks for a tuple's place",
        file="coalesce/arrow/tuples.py",
        old="        return bool(np.all(self.codes[1:] >= self.codes[:-1]))\n",
        new="        return len(self.codes) == 0 or bool(self.codes[-1] == self.codes.max())\n",
        tests=("tests/arrow/test_tuples.py", f"{ENCODE}::test_the_footer_says_whether_rows_lie_in_tuple_order"),
        seen="files claim an order they do not have, and readers skip rows",
    ),
    Mutant(
        name="statistics: a long text is cut above as below",
        file="coalesce/arrow/statistics.py",
        old="    return successor(value[:MAX_BOUND_LENGTH])\n",
        new="    return value[:MAX_BOUND_LENGTH]\n",
        tests=("tests/arrow/test_statistics.py", "tests/plan/test_traps.py"),
        seen="a text longer than 32 characters is not found",
    ),
    Mutant(
        name="rewrite: a physical key under another spec",
        file="coalesce/arrow/rewrite.py",
        old="    key = entry.physical_key if spec.spec_id == entry.spec_id else None\n",
        new="    key = entry.physical_key\n",
        tests=(f"{REWRITE}::test_a_physical_key_does_not_outlive_its_spec",),
        seen="after a column was dropped, deletes write entries whose key belongs to another spec",
    ),
    Mutant(
        name="store: a file whose answer was lost stays behind",
        file="coalesce/arrow/store.py",
        old="            begun.append(entry.path)\n            _put(storage, entry.path, data)\n",
        new="            _put(storage, entry.path, data)\n            begun.append(entry.path)\n",
        tests=("tests/arrow/test_store.py",),
        seen="writes that fail leave files that nobody names",
    ),
)
