"""Bounds of columns as other engines may use them, which do not all order values as Spark does."""

import math

from coalesce.model.datafile import ColumnStatistics
from coalesce.model.types import FLOATING, AtomicType, Value
from coalesce.model.values import order_key


def safe_bounds(type_: AtomicType, known: ColumnStatistics) -> tuple[Value, Value]:
    """The lower and the upper bound that no engine can draw a wrong conclusion from; None is unknown.

    NaN is above everything for some and nowhere for others, so no upper bound stands where there may be one. Zero has
    two signs, which some tell apart: the lower bound is the lower one of them.
    """
    lower, upper = known.lower, known.upper
    if type_ in FLOATING:
        if isinstance(upper, float) and (known.nan_count != 0 or math.isnan(upper)):
            upper = None
        if isinstance(lower, float) and math.isnan(lower):
            lower = None
        lower = -0.0 if lower == 0 else lower
        upper = 0.0 if upper == 0 else upper
    if lower is not None and upper is not None and order_key(type_, lower) > order_key(type_, upper):
        return None, None
    return lower, upper


def safe_null_count(known: ColumnStatistics, rows: int) -> int | None:
    """How many values are NULL, unless that is unknown or contradicts the number of rows."""
    count = known.null_count
    return count if count is not None and 0 <= count <= rows else None
