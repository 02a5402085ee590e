"""Adopted directories through Spark: the rows that Spark itself finds there; jobs that rewrite files without ids."""

import shutil
import tempfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.transforms import IdentityTransform

import coalesce
from tests.fast import FAST
from tests.interop.adopt.lakes import NULL, digest, lay, rows_of
from tests.support.engines import by_jobs
from tests.support.examples import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("s", pa.string()),
        ("st", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ("f", pa.float64()),
    ]
)

# What a file may hold of each column: nothing, the narrow type or the wide one.
NUMBERS = st.sampled_from([None, pa.int8(), pa.int32(), pa.int64()])
FLOATS = st.sampled_from([None, pa.float32(), pa.float64()])
STRUCTS = st.sampled_from([None, pa.struct([("a", pa.int32())]), pa.struct([("b", pa.string()), ("a", pa.int64())])])
TEXTS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=6),
    st.sampled_from(["a/b", "%41", "a=b", "%", "%zz", "é", "𐀀", " ", ".", "..", "_x", "[#small]", "a:b", "NULL", "#"]),
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """A few rows of some of the columns, in some of the types."""
    count = draw(st.integers(1, 3))
    columns: dict[str, pa.Array] = {}
    number, float_, struct = draw(NUMBERS), draw(FLOATS), draw(STRUCTS)
    if number is not None:
        columns["n"] = pa.array(
            draw(st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=count, max_size=count)), number
        )
    if float_ is not None:
        some = st.sampled_from([None, 0.0, -0.0, 1.5, float("nan"), float("inf")])
        columns["f"] = pa.array(draw(st.lists(some, min_size=count, max_size=count)), float_)
    if struct is not None:
        values = {"a": 1, "b": "x"} if struct.num_fields == 2 else {"a": 2}
        columns["st"] = pa.array([draw(st.sampled_from([None, values])) for _ in range(count)], struct)
    columns["S" if draw(st.booleans()) else "s"] = pa.array(
        [draw(st.sampled_from([None, "", "x", "é"])) for _ in range(count)], pa.string()
    )
    return pa.table(columns)


FILES = st.lists(
    st.tuples(st.one_of(st.none(), TEXTS), st.one_of(st.none(), st.integers(-3, 3)), tables()), min_size=1, max_size=6
)


