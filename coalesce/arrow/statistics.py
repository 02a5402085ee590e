"""What an entry says of a column's values, computed from the rows that went into the file."""

from typing import Final

import numpy as np
import pyarrow as pa

from coalesce.errors import SchemaError
from coalesce.model.columns import column_from, numbers
from coalesce.model.datafile import ColumnStatistics
from coalesce.model.entries import value_range
from coalesce.model.schema import Schema
from coalesce.model.types import FLOATING, AtomicType, Value
from coalesce.predicate.encoding import successor

# Characters or bytes of a bound: a manifest keeps two for every file and column, and a prefix prunes almost as well.
MAX_BOUND_LENGTH: Final = 32


def statistics_of(rows: pa.Table, schema: Schema) -> dict[int, ColumnStatistics]:
    """Statistics of every atomic column, by column id, of rows that carry the schema's names, order and types."""
    return {
        field.id: column_statistics(type_, column)
        for field, column in zip(schema, rows.columns, strict=True)
        if (type_ := schema.atomic(field.id)) is not None
    }


def column_statistics(type_: AtomicType, column: pa.ChunkedArray) -> ColumnStatistics:
    """Bounds over what is neither NULL nor NaN, and how many are.

    Whether a bound of zero is 0.0 or -0.0 is left to chance: Spark compares them as equal, and so does all that
    reads statistics here.
    """
    nan_count = None
    null_count = column.null_count
    if type_ in FLOATING:
        is_nan = np.isnan(numbers(column, null=0.0))
        nan_count = int(np.count_nonzero(is_nan))
        column = column.filter(column_from(~is_nan)) if nan_count else column
    try:
        lower, upper = value_range(type_, column)
    except SchemaError:  # a string that is not UTF-8: its bytes have a place in the order, but no text says which
        lower = upper = None
    return ColumnStatistics(
        lower=lower_bound(lower), upper=upper_bound(upper), null_count=null_count, nan_count=nan_count
    )


def lower_bound(value: Value) -> Value:
    """The value, or of a long one a prefix: it is not greater than the whole."""
    return value[:MAX_BOUND_LENGTH] if isinstance(value, str | bytes) else value


def upper_bound(value: Value) -> Value:
    """The value, or of a long one the least short value above all that begin as it does; None if there is none."""
    if not isinstance(value, str | bytes) or len(value) <= MAX_BOUND_LENGTH:
        return value
    return successor(value[:MAX_BOUND_LENGTH])
