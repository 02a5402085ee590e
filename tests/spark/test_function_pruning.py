"""Conditions with functions of partition columns leave the same files with Spark and without it."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import coalesce
from coalesce.model.values import column_of
from coalesce.plan.index import ManifestIndex
from coalesce.predicate.render import sql_type
from tests.predicate.scalar.generated import Generator
from tests.predicate.spark_predicates import COLUMNS
from tests.support.examples import examples
from tests.support.settings import INTERPRETED, changed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("rows_are_read")

COUNT = examples(100)
# Conditions that kept more files than Spark once, among thousands.
KEPT_MORE = (
    "(- NULL) <= i32",
    "length(trim(trim(NULL))) <> abs(abs(i32))",
    "startswith(CAST(date_sub(da, 1) AS STRING), 'ab')",
    "st <=> if(NULL NOT BETWEEN i32 AND NULL, st, 'A')",
    "contains(rtrim(CAST((da + INTERVAL 1 DAY) AS STRING)), st)",
    "if(st LIKE 'a%', try_multiply(i32, NULL), TRY_CAST('A' AS INT)) = TRY_CAST('é' AS INT)",
    "TRY_CAST(try_multiply(NULL, TRY_CAST(NULL AS TINYINT)) AS TINYINT) = unix_date(da)",
    "if(st RLIKE '^$', TRY_CAST(try_multiply(NULL, 127Y) AS TINYINT), i32) = unix_date(DATE '2026-05-17')",
    "least(5, i32) <> coalesce(year(da), nullif(NULL, i32))",
    "CASE WHEN st = st THEN NULL ELSE NULL END NOT LIKE 'a\\\\%'",
    "nullif(NULL, coalesce(i32, i32)) NOT IN (2147483647, i32)",
    "NULL * (i32 + i32) > 3",
    "unix_date(da) > floor(99999999999999999999.5)",
    "floor(99999999999999999999.5) < i32",
    "try_multiply(if(i32 >= NULL, i32, i32), 23) >= abs(i32)",
    "CASE WHEN 'a' NOT LIKE 'é%' THEN TRY_CAST(2147483647 AS TINYINT) ELSE i32 END <> (5 * i32)",
    "((datediff(da, da) % i32) IS NULL) IS NULL",
    "TRY_CAST(coalesce(CASE WHEN da = da THEN 2147483647 ELSE i32 END, 300S) AS TINYINT) >= greatest(i32 * i32, 300)",
    "least(unix_date(DATE '0001-01-01'), (- if(i32 IS NULL, i32, i32))) IS NULL",
    "least(i32, (try_multiply(300S, i32) + (i32 - 300S))) NOT IN (i32)",
    "try_add(TRY_CAST(if(i32 IN (127Y), st, 'a') AS INT), (- if(contains('a%', st), NULL, i32))) IN (i32)",
    "(300S - if(endswith(st, st), i32, NULL)) >= (i32 % CASE WHEN 5 IS NULL THEN i32 ELSE NULL END)",
)
PARTITIONS = {"text": ("st",), "integer": ("i32",), "date": ("da",)}
PARTITION_COLUMNS = ("st", "i32", "da")
ROWS = 300
BATCH = 50


def _rows() -> pa.Table:
    """Every value of the partition columns beside many of the others', NULL among them."""
    random = np.random.default_rng(16)
    columns = {}
    for name in PARTITION_COLUMNS:
        type_, values = COLUMNS[name]
        choices = [*values, None]
        columns[name] = column_of(type_, [choices[i] for i in random.integers(0, len(choices), ROWS)])
    return pa.table({**columns, "n": pa.array(range(ROWS), pa.int64())})


def _distinct(index: ManifestIndex) -> pa.Table:
    """The distinct tuples of a manifest, in its order."""
    columns = []
    for position in range(3):
        component = index.component(position)
        columns.append(component.values.take(pa.array(component.codes, mask=component.codes < 0)))
    return pa.table(columns, names=list(PARTITION_COLUMNS))


