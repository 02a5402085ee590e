"""Bugs in reading and writing with Spark: each takes a JVM to find, so they are few."""

from tests.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="spark transforms: midnight belongs to the day before",
        file="coalesce/spark/transforms.py",
        old="    below = F.when(numbers % divisor < F.lit(0), F.lit(1)).otherwise(F.lit(0))\n",
        new="    below = F.when(numbers < F.lit(0), F.lit(1)).otherwise(F.lit(0))\n",
        tests=("tests/spark/test_transforms.py",),
        seen="before 1970 Spark and Arrow write midnight into two different days",
    ),
    Mutant(
        name="spark rewrite: rows on which the condition is NULL go too",
        file="coalesce/spark/rewrite.py",
        old="named.filter(~F.coalesce(condition(session, drop), F.lit(False)))",
        new="named.filter(~condition(session, drop))",
        tests=("tests/spark/test_operations.py",),
        seen="a delete by Spark takes rows whose column is NULL",
    ),
    Mutant(
        name="spark footers: eighteen digits are read backwards",
        file="coalesce/spark/footers.py",
        old='"little" if type_.precision <= 18 else "big"',
        new='"little" if type_.precision < 18 else "big"',
        tests=("tests/spark/test_write.py",),
        seen="queries on a decimal(18,2) skip files that Spark wrote",
    ),
    Mutant(
        name="spark constants: a file of NULLs has the first value",
        file="coalesce/spark/constants.py",
        old="highest = np.full(len(index.entries), -1, np.int32)",
        new="highest = np.full(len(index.entries), 0, np.int32)",
        tests=("tests/spark/test_native_rows.py", "tests/spark/test_native_adopted.py"),
        seen="rows whose partition column is NULL are shown with another value",
    ),
    Mutant(
        name="spark files: scans under other filters are the same",
        file="coalesce/spark/java/PlannedFiles.java",
        old="        && new HashSet(filters.keySet()).equals(new HashSet(that.filters.keySet()));\n",
        new="        && new HashSet(filters.keySet()).size() == that.filters.size();\n",
        tests=("tests/spark/test_native_rows.py",),
        seen="a union of two filters of one table reads the first one's files twice",
    ),
    Mutant(
        name="spark filters: of NOT (a AND b), what is not understood is left out",
        file="coalesce/spark/java/MappedParquet.java",
        old="      return left == null || right == null ? null : new And(left, right);\n",
        new="      return left == null ? right : right == null ? left : new And(left, right);\n",
        tests=("tests/spark/test_native_evolution.py",),
        seen="NOT (a AND b) over a renamed column loses rows",
    ),
    Mutant(
        name="spark stream: it begins one version late",
        file="coalesce/spark/arrivals.py",
        old="        return max(wanted - 1, 0)\n",
        new="        return max(wanted, 0)\n",
        tests=("tests/spark/test_arrivals.py::test_where_a_stream_starts",),
        seen="a stream with startingVersion leaves that version's rows out",
    ),
)
