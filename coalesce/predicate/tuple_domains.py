"""What a tuple's component says about the column it was made from.

Other planners project the predicate through the transform; here the *value* goes back through it. A `day` of
2026-05-17 says that the timestamp lay between two instants; a bucket, that it had this hash; identity, that it was
just this value. NULL means that the column was NULL, whatever the transform (but void says nothing). So predicates
are never rewritten per spec, and the one evaluator judges every spec's files by what their own tuples say.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

import numpy as np
import pyarrow as pa

from coalesce.model.arrow_schema import arrow_type, type_from_arrow
from coalesce.model.transforms import (
    Bucket,
    Day,
    Hour,
    Identity,
    Month,
    Transform,
    Truncate,
    Void,
    Year,
    result_type,
    source_bounds,
)
from coalesce.model.types import BINARY, STRING, AtomicType, Value
from coalesce.model.values import values_of
from coalesce.predicate.domains import Domain, Hashed, Interval, Unknown
from coalesce.predicate.encoding import HIGHEST, LOWEST, encode, encode_values, keys_of, successor
from coalesce.predicate.outcomes import Mask


def component_domain(transform: Transform, source_type: AtomicType, components: pa.Array) -> Domain:
    """The source column's domain at each of `components` (distinct, not NULL), and at a last place for NULL."""
    if components.type != arrow_type(result_type(transform, source_type)):  # stored before the column was widened
        components = components.cast(arrow_type(result_type(transform, source_type)))
    match transform:
        case Void():
            return Unknown(len(components) + 1)
        case Identity():
            encoding, codes = encode(source_type, components)
            codes = np.append(codes, 0)
            return Interval(encoding, codes, codes, *_null_last(len(components)))
        case Bucket():
            buckets = np.append(keys_of(result_type(transform, source_type), components), -1)
            return Hashed(transform, source_type, buckets, _null_last(len(components))[0])
        case Truncate(width) if source_type in (STRING, BINARY):
            values = values_of(source_type, components)
            return _between(source_type, values, [_last_with_prefix(v, width) for v in values])
        case Truncate() | Year() | Month() | Day() | Hour():
            values = _values(components)
            lower = [_end(transform, source_type, v, 0) for v in values]
            upper = [_end(transform, source_type, v, 1) for v in values]
            return _between(source_type, lower, upper)
        case _:
            assert_never(transform)


def bounds_domain(
    transform: Transform, source_type: AtomicType, lower: Sequence[Value], upper: Sequence[Value], has_null: Mask
) -> Domain:
    """The source column's domain at places where components lie between `lower` and `upper`.

    Both are None at a place where there are only NULLs.
    """
    empty = np.array([v is None for v in lower], np.bool_)
    match transform:
        case Void() | Bucket():
            return Unknown(len(lower))
        case Identity():
            lowest, highest = list(lower), list(upper)
        case Truncate(width) if source_type in (STRING, BINARY):
            lowest, highest = list(lower), [None if v is None else _last_with_prefix(v, width) for v in upper]
        case Truncate() | Year() | Month() | Day() | Hour():
            lowest = [_end(transform, source_type, v, 0) for v in lower]
            highest = [_end(transform, source_type, v, 1) for v in upper]
        case _:
            assert_never(transform)
    return replace(_between(source_type, lowest, highest, False), may_be_null=has_null, may_be_value=~empty)


def _end(transform: Transform, source_type: AtomicType, component: Value, side: int) -> Value:
    bounds = None if component is None else source_bounds(transform, source_type, component)
    return None if bounds is None else bounds[side]


def _between(
    source_type: AtomicType, lower: Sequence[Value], upper: Sequence[Value], null_last: bool = True
) -> Interval:
    end = [None] if null_last else []
    encoding, (lowest, highest) = encode_values(source_type, [*lower, *end], [*upper, *end])
    lowest[[i for i, v in enumerate(lower) if v is None]] = LOWEST
    highest[[i for i, v in enumerate(upper) if v is None]] = HIGHEST
    return Interval(encoding, lowest, highest, *_null_last(len(lowest) - 1))


def _null_last(count: int) -> tuple[Mask, Mask]:
    may_be_null = np.zeros(count + 1, np.bool_)
    may_be_null[-1] = True
    return may_be_null, ~may_be_null


def _last_with_prefix(value: Value, width: int) -> Value:
    """An upper bound of all strings that were cut to `value`; None if there is none.

    A value shorter than the width was not cut and is its own bound. The bound of a cut one is the successor of the
    prefix, which itself is not among them: slightly too wide, and therefore safe.
    """
    assert isinstance(value, str | bytes)
    return value if len(value) < width else successor(value)


def _values(components: pa.Array) -> list[Value]:
    return values_of(type_from_arrow(components.type), components)  # type: ignore[arg-type]
