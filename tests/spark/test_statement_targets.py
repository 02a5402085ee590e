"""What DELETE, UPDATE and MERGE are carried out on: the table, cached or not; and nothing else, with a sentence."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

import coalesce
from coalesce.errors import InvalidArgument, SchemaError
from coalesce.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Nine rows of three apps."""
    table = coalesce.create(tmp_path / "t", pa.schema([("id", pa.int64()), ("v", pa.int64()), ("p", pa.int64())]))
    table.append([{"id": n, "v": n, "p": n % 3} for n in range(9)])
    return table


def values(table: Table) -> dict[int, int]:
    """What each row holds."""
    return {row["id"]: row["v"] for row in table.refresh().scan().to_arrow().to_pylist()}


def test_a_table_that_is_cached_is_changed(spark: "SparkSession", table: Table) -> None:
    """Spark has put the rows that it keeps in the place of the table; a query after it sees the change."""
    name = f"coalesce.`{table.location}`"
    cached = spark.read.format("coalesce").load(table.location).cache()
    try:
        assert cached.count() == 9
        spark.sql(f"UPDATE {name} SET v = 90 WHERE id = 3 AND v + p > 0")
        cached.unpersist()
        cached = spark.read.format("coalesce").load(table.location).cache()
        assert cached.count() == 9
        spark.sql(f"DELETE FROM {name} WHERE id + v = 2")
        assert values(table) == {0: 0, 2: 2, 3: 90, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8}
        assert spark.sql(f"SELECT sum(v) FROM {name}").collect()[0][0] == 122
    finally:
        cached.unpersist()


def test_views_that_filter_and_functions_of_python_are_refused(spark: "SparkSession", table: Table) -> None:
    """With what to do instead, and nothing committed."""
    spark.read.format("coalesce").load(table.location).where("v > 1").createOrReplaceTempView("filtered")
    spark.udf.register("plus_one", lambda n: n + 1, "bigint")
    try:
        name = f"coalesce.`{table.location}`"
        for statement in (
            "DELETE FROM filtered WHERE id = 2",
            "UPDATE filtered SET v = 1",
            f"DELETE FROM {name} WHERE plus_one(id) = 5",
            f"UPDATE {name} SET v = plus_one(v) WHERE id = 1",
        ):
            with pytest.raises(Exception, match="works on a coalesce table itself"):
                spark.sql(statement)
        assert table.refresh().version == 1
    finally:
        spark.sql("DROP TEMPORARY FUNCTION plus_one")


def test_a_merge_that_is_to_add_columns_is_refused(spark: "SparkSession", table: Table) -> None:
    """They would be left out in silence."""
    statement = (
        f"MERGE WITH SCHEMA EVOLUTION INTO coalesce.`{table.location}` t "
        "USING (SELECT 5L AS id, 1L AS v, 1L AS p, 'x' AS new) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *"
    )
    with pytest.raises(Exception, match="add them first"):
        spark.sql(statement)
    assert table.refresh().version == 1


def test_a_merge_that_says_nothing_is_refused(spark: "SparkSession", table: Table) -> None:
    """Without clauses it would do nothing; after one without a condition, another would never be carried out."""
    merge = coalesce.open(table.location, spark=spark).merge([{"id": 1}], "t.id = s.id")
    with pytest.raises(InvalidArgument, match="without clauses"):
        merge.execute()
    with pytest.raises(InvalidArgument, match="takes every row"):
        merge.when_matched_delete().when_matched_delete("t.v = 1").execute()
    assert table.refresh().version == 1


def test_a_column_with_a_dot_is_never_taken_for_a_member(spark: "SparkSession", tmp_path: Path) -> None:
    """In SQL it is the column in back-quotes, and the member without them. In Python it may be either: say which."""
    struct = pa.struct([("a", pa.int64())])
    table = coalesce.create(tmp_path / "dots", pa.schema([("id", pa.int64()), ("st.a", pa.int64()), ("st", struct)]))
    table.append([{"id": 1, "st.a": 1, "st": {"a": 1}}])
    name = f"coalesce.`{table.location}`"
    spark.sql(f"UPDATE {name} SET st.a = 9 WHERE id = 1")
    assert table.refresh().scan().to_arrow().to_pylist() == [{"id": 1, "st.a": 1, "st": {"a": 9}}]
    spark.sql(f"UPDATE {name} SET `st.a` = 5, st.a = 6 WHERE id = 1")
    assert table.refresh().scan().to_arrow().to_pylist() == [{"id": 1, "st.a": 5, "st": {"a": 6}}]
    by_spark = coalesce.open(table.location, spark=spark)
    with pytest.raises(SchemaError, match="may be a column, or a member of 'st'"):
        by_spark.update({"st.a": 7})
    by_spark.update({"`st.a`": 7})
    source = spark.sql("SELECT 1L AS id, 8L AS `st.a`, named_struct('a', 9L) AS st")
    by_spark.merge(source, "t.id = s.id").when_matched_update(condition="t.`st.a` = 7").execute()
    by_spark.upsert(source.drop("st"), ["id"])
    assert table.refresh().scan().to_arrow().to_pylist() == [{"id": 1, "st.a": 8, "st": {"a": 9}}]


def test_what_spark_says_is_about_the_users_columns(spark: "SparkSession", table: Table) -> None:
    """It suggests names; those of columns that are ours are neither suggested, nor among all columns."""
    opened = coalesce.open(table.location, spark=spark)
    source = spark.sql("SELECT 1L AS id, 5L AS w")
    merge = opened.merge(source, "t.id = s.id")
    refused: tuple[Callable[[], object], ...] = (
        lambda: opened.update({"v": "valu + 1"}),
        lambda: opened.update({"v": 1}, "idd = 1"),
        lambda: opened.merge(source, "t.idd = s.id").when_matched_delete().execute(),
        lambda: merge.when_matched_update({"v": "s.ww"}).execute(),
        lambda: merge.when_matched_delete("s.ww = 1").execute(),
        lambda: merge.when_matched_update().execute(),
    )
    for statement in refused:
        with pytest.raises(AnalysisException, match="cannot be resolved") as error:
            statement()
        assert re.search("_[0-9a-f]{32}", str(error.value)) is None
    opened.update({"v": "length(to_json(struct(t.*)))"}, "id = 1")
    assert values(table)[1] == len('{"id":1,"v":1,"p":1}')
    merge.when_matched_update({"v": "length(to_json(struct(s.*)))"}).execute()
    assert values(table)[1] == len('{"id":1,"w":5}')
    with pytest.raises(InvalidArgument, match=r"whose columns are meant by \*"):
        opened.update({"v": F.xxhash64("*")})
