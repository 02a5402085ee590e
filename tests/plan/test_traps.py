"""The places where pruning goes wrong elsewhere, each by name, on a real table.

Every test asks for rows through the planner and compares with what SQL says they are; most also say how many files may
be read, so that a planner that simply keeps everything does not pass.
"""

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import coalesce
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.table.table import Table, core_of


def table_of(
    directory: Path, columns: Mapping[str, tuple[pa.DataType, Sequence[object]]], partition_by: Sequence[str] = ("p",)
) -> Table:
    """A table in which every distinct partition value has a file of its own; `n` numbers the rows."""
    rows = len(next(iter(columns.values()))[1])
    data = {name: pa.array(values, type_) for name, (type_, values) in columns.items()}
    data["n"] = pa.array(range(rows))
    whole = pa.table(data)
    table = coalesce.create(directory, whole.schema, partition_by=partition_by)
    table.append(whole)
    return table


def found(table: Table, where: str) -> list[int]:
    """The numbers of the rows that match."""
    return sorted(table.scan(where).to_arrow().column("n").to_pylist())


def files(table: Table, where: str) -> int:
    """How many files the plan reads."""
    return table.plan(where).file_count


def damaged(table: Table, **changes: object) -> Table:
    """The table with every entry changed as said, as a foreign or old writer might have left it."""
    transaction = core_of(table).transaction("damage")
    for file in table.files():
        transaction.remove([file])
        transaction.add([replace(file, **changes)])  # type: ignore[arg-type]
    core_of(table).commit(transaction)
    return table


@pytest.mark.parametrize("where", ["p = 'a'", "p = 'a' AND n = 0", "p < 'b' AND n < 1", "n = 0", "n = 0 OR p = 'z'"])
def test_statistics_that_exclude_the_tuples_do_not_prune(tmp_path: Path, where: str) -> None:
    """A writer with a bug said that `p` is between x and z in a file of `a`: the row is found by every condition."""
    table = table_of(tmp_path, {"p": (pa.string(), ["a"])})
    (file,) = table.files()
    p = table.schema.field("p").id
    wrong = {**file.statistics, p: ColumnStatistics(lower="x", upper="z", null_count=0)}
    assert found(damaged(table, statistics=wrong), where) == [0]


def test_statistics_that_cannot_be_do_not_hide_the_ends(tmp_path: Path) -> None:
    """One file's bounds of `p` contradict its tuples, and those of `v` are the wrong way round: both ends are found."""
    table = table_of(tmp_path, {"p": (pa.string(), ["a", "m", "z"]), "v": (pa.string(), ["b", "m", "y"])})
    p, v = table.schema.field("p").id, table.schema.field("v").id
    transaction = core_of(table).transaction("damage")
    for file in table.files():
        if file.tuples != (("m",),):
            # Both say that neither end is here; the file of `m` is right, and read first.
            low = file.tuples == (("a",),)
            wrong = ColumnStatistics(lower="x" if low else "b", upper="z" if low else "c", null_count=0)
            inverted = ColumnStatistics(lower="x" if low else "d", upper="w" if low else "c", null_count=0)
            transaction.remove([file])
            transaction.add([replace(file, statistics={**file.statistics, p: wrong, v: inverted})])
    core_of(table).commit(transaction)
    assert (table.min("p", "v <> 'q'"), table.max("p", "v <> 'q'")) == ("a", "z")
    assert (table.min("v"), table.max("v")) == ("b", "y")


@pytest.mark.parametrize(
    ("type_", "value", "where"),
    [
        (pa.string(), "", "v = ''"),
        (pa.string(), "x", "v IN ('x', 'y')"),
        (pa.string(), "x", "v > 'a'"),
        (pa.binary(), b"x", "v = X'78'"),
        (pa.decimal128(30, 2), Decimal("1.50"), "v = 1.50"),
        (pa.int64(), 7, "v = 7"),
        (pa.float64(), 1.5, "v = 1.5D"),
    ],
)
def test_unknown_statistics_beside_bounds_that_nobody_has(
    tmp_path: Path, type_: pa.DataType, value: object, where: str
) -> None:
    """A file of NULLs has no bounds either; one without statistics must not be taken for one like it."""
    table = table_of(tmp_path, {"p": (pa.string(), ["known", "unknown"]), "v": (type_, [None, value])})
    transaction = core_of(table).transaction("damage")
    (unknown,) = (f for f in table.files() if f.tuples == (("unknown",),))
    transaction.remove(table.files())
    transaction.add([replace(f, statistics={} if f == unknown else f.statistics) for f in table.files()])
    core_of(table).commit(transaction)
    assert found(table, where) == [1]
    assert files(table, where) == 1


