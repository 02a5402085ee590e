"""A column of rows as a domain: every value is known, and there are many of them.

Tuples and statistics are few and asked again and again, so they are worth codes in sorted order (`encoding.py`). Rows
are asked once. So a leaf is answered by the comparison that it is, over the column as it lies in memory.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.columns import Mask, column_from, flags, is_null, numbers
from coalesce.model.types import BINARY, BOOLEAN, FLOATING, STRING, AtomicType, DecimalType, Value
from coalesce.model.values import column_of
from coalesce.predicate.domains import Interval, rows_domain
from coalesce.predicate.expr import Computed, InBuckets, InRange, InSet, IsNull, Leaf
from coalesce.predicate.extents import Extent, outcome_bits
from coalesce.predicate.outcomes import NULL, Outcomes, bits
from coalesce.predicate.scalar.evaluate import evaluate

_FEW: Final = 4  # values that are as well compared one by one
_COMPARE: Final = {  # (upwards, inclusive) → which Arrow and NumPy call the same
    (True, True): np.greater_equal,
    (True, False): np.greater,
    (False, True): np.less_equal,
    (False, False): np.less,
}


@dataclass(frozen=True)
class RowValues:
    """Exactly these values, one a row."""

    type: AtomicType
    column: pa.Array

    def outcomes(self, leaf: Leaf | Computed) -> Outcomes:
        """See `Domain`."""
        match leaf:
            case IsNull():
                return bits(self._nulls, ~self._nulls)
            case InSet(_, values) if len(values) > _FEW and self.type in FLOATING:
                return self._coded.outcomes(leaf)  # a hash would tell -0.0 from 0.0
            case InSet(_, values):
                is_it = self._in_set(values)
            case InRange():
                is_it = self._in_range(leaf)
            case InBuckets():
                return self._coded.outcomes(leaf)
            case Computed(value, columns=(column,)):
                return outcome_bits(evaluate(value, {column.id: self.column}, len(self.column)), len(self.column))
        outcomes = bits(is_it, ~is_it)
        if self.column.null_count:
            outcomes[self._nulls] = NULL
        return outcomes

    def at(self, places: npt.NDArray[np.integer]) -> "RowValues":
        """See `Domain`."""
        return RowValues(self.type, self.column.take(column_from(places)))

    def extent(self) -> Extent:
        """See `Domain`."""
        everywhere = np.ones(len(self.column), np.bool_)
        return Extent(self.column, self.column, self._nulls, ~self._nulls, everywhere, everywhere)

    @cached_property
    def _nulls(self) -> Mask:
        return is_null(self.column)

    @cached_property
    def _coded(self) -> Interval:
        return rows_domain(self.type, self.column)

    def _in_set(self, values: tuple[Value, ...]) -> Mask:
        if len(values) <= _FEW:
            found = np.zeros(len(self.column), np.bool_)
            for value in values:
                found |= self._equal(value)
            return found
        return flags(pc.is_in(self.column, value_set=column_of(self.type, values)))

    def _equal(self, value: Value) -> Mask:
        if self._is_numeric:
            held = numbers(self.column)
            return np.isnan(held) if value != value else np.equal(held, value)  # type: ignore[arg-type]  # a number
        return flags(pc.equal(self.column, self._scalar(value)))

    def _in_range(self, leaf: InRange) -> Mask:
        above = self._beyond(leaf.lower, leaf.lower_inclusive, upwards=True)
        below = self._beyond(leaf.upper, leaf.upper_inclusive, upwards=False)
        if above is None or below is None:
            found = above if below is None else below
            return np.ones(len(self.column), np.bool_) if found is None else found
        return above & below

    def _beyond(self, end: Value, inclusive: bool, upwards: bool) -> Mask | None:
        """Where values lie above an end, or below it; None if it is open."""
        if end is None:
            return None
        compare = _COMPARE[upwards, inclusive]
        if not self._is_numeric:
            return flags(pc.call_function(compare.__name__, [self.column, self._scalar(end)]))
        held = numbers(self.column)
        if self.type in FLOATING:
            return _float_beyond(held, end, inclusive, upwards)
        return np.asarray(compare(held, end))  # type: ignore[arg-type]  # a number

    @property
    def _is_numeric(self) -> bool:
        """Whether NumPy has the values as they are."""
        return self.type not in (BOOLEAN, STRING, BINARY) and not isinstance(self.type, DecimalType)

    def _scalar(self, value: Value) -> pa.Scalar:
        return column_of(self.type, [value])[0]


def _float_beyond(held: npt.NDArray[np.floating[Any]], end: Value, inclusive: bool, upwards: bool) -> Mask:
    """The same for floats: to Spark, NaN is above every number and equal to itself."""
    nan = np.isnan(held)
    if end != end:
        if upwards:
            return nan if inclusive else np.zeros(len(held), np.bool_)
        return np.ones(len(held), np.bool_) if inclusive else ~nan
    with np.errstate(invalid="ignore"):
        beyond: Mask = _COMPARE[upwards, inclusive](held, end)  # type: ignore[arg-type]  # a float
    return beyond | nan if upwards else beyond
