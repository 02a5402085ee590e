"""Bugs in checks and repairs: what is wrong and not found, what is sound and reported, what a repair would break."""

from tests.mutants.mutant import Mutant

CHECK = "tests/table/maintain/test_check.py"
REPAIR = "tests/table/maintain/test_repair.py"
DEAD = "tests/table/maintain/test_dead.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="check: bounds are compared the wrong way round",
        file="coalesce/table/maintain/contents.py",
        old="low, high = (truth, bound) if outside > 0 else (bound, truth)",
        new="low, high = (bound, truth) if outside > 0 else (truth, bound)",
        tests=(f"{CHECK}::test_an_entry_that_says_otherwise",),
        seen="statistics that hide rows pass, and wide ones, which do no harm, are reported",
    ),
    Mutant(
        name="check: ranges of ids that nobody uses overlap",
        file="coalesce/table/maintain/row_ids.py",
        old="if both and not any(map(has_own_ids, pair, specs)):",
        new="if both:",
        tests=(f"{CHECK}::test_rows_that_keep_their_ids_do_not_overlap",),
        seen="a compacted table is said to give ids twice",
    ),
    Mutant(
        name="check: versions that expire meanwhile are missed",
        file="coalesce/table/maintain/check.py",
        old="versions = draft.versions if kept is None else common(draft.versions, kept)",
        new="versions = draft.versions",
        tests=(f"{CHECK}::test_what_expires_meanwhile_is_not_missed",),
        seen="a check beside a vacuum reports files that nobody needs any more",
    ),
    Mutant(
        name="check: a file that is not listed is missing",
        file="coalesce/table/maintain/check.py",
        old="            sizes[file] = size\n",
        new="            sizes[file] = ABSENT if size < 0 else ABSENT\n",
        tests=(f"{CHECK}::test_files_that_were_adopted_are_sound", f"{CHECK}::test_links_are_followed_as_readers_do"),
        seen="files that were adopted where they lie are said to be missing",
    ),
    Mutant(
        name="check: a tuple that goes on in the next batch is in runs wherever it was before",
        file="coalesce/arrow/inspect.py",
        old="self.in_runs = self.in_runs and found.in_runs and self._goes_on(found)",
        new="self.in_runs = self._goes_on(found)",
        tests=(f"{REPAIR}::test_a_file_that_promises_an_order_it_does_not_have",),
        seen="readers look for rows where they are not, and the check says that all is well",
    ),
    Mutant(
        name="repair: counts are kept where the order is not",
        file="coalesce/table/maintain/contents.py",
        old="tuple_rows=found.tuple_rows if orderly else None,",
        new="tuple_rows=found.tuple_rows,",
        tests=(f"{REPAIR}::test_a_file_that_promises_an_order_it_does_not_have",),
        seen="a repaired table gives the rows of one logical partition for those of another",
    ),
    Mutant(
        name="repair: dead tuples are alive again",
        file="coalesce/table/maintain/contents.py",
        old="    live = [(t, n) for t, n in told if t not in since]\n",
        new="    live = [(t, n) for t, n in told if n]\n",
        tests=(f"{DEAD}::test_what_is_dead_stays_dead",),
        seen="a repair brings back what was removed",
    ),
    Mutant(
        name="check: ids of dead rows are free",
        file="coalesce/table/maintain/survey.py",
        old="    rows = arrays[0] + entries.dead_rows\n",
        new="    rows = arrays[0]\n",
        tests=(f"{DEAD}::test_ids_of_dead_rows_are_given_out",),
        seen="two rows of a table have one id, and the check says that all is well",
    ),
    Mutant(
        name="check: statistics are compared with dead rows, too",
        file="coalesce/arrow/inspect.py",
        old="            measure.add(column if live is None else column.filter(live))\n",
        new="            measure.add(column)\n",
        tests=(f"{DEAD}::test_bounds_of_the_live_rows_will_do", f"{DEAD}::test_counts_of_null_are_those_of_live_rows"),
        seen="a sound table is said to be wrong",
    ),
    Mutant(
        name="repair: swapped files are taken for wrong entries",
        file="coalesce/table/maintain/comparing.py",
        old="    swapped = dict(swaps(survey, compared))\n",
        new="    swapped: dict[int, int] = {}\n",
        tests=(f"{REPAIR}::test_swapped_files_are_not_taken_for_wrong_entries", f"{CHECK}::test_swapped_files"),
        seen="ten findings where there is one, and advice that gives rows the ids of others",
    ),
    Mutant(
        name="transaction: an entry is mended whose file was rewritten",
        file="coalesce/table/commit/staged.py",
        old="        return self._removed.union(self._mended, self._marked, self._moved)\n",
        new="        return self._removed.union(self._marked, self._moved)\n",
        tests=(f"{REPAIR}::test_it_gives_way_to_a_rewrite", f"{REPAIR}::test_it_goes_on_from_what_others_append"),
        seen="a repair that is overtaken does nothing, and says that it has mended",
    ),
)
