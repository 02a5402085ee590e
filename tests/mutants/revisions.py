"""Bugs in what changes single rows: lost changes, rows twice, rows that are others' by now."""

from tests.mutants.mutant import Mutant

REVISION = "tests/table/test_revision.py"
UPSERT = "tests/arrow/test_upsert.py"
STATEMENTS = "tests/spark/test_statements.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="revision: tuples that have moved need not be there any more",
        file="coalesce/table/commit/marks.py",
        old="        if not wanted.issubset(listed):\n",
        new="        if not listed:\n",
        tests=(f"{REVISION}::test_a_conflict_names_the_logical_partition",),
        seen="rows that were removed while others of their tenant changed are back",
    ),
    Mutant(
        name="revision: a row that is changed gets another id",
        file="coalesce/arrow/revise.py",
        old="lineage.column(ROW_ID).take(pa.array(going[changed.stays]))",
        new="None",
        tests=(f"{REVISION}::test_a_row_goes_to_another_tuple_and_keeps_its_id",),
        seen="whoever follows rows by their ids sees an update as a removal and a new row",
    ),
    Mutant(
        name="revision: a row that is changed keeps its version",
        file="coalesce/arrow/revise.py",
        old="    return pa.Table.from_arrays([ids, pa.nulls(len(ids), pa.int64())], schema=LINEAGE)\n",
        new="    return pa.Table.from_arrays([ids, pa.array([1] * len(ids), pa.int64())], schema=LINEAGE)\n",
        tests=(f"{REVISION}::test_a_row_goes_to_another_tuple_and_keeps_its_id",),
        seen="changes since a version leave updated rows out",
    ),
    Mutant(
        name="revision: rows that come in meanwhile are no matter",
        file="coalesce/table/revision.py",
        old="    transaction.matching = concerned\n",
        new="",
        tests=(f"{REVISION}::test_a_row_that_came_in_meanwhile_is_changed_and_not_doubled",),
        seen="two upserts of one new key at the same time leave two rows",
    ),
    Mutant(
        name="revision: what removes rows forgets to count them",
        file="coalesce/table/revision.py",
        old="    kept = sum(part.rows for part in parts) - found.deleted\n",
        new="    kept = sum(part.rows for part in parts)\n",
        tests=(f"{REVISION}::test_rows_are_counted_before_they_are_committed",),
        seen="a MERGE that deletes is never committed, or an engine that loses rows is",
    ),
    Mutant(
        name="revision: dead rows count as places",
        file="coalesce/arrow/upsert.py",
        old="        places = file.places_of_live(np.flatnonzero(wanted))\n",
        new="        places = np.flatnonzero(wanted)\n",
        tests=(f"{UPSERT}::test_any_upserts_do_what_they_would_to_rows_in_memory",),
        seen="an upsert after a removal changes another row",
    ),
    Mutant(
        name="upsert: the second key is looked at by itself",
        file="coalesce/arrow/upsert.py",
        old="            pairs = np.where((codes < 0) | (next_ < 0), -1, codes * len(values) + next_)\n",
        new="            pairs = np.where((codes < 0) | (next_ < 0), -1, codes * len(step) + next_)\n",
        tests=(f"{UPSERT}::test_any_upserts_do_what_they_would_to_rows_in_memory",),
        seen="rows are replaced by rows of other keys",
    ),
    Mutant(
        name="statement: a condition that is NULL holds",
        file="coalesce/spark/write/revise.py",
        old="CASE WHEN {marks.put(change.condition)} THEN",
        new="CASE WHEN coalesce({marks.put(change.condition)}, true) THEN",
        tests=(f"{STATEMENTS}::test_a_condition_that_is_null_does_not_hold",),
        seen="an UPDATE takes rows whose column is NULL",
    ),
    Mutant(
        name="statement: files that jobs write lose the members of structs",
        file="coalesce/spark/write/found.py",
        old="    return F.col(name_of(field)).cast(spark_type(field.type, physical=True)).alias(name_of(field))\n",
        new="    return F.col(name_of(field)).cast(nullable(spark_type(field.type))).alias(name_of(field))\n",
        tests=(f"{STATEMENTS}::test_structs_are_read_as_they_were_written",),
        seen="after a large MERGE, Arrow reads NULL in the members of structs, and the next rewrite writes it",
    ),
)
