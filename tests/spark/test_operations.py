"""Removing and replacing logical partitions with Spark: by metadata, in shared files, and across specs."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.arrow.read import open_file
from coalesce.errors import SchemaError
from coalesce.predicate.expr import Opaque
from coalesce.table.table import Table, core_of
from tests.arrow.generated import plain_rows
from tests.checker import check_files
from tests.spark.frames import content, frame_of, stored
from tests.support.engines import by_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = date(2026, 5, 17)
SCHEMA = pa.schema(
    [
        ("dt", pa.date32()),
        ("app", pa.string()),
        ("k", pa.int64()),
        ("v", pa.float64()),
        ("m", pa.map_("string", "int32")),
    ]
)


def events(apps: list[str | None], numbers: range, day: date = DAY) -> pa.Table:
    """A row for each number, apps in turn; the values include both zeros, NaN and NULL."""
    values = [0.0, -0.0, float("nan"), None, 1.5]
    return pa.table(
        {
            "dt": [day for _ in numbers],
            "app": [apps[i % len(apps)] for i in numbers],
            "k": list(numbers),
            "v": [values[i % 5] for i in numbers],
            "m": [[("x", i)] if i % 3 else None for i in numbers],
        },
        schema=SCHEMA,
    )


@pytest.fixture(params=["here", "job"])
def table(request: pytest.FixtureRequest, spark: "SparkSession", tmp_path: Path) -> Table:
    """A table whose small apps share a file; rewriting is done in the driver or by a Spark job."""
    made = coalesce.create(tmp_path / "t", SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"), spark=spark)
    return by_jobs(made, spark) if request.param == "job" else made


def raw_rows(table: Table, app: str) -> list[Any]:
    """The rows of an app as they lie in the files: the very bits of each value, by plain pyarrow."""
    found = []
    for file in table.files():
        rows = pq.read_table(pa.BufferReader(core_of(table).storage.read(file.path)), columns=["app", "k", "v"])
        bits = rows.column("v").combine_chunks().view(pa.int64()).to_pylist()
        columns = zip(rows.column("app").to_pylist(), rows.column("k").to_pylist(), bits, strict=True)
        found += [row for row in columns if row[0] == app]
    return sorted(found)


def test_the_neighbours_in_a_shared_file_stay_bit_for_bit(spark: "SparkSession", table: Table) -> None:
    """Overwriting, deleting and dropping A in a file it shares leaves every bit of B and C, and their row ids."""
    table.append(frame_of(spark, events(["A", "B", "C"], range(90))))
    assert len(table.files()) == 1
    before = {app: raw_rows(table, app) for app in "BC"}
    ids = row_ids(table)

    table.overwrite(frame_of(spark, events(["A"], range(100, 103))), "app = 'A'")
    assert sorted(table.scan("app = 'A'").to_arrow().column("k").to_pylist()) == [100, 101, 102]
    table.delete("app = 'A' AND k > 100")
    assert table.scan("app = 'A'").to_arrow().column("k").to_pylist() == [100]
    table.drop_partition(dt=DAY, app="A")

    assert table.count("app = 'A'") == 0
    assert {app: raw_rows(table, app) for app in "BC"} == before
    check_files(core_of(table).storage, table.state, table.files())
    assert {k: i for k, i in ids.items() if k % 3} == row_ids(table)


def row_ids(table: Table) -> dict[int, tuple[int, int]]:
    """For each row, by its `k`, its id and the version it was added in."""
    found: dict[int, tuple[int, int]] = {}
    for entry in table.files():
        with open_file(core_of(table).storage, entry, table.state) as file:
            lineage = file.lineage()
            assert lineage is not None
            keys = file.read([table.schema.field("k")], range(len(file.group_rows))).column("k").to_pylist()
            found |= dict(zip(keys, zip(*(c.to_pylist() for c in lineage.columns), strict=True), strict=True))
    return found


def test_a_file_of_which_nothing_goes_stays(spark: "SparkSession", table: Table) -> None:
    """Bounds of `k` say that either file may have the row; the one that has not is not written again."""
    table.append(frame_of(spark, events(["A", "B"], range(0, 100, 2))))
    table.append(frame_of(spark, events(["A", "B"], range(1, 101, 2))))
    even, odd = sorted((f for f in table.files()), key=lambda f: f.added_version or 0)

    table.delete("k = 51 OR app IS NULL")
    assert even in table.files()
    assert odd not in table.files()
    assert sorted(table.scan().to_arrow().column("k").to_pylist()) == [k for k in range(100) if k != 51]

    before = table.files()
    table.delete("k > 40 AND k < 42 AND v > 1000")
    assert table.files() == before
    assert len(stored(table)) == 3


def test_partitions_that_look_alike_are_dropped_one_by_one(spark: "SparkSession", table: Table) -> None:
    """NULL, the empty string, the group's name and Hive's word for NULL are four partitions."""
    apps: list[str | None] = [None, "", "[#small]", "__HIVE_DEFAULT_PARTITION__", "other"]
    rows = events(apps, range(50))
    table.append(frame_of(spark, rows))

    for gone, app in enumerate(apps, start=1):
        table.drop_partition(dt=DAY, app=app)
        left = [r for r, a in zip(plain_rows(rows), rows.column("app").to_pylist(), strict=True) if a in apps[gone:]]
        assert content(table) == sorted(left)
        check_files(core_of(table).storage, table.state, table.files())
    assert table.files() == ()


@pytest.mark.parametrize(("where", "layout"), [("app = 'A'", "counted"), ("lower(app) = 'a'", "known")])
def test_rows_outside_of_what_is_overwritten_are_refused(
    spark: "SparkSession", tmp_path: Path, where: str, layout: str
) -> None:
    """Counted along with the tuples, or in a pass of its own; a row for which it is unknown is outside too."""
    table = coalesce.create(tmp_path / "t", SCHEMA, partition_by=["dt", "app"], rule=coalesce.small("app"), spark=spark)
    table.append(pa.concat_tables([events(["A", "B"], range(100))] * 1000))  # enough to know a layout from
    before = stored(table)
    rows = frame_of(spark, events(["A", "B", None], range(100, 109)))

    with pytest.raises(SchemaError, match=r"6 rows do not match .*, such as .*app = ('B'|NULL), "):
        table.overwrite(rows, where, layout=layout)
    assert stored(table) == before
    table.overwrite(rows.where("app = 'A'"), where, layout=layout)
    assert sorted(table.scan("app = 'A'").to_arrow().column("k").to_pylist()) == [102, 105, 108]
    table.overwrite(rows, where, allow_outside=True, layout=layout)
    assert table.count() == 50_000 + 9


def test_a_frame_may_read_the_table_it_overwrites(spark: "SparkSession", table: Table) -> None:
    """The frame reads the version it was made from, while its rows become the next one."""
    table.append(frame_of(spark, events(["A", "B"], range(20))))

    table.overwrite(table.read().where("k % 2 = 0"))
    assert sorted(table.scan().to_arrow().column("k").to_pylist()) == list(range(0, 20, 2))

    table.overwrite_partitions(table.read().where("app = 'A' AND k < 6"))
    assert sorted(table.scan().to_arrow().column("k").to_pylist()) == [0, 2, 4]


def test_dynamic_overwrite_replaces_the_partitions_in_the_data(spark: "SparkSession", table: Table) -> None:
    """Exactly the logical partitions that have rows in the frame are replaced; with no rows, none."""
    other = date(2026, 5, 18)
    table.append(
        frame_of(spark, pa.concat_tables([events(["A", "B", None], range(30)), events(["A"], range(30, 35), other)]))
    )

    table.overwrite_partitions(frame_of(spark, events(["A", None], range(100, 104))))
    kept = [*(k for k in range(30) if k % 3 == 1), *range(30, 35), *range(100, 104)]
    assert sorted(table.scan().to_arrow().column("k").to_pylist()) == kept

    table.overwrite_partitions(frame_of(spark, events(["A"], range(0))))
    assert table.count() == len(kept)
    check_files(core_of(table).storage, table.state, table.files())


def test_dynamic_overwrite_after_a_change_of_spec(spark: "SparkSession", table: Table) -> None:
    """Rows of the overwritten partitions go whatever spec their file was written under."""
    table.append(frame_of(spark, events(["A", "B", "C", "D"], range(80))))
    table.evolve(add="bucket(4, k)", drop="app")
    table.append(frame_of(spark, events(["A", "B"], range(80, 90))))
    from coalesce.model.transforms import Bucket, apply
    from coalesce.model.types import INT64

    new = events(["E"], range(200, 202))
    buckets = {apply(Bucket(4), INT64, k) for k in (200, 201)}

    table.overwrite_partitions(frame_of(spark, new))

    kept = [k for k in range(90) if apply(Bucket(4), INT64, k) not in buckets]
    assert sorted(table.scan().to_arrow().column("k").to_pylist()) == [*kept, 200, 201]
    assert 0 < len(kept) < 90
    check_files(core_of(table).storage, table.state, table.files())


def test_a_predicate_only_spark_understands(spark: "SparkSession", table: Table) -> None:
    """Functions and the like remove exactly the rows Spark finds them TRUE on; where they are NULL, rows stay."""
    table.append(frame_of(spark, events(["A", "b", None], range(30))))

    table.delete("lower(app) = 'a' AND pmod(k, 2) = 0")

    kept = [k for k in range(30) if k % 3 or k % 2]
    assert sorted(table.scan().to_arrow().column("k").to_pylist()) == kept
    check_files(core_of(table).storage, table.state, table.files())


def test_spark_rewrites_what_arrow_does(spark: "SparkSession", tmp_path: Path) -> None:
    """Files of several specs, renamed, added and widened columns, awkward names: both engines leave the same rows."""
    from coalesce.spark.write.rewrite import compact, rewrite

    schema = pa.schema(
        [("a b", pa.string()), ("k", pa.int32()), ("x.y", pa.struct([("`q`", pa.int32()), ("r", pa.string())]))]
    )
    table = coalesce.create(tmp_path / "t", schema, partition_by=["a b"], spark=spark)

    def rows(numbers: range) -> pa.Table:
        return pa.table(
            {
                "a b": [None if i % 4 == 0 else f"v{i % 3}" for i in numbers],
                "k": list(numbers),
                "x.y": [{"`q`": i, "r": str(i)} for i in numbers],
            },
            schema=schema,
        )

    table.append(rows(range(20)))
    table.set_rule(coalesce.small("a b"))
    table.append(frame_of(spark, rows(range(20, 40))))
    table.rename_column("k", "number")
    table.add_column("k", "string", default="old")
    table.widen_column("number", "int64")
    table.evolve(add="truncate(10, number)")
    table.append(pa.table({"a b": ["v1", None], "number": pa.array([40, 41], pa.int64()), "k": ["new", None]}))
    drop = core_of(table).bound("number IN (3, 10, 24, 40) OR `a b` = 'v2'")
    arrow = ArrowEngine().rewrite(core_of(table).snapshot(), table.files(), drop)
    by_spark = rewrite(spark, core_of(table).snapshot(), table.files(), drop)

    check_files(core_of(table).storage, table.state, by_spark.added)
    assert facts(table, by_spark.added) == facts(table, arrow.added)
    assert {(f.spec_id, f.rule_id, f.physical_key) for f in by_spark.added} == {
        (f.spec_id, f.rule_id, f.physical_key) for f in arrow.added
    }
    assert sorted(f.path for f in by_spark.untouched) == sorted(f.path for f in arrow.untouched)
    moved = compact(spark, core_of(table).snapshot(), table.files())
    check_files(core_of(table).storage, table.state, moved)
    assert {f.spec_id for f in moved} == {1}
    assert facts(table, moved) == facts(table, ArrowEngine().compact(core_of(table).snapshot(), table.files()))
    opaque = rewrite(spark, core_of(table).snapshot(), table.files(), Opaque("length(`x.y`.r) = 1 OR k LIKE 'n%'"))
    left = [row for row in table.scan().to_arrow().to_pylist() if row["number"] >= 10 and row["number"] != 40]
    assert sorted(f"{r}" for r in left) == sorted(f"{r}" for r, *_ in facts(table, [*opaque.added, *opaque.untouched]))


def facts(table: Table, files: list[Any]) -> list[Any]:
    """Every row of some files with its id and version."""
    found = []
    for entry in files:
        with open_file(core_of(table).storage, entry, table.state) as file:
            lineage = file.lineage()
            assert lineage is not None
            rows = file.read(table.schema.fields, range(len(file.group_rows))).to_pylist()
            found += list(zip(rows, *(c.to_pylist() for c in lineage.columns), strict=True))
    return sorted(found, key=repr)
