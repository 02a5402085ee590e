from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import arrow_schema
from coalesce.model.rule import Group, RuleRequest
from coalesce.table.table import Table, core_of
from tests.arrow.generated import Generated, plain_rows, tables
from tests.builders import make_plan_over, make_snapshot
from tests.checker import check_files
from tests.spark.frames import content, frame_of, stored
from tests.support.engines import NOTHING, by_jobs
from tests.support.examples import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAYS = [date(2026, 5, 1), date(2026, 5, 2)]
SCHEMA = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("k", pa.int64()), ("v", pa.float64())])

Make = Callable[..., Table]


def events(count: int, apps: list[str | None], start: int = 0) -> pa.Table:
    """Rows of two days and some apps in turn; `k` is a row's number."""
    numbers = range(start, start + count)
    return pa.table(
        {
            "dt": [DAYS[i // len(apps) % 2] for i in numbers],
            "app": [apps[i % len(apps)] for i in numbers],
            "k": list(numbers),
            "v": [i / 7 for i in numbers],
        },
        schema=SCHEMA,
    )


@pytest.fixture(params=["here", "jobs"])
def make(spark: "SparkSession", tmp_path: Path, request: pytest.FixtureRequest) -> Make:
    """Makes tables that Spark writes to: what is little, in the driver, or everything by jobs."""

    def make_table(
        schema: pa.Schema = SCHEMA,
        partition_by: tuple[str, ...] = ("dt", "app"),
        rule: RuleRequest | None = None,
        **properties: str,
    ) -> Table:
        named = {f"write.{name.replace('_', '-')}": value for name, value in properties.items()}
        made = coalesce.create(
            tmp_path / "t", schema, partition_by=partition_by, rule=rule, properties=named, spark=spark
        )
        return by_jobs(made, spark) if request.param == "jobs" else made

    return make_table


# --- what is in the files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("work", ["here", "read here", "jobs"])
def test_any_rows_come_back_and_entries_say_what_is_in_the_files(
    spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory, work: str
) -> None:
    """Tables of any types, partitioned in any way: rows survive bit for bit, and a second opinion confirms entries."""
    from coalesce.spark.write.here import HERE, Here
    from coalesce.spark.write.report import WriteReport
    from coalesce.spark.write.writer import write

    read = NOTHING if work == "jobs" else HERE.read
    here = HERE if work == "here" else Here(write=NOTHING, read=read)

    @given(tables())
    @settings(max_examples=examples(7), phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck))
    def check(generated: Generated) -> None:
        version = generated.version
        snapshot = make_snapshot(tmp_path_factory.mktemp("table"), version)
        files = write(snapshot, frame_of(spark, generated.rows, version.schema), WriteReport(), here)
        check_files(snapshot.storage, version, files)
        assert sum(f.rows for f in files) == generated.rows.num_rows
        found = ArrowEngine().scan(snapshot, make_plan_over(version, files), None).to_arrow()
        assert sorted(plain_rows(found)) == sorted(plain_rows(generated.rows))
        assert {f.path for f in snapshot.storage.list("")} == {f.path for f in files}

    check()


def test_small_logical_partitions_share_and_large_ones_are_alone(spark: "SparkSession", make: Make) -> None:
    """Under a rule by size the apps with little data lie in one file a day, each big one in files of its own."""
    table = make(rule=coalesce.small("app", below="15KB"), target_file_bytes="15KB")
    rows = pa.concat_tables([events(300, [f"s{i}" for i in range(30)]), events(20_000, ["big"], start=1000)])

    table.append(frame_of(spark, rows))

    check_files(core_of(table).storage, table.state, table.files())
    small = Group("[#small]")
    keys = {f.physical_key for f in table.files()}
    assert keys == {(20574, small), (20575, small), (20574, "big"), (20575, "big")}
    shared = [f for f in table.files() if f.physical_key == (20574, small)]
    assert len(shared) == 1
    assert len(shared[0].tuples or ()) == 30
    alone = sorted(f.bytes for f in table.files() if f.physical_key == (20574, "big"))
    assert len(alone) > 2
    assert alone[0] > alone[-1] / 2, "a big tuple is split evenly"
    assert content(table) == sorted(plain_rows(rows))


def test_bounds_of_decimals_on_either_side_of_eighteen_digits(spark: "SparkSession", make: Make) -> None:
    """Parquet holds up to 18 digits as an integer of the machine and more as bytes in network order."""
    values = [Decimal("-1.25"), Decimal("300.50"), None]
    table = make(pa.schema([(f"d{n}", pa.decimal128(n, 2)) for n in (9, 10, 17, 18, 19, 38)]), ())
    rows = pa.table(dict.fromkeys(table.schema.names, values), schema=arrow_schema(table.schema))
    table.append(frame_of(spark, rows))
    (file,) = table.files()
    bounds = {(s.lower, s.upper, s.null_count) for s in file.statistics.values()}
    assert bounds == {(Decimal("-1.25"), Decimal("300.50"), 1)}
    assert len(file.statistics) == 6
    assert [table.count(f"{name} = 300.50") for name in table.schema.names] == [1] * 6


def test_files_are_what_the_format_says(spark: "SparkSession", make: Make) -> None:
    """Physical directories, ids, partition columns last, whole timestamps, zstd, page indexes, rows in tuple order."""
    schema = pa.schema(
        [("app", pa.string()), ("at", pa.timestamp("us", "UTC")), ("in", pa.struct([("a", pa.int32())]))]
    )
    table = make(schema, ("app",), coalesce.small("app"))
    rows = pa.table(
        {
            "app": ["b", "a", None, "b", ""],
            "at": [datetime(2026, 5, 1, tzinfo=UTC)] * 5,
            "in": [{"a": 1}, None, {"a": None}, {"a": 2}, {"a": 3}],
        },
        schema=schema,
    )

    table.append(frame_of(spark, rows))

    (file,) = table.files()
    directory, name = file.path.rsplit("/", 1)
    assert directory.split("/")[2:] == ["_app=%5B%23small%5D"]
    assert stored(table) == {file.path}, "neither checksums nor markers stay behind"
    parquet = pq.ParquetFile(core_of(table).storage.open_input(file.path))
    assert [(f.name, f.metadata[b"PARQUET:field_id"]) for f in parquet.schema_arrow] == [
        ("at", b"2"),
        ("in", b"3"),
        ("app", b"1"),
    ]
    assert parquet.schema_arrow.field("in").type.field("a").metadata[b"PARQUET:field_id"] == b"4"
    assert parquet.schema_arrow.field("at").type == pa.timestamp("us", "UTC")
    chunk = parquet.metadata.row_group(0).column(0)
    assert chunk.physical_type == "INT64"
    assert chunk.compression == "ZSTD"
    assert chunk.has_column_index
    assert parquet.read().column("app").to_pylist() == [None, "", "a", "b", "b"]
    assert file.tuples == ((None,), ("",), ("a",), ("b",))
    assert file.tuple_rows == (1, 1, 1, 2)
    assert name.endswith(".parquet")


def test_a_table_without_partition_fields(spark: "SparkSession", make: Make) -> None:
    """Rows without any tuple but the empty one are spread over files of the target size."""
    table = make(partition_by=(), target_file_bytes="20KB")
    rows = events(12_000, ["A", "B"])

    table.append(frame_of(spark, rows))

    check_files(core_of(table).storage, table.state, table.files())
    assert len(table.files()) > 2
    assert content(table) == sorted(plain_rows(rows))


def test_values_that_make_awkward_directories(spark: "SparkSession", make: Make) -> None:
    """Paths are for people: no value is too long, too strange or too empty to have one, and none is mixed up."""
    apps = ["", None, "a/b", "../up", "x" * 400, "a\0b", "größe 🙂", "[#small]", "__HIVE_DEFAULT_PARTITION__", "a=%b "]
    table = make(partition_by=("app",))
    rows = events(40, apps)

    table.append(frame_of(spark, rows))

    check_files(core_of(table).storage, table.state, table.files())
    assert {f.physical_key for f in table.files()} == {(app,) for app in apps}
    for app in apps:
        wanted = [row for row, a in zip(plain_rows(rows), rows.column("app").to_pylist(), strict=True) if a == app]
        predicate = coalesce.col("app").is_null() if app is None else coalesce.col("app") == app
        assert sorted(plain_rows(table.scan(predicate).to_arrow())) == sorted(wanted)


def test_more_tuples_than_an_entry_lists(spark: "SparkSession", make: Make) -> None:
    """Past a hundred thousand tuples a file is divided, so that every entry still lists all of its own."""
    from pyspark.sql import functions as F  # noqa: N812

    schema = pa.schema([("app", pa.string()), ("k", pa.int64())])
    table = make(schema, ("app",), coalesce.small("app"))

    table.append(spark.range(120_000).select(F.format_string("a%06d", "id").alias("app"), F.col("id").alias("k")))

    assert [f.complete for f in table.files()] == [True, True]
    assert sum(len(f.tuples or ()) for f in table.files()) == 120_000
    assert table.count("app = 'a000077'") == 1
    assert table.plan("app = 'a000077'").file_count == 1


# --- what does not fit -------------------------------------------------------------------------------------------


def test_everything_wrong_with_a_schema_is_said_at_once(spark: "SparkSession", make: Make) -> None:
    """Unknown, missing, twice-named and wrongly typed columns are one error, and nothing is written."""
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("app", pa.string()), ("n", pa.int32())])
    table = make(schema, ("app",))
    frame = spark.createDataFrame([("x", 1, 1.5, 2)], "aap string, App int, n double, APP int")

    with pytest.raises(SchemaError) as raised:
        table.append(frame)

    message = str(raised.value)
    assert "no column 'aap' in the table; did you mean 'app'?" in message
    assert "column 'id' is required and missing" in message
    assert "column 'n' is double, which does not widen to the table's int32" in message
    assert "column 'APP' is there twice" in message
    assert table.version == 0
    assert stored(table) == set()


