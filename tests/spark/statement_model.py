"""What a statement makes of rows in a list: Spark says what expressions are, Python which clause acts on which row."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.spark.statements import MEMBERS, SCHEMA, TYPES, Row, Said, Spoken

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOBODY = -1  # the id of a row of NULLs, which stands for there being none


@dataclass
class Outcome:
    """The rows that stay or change, by id, which of them have changed, and those that come in."""

    rows: dict[int, Row]
    changed: set[int] = field(default_factory=set)
    new: list[Row] = field(default_factory=list)


def expected(spark: "SparkSession", before: Mapping[int, Row], spoken: Spoken) -> Outcome | None:
    """What the statement makes of the rows, or None if several rows of the source act on one row."""
    _view(spark, "model", before)
    spark.sql(f"SELECT {', '.join(TYPES)} FROM model WHERE id >= 0").createOrReplaceTempView("model_rows")
    outcome = Outcome(dict(before))
    source: dict[int, Row] = {}
    if spoken.source is not None:
        read = spark.sql(f"SELECT {', '.join(TYPES)} FROM {spoken.source}".replace("{T}", "model_rows"))
        source = dict(enumerate(read.toArrow().cast(SCHEMA).to_pylist()))
    if spoken.kind == "insert":
        outcome.new = list(source.values())
        return outcome
    _view(spark, "source_rows", source)
    told = {(row["t"], row["s"]): row for row in spark.sql(_question(spoken)).toArrow().to_pylist()}
    pairs = {(t, s) for t, s in told if NOBODY not in (t, s) and spoken.on is not None and told[t, s]["matches"]}
    first, second = len(spoken.matched), len(spoken.matched) + len(spoken.not_matched)
    for t in before:
        ours = [s for s in source if (t, s) in pairs]
        if ours:
            chosen = [(s, _first(told[t, s], spoken.matched, 0)) for s in ours]
            acting = [(s, action) for s, action in chosen if action is not None]
            only_deletes = spoken.matched == (Said(None, None),)
            if len(acting) > 1 and not only_deletes:
                return None
            for s, action in acting[:1]:
                _act(outcome, t, spoken.clauses[action], told[t, s], action)
        elif (left := _first(told[t, NOBODY], spoken.by_source, second)) is not None:
            _act(outcome, t, spoken.clauses[left], told[t, NOBODY], left)
    for s in source:
        if not any((t, s) in pairs for t in before):
            makes = _first(told[NOBODY, s], spoken.not_matched, first)
            if makes is not None:
                outcome.new.append({c: told[NOBODY, s][f"v{makes}_{c}"] for c in TYPES})
    return outcome


def _first(told: Row, clauses: tuple[Said, ...], begin: int) -> int | None:
    """The number of the first clause that acts; NULL does not."""
    return next((i for i, _ in enumerate(clauses, begin) if told[f"c{i}"] is True), None)


def _act(outcome: Outcome, row: int, clause: Said, told: Row, action: int) -> None:
    if clause.values is None:
        del outcome.rows[row]
    else:
        outcome.rows[row] = {c: told[f"v{action}_{c}"] for c in TYPES}
        outcome.changed.add(row)


def _question(spoken: Spoken) -> str:
    """All conditions and values, on every pair of a row of the table, or none, and one of the source, or none."""
    columns = ["t.id AS t", "s.id AS s"]
    if spoken.on is not None:
        columns.append(f"({spoken.on}) AS matches")
    for i, clause in enumerate(spoken.clauses):
        columns.append(f"({clause.condition or 'true'}) AS c{i}")
        inserts = clause in spoken.not_matched and len(spoken.matched) <= i
        if clause.values is not None:
            columns += [f"{_value(clause.values, c, inserts=inserts)} AS v{i}_{c}" for c in TYPES]
    source = "source_rows" if spoken.source is not None else f"(SELECT {NOBODY} AS id)"
    return f"SELECT {', '.join(columns)} FROM model AS t CROSS JOIN {source} AS s".replace("{T}", "model_rows")


def _value(values: Mapping[str, str], column: str, *, inserts: bool) -> str:
    own = "NULL" if inserts else f"t.{column}"
    value = values.get(column, own)
    if column == "info" and any(member in values for member in MEMBERS):
        a, b = (values.get(f"info.{m}", f"t.info.{m}") for m in "ab")
        value = f"named_struct('a', {a}, 'b', {b})"
    return f"CAST({value} AS {TYPES[column]})"


def _view(spark: "SparkSession", name: str, rows: Mapping[int, Row]) -> None:
    """The rows with their ids, and one of NULLs whose id is that of nobody."""
    listed = [*rows.values(), dict.fromkeys(TYPES)]
    ids = pa.array([*rows, NOBODY], pa.int64())
    spark.createDataFrame(pa.Table.from_pylist(listed, schema=SCHEMA).append_column("id", ids)).createOrReplaceTempView(
        name
    )


# --- rows as text --------------------------------------------------------------------------------------------------


def text(row: Mapping[str, Any]) -> str:
    """A row as text: NaN is NaN, 0.0 is not -0.0."""
    return repr([row[c] for c in TYPES])


def multiset(rows: pa.Table) -> Counter[str]:
    """How often each row is there."""
    return Counter(text(row) for row in rows.select(list(TYPES)).cast(SCHEMA).to_pylist())
