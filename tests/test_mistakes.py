"""Mistakes people make, and the one sentence each of them is answered with."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest

import coalesce
from coalesce.table.table import core_of

ROWS = pa.table({"dt": [date(2026, 5, 17)], "app": ["A"], "amount": [1.0], "tags": [["x"]]})

NO_ROWS = (
    "a list is neither rows nor a schema that this table can take; give what speaks Arrow (pyarrow, polars, DuckDB), a "
    "pandas data frame, a list of dicts, or, to a table opened with spark=…, a Spark DataFrame."
)
NO_PROPERTY = (
    "there is no property 'coalesce.x'; those of the library are write.target-file-bytes, write.buffer-bytes, "
    "write.layout, remove.by, purge.share, purge.age, write.auto-compact, write.auto-compact-files, "
    "write.auto-compact-bytes, export.auto."
)
NO_PREDICATE = (
    "is not a predicate to combine with another; compare a coalesce.col(…), or write the whole condition as SQL text."
)
NO_FRAME = "the data frame cannot be taken as it is, and nothing was written:"
NO_FIT = """\
the rows do not fit the table, and nothing was written:
  - there is no column 'ammount' in the table; did you mean 'amount'?
  - partition column 'dt' is missing; name a column of the rows so (NULL is a value of it as well).
  - column 'app' is int64, which does not widen to the table's string; cast it."""