STRINGS = (pa.string(), ["a", "b", None])


@pytest.mark.parametrize(
    ("where", "rows", "read"),
    [
        ("NOT p = 'a'", [1], 1),
        ("NOT (p = 'a' AND n > 5)", [0, 1, 2], 3),  # n > 5 is FALSE everywhere, and FALSE beats NULL
        ("p = 'a' OR p IS NULL", [0, 2], 2),
        ("NOT (p IS NULL)", [0, 1], 2),
        ("p <> 'a'", [1], 1),
        ("NOT (p <> 'a' OR p IS NULL)", [0], 1),
    ],
)
def test_three_valued_logic(tmp_path: Path, where: str, rows: list[int], read: int) -> None:
    """NULL is neither equal nor unequal to anything, under NOT as well."""
    table = table_of(tmp_path, {"p": STRINGS})
    assert (found(table, where), files(table, where)) == (rows, read)


def test_a_leaf_on_an_unknown_column_stays_unknown_under_not(tmp_path: Path) -> None:
    """Without statistics, neither `n > 100` nor its negation rules anything out."""
    table = damaged(table_of(tmp_path, {"p": STRINGS}), statistics={})
    assert files(table, "n > 100") == files(table, "NOT n > 100") == 3
    assert found(table, "NOT n > 100") == [0, 1, 2]


def test_not_in_with_a_null_is_never_true(tmp_path: Path) -> None:
    """`NOT IN (…, NULL)` matches no row, so no file is read."""
    table = table_of(tmp_path, {"p": STRINGS})
    assert found(table, "p NOT IN ('a', NULL)") == []
    assert files(table, "p NOT IN ('a', NULL)") == 0
    assert found(table, "p IN ('a', NULL)") == [0]


def test_null_safe_equality(tmp_path: Path) -> None:
    """`<=>` is TRUE or FALSE, never NULL; `<=> NULL` is IS NULL."""
    table = table_of(tmp_path, {"p": STRINGS})
    assert (found(table, "p <=> NULL"), files(table, "p <=> NULL")) == ([2], 1)
    assert (found(table, "NOT (p <=> 'a')"), files(table, "NOT (p <=> 'a')")) == ([1, 2], 2)


def test_nan_equals_nan_and_is_above_everything(tmp_path: Path) -> None:
    """As a partition value and as a data value: `> x` keeps NaN, `= NaN` finds it."""
    nan = math.nan
    doubles = (pa.float64(), [nan, math.inf, 1.0, None])
    table = table_of(tmp_path, {"p": doubles, "v": doubles})
    for column in ("p", "v"):
        assert (found(table, f"{column} > 1"), files(table, f"{column} > 1")) == ([0, 1], 2)
        assert (found(table, f"isnan({column})"), files(table, f"isnan({column})")) == ([0], 1)
        assert found(table, f"NOT ({column} <= 1)") == [0, 1]
        assert found(table, f"{column} < 2") == [2]


def test_negative_zero_equals_zero(tmp_path: Path) -> None:
    """-0.0 and 0.0 are one value to every comparison and one logical partition."""
    table = table_of(tmp_path, {"p": (pa.float64(), [-0.0, 0.0, 1.0]), "v": (pa.float64(), [0.0, -0.0, 5.0])})
    for where in ("p = 0", "p = -0.0D", "v = 0", "v >= 0 AND v <= 0", "p IN (-0.0D)"):
        assert found(table, where) == [0, 1], where
    assert len(table.partitions()) == 2


