"""What people look at: Python values under names, as lists, tables and data frames."""

import pickle
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import SchemaError
from coalesce.table.listing import Listing

DAY, NEXT = date(2026, 5, 17), date(2026, 5, 18)
ROWS = pa.table({"dt": [DAY, DAY, NEXT], "app": ["A", None, "B"], "n": [1, 2, 3]})


@pytest.fixture
def table(tmp_path: Path) -> coalesce.Table:
    """Three rows, each a logical partition, in one file."""
    made = coalesce.create(tmp_path, ROWS.schema, partition_by=["dt", "app"], rule=coalesce.small("dt", "app"))
    made.append(ROWS)
    return made


def test_a_logical_partition_has_python_values_by_name(table: coalesce.Table) -> None:
    """A date, not its number of days; None for NULL."""
    listed = table.partitions()
    assert [p.values for p in listed] == [
        {"dt": DAY, "app": None},
        {"dt": DAY, "app": "A"},
        {"dt": NEXT, "app": "B"},
    ]
    assert {(p.files, p.rows) for p in listed} == {(1, 1)}
    assert table.drop_partition(listed[1].values).rows_removed == 1


def test_transforms_go_by_their_own_names(tmp_path: Path) -> None:
    """A day is a date, an hour is a number, a timestamp has its zone."""
    moment = datetime(2026, 5, 17, 8, 30, tzinfo=UTC)
    rows = pa.table({"ts": pa.array([moment], pa.timestamp("us", "UTC"))})
    table = coalesce.create(tmp_path, rows.schema, partition_by=["day(ts)", "hour(ts)", "ts"])
    table.append(rows)
    (partition,) = table.partitions()
    hours = (moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() // 3600
    assert partition.values == {"ts_day": DAY, "ts_hour": hours, "ts": moment}


def test_a_file_says_which_logical_partitions_it_holds(table: coalesce.Table) -> None:
    """The same values, from the table and from a plan; what is not known is None."""
    expected = ({"dt": DAY, "app": None}, {"dt": DAY, "app": "A"}, {"dt": NEXT, "app": "B"})
    (file,) = table.files()
    assert file.partitions == table.plan("n > 0").files[0].partitions == expected
    assert coalesce.DataFile(path="p", spec_id=0, rows=1, bytes=1).partitions is None


def test_listings_turn_into_arrow_and_pandas(table: coalesce.Table) -> None:
    """A row for each member, with the columns' own types, also where there are none."""
    partitions = table.partitions().to_arrow()
    assert partitions.select(["dt", "app", "files", "rows"]).to_pydict() == {
        "dt": [DAY, DAY, NEXT], "app": [None, "A", "B"], "files": [1, 1, 1], "rows": [1, 1, 1]
    }  # fmt: skip
    assert partitions.schema.field("dt").type == pa.date32()
    assert table.partitions().to_pandas()["rows"].sum() == 3
    assert table.partitions("app = 'Z'").to_arrow().schema.names[-4:] == ["files", "rows", "bytes", "spec_id"]
    (file,) = table.files().to_arrow().to_pylist()
    assert (file["rows"], file["partitions"][0], file["added_version"]) == (3, {"dt": DAY, "app": None}, 1)
    assert table.files("app = 'Z'").to_arrow().num_rows == 0
    history = table.history().to_pandas()
    assert list(history["version"]) == [1, 0]
    assert list(history["operation"]) == ["append", "create"]
    assert history["rows_added"][0] == 3
    assert table.files().to_polars()["rows"].sum() == 3
    assert pa.table(table.history()).num_rows == 2  # by Arrow's own interface for streams


def test_fields_of_one_name_and_fields_called_like_a_count(tmp_path: Path) -> None:
    """Each has a column of its own: `k` was an integer and is a text, and `rows` is a partition field too."""
    table = coalesce.create(tmp_path, pa.schema([("k", pa.int64()), ("rows", pa.int64())]), partition_by=["k", "rows"])
    table.append(pa.table({"k": [1], "rows": [7]}))
    table.evolve(drop="k")
    table.drop_column("k")
    table.add_column("k", "string")
    table.evolve(add="k")
    table.append(pa.table({"k": ["a"], "rows": [8]}))
    found = table.partitions().to_arrow()
    assert found.select(["k", "k (int64)", "rows (partition field)", "rows", "spec_id"]).to_pylist() == [
        {"k": None, "k (int64)": 1, "rows (partition field)": 7, "rows": 1, "spec_id": 0},
        {"k": "a", "k (int64)": None, "rows (partition field)": 8, "rows": 1, "spec_id": 2},
    ]
    assert table.partitions("k = 'Z'").to_arrow().schema == found.schema
    assert table.files("k = 'Z'").to_arrow().schema == table.files().to_arrow().schema
    assert [f["partitions"] for f in table.files().to_arrow().to_pylist()] == [
        [{"k": None, "rows": 7, "k (int64)": 1}],
        [{"k": "a", "rows": 8, "k (int64)": None}],
    ]


def test_a_listing_of_nothing_has_the_same_columns(table: coalesce.Table) -> None:
    """Whether no member matches, or the table holds none: so that frames of several tables can be put together."""
    listed, files = table.partitions().to_arrow().schema, table.files().to_arrow().schema
    assert listed.names == ["dt", "app", "files", "rows", "bytes", "spec_id"]
    assert table.partitions("app = 'Z'").to_arrow().schema == listed
    assert table.files("app = 'Z'").to_arrow().schema == files
    table.truncate()
    assert table.partitions().to_arrow().schema == listed
    assert table.files().to_arrow().schema == files
    assert list(table.partitions().to_pandas()["dt"]) == []


def test_listings_can_be_sent(table: coalesce.Table) -> None:
    """Pickled, they are the same lists, and turn into the same tables."""
    for listed in (table.partitions(), table.files(), table.history()):
        copy = pickle.loads(pickle.dumps(listed))
        assert copy == listed
        assert copy.to_arrow() == listed.to_arrow()


def test_dates_that_python_does_not_have(tmp_path: Path) -> None:
    """A year of five digits is a number of days among Python's values, and a time of NumPy's in a data frame."""
    far = pa.array([3_000_000, None], pa.int32()).view(pa.date32())
    table = coalesce.create(tmp_path, pa.schema([("p", pa.date32())]), partition_by=["p"])
    table.append(pa.table({"p": far}))
    assert [p.values["p"] for p in table.partitions()] == [None, 3_000_000]
    assert table.drop_partition(p=None).rows_removed == 1
    for frame in (table.partitions().to_pandas(), table.scan().to_pandas()):
        assert [str(v)[:11] for v in frame["p"].to_numpy()] == ["10183-09-21"]
    nested = pa.table({"l": pa.array([[3_000_000]], pa.list_(pa.int32())).cast(pa.list_(pa.date32()))})
    other = coalesce.create(tmp_path / "nested", nested.schema)
    other.append(nested)
    with pytest.raises(SchemaError, match=r"which Python has no date for; take the rows by to_arrow\(\)"):
        other.scan().to_pandas()


def test_a_table_without_partition_fields_is_one_logical_partition(tmp_path: Path) -> None:
    """It has no values, and can be shown and tabulated all the same."""
    table = coalesce.create(tmp_path, ROWS.schema)
    table.append(ROWS)
    assert [p.values for p in table.partitions()] == [{}]
    assert table.partitions().to_arrow().column("rows").to_pylist() == [3]
    assert table.files().to_arrow().num_rows == 1
    assert "not partitioned" in repr(table.partitions()[0])


def test_a_listing_is_a_sequence(table: coalesce.Table) -> None:
    """It is indexed, sliced, compared with lists, and a slice is a listing."""
    listed = table.partitions()
    assert listed[-1] == list(listed)[2]
    assert isinstance(listed[:2], Listing)
    assert listed[:2].to_arrow().num_rows == 2
    assert listed == table.partitions() == list(listed)
    assert listed != listed[:1]
    assert listed != "listing"
    assert table.partitions("app = 'Z'") == []


def test_what_is_shown_is_short(tmp_path: Path) -> None:
    """Ten lines of a thousand; a version, a plan, a file and a schema are a line each."""
    rows = pa.table({"k": range(1000), "v": ["x"] * 1000})
    table = coalesce.create(tmp_path, rows.schema, partition_by=["k"], rule=coalesce.small("k"))
    table.append(rows)
    shown = repr(table.partitions()).splitlines()
    assert (shown[0], shown[1].startswith("  <k=0: files: 1, rows: 1, bytes: "), shown[-1]) == (
        "[1,000]", True, "  … 990 more"
    )  # fmt: skip
    assert len(shown) == 12
    plan, state = table.plan("k = 1"), table.state
    shown_too = (table.scan("k = 1"), table.scan(columns=["k"]), plan.report, state.spec, state.rule)
    long = " OR ".join(f"v = '{n}'" for n in range(1000))
    for held in (state, plan, table.files()[0], table.schema, table.partitions()[0], *shown_too, table.plan(long)):
        assert len(repr(held)) < 200
        assert "\n" not in repr(held)
    assert repr(table.schema) == "<schema: k int64, v string>"
    assert repr(table.scan("k = 1", columns=["v"])) == "<scan of v: <plan for k = 1L: 1 of 1 files>>"
    assert repr(state.spec) == "<spec 0: k (identity)>"
    assert repr(table.state).startswith("<version 1: append at 20")
    wide = coalesce.create(tmp_path / "wide", pa.schema([(f"column_{i}", pa.int64()) for i in range(1000)]))
    assert len(repr(wide.schema)) < 500


def test_history_ends_where_the_table_was_opened(table: coalesce.Table) -> None:
    """What came later is not the history of an older version."""
    assert [v.number for v in table.at(version=0).history()] == [0]
    assert [v.number for v in table.history(limit=1)] == [1]
