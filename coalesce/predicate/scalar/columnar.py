"""Kernels over columns: what every function of text or time needs of its arguments before it can look at them.

Where Arrow has no function that does just what Spark's does, a plain function says it for one row of arguments, and
is called once for each distinct row.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coalesce.model.columns import Mask, column_from, is_null, numbers
from coalesce.model.types import AtomicType, Value
from coalesce.model.values import column_of, values_of
from coalesce.predicate.scalar.evaluated import Datum, Evaluated, spread
from coalesce.predicate.scalar.nodes import Call

Kernel = Callable[[Call, Sequence[Datum], int], Evaluated]
Integers = npt.NDArray[np.integer[Any]]

NOT_UTF8: Final = "a text is not UTF-8"


class Unsure:
    """The answer of a plain function that does not know Spark's."""


UNSURE: Final = Unsure()


def columnar(kernel: Kernel) -> Kernel:
    """A kernel that has at least one column among its arguments, and in it no text that is not UTF-8."""

    @wraps(kernel)
    def whole(call: Call, arguments: Sequence[Datum], count: int) -> Evaluated:
        if all(isinstance(argument, pa.Scalar) for argument in arguments):
            one = whole(call, [pa.repeat(argument, 1) for argument in arguments], 1)
            unsure = None if one.unsure is None else np.full(count, one.unsure[0])
            return Evaluated(spread(one.values, 1)[0], unsure, one.why)
        readable = [_readable(argument) for argument in arguments]
        found = kernel(call, [argument for argument, _ in readable], count)
        for _, garbled in readable:
            if garbled is not None:
                unsure = garbled if found.unsure is None else garbled | found.unsure
                found = Evaluated(found.values, unsure, found.why or NOT_UTF8)
        return found

    return whole


def _readable(argument: Datum) -> tuple[Datum, Mask | None]:
    """The texts, and where they are none: Arrow and Spark let a string be any bytes, and read those differently."""
    if not isinstance(argument, pa.Array) or not pa.types.is_string(argument.type):
        return argument, None
    try:
        argument.validate(full=True)
    except pa.ArrowInvalid:
        texts = [_text(raw) for raw in argument.cast(pa.binary()).to_pylist()]
        garbled = np.array([text is None for text in texts]) & ~is_null(argument)
        return pa.array(texts, pa.string()), garbled
    return argument, None


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None


def by_distinct(
    call: Call, arguments: Sequence[Datum], count: int, function: Callable[..., Value | Unsure], why: str
) -> Evaluated:
    """`function` of the arguments at each place, called once for each distinct row of them; NULL where one is."""
    rows, numbers_of_rows, missing = _distinct_rows([a.type for a in call.arguments], arguments, count)
    answers = [function(*row) for row in rows]
    return answered(call.type, answers, numbers_of_rows, missing, why)


def answered(
    type_: AtomicType | None, answers: Sequence[Value | Unsure], places: Integers, missing: Mask, why: str
) -> Evaluated:
    """The answer that each place's number points to; NULL where `missing`."""
    assert type_ is not None  # of a call
    known = column_of(type_, [None if isinstance(answer, Unsure) else answer for answer in answers])
    values = known.take(column_from(places, missing))
    doubtful = np.array([isinstance(answer, Unsure) for answer in answers], np.bool_)
    if not doubtful.any():
        return Evaluated(values)
    return Evaluated(values, doubtful[np.where(missing, 0, places)] & ~missing, why)


def _distinct_rows(
    types: Sequence[AtomicType | None], arguments: Sequence[Datum], count: int
) -> tuple[list[tuple[Value, ...]], Integers, Mask]:
    """The distinct rows of the arguments, which of them stands at each place, and where one of them is NULL."""
    rows: list[tuple[Value, ...]] = [()]
    places = np.zeros(count, np.int64)
    missing = np.zeros(count, np.bool_)
    for type_, argument in zip(types, arguments, strict=True):
        assert type_ is not None  # arguments are converted when they are bound
        if isinstance(argument, pa.Scalar):
            (value,) = values_of(type_, pa.repeat(argument, 1))
            rows = [(*row, value) for row in rows]
            continue
        encoded = argument.dictionary_encode()
        values = values_of(type_, encoded.dictionary)
        if not values:  # nothing but NULL, and so is all that comes of it
            return [], places, np.ones(count, np.bool_)
        missing |= is_null(encoded.indices)
        codes = numbers(encoded.indices, null=0).astype(np.int64)
        if len(rows) == 1:
            rows, places = [(*rows[0], value) for value in values], codes
        else:
            met, places = np.unique(places * len(values) + codes, return_inverse=True)
            rows = [(*rows[pair // len(values)], values[pair % len(values)]) for pair in met.tolist()]
    return rows, places, missing
