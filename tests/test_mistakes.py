"""Mistakes people make, and the one sentence each of them is answered with."""

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import coalesce

ROWS = pa.table({"dt": [date(2026, 5, 17)], "app": ["A"], "amount": [1.0], "tags": [["x"]]})

NO_ROWS = (
    "a list is neither rows nor a schema that this table can take; give a pyarrow table, a pandas data frame, or, to a "
    "table opened with spark=…, a Spark DataFrame."
)
NO_FIT = """\
the rows do not fit the table, and nothing was written:
  - there is no column 'ammount' in the table; did you mean 'amount'?
  - column 'app' is int64, which does not widen to the table's string; cast it."""


def create(**arguments: Any) -> coalesce.Table:
    """Another table in the working directory."""
    return coalesce.create("another", ROWS.schema, **arguments)


MISTAKES: dict[str, tuple[Callable[[coalesce.Table], object], str]] = {
    "opening what is not there": (
        lambda _: coalesce.open("nowhere"),
        "there is no coalesce table at nowhere.",
    ),
    "an empty location": (
        lambda _: coalesce.open(""),
        "the location of the table is empty; give a path or a URI such as s3://bucket/events.",
    ),
    "creating twice": (
        lambda _: coalesce.create("events", ROWS.schema),
        "there is a coalesce table at events already; open it with coalesce.open().",
    ),
    "a list for a schema": (
        lambda _: coalesce.create("another", ["dt", "app"]),
        NO_ROWS,
    ),
    "no columns": (
        lambda _: coalesce.create("another", pa.schema([])),
        "a table needs at least one column.",
    ),
    "a negative number of versions": (
        lambda table: table.history(-1),
        "history(-1): say how many versions, or nothing for all.",
    ),
    "a target that is no size": (
        lambda _: create(partition_by=["app"], rule=coalesce.small("app", target="big")),
        "'big' is not a size; write a number of bytes or \"64MB\".",
    ),
    "partitioning by an unknown column": (
        lambda _: create(partition_by=["ap"]),
        "there is no column 'ap'; did you mean 'app'?",
    ),
    "partitioning by a text": (
        lambda _: create(partition_by="dt"),
        'the partition fields are a list: write ["dt"].',
    ),
    "partitioning by a list": (
        lambda _: create(partition_by=["tags"]),
        "column 'tags' is list<string> and cannot partition a table.",
    ),
    "a bucket without a number": (
        lambda _: create(partition_by=["bucket(app)"]),
        "'bucket(app)' needs a number of 1 or more; write bucket(64, app).",
    ),
    "a rule that is a text": (
        lambda _: create(partition_by=["app"], rule="small"),
        "'small' is not a rule; write coalesce.small(\"app\"), coalesce.group(…) or keep_all().",
    ),
    "a rule on a column that is no partition field": (
        lambda _: create(partition_by=["app"], rule=coalesce.small("amount")),
        "there is no partition field 'amount'; the partition fields are app.",
    ),
    "small() of nothing": (
        lambda _: coalesce.small(),
        'small() needs the partition field that may be shared, such as small("app").',
    ),
    "small() below nothing": (
        lambda _: coalesce.small("app", below="-1MB"),
        "'-1MB' is not a size; write a number of bytes or \"64MB\".",
    ),
    "a group of one text": (
        lambda _: coalesce.group("app", {"[#small]": "ABC"}),
        'group() takes a list of values for each name, such as group("app", {"[#small]": ["A", "B"]}).',
    ),
    "a value in two groups": (
        lambda t: t.set_rule(coalesce.group("app", {"one": ["A"], "two": ["A"]})),
        "value 'A' of 'app' is in two groups: one, two.",
    ),
    "appending a list": (
        lambda t: t.append([1, 2]),
        NO_ROWS,
    ),
    "appending other columns": (
        lambda t: t.append(pa.table({"app": [1], "ammount": [1.0]})),
        NO_FIT,
    ),
    "an unfinished predicate": (
        lambda t: t.plan("app ="),
        "= has nothing on its right; is the value missing?\n  app =\n       ^",
    ),
    "a predicate on an unknown column": (
        lambda t: t.plan("amount > 1 AND apps = 'A'"),
        "there is no column 'apps'; did you mean 'app'?\n  amount > 1 AND apps = 'A'\n                 ^",
    ),
    "a predicate that is a number": (
        lambda t: t.plan(5),  # type: ignore[arg-type]  # the mistake
        "5 is not a predicate; write SQL text, or compare a coalesce.col(…).",
    ),
    "a version of the future": (
        lambda _: coalesce.open("events", version=99),
        "there is no version 99 of the table at events: it was never written, or it has expired.",
    ),
    "a negative version": (
        lambda _: coalesce.open("events", version=-1),
        "there is no version -1 of the table at events: it was never written, or it has expired.",
    ),
    "a version that is a text": (
        lambda _: coalesce.open("events", version="1"),  # type: ignore[arg-type]  # the mistake
        "version= is a number such as 7, not '1'.",
    ),
    "a time before the table": (
        lambda _: coalesce.open("events", as_of=datetime(1999, 1, 1)),
        "the oldest version still there, 0, was committed after 1999-01-01 00:00:00.",
    ),
    "a time that is a text": (
        lambda _: coalesce.open("events", as_of="1999-01-01"),  # type: ignore[arg-type]  # the mistake
        "as_of= is a datetime, not '1999-01-01'.",
    ),
    "writing to the past": (
        lambda t: t.at(version=0).append(ROWS),
        "this table was opened at version 0 and is read-only; open it afresh.",
    ),
    "dropping no logical partition": (
        lambda t: t.drop_partition(),
        "say which logical partition: drop_partition(dt=…, app=…).",
    ),
    "dropping a date that is none": (
        lambda t: t.drop_partition(dt="17.5.2026"),
        "'17.5.2026' is not a date; write it as 2026-05-17.",
    ),
    "columns that are a text": (
        lambda t: t.scan(columns="app"),
        'the columns are a list: write columns=["app"].',
    ),
    "a name that is taken": (
        lambda t: t.rename_column("dt", "app"),
        "the table cannot have two columns called 'app'.",
    ),
    "reading with Spark without a session": (
        lambda t: t.read(),
        "reading with Spark needs a session: open the table with spark=…, or use scan() without one.",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_clear_sentence(mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a CoalesceError, and its message says what is wrong and what to do; the table stays as it was."""
    monkeypatch.chdir(tmp_path)
    table = coalesce.create("events", ROWS.schema, partition_by=["dt", "app"])
    table.append(ROWS)
    make, sentence = MISTAKES[mistake]
    with pytest.raises(coalesce.CoalesceError) as raised:
        make(table)
    assert str(raised.value) == sentence
    assert coalesce.open("events").version == 1
