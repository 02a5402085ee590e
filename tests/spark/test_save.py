"""`df.write.format("coalesce")` in every mode, and INSERT through the catalog."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import coalesce
from coalesce.model.rule import BySize
from coalesce.model.spec import field_text
from coalesce.table.table import core_of
from tests.checker import check_files
from tests.spark.frames import stored
from tests.support.numbers import table_numbers
from tests.support.settings import OVERWRITE_MODE, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession


@pytest.fixture
def session(spark: "SparkSession") -> "SparkSession":
    """The shared session with the source attached."""
    coalesce.attach(spark)
    return spark


def events(spark: "SparkSession", numbers: range, apps: int = 3) -> "DataFrame":
    """A row for each number, apps in turn."""
    return spark.range(numbers.start, numbers.stop, 1, 2).selectExpr(
        "DATE '2026-05-17' AS dt", f"concat('app', id % {apps}) AS app", "id AS k"
    )


def numbers_in(location: Path) -> list[int]:
    """The rows' numbers, in order, after a look whether every entry is right."""
    table = coalesce.open(location)
    check_files(core_of(table).storage, table.state, table.files())
    assert {f.path for f in table.files()} <= stored(table)
    return table_numbers(table)


def test_the_first_save_creates_the_table(session: "SparkSession", tmp_path: Path) -> None:
    """What partitionBy and options say decides spec, rule and file sizes; nothing is required, as Spark saves files."""
    writer = events(session, range(30)).write.format("coalesce").partitionBy("dt", "app")
    writer.option("smallColumns", "app").option("smallBelow", "1MB").option("targetFileSize", "8MB").save(
        str(tmp_path / "t")
    )

    table = coalesce.open(tmp_path / "t")
    assert [field_text(f, table.schema) for f in table.state.spec.fields] == ["dt", "app"]
    rule = table.state.rule
    assert isinstance(rule, BySize)
    assert rule.below == 2**20
    assert core_of(table).snapshot().target_file_bytes == 8 * 2**20
    assert not any(f.required for f in table.schema)
    assert len(table.files()) == 1
    assert numbers_in(tmp_path / "t") == list(range(30))


def test_modes(session: "SparkSession", tmp_path: Path) -> None:
    """Mode append adds, overwrite replaces, errorifexists refuses, ignore does nothing."""
    location = tmp_path / "t"

    def save(numbers: range, mode: str) -> None:
        events(session, numbers).write.format("coalesce").mode(mode).save(str(location))

    save(range(5), "append")
    save(range(5, 8), "append")
    assert numbers_in(location) == list(range(8))
    with pytest.raises(Exception, match=r"TableExists.*already"):
        save(range(100), "errorifexists")
    save(range(100), "ignore")
    assert numbers_in(location) == list(range(8))
    save(range(20, 23), "overwrite")
    assert numbers_in(location) == [20, 21, 22]
    assert coalesce.open(location).version == 3


def test_overwrite_of_a_part(session: "SparkSession", tmp_path: Path) -> None:
    """`replaceWhere` replaces what matches, dynamic mode the logical partitions in the data."""
    location = tmp_path / "t"
    events(session, range(9)).write.format("coalesce").partitionBy("app").save(str(location))
    writer = events(session, range(30, 33)).where("app = 'app1'").write.format("coalesce").mode("overwrite")

    writer.option("replaceWhere", "app = 'app1' AND k > 1").save(str(location))
    assert numbers_in(location) == [0, 1, 2, 3, 5, 6, 8, 31]

    dynamic = events(session, range(60, 61)).write.format("coalesce").mode("overwrite")
    dynamic.option("partitionOverwriteMode", "dynamic").save(str(location))
    assert numbers_in(location) == [1, 2, 5, 8, 31, 60]

    with changed(session, {OVERWRITE_MODE: "dynamic"}):
        events(session, range(62, 63)).write.format("coalesce").mode("overwrite").save(str(location))
    assert numbers_in(location) == [1, 31, 60, 62]
    with pytest.raises(Exception, match="two answers"):
        writer.option("replaceWhere", "k = 1").option("partitionOverwriteMode", "dynamic").save(str(location))


def test_columns_come_with_the_rows(session: "SparkSession", tmp_path: Path) -> None:
    """With mergeSchema, in the same commit and in every mode; without it they are refused."""
    location = tmp_path / "t"
    events(session, range(3)).write.format("coalesce").partitionBy("app").save(str(location))
    wider = events(session, range(3, 6)).selectExpr("*", "concat('note ', k) AS note")
    with pytest.raises(Exception, match="no column 'note' in the table"):
        wider.write.format("coalesce").mode("append").save(str(location))
    wider.write.format("coalesce").mode("append").option("mergeSchema", True).save(str(location))
    table = coalesce.open(location)
    assert (table.version, table.count("note IS NULL"), table.count("note = 'note 4'")) == (2, 3, 1)
    untyped = session.sql("SELECT 9 AS k, 'x' AS app, NULL AS note")
    untyped.write.format("coalesce").mode("append").option("mergeSchema", True).save(str(location))
    assert table.refresh().count("k = 9 AND note IS NULL") == 1
    more = wider.selectExpr("*", "1 AS more").where("k = 3").write.format("coalesce").mode("overwrite")
    more.option("mergeSchema", True).option("partitionOverwriteMode", "dynamic").save(str(location))
    assert table.refresh().distinct("more") == [None, 1]
    assert session.read.format("coalesce").load(str(location)).where("more = 1").count() == 1


