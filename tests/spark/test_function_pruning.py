"""Conditions with functions of partition columns leave the same files with Spark and without it."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import coalesce
from coalesce.model.values import column_of
from coalesce.plan.planner import Judge
from coalesce.predicate.expr import Opaque
from coalesce.predicate.outcomes import may_be_true
from coalesce.spark.source.opaque import judge
from coalesce.table.table import core_of
from tests.predicate.scalar.generated import Generator
from tests.predicate.spark_predicates import COLUMNS
from tests.support.examples import examples
from tests.support.settings import INTERPRETED, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNT = examples(100)
PARTITIONS = {"text": ("st",), "integer": ("i32",), "date": ("da",)}
ROWS = 300


def _rows() -> pa.Table:
    """Every value of the partition columns beside many of the others', NULL among them."""
    random = np.random.default_rng(16)
    columns = {}
    for name in ("st", "i32", "da"):
        type_, values = COLUMNS[name]
        choices = [*values, None]
        columns[name] = column_of(type_, [choices[i] for i in random.integers(0, len(choices), ROWS)])
    return pa.table({**columns, "n": pa.array(range(ROWS), pa.int64())})


def test_the_same_files_as_by_spark(spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file is planned if and only if Spark finds the condition TRUE of one of its logical partitions, or fails on it.

    Where we are less sure than Spark, more files may be planned; that is counted, and rare.
    """
    rows = _rows()
    table = coalesce.create(
        tmp_path / "t",
        rows.schema,
        partition_by=list(rows.column_names[:3]),
        rule=coalesce.small("st"),
        properties={"write.target-file-bytes": "1KB"},
    )
    table.append(rows)
    core = core_of(table)
    version = core.version
    catalyst = judge(spark, version.schema)
    (planned_manifest,) = table.plan("true").manifests
    index = planned_manifest.index
    wrong: list[str] = []
    wider = failing = 0
    with changed(spark, INTERPRETED):
        for text in Generator("pruning", PARTITIONS).predicates(COUNT):
            condition = core.bound(text)
            ids = frozenset(Judge(condition, version.schema).columns)
            theirs = catalyst(Opaque(text, ids), (version.spec, index, None))
            if theirs is None:
                failing += 1  # Spark refuses the condition
                continue
            matching = index.posting_file[index.postings(np.flatnonzero(may_be_true(theirs)))]
            by_spark = set(index.paths(np.unique(matching)))
            planned = set(table.plan(text).paths())
            if not by_spark <= planned:
                wrong.append(f"{text} loses {sorted(by_spark - planned)[:2]}")
            wider += planned != by_spark
    assert not wrong, f"{len(wrong)}, such as\n" + "\n".join(wrong[:5])
    with capsys.disabled():
        print(f"\n{COUNT} conditions, {failing} refused by Spark, {wider} that keep more files than Spark", end=" ")  # noqa: T201 - worth seeing
    assert wider <= 0.05 * COUNT
    assert failing <= 0.1 * COUNT
