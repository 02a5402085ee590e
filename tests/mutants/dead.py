"""Bugs in what marks tuples as dead, and in what leaves their rows out."""

from tests.mutants.mutant import Mutant

MARKING = "tests/model/test_marking.py::test_marking_is_what_it_is_by_hand"
MARKS = "tests/table/test_marks.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="dead: a count of NULLs stays what it was",
        file="coalesce/model/marking.py",
        old="    unknown = is_null(column) | ((found != 0) & ~all_of_it & (after < before))\n",
        new="    unknown = is_null(column)\n",
        tests=(MARKING,),
        seen="a file of which as many rows are left as there were NULLs is taken to hold nothing else, and is skipped",
    ),
    Mutant(
        name="dead: places are counted among live tuples",
        file="coalesce/model/marking.py",
        old="        places[starts[number] : starts[number] + lengths[number]] = np.flatnonzero(free)\n",
        new="        places[starts[number] : starts[number] + lengths[number]] = np.arange(lengths[number])\n",
        tests=(MARKING,),
        seen="after a second removal from a file, rows of others are left out and removed ones shown",
    ),
    Mutant(
        name="dead: a constant of live rows is taken for one of all",
        file="coalesce/arrow/read.py",
        old="len(entry.tuples) == 1 and entry.trusted and not entry.dead:\n",
        new="len(entry.tuples) == 1 and entry.trusted:\n",
        tests=("tests/arrow/test_dead.py",),
        seen="in a file whose order is unknown no row is told to be dead any more once one tuple is left",
    ),
    Mutant(
        name="dead: a dead tuple matches",
        file="coalesce/arrow/places.py",
        old="may, sure = may_be_true(outcomes) & self.live, must_be_true(outcomes) & self.live",
        new="may, sure = may_be_true(outcomes), must_be_true(outcomes)",
        tests=("tests/arrow/test_dead.py",),
        seen="a query by the removed tenant reads its rows to throw them away, or fails",
    ),
    Mutant(
        name="dead: row ids are those of the live rows",
        file="coalesce/arrow/read.py",
        old="        return pa.Table.from_arrays(chosen_rows(table.columns, self._live), schema=LINEAGE)\n",
        new="        return table.slice(0, self.entry.rows)\n",
        tests=("tests/arrow/test_dead.py",),
        seen="rows change their ids when their file is rewritten after a removal",
    ),
    Mutant(
        name="dead: what copies rows need not look",
        file="coalesce/table/commit/conflicts.py",
        old="if (dead := lost[path]) is None or path in copied or not before[path] <= dead",
        new="if (dead := lost[path]) is None or not before[path] <= dead",
        tests=(f"{MARKS}::test_what_copies_rows_does_not_bring_dead_ones_back",),
        seen="a compaction that raced with a removal brings the removed rows back",
    ),
    Mutant(
        name="dead: a file goes with rows that a rollback brought back",
        file="coalesce/table/commit/conflicts.py",
        old="path in copied or not before[path] <= dead",
        new="path in copied",
        tests=(f"{MARKS}::test_a_whole_file_does_not_go_with_rows_that_came_back",),
        seen="a delete that raced with a rollback takes rows that do not match it",
    ),
    Mutant(
        name="dead: a file none of whose tuples is left stays",
        file="coalesce/table/commit/transaction.py",
        old='            gone |= to_mark & (numbers(entries.core.column("rows")) == 0)\n',
        new='            gone |= to_mark & (numbers(entries.core.column("rows")) < 0)\n',
        tests=(f"{MARKS}::test_the_last_two_tuples_of_a_file_go_at_the_same_time",),
        seen="two removals that together empty a file leave an entry that readers refuse",
    ),
    Mutant(
        name="dead: changed columns are looked for once",
        file="coalesce/table/commit/transaction.py",
        old="        if self._marked and self.matching is not None:\n",
        new="        if self._marked and self.matching is None:\n",
        tests=(f"{MARKS}::test_a_column_that_is_dropped_meanwhile_stands_in_the_way",),
        seen="a column is dropped while a removal marks rows by it, and nobody can tell them any more",
    ),
    Mutant(
        name="dead: more than three tenths of a file may die",
        file="coalesce/table/removal.py",
        old="(dead <= most * index.physical_rows)",
        new="(dying <= most * index.physical_rows)",
        tests=(f"{MARKS}::test_the_property_says_when_files_are_rewritten",),
        seen="a file is mostly dead after many small removals, and every scan reads all of it",
    ),
    Mutant(
        name="dead: a reader before it may read the table",
        file="coalesce/table/commit/transaction.py",
        old="with_dead_tuples(changed, any(ref.dead_rows for ref in manifests))",
        new="with_dead_tuples(changed, False)",
        tests=(f"{MARKS}::test_a_removal_that_tuples_decide_touches_no_data_file",),
        seen="an older release shows removed rows",
    ),
)
