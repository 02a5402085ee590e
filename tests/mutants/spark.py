"""Bugs in reading and writing with Spark: each takes a JVM to find, so they are few."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="spark: a plan is kept for all sessions although Catalyst had a word in it",
        file="coalesce/spark/source/queries.py",
        old="    if is_plain(predicate):\n",
        new="    if predicate is not None:\n",
        tests=("tests/spark/test_native_settings.py::test_what_was_asked_under_other_settings_is_asked_anew",),
        seen="a query that fails in ANSI mode gives an answer there, if it was asked without it before",
    ),
    Mutant(
        name="spark: dead rows are told to all sessions although Catalyst had a word in which files are read",
        file="coalesce/spark/source/queries.py",
        old="    if is_plain(plan.predicate):\n        _told.put",
        new="    if plan.predicate is not None:\n        _told.put",
        tests=("tests/spark/test_native_settings.py::test_what_was_asked_under_other_settings_is_asked_anew",),
        seen="a query over files with dead rows fails, if it was asked under other settings before",
    ),
    Mutant(
        name="spark transforms: midnight belongs to the day before",
        file="coalesce/spark/translate/transforms.py",
        old="    below = F.when(numbers % divisor < F.lit(0), F.lit(1)).otherwise(F.lit(0))\n",
        new="    below = F.when(numbers < F.lit(0), F.lit(1)).otherwise(F.lit(0))\n",
        tests=("tests/spark/test_transforms.py::test_spark_computes_what_the_model_does",),
        seen="before 1970 Spark and Arrow write midnight into two different days",
    ),
    Mutant(
        name="spark rewrite: rows on which the condition is NULL go too",
        file="coalesce/spark/write/rewrite.py",
        old=".filter(~F.coalesce(condition(session, drop), F.lit(False)))",
        new=".filter(~condition(session, drop))",
        tests=(
            "tests/spark/test_operations.py::test_a_predicate_only_spark_understands",
            "tests/spark/test_operations.py::test_spark_rewrites_what_arrow_does",
        ),
        seen="a delete by Spark takes rows whose column is NULL",
    ),
    Mutant(
        name="spark footers: eighteen digits are read backwards",
        file="coalesce/spark/write/footers.py",
        old='"little" if type_.precision <= 18 else "big"',
        new='"little" if type_.precision < 18 else "big"',
        tests=("tests/spark/test_write.py::test_bounds_of_decimals_on_either_side_of_eighteen_digits",),
        seen="queries on a decimal(18,2) skip files that Spark wrote",
    ),
    Mutant(
        name="spark constants: a file of NULLs has the first value",
        file="coalesce/spark/source/constants.py",
        old="mask=highest < 0))",
        new="mask=highest < -1))",
        tests=(
            "tests/spark/test_native_rows.py::test_a_partition_of_nulls_is_one_of_nulls",
            "tests/spark/test_native_adopted.py::test_values_come_from_the_entries",
        ),
        seen="rows whose partition column is NULL are shown with another value",
    ),
    Mutant(
        name="spark files: scans of two versions are the same",
        file="coalesce/spark/source/java/PlannedFiles.java",
        old='        && table.get("key").equals(that.table.get("key"))\n',
        new='        && table.get("table").equals(that.table.get("table"))\n',
        tests=("tests/spark/test_native_rows.py::test_a_cached_version_does_not_answer_for_another",),
        seen="after a frame was cached, newer versions of the table are answered from the cache",
    ),
    Mutant(
        name="spark filters: at least is more than",
        file="coalesce/spark/source/java/MappedParquet.java",
        old="new GreaterThanOrEqual(name, ",
        new="new GreaterThan(name, ",
        tests=("tests/spark/test_native_evolution.py::test_bounds_of_renamed_columns_are_compared_exactly",),
        seen="`n >= 5` over a renamed column skips row groups whose greatest n is 5",
    ),
    Mutant(
        name="spark stream: it begins one version late",
        file="coalesce/spark/source/stream.py",
        old="        return max(wanted - 1, 0)\n",
        new="        return max(wanted, 0)\n",
        tests=("tests/spark/test_stream.py::test_where_a_stream_starts",),
        seen="a stream with startingVersion leaves that version's rows out",
    ),
)
