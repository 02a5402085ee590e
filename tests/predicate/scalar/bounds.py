"""Whether results at the ends of ranges bound those between, as `monotone` says of a call."""

import random
from collections.abc import Callable, Sequence

from coalesce.model.types import AtomicType, Value
from coalesce.model.values import column_of, order_key, values_of
from coalesce.predicate.scalar.evaluate import evaluate
from coalesce.predicate.scalar.evaluated import spread
from coalesce.predicate.scalar.nodes import Call, Fixed
from tests.predicate.scalar.awkward_numbers import COLUMNS
from tests.support.examples import examples


def check_bounds(calls: Sequence[Call], monotone: Callable[[Call], tuple[int, ...] | None], rng: random.Random) -> int:
    """How many of the calls are said to be monotone; each is, for values of awkward columns in any three places."""
    said = 0
    for call in calls:
        directions = monotone(call)
        if directions is None:
            continue
        said += 1
        assert len(directions) == len(call.arguments)
        _check(call, directions, rng)
    return said


def _check(call: Call, directions: Sequence[int], rng: random.Random) -> None:
    count = examples(20)
    rows: list[tuple[list[Value], list[Value], list[Value]]] = []
    types: list[AtomicType] = []
    for argument, direction in zip(call.arguments, directions, strict=True):
        if isinstance(argument, Fixed):
            continue
        assert direction in (1, -1), f"{call}: an argument that is not fixed has no direction"
        type_ = argument.type
        assert type_ is not None
        pool = next(values for other, values in COLUMNS.values() if other == type_)
        triples = [sorted(rng.choices(pool, k=3), key=lambda value: order_key(type_, value)) for _ in range(count)]
        rows.append(tuple(list(place) for place in zip(*triples, strict=True))[::direction])  # type: ignore[arg-type]
        types.append(type_)
    (low, _), (middle, unsure), (high, _) = found = [_values(call, types, [row[i] for row in rows]) for i in range(3)]
    for place in range(count):
        ends = low[place], high[place]
        if found[0][1][place] or found[2][1][place] or unsure[place] or None in ends:
            continue
        assert middle[place] is not None, (call, [row[1][place] for row in rows])
        keys = [order_key(call.type, value) for value in (ends[0], middle[place], ends[1])]
        assert keys[0] <= keys[1] <= keys[2], (
            call,
            ends,
            middle[place],
            [[r[i][place] for i in range(3)] for r in rows],
        )


def _values(call: Call, types: Sequence[AtomicType], columns: Sequence[list[Value]]) -> tuple[list[Value], list[bool]]:
    """The call's values and where they are unsure; its arguments that are not fixed have the ids 1, 2, …"""
    count = len(columns[0])
    arrays = {i: column_of(type_, values) for i, (type_, values) in enumerate(zip(types, columns, strict=True), 1)}
    evaluated = evaluate(call, arrays, count)
    unsure = [False] * count if evaluated.unsure is None else evaluated.unsure.tolist()
    values = values_of(call.type, spread(evaluated.values, count))
    return values, unsure