def test_strings_compare_by_utf8_bytes_and_are_never_normalized(tmp_path: Path) -> None:
    """Beyond the basic plane UTF-16 sorts differently; é composed and decomposed are two values."""
    values = ["\uffff", "\U0001f600", "é", "e\u0301", "Z", "a"]
    table = table_of(tmp_path, {"p": (pa.string(), values), "v": (pa.string(), values)})
    for column in ("p", "v"):
        assert found(table, f"{column} > '\uffff'") == [1]
        assert found(table, f"{column} = 'é'") == [2]
        assert found(table, f"{column} < 'a'") == [4]
    assert files(table, "p > '\uffff'") == files(table, "v > '\uffff'") == 1


def test_decimals_compare_exactly_across_scales(tmp_path: Path) -> None:
    """1.10 = 1.1, and nothing is rounded through a double."""
    values = [Decimal("1.10"), Decimal("1.11"), Decimal("99999999999999.99"), None]
    table = table_of(tmp_path, {"p": (pa.decimal128(16, 2), values)})
    assert (found(table, "p = 1.1"), files(table, "p = 1.1")) == ([0], 1)
    assert (found(table, "p = 1.105"), files(table, "p = 1.105")) == ([], 0)
    assert (found(table, "p > 1.105"), files(table, "p > 1.105")) == ([1, 2], 2)
    assert found(table, "p = 99999999999999.99") == [2]


def test_an_integer_column_and_a_fraction(tmp_path: Path) -> None:
    """`= 5.5` matches no integer, `> 5.5` begins at six."""
    table = table_of(tmp_path, {"p": (pa.int32(), [5, 6])})
    assert (found(table, "p = 5.5"), files(table, "p = 5.5")) == ([], 0)
    assert (found(table, "p > 5.5"), files(table, "p > 5.5")) == ([1], 1)
    assert found(table, "p < 5.5D") == [0]


def test_a_big_integer_and_a_double_compare_as_doubles(tmp_path: Path) -> None:
    """Spark converts the column to double: 2^53 + 1 then equals 2^53."""
    table = table_of(tmp_path, {"p": (pa.int64(), [2**53, 2**53 + 1, 2**53 + 2])})
    assert found(table, "p = 9007199254740992D") == [0, 1]
    assert found(table, "p = 9007199254740992") == [0]


def test_timestamps_are_instants_and_text_means_the_session_zone(tmp_path: Path) -> None:
    """The same text is another instant in another session's time zone."""
    stamps = [dt.datetime(2026, 5, 17, h, tzinfo=dt.UTC) for h in (0, 4, 12)]
    table = table_of(tmp_path, {"p": (pa.timestamp("us", "UTC"), stamps)})
    assert found(table, "p >= '2026-05-17 04:00:00'") == [1, 2]
    core_of(table).time_zone = "America/New_York"
    assert found(table, "p >= '2026-05-17 00:00:00'") == [1, 2]
    assert files(table, "p = TIMESTAMP '2026-05-17 00:00:00'") == 1
    assert found(table, "p = TIMESTAMP '2026-05-17 00:00:00+00:00'") == [0]


@pytest.mark.parametrize(
    ("where", "rows", "read"),
    [
        ("p LIKE 'ab%'", [0, 1], 2),
        ("p LIKE 'abc'", [0], 1),
        ("startswith(p, 'ab')", [0, 1], 2),
    ],
)
def test_like_is_a_prefix_only_without_wildcards_inside(tmp_path: Path, where: str, rows: list[int], read: int) -> None:
    """A plain prefix prunes."""
    table = table_of(tmp_path, {"p": (pa.string(), ["abc", "ab", "a_c", "b"])})
    assert (found(table, where), files(table, where)) == (rows, read)


@pytest.mark.parametrize(
    ("where", "rows"),
    [("p LIKE 'a_c%'", [0, 2]), ("p LIKE '%c'", [0, 2]), ("p LIKE 'a!_c' ESCAPE '!'", [2]), ("p LIKE 'a\\\\_c'", [2])],
)
def test_like_with_anything_else_is_asked_of_each_tuple(tmp_path: Path, where: str, rows: list[int]) -> None:
    """`_`, an escape or a leading % is no range, so every value is tried; by statistics nothing is pruned by it."""
    table = table_of(tmp_path, {"p": (pa.string(), ["abc", "ab", "a_c", "b"])})
    assert (found(table, where), files(table, where)) == (rows, len(rows))
    table.evolve(drop="p")
    table.compact()
    assert files(table, where) == len(table.files())


