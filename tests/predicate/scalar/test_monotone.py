"""Functions that are said to go one way with an argument do: results between two ends lie between those of the ends."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from coalesce.model.conversions import integer_range
from coalesce.model.types import DATE, INT32, INT64, STRING, TIMESTAMP, TIMESTAMP_NTZ, AtomicType, Value
from coalesce.model.values import column_of, order_key, values_of
from coalesce.predicate.scalar import dates, temporal_casts, texts
from coalesce.predicate.scalar.evaluate import apply, apply_at_end, evaluate
from coalesce.predicate.scalar.evaluated import spread
from coalesce.predicate.scalar.nodes import Argument, Call, Fixed, Interval, Reference
from tests.support.examples import examples

_NEAR: dict[AtomicType, int] = {
    DATE: 60_000,
    TIMESTAMP: 4 * 10**15,
    TIMESTAMP_NTZ: 4 * 10**15,
    INT32: 1000,
    INT64: 10**13,
}
_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond")
_ZONES = ("UTC", "+05:30", "-11:00")


def _value(chance: random.Random, type_: AtomicType) -> Value:
    if type_ == STRING:
        return "".join(chance.choice("ab\0zé🙂\uffff ") for _ in range(chance.randrange(5)))
    near = _NEAR[type_]
    return chance.randint(
        *chance.choice(((-near, near), (-near, near), (-near // 1000, near // 1000), integer_range(type_)))
    )


def _column(number: int, type_: AtomicType) -> Reference:
    return Reference(number, f"c{number}", type_)


def _bound(function: str, *arguments: Argument, zone: str = "UTC") -> Call:
    chooser: Callable[[Sequence[Argument], str], Argument | None] = {**texts.FUNCTIONS, **dates.FUNCTIONS}[function]
    found = chooser(arguments, zone)
    assert isinstance(found, Call), function
    return found


def _moved(type_: AtomicType, interval: Interval, zone: str) -> Call:
    found = dates.add((_column(1, type_), interval), zone)
    assert isinstance(found, Call)
    return found


def _cast(source: AtomicType, target: AtomicType, zone: str) -> Call:
    found = temporal_casts.convert_temporal(_column(1, source), target, zone)
    assert isinstance(found, Call)
    return found


DAY, TIME, CLOCK, NUMBER = _column(1, DATE), _column(1, TIMESTAMP), _column(1, TIMESTAMP_NTZ), _column(2, INT32)
CALLS = [
    *(_bound("left", _column(1, STRING), Fixed(n, INT32)) for n in (-1, 0, 1, 3)),
    *(_bound("substring", _column(1, STRING), Fixed(n, INT32), Fixed(2, INT32)) for n in (0, 1)),
    _bound("concat", Fixed("a", STRING), _column(1, STRING)),
    *(_bound(name, DAY) for name in ("year", "last_day", "unix_date")),
    _bound("next_day", DAY, Fixed("TU", STRING)),
    *(_bound(name, DAY, NUMBER) for name in ("date_add", "date_sub", "add_months")),
    _bound("datediff", DAY, _column(2, DATE)),
    *(_bound(f"unix_{unit}", TIME) for unit in ("seconds", "millis", "micros")),
    *(_bound(f"timestamp_{unit}", _column(1, INT64)) for unit in ("seconds", "millis", "micros")),
    _bound("date_from_unix_date", _column(1, INT32)),
    *(_bound("date_trunc", Fixed(unit, STRING), TIME, zone=zone) for unit, zone in product(_UNITS, _ZONES)),
    *(_bound("trunc", DAY, Fixed(unit, STRING)) for unit in _UNITS[:4]),
    *(_moved(TIMESTAMP, interval, zone) for interval in (Interval(0, 2, 0), Interval(0, -3, 0)) for zone in _ZONES),
    *(_moved(TIMESTAMP_NTZ, Interval(0, 0, 5_000_000), zone) for zone in _ZONES),
    *(_moved(TIMESTAMP, Interval(0, 0, 3_600_000_000), zone) for zone in (*_ZONES, "America/New_York")),
    *(_cast(a, b, z) for a, b in product((DATE, TIMESTAMP, TIMESTAMP_NTZ), repeat=2) if a != b for z in _ZONES),
    *(_cast(a, STRING, z) for a in (DATE, TIMESTAMP, TIMESTAMP_NTZ) for z in _ZONES),
    *(_cast(TIMESTAMP, b, z) for b in (INT32, INT64) for z in (*_ZONES, "America/New_York")),
]


def _direction(call: Call) -> tuple[int, ...] | None:
    found = texts.monotone(call) if call.function in texts.KERNELS else dates.monotone(call)
    assert found is None or len(found) == len(call.arguments)
    return found


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.function}{call.settings}{call.type}")
def test_results_lie_between_those_of_the_ends(call: Call) -> None:
    """For any ranges of the arguments, taken in the directions, and any place inside of them."""
    directions = _direction(call)
    assert directions is not None
    chance, count = random.Random(call.function), examples(300)
    columns: list[dict[int, pa.Array]] = [{}, {}, {}]  # the ends from which, the places inside, and the ends to which
    for argument, direction in zip(call.arguments, directions, strict=True):
        if not isinstance(argument, Reference):
            assert isinstance(argument, Fixed)
            continue
        assert direction, "a column is not fixed"
        key = partial(order_key, argument.type)
        drawn = [
            sorted((_value(chance, argument.type) for _ in range(3)), key=key, reverse=direction < 0)
            for _ in range(count)
        ]
        for place, values in zip(columns, zip(*drawn, strict=True), strict=True):
            place[argument.id] = column_of(argument.type, values)
    results = [_evaluated(call, place, count, end=place is not columns[1]) for place in columns]
    compared = 0
    for first, inside, last in zip(*results, strict=True):
        if first is not None and last is not None:
            assert inside is not None
            assert first <= inside <= last
            compared += 1
    assert compared > count / 20


def _evaluated(call: Call, columns: dict[int, pa.Array], count: int, *, end: bool) -> list[Any]:
    """What can be compared, None where it is unsure, as more is at the end of a range."""
    arguments = [evaluate(argument, columns, count) for argument in call.arguments]
    found = (apply_at_end if end else apply)(call, arguments, count)
    unsure = [False] * count if found.unsure is None else found.unsure.tolist()
    values = values_of(call.type, spread(found.values, count))
    return [None if u else order_key(call.type, v) for u, v in zip(unsure, values, strict=True)]


@pytest.mark.parametrize(
    "call",
    [
        _bound("month", DAY),
        _bound("lower", _column(1, STRING)),
        _bound("substring", _column(1, STRING), Fixed(2, INT32)),
        _bound("substring", _column(1, STRING), Fixed(1, INT32), NUMBER),
        _bound("concat", _column(1, STRING), Fixed("a", STRING)),
        _bound("date_trunc", Fixed("hour", STRING), TIME, zone="America/New_York"),
        _cast(TIMESTAMP, DATE, "America/New_York"),
        _cast(STRING, DATE, "UTC"),
        _moved(TIMESTAMP, Interval(0, 1, 0), "America/New_York"),
    ],
    ids=lambda call: f"{call.function}{call.settings}",
)
def test_what_goes_up_and_down_is_not_said_to_go_one_way(call: Call) -> None:
    """Months begin again each year, and clocks are set back."""
    assert _direction(call) is None
