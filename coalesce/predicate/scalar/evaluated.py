"""What a value comes to at many places: Arrow values, and where Spark's answer is not certain.

A place is *unsure* where Spark fails in ANSI mode and says something else without it (an overflow, a division by zero,
a text that is no number), and where only Spark's own tables could tell (summer time in the year 2100). The planner
keeps what it is not sure of; whoever filters rows says why it cannot.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from coalesce.model.columns import Mask, is_null

# A column of values, or one value that holds at every place.
Datum: TypeAlias = "pa.Array | pa.Scalar"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """`values` in the Arrow form of the type; what stands there where `unsure` means nothing. `why` it is."""

    values: Datum
    unsure: Mask | None = None
    why: str = ""


def sure(values: Datum) -> Evaluated:
    """Values that are certain everywhere."""
    return Evaluated(values)


def unsure_where(values: Datum, unsure: Mask, why: str) -> Evaluated:
    """Values that are certain except where `unsure`."""
    return Evaluated(values, unsure, why) if bool(unsure.any()) else Evaluated(values)


def nulls(datum: Datum, count: int) -> Mask:
    """Where a column or a single value is NULL."""
    if isinstance(datum, pa.Scalar):
        return np.full(count, not datum.is_valid)
    return is_null(datum)


def spread(datum: Datum, count: int) -> pa.Array:
    """The same as a column."""
    return pa.repeat(datum, count) if isinstance(datum, pa.Scalar) else datum


def united(values: Datum, arguments: Sequence[Evaluated]) -> Evaluated:
    """Values that are unsure where any argument is."""
    unsure = [a.unsure for a in arguments if a.unsure is not None]
    if not unsure:
        return Evaluated(values)
    why = next(a.why for a in arguments if a.unsure is not None)
    return Evaluated(values, reduce(np.logical_or, unsure), why)
