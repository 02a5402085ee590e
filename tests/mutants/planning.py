"""Bugs in how predicates are judged and files are found."""

from tests.mutants.mutant import Mutant

TRAPS = "tests/plan/test_traps.py"
INDEX = "tests/plan/test_index.py"
DOMAINS = "tests/predicate/test_domains.py"
BIND = "tests/predicate/test_bind.py"
OUTCOMES = "tests/predicate/test_outcomes.py"
TUPLES = "tests/table/test_tuples.py"
EVOLVE = "tests/table/test_evolve.py"

MUTANTS = (
    Mutant(
        name="planner: an alternative that cannot be searched for is forgotten",
        file="coalesce/plan/planner.py",
        old="            if len(known) < len(each):\n",
        new="            if not known:\n",
        tests=(TRAPS,),
        seen="`p = 'a' OR n = 5` finds only the rows of p = 'a'",
    ),
    Mutant(
        name="planner: bounds of a manifest forget NULL",
        file="coalesce/plan/planner.py",
        old="has_null = np.array([b is not None and b.has_null for b in bounds], np.bool_)",
        new="has_null = np.array([b is not None and b.has_null and b.lower is None for b in bounds], np.bool_)",
        tests=(TRAPS,),
        seen="`p IS NULL` finds nothing where other values stand in the same manifest",
    ),
    Mutant(
        name="planner: bounds of a widened column keep their old unit",
        file="coalesce/plan/planner.py",
        old="    return values_of(type_, column_of(bounds.type, [value]).cast(arrow_type(type_)))[0]\n",
        new="    return value\n",
        tests=(EVOLVE, TRAPS),
        seen="after date → timestamp_ntz, older manifests are left out of every query for a day",
    ),
    Mutant(
        name="planner: a second search of the same tuples is not told from the first",
        file="coalesce/plan/planner.py",
        old="        first[1:] = tuples[1:] != tuples[:-1]\n        tuples = tuples[first]\n",
        new="        first[1:] = tuples[1:] != tuples[:-1]\n",
        tests=(TRAPS,),
        seen="`p = 'a' OR p LIKE 'a%'` counts the rows of p = 'a' twice",
    ),
    Mutant(
        name="index: more NULLs than rows means no values",
        file="coalesce/plan/index.py",
        old="may_be_value = (null_count < rows) | (null_count > rows)",
        new="may_be_value = null_count < rows",
        tests=(TRAPS,),
        seen="a file whose statistics are nonsense is left out",
    ),
    Mutant(
        name="index: no word of NaN means no NaN",
        file="coalesce/plan/index.py",
        old="no_nan = np.zeros(count, np.bool_) if nans is None else numbers(nans, null=-1) == 0",
        new="no_nan = np.ones(count, np.bool_) if nans is None else numbers(nans, null=0) == 0",
        tests=(TRAPS, INDEX),
        seen="`x > 5` misses NaN in files whose writer did not count them",
    ),
    Mutant(
        name="index: NULL has the place of the value before",
        file="coalesce/plan/index.py",
        old="    return combined * (distinct + 1) + codes + 1\n",
        new="    return combined * max(distinct, 1) + codes + 1\n",
        tests=(TRAPS, INDEX),
        seen="two tuples become one, and one of them is never found",
    ),
    Mutant(
        name="index: a group is taken for NULL",
        file="coalesce/plan/index.py",
        old='known = flags(core.column("physical_known")) & is_null(core.column(f"physical_group_{field.field_id}"))',
        new='known = flags(core.column("physical_known"))',
        tests=(TRAPS, INDEX),
        seen="shared files whose tuples are unknown are left out of every query but IS NULL",
    ),
    Mutant(
        name="index: shared domains do not tell transforms apart",
        file="coalesce/plan/index.py",
        old="    key = (transform, source_type, values.type, values.offset, len(values), content.digest())\n",
        new="    key = (type(transform), source_type, values.type, values.offset, len(values), content.digest())\n",
        tests=(INDEX, TUPLES),
        seen="after bucket(4) became bucket(8), files are judged by the other count and rows are missed",
    ),
    Mutant(
        name="index: zero has two signs",
        file="coalesce/plan/index.py",
        old="values.dtype.type(np.nan), values + 0.0)",
        new="values.dtype.type(np.nan), values)",
        tests=(INDEX,),
        seen="partitions of 0.0 and -0.0 are two in listings, and one of them is empty",
    ),
    Mutant(
        name="outcomes: NULL is as good as TRUE",
        file="coalesce/predicate/outcomes.py",
        old="    certain: Mask = outcomes == TRUE\n",
        new="    certain: Mask = (outcomes & FALSE) == 0\n",
        tests=(OUTCOMES, TRAPS),
        seen="a delete takes rows on which its condition is NULL",
    ),
    Mutant(
        name="outcomes: AND forgets NULL beside TRUE",
        file="coalesce/predicate/outcomes.py",
        old="(either & FALSE) | (not_false & either & NULL)",
        new="(either & FALSE) | (a & b & NULL)",
        tests=(OUTCOMES,),
        seen="NOT of a conjunction is judged FALSE or nothing at all",
    ),
    Mutant(
        name="outcomes: OR is FALSE if one side is",
        file="coalesce/predicate/outcomes.py",
        old="any_: Outcomes = (either & TRUE) | (a & b & FALSE)",
        new="any_: Outcomes = (a & b & TRUE) | (a & b & FALSE)",
        tests=(OUTCOMES,),
        seen="alternatives find only the rows that satisfy both",
    ),
    Mutant(
        name="domains: a bucket tells one of twice as many",
        file="coalesce/predicate/domains.py",
        old="if self.transform.count % transform.count == 0:",
        new="if transform.count % self.transform.count == 0:",
        tests=(f"{DOMAINS}::test_a_bucket_tells_another_only_if_its_count_is_a_multiple",),
        seen="overwrite_partitions after bucket(4) became bucket(8) leaves old rows or takes others",
    ),
    Mutant(
        name="domains: more buckets tell one of fewer",
        file="coalesce/predicate/domains.py",
        old="if self.transform.count % transform.count == 0:",
        new="if self.transform.count >= transform.count:",
        tests=(f"{TUPLES}::test_partitions_are_overwritten_across_bucket_counts_that_do_not_divide_each_other",),
        seen="overwrite_partitions after bucket(4) became bucket(3) takes rows of other partitions",
    ),
    Mutant(
        name="domains: a bound that no value has is taken for one",
        file="coalesce/predicate/domains.py",
        old="            lowest = first if leaf.lower_inclusive else last + 1\n",
        new="            lowest = first if leaf.lower_inclusive else first + 1\n",
        tests=(DOMAINS,),
        seen="`p > 'b'` misses the first value above 'b' where 'b' itself is none",
    ),
    Mutant(
        name="domains: what contradicts itself prunes",
        file="coalesce/predicate/domains.py",
        old="        return np.where(together == 0, ANYTHING, together)\n",
        new="        return together\n",
        tests=(TRAPS,),
        seen="a file whose physical key and statistics disagree is read by no query",
    ),
    Mutant(
        name="project: a value as long as the width was not cut",
        file="coalesce/predicate/tuple_domains.py",
        old="    return value if len(value) < width else successor(value)\n",
        new="    return value if len(value) <= width else successor(value)\n",
        tests=(DOMAINS,),
        seen="under truncate(3, name), `name = 'abcd'` finds nothing",
    ),
    Mutant(
        name="coercion: days before 1970 are rounded towards it",
        file="coalesce/predicate/coercion.py",
        old="        return (value + offset) // temporal.MICROS_PER_DAY\n",
        new="        return int((value + offset) / temporal.MICROS_PER_DAY)\n",
        tests=("tests/predicate/test_coercion.py::test_days_before_1970", f"{BIND}::test_conversion"),
        seen="`d = CAST(ts AS DATE)` asks for the day after, if that lies before 1970",
    ),
    Mutant(
        name="cuts: a timestamp above a day's midnight is that day",
        file="coalesce/predicate/own_type.py",
        old="            return clipped(-(-wanted // factor), wanted // factor + 1)\n",
        new="            return clipped(wanted // factor, wanted // factor + 1)\n",
        tests=(f"{BIND}::test_conversion",),
        seen="`d >= TIMESTAMP '2026-05-17 12:00:00'` also finds 2026-05-17",
    ),
)