def test_correlated_tuples(tmp_path: Path) -> None:
    """{(A,1),(B,2)} in one file holds no (A,2): pruned by tuple, although each column has both values."""
    schema = pa.schema([("app", pa.string()), ("r", pa.int32()), ("n", pa.int64())])
    table = coalesce.create(tmp_path, schema, partition_by=["app", "r"], rule=coalesce.small("app", "r"))
    table.append(pa.table({"app": ["A", "B"], "r": [1, 2], "n": [0, 1]}, schema=schema))
    assert len(table.files()) == 1
    assert files(table, "app = 'A' AND r = 2") == 0
    assert found(table, "app = 'A' AND r = 1") == [0]


def test_four_values_that_others_confuse(tmp_path: Path) -> None:
    """NULL, '', '[#small]' and '__HIVE_DEFAULT_PARTITION__' are four logical partitions, shared or not."""
    values = [None, "", "[#small]", "__HIVE_DEFAULT_PARTITION__"]
    for name, rule in (("alone", coalesce.keep_all()), ("shared", coalesce.small("p"))):
        schema = pa.schema([("p", pa.string()), ("n", pa.int64())])
        table = coalesce.create(tmp_path / name, schema, partition_by=["p"], rule=rule)
        table.append(pa.table({"p": values, "n": range(4)}, schema=schema))
        assert [p.values for p in table.partitions()] == [{"p": value} for value in values]
        assert found(table, "p IS NULL") == [0]
        for i, value in enumerate(values[1:], start=1):
            assert found(table, f"p = '{value}'") == [i]


def test_the_groups_name_is_an_ordinary_literal(tmp_path: Path) -> None:
    """`app = '[#small]'` asks for that string, not for the physical group."""
    schema = pa.schema([("app", pa.string())])
    table = coalesce.create(tmp_path, schema, partition_by=["app"], rule=coalesce.small("app"))
    table.append(pa.table({"app": ["A", "B"]}, schema=schema))
    assert files(table, "app = '[#small]'") == 0
    assert files(table, "app = 'A'") == 1


@pytest.mark.parametrize(
    "loss",
    [
        {"tuples": None, "tuple_rows": None, "physical_key": None, "statistics": {}},
        {"complete": False, "physical_key": None, "statistics": {}},
        {"tuples": (), "tuple_rows": (), "physical_key": None, "statistics": {}},
        {"tuples": (("x",),), "tuple_rows": (0,), "physical_key": None, "statistics": {}},
        {"tuples": (("x",),), "tuple_rows": (7,), "physical_key": None, "statistics": {}},
    ],
    ids=["no tuples", "incomplete", "empty list on a file with rows", "counts too low", "counts too high"],
)
def test_missing_or_contradictory_metadata_keeps_the_file(tmp_path: Path, loss: dict[str, object]) -> None:
    """What is unknown never prunes, and an entry that contradicts itself is unknown."""
    table = damaged(table_of(tmp_path, {"p": STRINGS}), **loss)
    assert files(table, "p = 'a'") == 3
    assert found(table, "p = 'a'") == [0]
    assert table.count("p = 'a'") == 1


@pytest.mark.parametrize("complete", [True, False])
def test_a_physical_key_and_statistics_that_disagree_say_nothing(tmp_path: Path, complete: bool) -> None:
    """One of them is wrong about the column, and nobody knows which: whatever is asked of it, the file is read.

    Whether the entry lists tuples that are not all there are, or none at all.
    """
    statistics = {1: ColumnStatistics(lower="b", upper="b", null_count=0)}
    tuples = None if complete else (("a",),)
    table = damaged(
        table_of(tmp_path, {"p": (pa.string(), ["a"])}),
        tuples=tuples, tuple_rows=None, complete=complete, statistics=statistics,
    )  # fmt: skip
    for where in ("p = 'a'", "p = 'b'", "p <> 'a'", "p > 'a'", "NOT p = 'b'", "p IN ('a', 'c')"):
        assert files(table, where) == 1, where
    assert found(table, "p = 'a'") == [0]
    assert found(table, "p = 'a' AND n = 0") == [0]