@pytest.mark.parametrize("layout", ["counted", "known"])
def test_null_in_a_required_column_is_refused(spark: "SparkSession", make: Make, layout: str) -> None:
    """NULLs where there may be none are counted and refused before anything is written, nested ones too."""
    element = pa.field("element", pa.int32(), nullable=False)
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("app", pa.string()), ("l", pa.list_(element))])
    table = make(schema, ("app",))
    frame = spark.createDataFrame(
        [(1, "a", [1]), (None, "a", None), (None, "b", [2, None]), (4, "b", [])], "id long, app string, l array<int>"
    )

    with pytest.raises(SchemaError, match=r"'id' is required and has 2 NULLs[^$]*'l.element' is required and has 1 N"):
        table.append(frame, layout=layout)

    assert stored(table) == set()
    table.append(frame.where("id IS NOT NULL"), layout=layout)
    assert table.count() == 2


def test_missing_columns_hold_their_default_or_are_refused(spark: "SparkSession", make: Make) -> None:
    """A partition column has to be there unless it has a default; other columns and members without one are NULL."""
    table = make(pa.schema([("app", pa.string()), ("n", pa.int64()), ("s", pa.struct([("x", pa.int64())]))]), ("app",))
    table.add_column("d", "date", default="2026-05-17", required=True)
    table.add_column("s.y", "string", default="it's")
    frame = spark.sql("SELECT 'a' AS app, named_struct('x', 1L) AS s")
    with pytest.raises(SchemaError, match="partition column 'app' is missing"):
        table.append(frame.drop("app"))
    with pytest.raises(SchemaError, match="partition column 'app' is missing"):
        table.overwrite_partitions(frame.drop("app"))
    assert stored(table) == set()
    table.evolve(drop="app", add="d")
    table.append(frame)
    (row,) = table.scan().to_arrow().to_pylist()
    assert row == {"app": "a", "n": None, "s": {"x": 1, "y": "it's"}, "d": date(2026, 5, 17)}
    assert [f.tuples for f in table.files()] == [((20_590,),)]


