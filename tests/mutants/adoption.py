"""Bugs in adoption: rows that would be there twice, files that would be lost, values that would be others."""

from tests.mutants.mutant import Mutant

HIVE = "tests/interop/adopt/test_hive.py"
AGAIN = "tests/interop/adopt/test_again.py"
BACK = "tests/interop/adopt/test_back.py"
STATISTICS = "tests/arrow/test_parquet_statistics.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        name="adopt: what the table let go of is new",
        file="coalesce/interop/adopt/run.py",
        old="    return [f for f in survey.files if f.path not in known]\n",
        new="    return [f for f in survey.files if f.path not in held]\n",
        tests=(f"{AGAIN}::test_changed_files_are_refused", f"{AGAIN}::test_what_was_let_go_of_is_not_new"),
        seen="after a compaction, adopting again brings every row a second time",
    ),
    Mutant(
        name="adopt: files of others are deleted with a failed commit",
        file="coalesce/table/commit/transaction.py",
        old="for entries in self._added for path in entries",
        new="for entries in (*self._added, *self._adopted) for path in entries",
        tests=(f"{HIVE}::test_files_of_a_committed_adoption_outlive_a_failed_one",),
        seen="a conflict deletes the user's files",
    ),
    Mutant(
        name="adopt: names of directories are decoded as URIs",
        file="coalesce/interop/adopt/directories.py",
        old="_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)",
        new="_ESCAPE.sub(lambda match: match[0], text)",
        tests=(f"{HIVE}::test_no_byte_is_moved",),
        seen="the app `a/b` is called `a%2Fb`",
    ),
    Mutant(
        name="adopt: the empty text is NULL",
        file="coalesce/interop/adopt/directories.py",
        old="None if text == NULL_NAME else unescaped(text)",
        new="None if text in (NULL_NAME, '') else unescaped(text)",
        tests=(f"{HIVE}::test_no_byte_is_moved",),
        seen="`app = ''` finds nothing",
    ),
    Mutant(
        name="adopt: a file's own column counts",
        file="coalesce/interop/adopt/entries.py",
        old="for f in version.schema if f.id not in told}",
        new="for f in version.schema}",
        tests=(f"{HIVE}::test_a_column_of_directories_and_files",),
        seen="a check finds fault with files whose directories say otherwise, and a repair changes the rows",
    ),
    Mutant(
        name="adopt: overwritten directories are taken for additions",
        file="coalesce/interop/adopt/run.py",
        old="gone = [path for path in gone if dirname(path) in places]",
        new="gone = [path for path in gone if path in places]",
        tests=(f"{AGAIN}::test_old_files_may_be_cleaned_up",),
        seen="a directory that Spark has overwritten since is in the table twice",
    ),
    Mutant(
        name="adopt: any writer's bounds of texts are believed",
        file="coalesce/arrow/parquet_statistics.py",
        old="(chunk.physical_type not in _IN_BYTES or orders_bytes(created_by))",
        new="(chunk.physical_type not in _IN_BYTES or bool(created_by))",
        tests=(f"{STATISTICS}::test_an_unknown_writers_texts_prune_nothing",),
        seen="queries for texts with accents miss files that old writers wrote",
    ),
    Mutant(
        name="adopt: unsigned numbers have signed bounds",
        file="coalesce/arrow/parquet_statistics.py",
        old="if pa.types.is_unsigned_integer(stored) or (",
        new="if (",
        tests=(f"{STATISTICS}::test_nan_unsigned_old_timestamps_and_none",),
        seen="large unsigned numbers are not found",
    ),
    Mutant(
        name="adopt: some ids are as good as all",
        file="coalesce/interop/adopt/columns.py",
        old="    if any(ids) and not all(ids):\n",
        new="    if not ids:\n",
        tests=(f"{HIVE}::test_what_does_not_go_together_is_refused_with_the_files",),
        seen="columns without an id are NULL in files that have ids for others",
    ),
    Mutant(
        name="adopt: removed rows are forgotten with their file",
        file="coalesce/interop/adopt/run.py",
        old="        if path not in survey.listed and file.dead_rows\n",
        new="        if path not in survey.listed and not file.rows\n",
        tests=(f"{BACK}::test_a_file_with_removed_rows_that_was_gone",),
        seen="a directory that was away for a while brings rows back that were deleted",
    ),
    Mutant(
        name="adopt: a file of equal size is the same",
        file="coalesce/interop/adopt/run.py",
        old="        return now.footer == seen.footer\n",
        new="        return True\n",
        tests=(f"{BACK}::test_a_file_of_equal_size_in_the_place_of_one_that_was_let_go",),
        seen="a file that was overwritten after a compaction is never read",
    ),
)