def wrong(argument: object) -> Any:
    """An argument of a type that the checker would refuse: the mistake."""
    return argument


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
        "the number of versions is 0 or more, not -1.",
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
        "there is no version 99 of the table at events.",
    ),
    "a negative version": (
        lambda _: coalesce.open("events", version=-1),
        "there is no version -1 of the table at events.",
    ),
    "a version that is a text": (
        lambda _: coalesce.open("events", version="1"),
        "version= is a whole number or the name of a tag, and '1' is neither; write 1 for the number.",
    ),
    "a version that is neither": (
        lambda _: coalesce.open("events", version=1.5),  # type: ignore[arg-type]  # the mistake
        "version= is a whole number, not 1.5.",
    ),
    "a tag that is not there": (
        lambda _: coalesce.open("events", version="audit"),
        "the table at events has no tag 'audit'; it has no tags.",
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
    "a pandas column of texts and numbers": (
        lambda t: t.append(pd.DataFrame({"dt": [date(2026, 5, 17)] * 2, "app": ["A", 5]})),
        f"{NO_FRAME}\n  - column 'app' mixes values of int, str; give it one type, as with astype().",
    ),
    "a new table like a pandas column of texts and numbers": (
        lambda _: coalesce.create("another", pd.DataFrame({"app": ["A", 5]})),
        f"{NO_FRAME}\n  - column 'app' mixes values of int, str; give it one type, as with astype().",
    ),
    "a pandas column of complex numbers": (
        lambda t: t.overwrite(pd.DataFrame({"app": [1j]})),
        f"{NO_FRAME}\n  - column 'app' holds values of complex that Arrow has no type for; convert them first.",
    ),
    "pandas columns of one name": (
        lambda t: t.append(pd.DataFrame([["A", "B"]], columns=["app", "app"])),
        f"{NO_FRAME} Duplicate column names found: ['app', 'app'].",
    ),
    "dropping pandas' no time": (
        lambda t: t.drop_partition(dt=pd.NaT),
        "NaT is not a value; None stands for NULL.",
    ),
    "comparing with pandas' no time": (
        lambda _: coalesce.col("dt") == wrong(pd.NaT),
        "NaT is not a value; None stands for NULL.",
    ),
    "comparing with NumPy's no time": (
        lambda _: coalesce.col("dt") == wrong(np.datetime64("NaT")),
        "NaT is not a value; None stands for NULL.",
    ),
    "comparing with a nanosecond": (
        lambda _: coalesce.col("dt") == wrong(pd.Timestamp(1)),
        "1970-01-01 00:00:00.000000001 has a fraction below a microsecond, which is the finest there is.",
    ),
    "a location that is nothing": (
        lambda _: coalesce.open(wrong(None)),
        "the location of a table is a path or a URI, not None.",
    ),
    "a location in bytes": (
        lambda _: coalesce.create(wrong(b"another"), ROWS.schema),
        "the location of a table is a path or a URI, not b'another'.",
    ),
    "options that are a text": (
        lambda _: coalesce.open("events", storage_options=wrong("region=eu")),
        'storage_options are a dict such as {"name": "value"}, not \'region=eu\'.',
    ),
    "a table made by its class": (
        lambda _: coalesce.Table(wrong("events"), wrong(())),
        "a table is opened with coalesce.open('events'), or made with coalesce.create().",
    ),
    "attaching a class": (
        lambda _: coalesce.attach(wrong(dict)),
        "what is attached is a Spark session, such as coalesce.session(), not <class 'dict'>.",
    ),
    "a master that is a number": (
        lambda _: coalesce.session(wrong(2)),
        "master= is a text, not 2.",
    ),
    "a session that is none": (
        lambda _: coalesce.open("events", spark="local[2]"),
        "spark= is a Spark session, such as coalesce.session(), not 'local[2]'.",
    ),
    "files of no size": (
        lambda _: create(properties={"write.target-file-bytes": "0"}),
        "the property 'write.target-file-bytes': '0' is too small a size; write 1 or more, or \"64MB\".",
    ),
    "files of a size that is none": (
        lambda t: t.set_properties({"write.target-file-bytes": "abc"}),
        "the property 'write.target-file-bytes': 'abc' is not a size; write a number of bytes or \"64MB\".",
    ),
    "a property's name misspelt": (
        lambda _: create(properties={"write.target-file-byte": "1MB"}),
        "there is no property 'write.target-file-byte'; did you mean 'write.target-file-bytes'?",
    ),
    "a property's name in another case": (
        lambda t: t.set_properties({"Write.Layout": "known"}),
        "there is no property 'Write.Layout'; did you mean 'write.layout'?",
    ),
    "a property of ours that is not": (
        lambda t: t.set_properties({"coalesce.x": "1"}),
        NO_PROPERTY,
    ),
    "a way to remove that is none": (
        lambda t: t.set_properties({"remove.by": "zzz"}),
        "the property 'remove.by' is 'auto' or 'mark' or 'rewrite', not 'zzz'.",
    ),
    "a layout that is none, for all writes": (
        lambda t: t.set_properties({"write.layout": "zzz"}),
        "the property 'write.layout' is 'counted' or 'known', not 'zzz'.",
    ),
    "a layout that is none, for one write": (
        lambda t: t.append(ROWS, layout="zzz"),
        "layout= is 'counted' or 'known', not 'zzz'.",
    ),
    "a layout that is none, for an overwrite": (
        lambda t: t.overwrite(ROWS, layout=wrong(1)),
        "layout= is 'counted' or 'known', not 1.",
    ),
    "properties that are a text": (
        lambda _: create(properties="x"),
        'properties are a dict such as {"name": "value"}, not \'x\'.',
    ),
    "properties that are nothing": (
        lambda t: t.set_properties(wrong(None)),
        'properties are a dict such as {"name": "value"}, not None.',
    ),
    "a property that is a number": (
        lambda t: t.set_properties(wrong({"owner": 5})),
        "the property 'owner' holds a text, not 5.",
    ),
    "a property's name that is a number": (
        lambda _: create(properties={1: "a"}),
        "a name among properties is a text, not 1.",
    ),
    "partitioning by nothing": (
        lambda _: create(partition_by=None),
        "the partition fields are a list of texts, not None.",
    ),
    "partitioning by a list of nothing": (
        lambda _: create(partition_by=[None]),
        "each of the partition fields is a text, not None.",
    ),
    "partitioning by a position": (
        lambda _: create(partition_by=[1]),
        "each of the partition fields is a text, not 1.",
    ),
    "partitioning by a set": (
        lambda _: create(partition_by={"dt"}),
        "the partition fields are a list of texts, not {'dt'}.",
    ),
    "replacing partitioning by nothing": (
        lambda t: t.replace_schema(ROWS.schema, partition_by=wrong(None)),
        "the partition fields are a list of texts, not None.",
    ),
    "replacing by no columns": (
        lambda t: t.replace_schema(pa.schema([])),
        "a table needs at least one column.",
    ),
    "small() of a list": (
        lambda _: coalesce.small(wrong(["app"])),
        "a partition field of small() is a text, not ['app'].",
    ),
    "small() of a number": (
        lambda _: coalesce.small(wrong(1)),
        "a partition field of small() is a text, not 1.",
    ),
    "small() below True": (
        lambda _: coalesce.small("app", below=True),
        'True is not a size; write a number of bytes or "64MB".',
    ),
    "small() below what a number holds": (
        lambda _: coalesce.small("app", below=2**63),
        '9223372036854775808 is not a size; write a number of bytes or "64MB".',
    ),
    "small() with files of no size": (
        lambda _: coalesce.small("app", target=0),
        '0 is too small a size; write 1 or more, or "64MB".',
    ),
    "a group without a name": (
        lambda _: coalesce.small("app", group=""),
        "the name of a group is empty; the usual one is '[#small]'.",
    ),
    "a group's name that is a number": (
        lambda _: coalesce.group("app", wrong({5: ["A"]})),
        "the name of a group is a text, not 5.",
    ),
    "a group of one number": (
        lambda _: coalesce.group("app", wrong({"[#small]": 5})),
        'group() takes a list of values for each name, such as group("app", {"[#small]": ["A", "B"]}).',
    ),
    "a group of a column that is a number": (
        lambda _: coalesce.group(wrong(5), {"[#small]": ["A"]}),
        "the partition field of group() is a text, not 5.",
    ),
    "a column's name that is a number": (
        lambda _: coalesce.col(wrong(1)),
        "the name of a column is a text, not 1.",
    ),
    "a predicate and a text": (
        lambda _: (coalesce.col("app") == "A") & wrong("dt = '2026-05-17'"),
        f"\"dt = '2026-05-17'\" {NO_PREDICATE}",
    ),
    "nothing or a predicate": (
        lambda _: wrong(None) | (coalesce.col("app") == "A"),
        f"None {NO_PREDICATE}",
    ),
    "a column as a condition": (
        lambda _: coalesce.col("app") & wrong(coalesce.col("dt") == "2026-05-17"),
        "a column alone is no condition: compare it, as in col('flag') == True.",
    ),
    "arithmetic": (
        lambda _: coalesce.col("amount") // wrong(1),
        "// rounds down in Python, DIV towards zero in SQL; say call('div', …) or (a / b).floor().",
    ),
    "a beginning that is a number": (
        lambda _: coalesce.col("app").startswith(wrong(5)),
        "the beginning of a text is a text, not 5.",
    ),
    "predicates joined by `and`": (
        lambda _: (coalesce.col("app") == "A") and (coalesce.col("dt") == "2026-05-17"),
        "a predicate has no truth value of its own: combine predicates with &, | and ~.",
    ),
    "columns by position": (
        lambda t: t.scan(columns=wrong([1])),
        "each of the columns is a text, not 1.",
    ),
    "columns that are a number": (
        lambda t: t.scan(columns=wrong(1)),
        "the columns are a list of texts, not 1.",
    ),
    "an unknown column, before anything is read": (
        lambda t: t.scan(columns=["ap"]),
        "there is no column 'ap'; did you mean 'app'?",
    ),
    "the least of a position": (
        lambda t: t.min(wrong(0)),
        "the name of a column is a text, not 0.",
    ),
    "rolling back to a text": (
        lambda t: t.rollback(wrong("0")),
        "the version is a whole number, not '0'.",
    ),
    "rolling back to True": (
        lambda t: t.rollback(True),
        "the version is a whole number, not True.",
    ),
    "a version that is True": (
        lambda _: coalesce.open("events", version=True),
        "version= is a whole number, not True.",
    ),
    "a version and a time": (
        lambda t: t.at(version=0, as_of=datetime(2026, 5, 17)),
        "say either version= or as_of=.",
    ),
    "a version and a time to open at": (
        lambda _: coalesce.open("events", version=0, as_of=datetime(2026, 5, 17)),
        "say either version= or as_of=.",
    ),
    "a day for a time": (
        lambda t: t.at(as_of=wrong(date(2026, 5, 17))),
        "as_of= is a datetime, not datetime.date(2026, 5, 17).",
    ),
    "pandas' no time": (
        lambda t: t.at(as_of=wrong(pd.NaT)),
        "as_of= is a datetime, not NaT.",
    ),
    "a history of a text": (
        lambda t: t.history(wrong("5")),
        "the number of versions is a whole number, not '5'.",
    ),
    "steps of no bytes": (
        lambda t: t.compact_steps(step_bytes=0),
        '0 is too small a size; write 1 or more, or "64MB".',
    ),
    "compacting to no size": (
        lambda t: t.compact(target="large"),
        "'large' is not a size; write a number of bytes or \"64MB\".",
    ),
    "compacting to be dry, perhaps": (
        lambda t: t.compact(dry_run=wrong("yes")),
        "dry_run= is True or False, not 'yes'.",
    ),
    "compacting a number": (
        lambda t: t.compact(wrong(5)),
        "5 is not a predicate; write SQL text, or compare a coalesce.col(…).",
    ),
    "reordering by a text": (
        lambda t: t.reorder("app"),
        'the columns are a list: write reorder(["app"]).',
    ),
    "reordering nothing": (
        lambda t: t.reorder([]),
        "say which columns come first: reorder([…]).",
    ),
    "reordering a column twice": (
        lambda t: t.reorder(["app", "APP"]),
        "column 'app' can come first only once.",
    ),
    "partitioning otherwise, by a number": (
        lambda t: t.evolve(add=wrong(5)),
        "the partition fields are a list of texts, not 5.",
    ),
    "dropping a partition field twice": (
        lambda t: t.evolve(drop=["app", "app"]),
        "'app' is to be dropped twice.",
    ),
    "replacing a partition field by a number": (
        lambda t: t.evolve(replace=wrong({"app": 5})),
        "what replaces the partition field 'app' is a text, not 5.",
    ),
    "a new column's name that is a number": (
        lambda t: t.add_column(wrong(5), "int64"),
        "the name of a column is a text, not 5.",
    ),
    "a new column without a name": (
        lambda t: t.add_column("", "int64"),
        "'' is not a column's name; put a name with dots or quotes in `back-quotes`.",
    ),
    "a new column first and after another": (
        lambda t: t.add_column("x", "int64", first=True, after="dt"),
        "column 'x' cannot be first and after 'dt'; say one of the two.",
    ),
    "a new column, perhaps first": (
        lambda t: t.add_column("x", "int64", first=wrong("yes")),
        "first= is True or False, not 'yes'.",
    ),
    "a new member of a list": (
        lambda t: t.add_column("tags.x", "int64"),
        "column 'tags' is list<string>; only a struct's members have names that can change.",
    ),
    "another name for a list's element": (
        lambda t: t.rename_column("tags.element", "tag"),
        "column 'tags' is list<string>; only a struct's members have names that can change.",
    ),
    "a member of what has none": (
        lambda t: t.drop_column("amount.x"),
        "column 'amount' is double and has no members.",
    ),
    "a new name that is a number": (
        lambda t: t.rename_column("amount", wrong(5)),
        "the new name of a column is a text, not 5.",
    ),
    "features in a list": (
        lambda t: t.enable_feature(wrong(["icebergCompatV3"])),
        "a feature is a text, not ['icebergCompatV3'].",
    ),
    "committing what is no transaction": (
        lambda t: core_of(t).commit(wrong(5)),
        "5 is not a transaction of this table; begin one with transaction().",
    ),
    "a transaction called 5": (
        lambda t: core_of(t).transaction(wrong(5)),
        "the name of an operation is a text, not 5.",
    ),
}