def test_columns_are_matched_by_name_at_every_level(spark: "SparkSession", make: Make) -> None:
    """Order and case do not matter, narrower types widen, what is missing and may be NULL is."""
    inner = pa.struct([("a", pa.int64()), ("b", pa.string())])
    schema = pa.schema(
        [("id", pa.int64()), ("app", pa.string()), ("s", inner), ("l", pa.list_(inner)), ("d", pa.date32())]
    )
    table = make(schema, ("app",))

    table.append(
        spark.sql(
            "SELECT array(named_struct('B', 'y', 'a', 2)) AS l, named_struct('b', 'x') AS S, 'A' AS APP, 7 AS id, "
            "NULL AS d"
        )
    )

    (row,) = table.scan().to_arrow().to_pylist()
    assert row == {"id": 7, "app": "A", "s": {"a": None, "b": "x"}, "l": [{"a": 2, "b": "y"}], "d": None}


def test_types_that_no_table_holds_are_refused(spark: "SparkSession", tmp_path: Path) -> None:
    """Intervals, variants, collated strings and CHAR are named with the column and a way out."""
    for column, advice in {
        "INTERVAL 1 DAY": "cast it to string",
        "parse_json('1')": "to_json",
        "collate('x', 'UNICODE_CI')": "UTF8_BINARY",
        "NULL": "cast it to the type",
    }.items():
        with pytest.raises(SchemaError, match=rf"column 'odd' is Spark's .*{advice}"):
            coalesce.create(tmp_path / "no", spark.sql(f"SELECT {column} AS odd").schema, spark=spark)
    spark.sql("CREATE OR REPLACE TEMPORARY VIEW nothing AS SELECT 1 AS x")
    from pyspark.sql.types import CharType, StructField, StructType

    with pytest.raises(SchemaError, match=r"column 'odd' is Spark's char\(3\).*STRING"):
        coalesce.create(tmp_path / "no", StructType([StructField("odd", CharType(3))]), spark=spark)