def test_columns_are_replaced_by_those_of_the_rows(session: "SparkSession", tmp_path: Path) -> None:
    """With overwriteSchema, in one commit, and with other partition fields if they are named; not for some rows."""
    location = tmp_path / "t"
    events(session, range(3)).write.format("coalesce").partitionBy("app").save(str(location))
    other = session.sql("SELECT 'x' AS k, DATE '2026-05-17' AS day, 'a' AS app")
    writer = other.write.format("coalesce").mode("overwrite").option("overwriteSchema", True)
    writer.save(str(location))
    table = coalesce.open(location)
    assert (table.version, table.schema.names, table.count("k = 'x'")) == (2, ("k", "day", "app"), 1)
    read = session.read.format("coalesce").load(str(location))
    assert [(row.k, str(row.day), row.app) for row in read.collect()] == [("x", "2026-05-17", "a")]
    assert not any(field.required for field in table.schema)
    writer.partitionBy("day").save(str(location))
    assert [field.name for field in table.refresh().state.spec.fields] == ["day"]
    assert table.at(version=1).count() == 3
    with pytest.raises(Exception, match="leave out replaceWhere"):
        writer.option("replaceWhere", "k = 'x'").save(str(location))


def test_a_save_that_is_made_once(session: "SparkSession", tmp_path: Path) -> None:
    """The same application and number again changes nothing."""
    for number in (1, 2, 2, 1, 3):
        frame = events(session, range(10 * number, 10 * number + 2))
        writer = frame.write.format("coalesce").mode("append").option("txnAppId", "job").option("txnVersion", number)
        writer.save(str(tmp_path / "t"))

    assert numbers_in(tmp_path / "t") == [10, 11, 20, 21, 30, 31]


def test_a_first_save_that_fails(session: "SparkSession", tmp_path: Path) -> None:
    """It leaves no table behind, so that the same save can be tried again."""
    location = tmp_path / "t"
    wrong = events(session, range(3)).selectExpr("dt", "app", "IF(k < 2, k, raise_error('no such event')) AS k")
    with pytest.raises(Exception, match="no such event"):
        wrong.write.format("coalesce").save(str(location))
    outside = events(session, range(3)).write.format("coalesce").mode("overwrite").option("replaceWhere", "k < 2")
    with pytest.raises(Exception, match="1 row does not match"):
        outside.save(str(location))
    assert [path for path in location.rglob("*") if path.is_file()] == []

    events(session, range(3)).write.format("coalesce").save(str(location))
    assert numbers_in(location) == [0, 1, 2]


def test_what_contradicts_the_table_is_refused(session: "SparkSession", tmp_path: Path) -> None:
    """Another partitionBy than the table's, or an option that means nothing, is not passed over in silence."""
    location = str(tmp_path / "t")
    events(session, range(3)).write.format("coalesce").partitionBy("dt", "app").save(location)

    def more() -> "DataFrameWriter":
        return events(session, range(3, 6)).write.format("coalesce").mode("append")

    with pytest.raises(Exception, match=r"partitioned by dt, app, not by app"):
        more().partitionBy("app").save(location)
    with pytest.raises(Exception, match="smallBelow needs smallColumns"):
        more().option("smallBelow", "1MB").save(str(tmp_path / "other"))
    more().partitionBy("DT", "app").save(location)
    assert numbers_in(tmp_path / "t") == list(range(6))


def test_inserts_through_the_catalog(session: "SparkSession", tmp_path: Path) -> None:
    """INSERT INTO goes by position, INSERT OVERWRITE replaces all or, in dynamic mode, the partitions in the data."""
    location = tmp_path / "t"
    events(session, range(6)).write.format("coalesce").partitionBy("app").save(str(location))
    session.sql(f"CREATE TABLE inserted USING coalesce LOCATION '{location}'")
    try:
        session.sql("INSERT INTO inserted SELECT DATE '2026-05-18', 'app9', 9")
        assert numbers_in(location) == [0, 1, 2, 3, 4, 5, 9]
        session.sql("INSERT INTO inserted (k, app) VALUES (10, 'app9')")
        assert numbers_in(location) == [0, 1, 2, 3, 4, 5, 9, 10]
        with changed(session, {OVERWRITE_MODE: "dynamic"}):
            session.sql("INSERT OVERWRITE inserted SELECT dt, app, k + 100 FROM inserted WHERE app = 'app9'")
        assert numbers_in(location) == [0, 1, 2, 3, 4, 5, 109, 110]
        events(session, range(7, 9)).write.insertInto("inserted", overwrite=True)
        assert numbers_in(location) == [7, 8]
        assert session.table("inserted").count() == 2
    finally:
        session.sql("DROP TABLE inserted")