def listing(root: Path) -> list[str]:
    """Every file there is."""
    return sorted(str(p) for p in root.rglob("*") if p.is_file())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a table called `events`. All mistakes are made on this one, since none may leave a trace."""
    root = tmp_path_factory.mktemp("mistakes")
    coalesce.create(root / "events", ROWS.schema, partition_by=["dt", "app"]).append(ROWS)
    return root


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_clear_sentence(mistake: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a CoalesceError, and its message says what is wrong and what to do; everything stays as it was."""
    monkeypatch.chdir(place)
    before = listing(place)
    make, sentence = MISTAKES[mistake]
    with pytest.raises(coalesce.CoalesceError) as raised:
        make(coalesce.open("events"))
    assert str(raised.value) == sentence
    assert coalesce.open("events").version == 1
    assert listing(place) == before


def test_numpy_is_welcome(tmp_path: Path) -> None:
    """Integers, flags and texts of NumPy's are integers, flags and texts; arrays of them are lists."""
    table = coalesce.create(
        tmp_path / "t",
        ROWS.schema,
        partition_by=np.array(["dt", "app"]),  # type: ignore[arg-type]  # more than is promised
        rule=coalesce.small(np.str_("app"), below=np.int32(4096)),  # type: ignore[arg-type]  # likewise
    )
    table.append(ROWS)
    table.add_column("x", "int64", first=np.bool_(True), default=np.int8(7))  # type: ignore[arg-type]  # likewise
    table.rollback(np.int64(1))  # type: ignore[arg-type]  # likewise
    assert coalesce.open(tmp_path / "t", version=np.uint8(3)).version == 3  # type: ignore[arg-type]  # likewise
    assert len(table.history(np.int64(2))) == 2  # type: ignore[arg-type]  # likewise
    assert table.scan(columns=np.array(["app"])).to_arrow().to_pylist() == [{"app": "A"}]  # type: ignore[arg-type]