# --- appends -----------------------------------------------------------------------------------------------------


def test_an_empty_frame_adds_nothing(spark: "SparkSession", make: Make) -> None:
    """No rows, no files; and the write still counts as one that was made."""
    table = make()

    table.append(frame_of(spark, events(0, ["A"])), applies=("app", 1))

    assert table.files() == ()
    assert stored(table) == set()
    assert table.state.applied == {"app": 1}


def test_a_known_layout_counts_nothing(spark: "SparkSession", make: Make) -> None:
    """By history, big tuples are alone and small ones share, those never seen before too; no pass is made first."""
    table = make(rule=coalesce.small("app", below="200KB"), target_file_bytes="400KB")
    first = pa.concat_tables([events(80_000, ["big"]), events(30_000, ["s1", "s2", "s3"], start=100_000)])
    table.append(frame_of(spark, first))
    more = pa.concat_tables(
        [events(8_000, ["big"], start=200_000), events(3_000, ["s1", "s2", "new", None], start=300_000)]
    )
    path = table.location + "-more"
    frame_of(spark, more).write.parquet(path)

    before = {f.path for f in table.files()}
    table.append(spark.read.parquet(path), layout="known")

    added = [f for f in table.files() if f.path not in before]
    check_files(core_of(table).storage, table.state, added)
    keys = {f.physical_key for f in added}
    assert keys == {(d, p) for d in (20574, 20575) for p in ("big", Group("[#small]"))}
    assert content(table) == sorted(plain_rows(pa.concat_tables([first, more])))


def test_a_tuple_does_not_flip_around_the_threshold(spark: "SparkSession", make: Make) -> None:
    """An app that has become large keeps its own files when it gets somewhat less, and shares when it gets little."""
    table = make(partition_by=("app",), rule=coalesce.small("app", below="30KB"))
    table.append(frame_of(spark, events(9_000, ["A"])))
    assert {f.physical_key for f in table.files()} == {("A",)}
    before = {f.path for f in table.files()}

    table.append(frame_of(spark, events(30, ["A", "B"], start=50_000)))

    assert {f.physical_key for f in table.files() if f.path not in before} == {("A",), (Group("[#small]"),)}


def test_a_frame_that_differs_each_time_is_still_written_whole(spark: "SparkSession", make: Make) -> None:
    """Rows of tuples that were not there when they were counted are written and described all the same."""
    from pyspark.sql import functions as F  # noqa: N812

    table = make(pa.schema([("app", pa.string()), ("k", pa.int64())]), ("app",), coalesce.small("app"))
    random = spark.range(500).select(F.uuid().alias("app"), F.col("id").alias("k"))

    table.append(random)

    check_files(core_of(table).storage, table.state, table.files())
    assert sorted(table.scan().to_arrow().column("k").to_pylist()) == list(range(500))


def test_a_failed_job_leaves_nothing(spark: "SparkSession", make: Make) -> None:
    """A row that cannot be computed fails the write: the table stays as it was, and its directory is gone."""
    table = make()
    table.append(frame_of(spark, events(10, ["A"])))
    before = stored(table)
    bad = frame_of(spark, events(100, ["A", "B"])).selectExpr("dt", "app", "k", "1 / (k - 57) AS v")

    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        table.append(bad)

    assert table.refresh().version == 1
    assert stored(table) == before


def test_strings_that_are_not_utf8(spark: "SparkSession", tmp_path: Path) -> None:
    """Their bounds are unknown and their rows are found; as partition values they are refused, and nothing is left."""
    rows = spark.sql("SELECT 'a' AS app, CAST(x AS STRING) AS s FROM VALUES (X'FFFE'), (X'6F6B') AS t(x)")
    table = coalesce.create(tmp_path / "t", rows.schema, partition_by=["app"], spark=spark)
    table.append(rows)
    (file,) = table.files()
    assert (file.statistics[2].lower, file.statistics[2].upper) in [("ok", None), (None, None)]
    # Asked for `s` itself, Spark's Parquet reader looks into the dictionary for what has become of it as UTF-16.
    assert table.read().where("hex(s) = 'FFFE'").count() == 1
    assert table.read().where("s > 'x'").count() == 1
    by_text = coalesce.create(tmp_path / "u", rows.schema, partition_by=["s"], spark=spark)
    for layout in ("counted", "known"):
        with pytest.raises(SchemaError, match="is not UTF-8, so it cannot be a partition value"):
            by_text.append(rows, layout=layout)
    assert not list((tmp_path / "u").rglob("*.parquet"))
