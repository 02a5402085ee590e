"""DELETE, UPDATE and MERGE: whatever they say, they do what it means to rows in a list, and rows keep their ids."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import AmbiguousMatch
from coalesce.model.rule import keep_all, small
from coalesce.table.engine import REMOVALS, Engines
from coalesce.table.revising import revised
from coalesce.table.statement import Clause, Star, Statement
from coalesce.table.table import Table, core_of
from tests.spark.statement_model import Outcome, expected, multiset, text
from tests.spark.statements import SCHEMA, Said, Speaker, Spoken, rows
from tests.support.examples import examples
from tests.support.lineage import held
from tests.support.settings import INTERPRETED, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "said"


@contextmanager
def cataloged(spark: "SparkSession", table: Table) -> Iterator[None]:
    """The table under a name, and queries so small that Spark had better not compile them."""
    with changed(spark, INTERPRETED):
        spark.sql(f"CREATE TABLE {NAME} USING coalesce LOCATION '{table.location}'")
        try:
            yield
        finally:
            spark.sql(f"DROP TABLE {NAME}")


def made(spark: "SparkSession", directory: Path, rng: Random) -> Table:
    """A table of several writes, some of whose rows may be dead."""
    table = coalesce.create(
        directory / uuid4().hex,
        SCHEMA,
        partition_by=rng.choice([["dt", "app"], ["dt", "app"], ["app"], ["dt", "bucket(2, k)"], []]),
        properties={"remove.by": rng.choice(REMOVALS)},
        spark=spark,
    )
    if "app" in [f.name for f in table.state.spec.fields]:
        table.set_rule(rng.choice([small("app"), small("app"), keep_all()]))
    for _ in range(rng.randint(0, 3)):
        table.append(rows(rng, rng.randint(1, 12)))
    if rng.random() < 0.5:
        table.delete("app = 'A'")
    return table


def source(spark: "SparkSession", rng: Random) -> None:
    """New rows in the views that statements read."""
    src = rows(rng, rng.randint(0, 6))
    src = src.append_column("m", pa.array(range(src.num_rows), pa.int64()))
    spark.createDataFrame(src).createOrReplaceTempView("src")
    spark.createDataFrame(rows(rng, 3)).createOrReplaceTempView("other")


def by_sql(spark: "SparkSession", table: Table, spoken: Spoken) -> None:
    """As people say it."""
    del table
    spark.sql(spoken.sql(NAME))


def by_python(spark: "SparkSession", table: Table, spoken: Spoken) -> None:
    """The same through the table's methods."""
    if spoken.kind == "insert":
        spark.sql(spoken.sql(NAME))
        return

    def said(clause: Said) -> Clause:
        condition = None if clause.condition is None else clause.condition.replace("{T}", NAME)
        if clause.values is None or clause.star:
            return Clause(condition, Star.ALL if clause.star else None)
        return Clause(condition, {name: value.replace("{T}", NAME) for name, value in clause.values.items()})

    clauses = {
        "matched": tuple(map(said, spoken.matched)),
        "not_matched": tuple(map(said, spoken.not_matched)),
        "by_source": tuple(map(said, spoken.by_source)),
    }
    frame = None
    if spoken.source is not None:
        frame = spark.sql(f"SELECT * FROM {spoken.source}".replace("{T}", NAME))
    statement = Statement(source=frame, on=spoken.on, **clauses)
    revised(core_of(table), spoken.kind, core_of(table).engines.needed_frames.revision(statement))


def carried_out(spark: "SparkSession", table: Table, spoken: Spoken, way: str) -> bool:
    """Whether the statement was carried out; if not, several rows of its source were about one row."""
    try:
        (by_sql if way == "sql" else by_python)(spark, table, spoken)
    except AmbiguousMatch:
        return False
    except PySparkException as error:
        if "AmbiguousMatch" not in str(error):
            raise
        return False
    return True


def check(spark: "SparkSession", table: Table, spoken: Spoken, way: str) -> None:
    """Carry a statement out, and compare: rows as Spark and as Arrow reads them, ids, versions and counts."""
    before, version = held(table), table.refresh().version
    next_id = table.state.next_row_id
    outcome = expected(spark, {i: row for i, (_, row) in before.items()}, spoken)
    files = {f.path for f in core_of(table).storage.list("data")}
    if not carried_out(spark, table, spoken, way):
        assert outcome is None, "it is not ambiguous"
        assert table.refresh().version == version
        assert {f.path for f in core_of(table).storage.list("data")} == files
        return
    assert outcome is not None, "several rows of the source act on one row"
    after = held(table)
    assert {i: text(row) for i, (_, row) in after.items() if i < next_id} == {
        i: text(row) for i, row in outcome.rows.items()
    }
    assert Counter(text(row) for i, (_, row) in after.items() if i >= next_id) == Counter(map(text, outcome.new))
    for i, (of, _) in after.items():
        is_as_it_was = i < next_id and i not in outcome.changed
        assert of == (before[i][0] if is_as_it_was else table.version), "a version that no reader expects"
    everything = Counter(text(row) for _, row in after.values())
    assert multiset(table.scan().to_arrow()) == everything
    assert multiset(spark.table(NAME).toArrow()) == everything
    _check_counts(table, spoken, outcome, len(before))


def _check_counts(table: Table, spoken: Spoken, outcome: Outcome, before: int) -> None:
    """The version says how many rows came, changed and went."""
    summary = table.state.summary
    assert table.state.rows == len(outcome.rows) + len(outcome.new)
    if spoken.kind in ("update", "merge") and table.state.operation == spoken.kind:
        assert summary.get("rows_updated", 0) == len(outcome.changed)
        assert summary["rows_added"] == len(outcome.new)
        assert summary["rows_removed"] == before - len(outcome.rows)


WAYS = {"sql": (None, 3, 7), "jobs": (-1, 1, 4), "found here, written by jobs": (64 * 1024 * 1024, 1, 4)}


@pytest.mark.parametrize("way", WAYS)
def test_any_statements_do_what_they_mean(spark: "SparkSession", tmp_path: Path, way: str) -> None:
    """Rows, ids, versions and counts are those of a list after each, wherever rows are found and written."""
    write, few, most = WAYS[way]

    @settings(
        max_examples=examples(few), phases=[Phase.generate], database=None, suppress_health_check=list(HealthCheck)
    )
    @given(st.integers(0, 2**32))
    def any_statements(seed: int) -> None:
        rng = Random(seed)
        table = made(spark, tmp_path, rng)
        if write is not None:
            _by_jobs(table, spark, write)
        with cataloged(spark, table):
            for _ in range(most):
                source(spark, rng)
                check(spark, table, Speaker(rng).statement(), way)
        assert list(table.refresh().check(deep=True)) == []

    any_statements()


def _by_jobs(table: Table, spark: "SparkSession", write: int) -> None:
    """Spark jobs write files again; what changes is found in them too, unless it has fewer bytes than `write`."""
    from coalesce.spark.engine import SparkEngine
    from coalesce.spark.write.here import Here

    core_of(table).engines = Engines(ArrowEngine(), SparkEngine(spark, here=Here(write=write, rewrite=-1, read=-1)))