def test_times_of_numpy_and_pandas_are_times(tmp_path: Path) -> None:
    """To the microsecond, whatever unit they come in; what pandas calls missing in a column of objects is NULL."""
    day = np.datetime64("2026-05-17")
    table = coalesce.create(tmp_path / "t", ROWS.schema, partition_by=["dt", "app"])
    table.append(pd.DataFrame({"dt": [date(2026, 5, 17), pd.NaT], "app": [float("nan"), "A"]}))
    assert table.distinct("app") == [None, "A"]
    assert table.count((coalesce.col("dt") == wrong(day)) & coalesce.col("app").is_null()) == 1
    expected = coalesce.col("t") == datetime(2026, 5, 17)
    for same in (day.astype("M8[ns]"), day.astype("M8[s]"), pd.Timestamp("2026-05-17")):
        assert (coalesce.col("t") == wrong(same)) == expected
    table.drop_partition(dt=day, app=None)
    assert table.count() == 1


def test_a_bad_property_of_another_writer_can_be_mended(tmp_path: Path) -> None:
    """One that is there already keeps nobody from reading; a write says what is wrong, and None takes it away."""
    table = coalesce.create(tmp_path / "t", ROWS.schema)
    change = core_of(table).transaction("set_properties")
    bad = {"write.target-file-bytes": "0", "write.future": "1"}
    change.change(lambda head: replace(head, properties=bad))
    core_of(table).commit(change)
    before = listing(tmp_path)
    with pytest.raises(coalesce.CoalesceError, match="'0' is too small a size"):
        table.append(ROWS)
    assert listing(tmp_path) == before
    table.set_properties({"write.target-file-bytes": None})
    table.append(ROWS)
    assert table.state.properties == {"write.future": "1"}
    assert table.count() == 1