def test_without_tuples_the_physical_key_still_prunes(tmp_path: Path) -> None:
    """A file in a directory of its own holds that value only."""
    table = damaged(table_of(tmp_path, {"p": STRINGS}), tuples=None, tuple_rows=None, statistics={})
    assert (found(table, "p = 'a'"), files(table, "p = 'a'")) == ([0], 1)


@pytest.mark.parametrize(
    "statistics",
    [
        ColumnStatistics(),
        ColumnStatistics(lower=9, upper=0, null_count=0),
        ColumnStatistics(lower=0, null_count=0),
        ColumnStatistics(null_count=99),
    ],
    ids=["none", "inverted bounds", "no upper bound", "more NULLs than rows"],
)
def test_missing_or_inverted_statistics_keep_the_file(tmp_path: Path, statistics: ColumnStatistics) -> None:
    """Bounds that cannot be true say nothing."""
    table = table_of(tmp_path, {"p": STRINGS})
    column = table.schema.field("n").id
    damaged(table, statistics={column: statistics})
    assert files(table, "n = 2") == 3
    assert found(table, "n = 2") == [2]


def test_unknown_nan_count_keeps_what_is_above_the_upper_bound(tmp_path: Path) -> None:
    """NaN lies above every upper bound, so without a NaN count the bound says nothing upwards."""
    table = table_of(tmp_path, {"p": STRINGS, "v": (pa.float64(), [1.0, 2.0, math.nan])})
    column = table.schema.field("v").id
    damaged(table, statistics={column: ColumnStatistics(lower=0.0, upper=2.0, null_count=0)})
    assert found(table, "v > 5") == [2]
    assert files(table, "v < 0") == 0


def test_old_specs_and_rules_judge_their_own_files(tmp_path: Path) -> None:
    """Each file is judged by the spec it was written under: day, then month, then the plain column."""
    schema = pa.schema([("ts", pa.timestamp("us")), ("n", pa.int64())])
    table = coalesce.create(tmp_path, schema, partition_by=["day(ts)"])
    stamps = [dt.datetime(2026, m, d) for m in (1, 2) for d in (1, 15)]
    table.append(pa.table({"ts": stamps, "n": range(4)}, schema=schema))
    assert files(table, "ts >= TIMESTAMP_NTZ '2026-02-10 00:00:00'") == 1
    assert found(table, "ts >= TIMESTAMP_NTZ '2026-02-10 00:00:00'") == [3]


def test_names_are_resolved_as_spark_does(tmp_path: Path) -> None:
    """Case does not matter by default, and matters when the session says so."""
    table = table_of(tmp_path, {"p": STRINGS})
    assert files(table, "P = 'a'") == 1
    core_of(table).case_sensitive = True
    with pytest.raises(coalesce.CoalesceError, match="P"):
        table.plan("P = 'a'")


def test_no_value_is_recovered_from_a_path(tmp_path: Path) -> None:
    """Values with every awkward character lie in escaped directories and are read from entries, not from names."""
    values = ["a/b", "a=b", "a%2Fb", "..", "a b", "é", "x" * 300]
    table = table_of(tmp_path, {"p": (pa.string(), values)})
    for i, value in enumerate(values):
        assert (found(table, f"p = '{value}'"), files(table, f"p = '{value}'")) == ([i], 1)


def test_unknown_functions_are_kept_and_never_guessed(tmp_path: Path) -> None:
    """A function is any outcome: it neither prunes nor frees, alone, negated or in an OR."""
    table = table_of(tmp_path, {"p": STRINGS})
    for where in ("soundex(p) = 'a'", "NOT soundex(p) = 'a'", "soundex(p) = 'a' OR p = 'b'"):
        assert files(table, where) == 3, where
    assert files(table, "soundex(p) = 'a' AND p = 'b'") == 1


