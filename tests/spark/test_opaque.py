"""Conditions that only Catalyst understands, over the tuples of a manifest; Catalyst is played by a function."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple, Spec, parse_partition_fields
from coalesce.model.types import DATE, DOUBLE, INT64, STRING, AtomicType, Field, Value
from coalesce.model.values import values_of
from coalesce.plan.index import ManifestIndex
from coalesce.predicate.expr import Opaque
from coalesce.predicate.outcomes import ANYTHING, FALSE, NULL, TRUE
from coalesce.spark.source.opaque import Catalyst

COLUMNS: dict[str, AtomicType] = {"app": STRING, "n": INT64, "day": DATE, "x": DOUBLE}
SCHEMA = Schema(tuple(Field(id=i, name=name, type=type_) for i, (name, type_) in enumerate(COLUMNS.items(), 1)))
OUTCOMES = {"T": TRUE, "F": FALSE, "N": NULL, "?": ANYTHING}

Row = dict[str, Value]


def made(
    partition_by: Sequence[str], tuples: Sequence[LogicalTuple], schema: Schema = SCHEMA
) -> tuple[Spec, ManifestIndex]:
    """A manifest whose files have three tuples each."""
    spec = Spec(0, parse_partition_fields(partition_by, schema))
    files = [
        DataFile(
            path=f"data/{start}",
            spec_id=0,
            rows=len(some),
            bytes=1,
            tuples=tuple(some),
            tuple_rows=(1,) * len(some),
            complete=True,
        )
        for start in range(0, len(tuples), 3)
        if (some := list(dict.fromkeys(tuples[start : start + 3])))
    ]
    return spec, ManifestIndex(from_files(files, spec, schema))


@dataclass
class Played:
    """Reads what crosses to Java as Java would, and answers by a function of the values."""

    judge: Callable[[Row], str]
    asked: list[Row] = field(default_factory=list)

    def __call__(self, condition: str, columns: str, rows: str) -> str:
        """An outcome for each row."""
        assert condition == "opaque"
        names = columns.split("\0")[:-1]
        read = [dict(zip(names, _values(names, line), strict=True)) for line in rows.split("\0")[:-1]]
        self.asked += read
        return "".join(self.judge(row) for row in read)


def _values(names: Sequence[str], line: str) -> list[Value]:
    return [_value(COLUMNS.get(name, INT64), text) for name, text in zip(names, line.split(" "), strict=True)]


def _value(type_: AtomicType, text: str) -> Value:
    if text == "-":
        return None
    return base64.b64decode(text[1:]).decode() if type_ == STRING else int(text[1:])


def by_content(row: Row) -> str:
    """An outcome that every value has a part in."""
    return "TFN?"[sum(map(ord, repr(sorted(row.items(), key=str)))) % 4]


def opaque(*columns: int) -> Opaque:
    """A condition on these columns."""
    return Opaque("opaque", frozenset(columns))


_days = st.integers(0, 3).map(lambda n: (date(2026, 5, 1) + timedelta(n) - date(1970, 1, 1)).days)
_tuples = st.lists(
    st.tuples(
        st.sampled_from([None, "", "a", "-", "=", "a b", "\0", "é", "[#small]"]),
        st.none() | st.sampled_from([0, -1, 2**63 - 1, -(2**63)]),
        st.none() | _days,
    ),
    min_size=1,
    max_size=30,
)


@given(_tuples, st.data())
def test_outcomes_are_those_of_the_values(tuples: list[LogicalTuple], data: st.DataObject) -> None:
    """At all tuples of a manifest, and at some: what the condition comes to on the tuple's own values."""
    spec, index = made(["app", "n", "day"], tuples)
    distinct = [
        tuple(None if code < 0 else values[code] for values, code in zip(columns, codes, strict=True))
        for columns in [[_plain(index, i) for i in range(3)]]
        for codes in zip(*(index.component(i).codes.tolist() for i in range(3)), strict=True)
    ]
    assert set(distinct) == set(tuples)
    columns = data.draw(st.sets(st.integers(1, 3), min_size=1))
    names = [list(COLUMNS)[i - 1] for i in sorted(columns)]
    expected = [OUTCOMES[by_content({name: t[list(COLUMNS).index(name)] for name in names})] for t in distinct]
    played = Played(by_content)
    catalyst = Catalyst(SCHEMA, played)
    some = np.array(sorted(data.draw(st.sets(st.integers(0, len(distinct) - 1), min_size=1))))
    found = catalyst(opaque(*columns), (spec, index, some))
    assert found is not None
    assert found.tolist() == [expected[i] for i in some]
    everything = catalyst(opaque(*columns), (spec, index, None))
    assert everything is not None
    assert everything.tolist() == expected
    assert len(played.asked) == len({repr(sorted(row.items())) for row in played.asked}), "asked twice"


def _plain(index: ManifestIndex, position: int) -> list[Value]:
    return values_of(list(COLUMNS.values())[position], index.component(position).values)


def test_what_tuples_do_not_say() -> None:
    """Columns that are no partition field, were transformed, or are floats: nothing is said, and Java is not asked."""
    spec, index = made(["app", "truncate(10, n)", "x"], [("a", 0, 1.5), ("b", 10, -0.0)])
    played = Played(by_content)
    catalyst = Catalyst(SCHEMA, played)
    for columns in [(2,), (1, 2), (3,), (4,), (9,), ()]:
        assert catalyst(opaque(*columns), (spec, index, None)) is None
    assert catalyst(Opaque("opaque"), (spec, index, None)) is None
    assert played.asked == []
    assert catalyst(opaque(1), (spec, index, None)) is not None


def test_an_answer_that_does_not_fit() -> None:
    """Java answers nothing for a condition it does not know; nothing is made of it."""
    spec, index = made(["app"], [("a",), ("b",)])
    assert Catalyst(SCHEMA, lambda *_: "")(opaque(1), (spec, index, None)) is None
    assert Catalyst(SCHEMA, lambda *_: "T")(opaque(1), (spec, index, None)) is None


def test_more_combinations_than_numbers() -> None:
    """Five columns of ten thousand values each: combinations are not numbered any more, so nothing is said."""
    schema = Schema(tuple(Field(id=i, name=f"c{i}", type=INT64) for i in range(1, 6)))
    tuples = [tuple((n * step) % 10_007 for step in (1, 3, 5, 7, 11)) for n in range(10_000)]
    spec, index = made(list(schema.names), tuples, schema)
    played = Played(lambda row: "T" if row["c1"] == 1 else "F")
    catalyst = Catalyst(schema, played)
    for columns in [(1, 2), (1, 2, 3, 4)]:
        found = catalyst(opaque(*columns), (spec, index, None))
        assert found is not None
        assert int((found == TRUE).sum()) == 1
    found = catalyst(opaque(1, 2, 3, 4, 5), (spec, index, None))
    assert found is None or int((found == TRUE).sum()) == 1
