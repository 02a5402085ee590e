"""Bugs in compaction: what would be written again for nothing, moved to the wrong place, or lost on the way."""

from tests.mutants.mutant import Mutant

WORTH = "tests/table/maintain/test_worth.py"
RACES = "tests/table/maintain/test_compact_races.py"
AUTO = "tests/table/maintain/test_auto.py"
ARRANGE = "tests/arrow/test_arrange.py"
PURGE = "tests/table/maintain/test_purge.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="compact: large files always take part",
        file="coalesce/table/maintain/worth.py",
        old="enough = own.shared(found | chosen, len(members)) >= SPREAD_SHARE * rows",
        new="enough = own.shared(found | chosen, len(members)) > 0",
        tests=(f"{WORTH}::test_a_little_of_many_tuples_is_not_worth_large_files",),
        seen="one small append makes compaction write the whole table again",
    ),
    Mutant(
        name="compact: files that came in since are taken for old ones",
        file="coalesce/table/maintain/compact.py",
        old="own = [0 < self._times.get(path, 0) < _MOST_TIMES",
        new="own = [self._times.get(path, 0) < _MOST_TIMES",
        tests=(f"{RACES}::test_it_ends_although_others_append",),
        seen="with a writer that never rests, compact() never ends",
    ),
    Mutant(
        name="compact: removed files are not looked for",
        file="coalesce/table/maintain/compact.py",
        old="if not lost.keys() & set(planned.paths(job.files))] if lost else jobs",
        new="if lost is not None] if lost else jobs",
        tests=(f"{RACES}::test_only_what_was_removed_is_left_out",),
        seen="a step is tried again in vain, and all that was to be written with the removed file is left",
    ),
    Mutant(
        name="arrange: a cut tuple begins anew in each file",
        file="coalesce/arrow/arrange.py",
        old="return self.file[found], self.begin[found] + from_ - self.before[found], to - from_",
        new="return self.file[found], self.begin[found], to - from_",
        tests=(f"{ARRANGE}::test_rows_and_ids_stay",),
        seen="some rows of a large partition are there twice, and others are gone",
    ),
    Mutant(
        name="arrange: files are taken to be in order",
        file="coalesce/arrow/arrange.py",
        old="        if file.places is None:\n",
        new="        if file.places is None and not entry.complete:\n",
        tests=(f"{ARRANGE}::test_files_without_order_are_put_in_order",),
        seen="rows of a file that Spark wrote get the ids, or the entry, of others",
    ),
    Mutant(
        name="compact: dead rows go only where something else is gained",
        file="coalesce/table/maintain/worth.py",
        old="    return [*_moved(placed, rest, target, limits), *by_use]\n",
        new="    return by_use\n",
        tests=(f"{PURGE}::test_compaction_writes_files_again_that_are_too_dead",),
        seen="what was removed stays in the files for ever",
    ),
    Mutant(
        name="compact: dead rows weigh as much as others",
        file="coalesce/table/maintain/worth.py",
        old="    small = held.live_bytes[members] < SMALL_SHARE * target\n",
        new="    small = held.bytes[members] < SMALL_SHARE * target\n",
        tests=(f"{PURGE}::test_dead_rows_do_not_make_a_file_large",),
        seen="files that are mostly dead are never merged",
    ),
    Mutant(
        name="purge: files are found by what is alive in them",
        file="coalesce/table/maintain/purge.py",
        old="    index = ManifestIndex(_of_the_dead(planned.index.entries))\n",
        new="    index = planned.index\n",
        tests=(f"{PURGE}::test_a_purge_of_some_goes_by_what_is_dead",),
        seen="a tenant that was removed is not purged when it is asked for, and says so nowhere",
    ),
    Mutant(
        name="auto-compact: a failure is the write's",
        file="coalesce/table/maintain/auto.py",
        old="    except CoalesceError as error:\n        warnings.warn(",
        new="    except ZeroDivisionError as error:\n        warnings.warn(",
        tests=(f"{AUTO}::test_a_failure_is_a_warning",),
        seen="an append that was committed raises, and is made again",
    ),
    Mutant(
        name="auto-compact: every small file at every write",
        file="coalesce/table/maintain/worth.py",
        old="due = members[tiers <= max(full)]",
        new="due = members",
        tests=(f"{WORTH}::test_a_crowd_is_merged_tier_by_tier",),
        seen="each append writes all that came before it again",
    ),
)