@settings(max_examples=examples(4))
@given(FILES)
@example(
    [
        ("a/b", 1, pa.table({"s": ["x"]})),
        (None, None, pa.table({"n": [1], "S": ["y"]})),
        ("%2F", 1, pa.table({"s": ["z"]})),
    ]
)
def test_the_rows_are_those_that_spark_finds(
    spark: "SparkSession", files: list[tuple[str | None, int | None, pa.Table]]
) -> None:
    """Awkward values, missing columns and narrower types; with Arrow, with Spark, and after a compaction by jobs."""
    gateway: Any = spark.sparkContext._jvm
    assert gateway is not None
    escape = gateway.org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils.escapePathName
    with tempfile.TemporaryDirectory(dir=FAST) as directory:
        root = Path(directory) / "lake"
        for number, (app, k, rows) in enumerate(files):
            app_name, k_name = (NULL if v is None else escape(str(v)) for v in (app, k))
            lay(root, {f"app={app_name}/k={k_name}/part-{number}.parquet": rows})
        before = digest(root)
        keys = pa.schema([("app", pa.string()), ("k", pa.int32())])
        given_schema = pa.schema([*SCHEMA, *keys])
        from pyspark.sql.pandas.types import from_arrow_schema

        theirs = spark.read.schema(from_arrow_schema(given_schema)).parquet(str(root))
        expected = rows_of(theirs.toArrow())
        table = coalesce.adopt(root, schema=given_schema, rule=coalesce.small("app", "k"), spark=spark).table
        assert rows_of(table.scan().to_arrow()) == expected
        assert rows_of(table.read().toArrow()) == expected
        some = next((app for app, _, _ in files if app is not None), None)
        if some is not None:
            assert table.count(coalesce.col("app") == some) == theirs.where(theirs.app == some).count()
        by_jobs(table, spark).compact()
        assert rows_of(table.scan().to_arrow()) == expected
        assert rows_of(table.read().toArrow()) == expected
        after = digest(root)
        assert {path: after[path] for path in before} == before


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two days of three apps, with files of several shapes, and one of old timestamps."""
    narrow = pa.table(
        {"n": pa.array([1, 2], pa.int32()), "s": ["x", "é"], "u": pa.array([1, 200], pa.uint8()), "st": [{"a": 1}] * 2}
    )
    wide = pa.table({"n": [3, 2**40], "s": ["x", None], "st": [{"a": 1, "b": "y"}] * 2, "l": [[1], None]})
    lay(tmp_path, {f"dt=2026-05-01/app={a}/p.parquet": narrow for a in ("web", "a%2Fb", NULL)})
    lay(tmp_path, {f"dt=2026-05-02/app={a}/p.parquet": wide for a in ("web", "c", NULL)})
    old = pa.table({"n": [5], "ts": [datetime(2026, 5, 1, 10)], "s": ["q"]})
    lay(tmp_path, {"dt=2026-05-03/app=old/p.parquet": old}, use_deprecated_int96_timestamps=True)
    return tmp_path


def test_jobs_rewrite_files_without_ids(spark: "SparkSession", lake: Path) -> None:
    """Delete, update, overwrite, merge and compact, by Spark jobs: the same as by Arrow, on a copy."""
    copy = lake.with_name(f"{lake.name}-copy")
    shutil.copytree(lake, copy)
    rule = coalesce.small("app")
    table = by_jobs(coalesce.adopt(lake, rule=rule, spark=spark).table, spark)
    other = coalesce.adopt(copy, rule=rule).table
    columns = list(other.schema.names)
    assert rows_of(table.read().toArrow()) == rows_of(other.scan().to_arrow())

    def same() -> None:
        expected = rows_of(other.scan().to_arrow().select(columns))
        assert rows_of(table.read().toArrow().select(columns)) == expected
        assert rows_of(table.scan().to_arrow().select(columns)) == expected

    table.delete("lower(s) = 'x' AND dt = DATE '2026-05-01'")
    other.delete("s = 'x' AND dt = DATE '2026-05-01'")
    same()
    table.update({"s": "concat(s, '!')"}, "app = 'web' AND n > 1")
    new = [
        row | {"s": f"{row['s']}!" if row["s"] else None}
        for row in other.scan("app = 'web' AND n > 1").to_arrow().to_pylist()
    ]
    other.upsert(pa.Table.from_pylist(new, other.scan().to_arrow().schema), ["dt", "app", "n"])
    same()
    rows = pa.table({"n": [9], "dt": [date(2026, 5, 3)], "app": ["old"], "ts": [datetime(2026, 5, 3, tzinfo=UTC)]})
    for one in (table, other):
        one.overwrite(rows, where="app = 'old'")
    same()
    for one in (table, other):
        one.compact()
        assert len(one.files()) < 7
        assert list(one.check(deep=True)) == []
    same()
    assert table.read().where("app IS NULL").count() == other.count("app IS NULL") > 0
    frame = spark.read.format("coalesce").load(str(lake))
    assert frame.where("ts = TIMESTAMP '2026-05-03 00:00:00'").count() == 1


def test_a_stream_begins_with_what_was_adopted(
    spark: "SparkSession", lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Version 0 has files here, which other tables' has not: a stream from it does not miss them."""
    table = coalesce.adopt(lake, spark=spark).table
    table.append(pa.table({"n": [70], "dt": [date(2026, 5, 9)], "app": ["new"]}))
    for number, (starting, expected) in enumerate([(None, 14), ("0", 14), ("1", 1)]):
        reader = spark.readStream.format("coalesce")
        reader = reader if starting is None else reader.option("startingVersion", starting)
        query = (
            reader.load(str(lake))
            .select("n", "app")
            .writeStream.format("memory")
            .queryName(f"adopted_{number}")
            .option("checkpointLocation", str(tmp_path_factory.mktemp("checkpoint")))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        assert spark.table(f"adopted_{number}").count() == expected, starting


def test_delta_and_iceberg_tables(spark: "SparkSession", tmp_path: Path) -> None:
    """The rows that their own readers give, through Spark, before and after jobs have compacted them."""
    rows = pa.table(
        {
            "app": ["a", "b", "x/y", None],
            "dt": [date(2026, 5, 1)] * 3 + [date(2026, 5, 2)],
            "n": [1, 2, 3, 4],
            "ts": pa.array([1, 2, 3, 4], pa.timestamp("us", "UTC")),
            "st": [{"a": 1, "l": [{"q": 1}]}] * 4,
        }
    )
    write_deltalake(tmp_path / "delta", rows, partition_by=["dt", "app"])
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("db")
    iceberg = catalog.create_table("db.t", rows.schema)
    with iceberg.update_spec() as spec:
        spec.add_field("app", IdentityTransform())
    iceberg.append(rows)
    with iceberg.update_schema() as schema:
        schema.rename_column("n", "number")
    expected = {
        tmp_path / "delta": DeltaTable(tmp_path / "delta").to_pyarrow_table(),
        tmp_path / "db/t": iceberg.scan().to_arrow(),
    }
    for place, theirs in expected.items():
        table = coalesce.adopt(place, rule=coalesce.small("app"), spark=spark).table
        columns = theirs.column_names
        assert rows_of(table.read().toArrow().select(columns)) == rows_of(theirs)
        number = "number" if "number" in columns else "n"
        assert table.read().where(f"{number} = 3 AND app = 'x/y'").count() == 1
        by_jobs(table, spark).delete(f"abs({number}) = 3")
        table.compact()
        left = theirs.filter(pc.not_equal(theirs.column(number), 3))
        assert rows_of(table.read().toArrow().select(columns)) == rows_of(left)
        assert rows_of(table.scan().to_arrow().select(columns)) == rows_of(left)
        assert list(table.check(deep=True)) == []