def _outcomes(frame: "DataFrame", texts: list[str]) -> dict[str, list[bool | None]]:
    """What Spark says of each tuple; a condition that it refuses, or fails on, is left out."""
    from pyspark.errors import PySparkException

    try:
        answer = frame.selectExpr(*(f"({text}) AS c{i}" for i, text in enumerate(texts))).toArrow()
    except PySparkException:
        half = len(texts) // 2
        return {**_outcomes(frame, texts[:half]), **_outcomes(frame, texts[half:])} if half else {}
    return {text: answer.column(i).to_pylist() for i, text in enumerate(texts)}


def test_the_same_files_as_by_spark(spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file is planned if and only if Spark finds the condition TRUE of one of its logical partitions."""
    rows = _rows()
    table = coalesce.create(
        tmp_path / "t",
        rows.schema,
        partition_by=list(PARTITION_COLUMNS),
        rule=coalesce.small("st"),
        properties={"write.target-file-bytes": "1KB"},
    )
    table.append(rows)
    (planned_manifest,) = table.plan("true").manifests
    index = planned_manifest.index
    texts = list(dict.fromkeys((*KEPT_MORE, *Generator("pruning", PARTITIONS).predicates(COUNT))))
    types = ", ".join(f"{name} {sql_type(COLUMNS[name][0])}" for name in PARTITION_COLUMNS)
    with changed(spark, INTERPRETED):
        frame = spark.createDataFrame(_distinct(index), types).coalesce(1)
        outcomes = {
            t: o for i in range(0, len(texts), BATCH) for t, o in _outcomes(frame, texts[i : i + BATCH]).items()
        }
    wrong: list[str] = []
    wider: list[str] = []
    for text, told in outcomes.items():
        true = np.flatnonzero([outcome is True for outcome in told])
        by_spark = set(index.paths(np.unique(index.posting_file[index.postings(true)])))
        planned = set(table.plan(text).paths())
        if not by_spark <= planned:
            wrong.append(f"{text} loses {sorted(by_spark - planned)[:2]}")
        if planned != by_spark:
            wider.append(text)
    with capsys.disabled():
        print(  # noqa: T201 - the counts are worth seeing
            f"\n{len(texts)} conditions, {len(texts) - len(outcomes)} on which Spark fails, {len(wider)} keep more",
            end=" ",
        )
    assert not wrong, f"{len(wrong)}, such as\n" + "\n".join(wrong[:5])
    assert not wider, f"{len(wider)} keep more files, such as\n" + "\n".join(wider[:20])
    assert len(outcomes) >= 0.7 * len(texts)


def test_a_function_of_ones_own_is_not_taken_for_sparks(spark: "SparkSession", tmp_path: Path) -> None:
    """A query of Spark's goes by the session's own; a condition for a table would mean two things, and is refused."""
    rows = pa.table({"st": ["A", "b", None], "n": [1, 2, 3]})
    coalesce.create(tmp_path / "t", rows.schema).append(rows)
    other = spark.newSession()  # what takes the name of a built-in function cannot be dropped again
    other.udf.register("upper", lambda text: text and "zzz", "string")
    theirs = coalesce.open(tmp_path / "t", spark=other)
    if other.sql("SELECT upper('a')").first() == ("A",):  # Spark 4.3: a name alone is the built-in function's
        assert theirs.read().where("upper(st) = 'A'").count() == 1
        assert theirs.delete("upper(st) = 'zzz'").rows_removed == 0
    else:
        assert theirs.read().where("upper(st) = 'zzz'").count() == 2
        assert theirs.read().where("upper(st) = 'A'").count() == 0
        with pytest.raises(coalesce.CoalesceError, match="a function of its own called 'upper'"):
            theirs.delete("upper(st) = 'zzz'")
    table = coalesce.open(tmp_path / "t", spark=spark)
    assert table.count() == 3
    assert table.delete("upper(st) = 'B'").rows_removed == 1