def test_statistics_of_each_file_meet_its_tuples(tmp_path: Path) -> None:
    """`(p = 'a' AND n > 9) OR (p = 'b' AND n < 0)` is impossible in each file by tuple and statistics together."""
    table = table_of(tmp_path, {"p": STRINGS})
    where = "(p = 'a' AND n >= 1) OR (p = 'b' AND n < 1)"
    assert (found(table, where), files(table, where)) == ([], 0)


def test_alternatives_that_find_nothing(tmp_path: Path) -> None:
    """An OR whose every part is impossible by the values there are reads no file."""
    table = table_of(tmp_path, {"p": (pa.int32(), [1, 2])})
    assert files(table, "p IS NULL OR p = 7") == 0
    assert found(table, "p IS NULL OR p = 7 OR p = 2") == [1]


def entry(table: Table) -> DataFile:
    """The only entry of a table with one file."""
    (only,) = table.files()
    return only


def test_long_strings_have_cut_bounds_that_still_hold(tmp_path: Path) -> None:
    """Bounds of long strings are cut outwards: nothing inside is lost."""
    values = ["a" * 100, "a" * 99 + "b", "\U0010ffff" * 50]
    table = table_of(tmp_path, {"v": (pa.string(), values)}, partition_by=())
    for i, value in enumerate(values):
        assert found(table, f"v = '{value}'") == [i]
    statistics = entry(table).statistics[table.schema.field("v").id]
    assert isinstance(statistics.lower, str)
    assert len(statistics.lower) < 100


def test_alternatives_of_which_one_is_no_partition_value(tmp_path: Path) -> None:
    """Among many tuples those of `p = …` are found by search; a row that satisfies the other condition may be anywhere.

    And what two conditions find is there once.
    """
    values = [f"a{i:02}" for i in range(40)]
    table = table_of(tmp_path, {"p": (pa.string(), values)})
    assert found(table, "p = 'a01' OR n = 17") == [1, 17]
    assert found(table, "p = 'a01' OR p IS NULL OR n = 17") == [1, 17]
    assert found(table, "p = 'a01' OR p LIKE 'a01%' OR p < 'a03'") == [0, 1, 2]
    assert table.count("p = 'a01' OR (p >= 'a01' AND p < 'a02') OR p < 'a03'") == 3
    assert files(table, "p = 'a01' OR p < 'a03'") == 3


def test_null_beside_values_in_one_manifest(tmp_path: Path) -> None:
    """Bounds of a manifest are those of its values; NULL is there besides."""
    table = table_of(tmp_path, {"p": (pa.int64(), [7, None, 9])})
    table.append(pa.table({"p": pa.array([1], pa.int64()), "n": [3]}))
    assert (found(table, "p IS NULL"), files(table, "p IS NULL")) == ([1], 1)
    assert found(table, "p IS NULL OR p = 1") == [1, 3]


def test_a_group_says_nothing_where_tuples_are_unknown(tmp_path: Path) -> None:
    """It is not NULL, nor any other value: all of it has to be read."""
    table = coalesce.create(
        tmp_path, pa.schema([("p", pa.string()), ("n", pa.int64())]), partition_by=["p"], rule=coalesce.small("p")
    )
    table.append(pa.table({"p": ["a", "b", None], "n": [0, 1, 2]}))
    damaged(table, tuples=None, tuple_rows=None, complete=False, statistics={})
    assert [found(table, where) for where in ("p = 'a'", "p IS NULL", "p > 'a'")] == [[0], [2], [1]]


@pytest.mark.parametrize("null_count", [2, 100])
def test_more_nulls_than_rows_are_unknown(tmp_path: Path, null_count: int) -> None:
    """Nonsense in statistics says nothing about the values."""
    table = table_of(tmp_path, {"p": (pa.string(), ["a"])})
    damaged(table, statistics={2: ColumnStatistics(lower=0, upper=0, null_count=null_count)})
    assert found(table, "n = 0") == [0]
    assert found(table, "n IS NOT NULL") == [0]
