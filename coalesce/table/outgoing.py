"""Arrow tables as the data frames of other libraries, which are imported when they are asked for."""

from datetime import date
from importlib import import_module
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as at

from coalesce.errors import NotInstalled, SchemaError


def pandas_frame(rows: pa.Table) -> Any:
    """The rows as a pandas data frame.

    Left to itself, pandas makes floats of integers among which there are NULLs, and their last digits are lost. Here
    they are of its nullable types, and inside lists and structs Python's own. Dates are Python's, or NumPy's times in a
    column that has some beyond the years that Python has.
    """
    pandas = _library("pandas")
    nullable = {getattr(pa, name.lower())(): getattr(pandas, f"{name}Dtype")() for name in _INTEGERS}
    for place, column in enumerate(rows.columns):
        if at.is_date32(column.type) and _beyond_python(column):
            rows = rows.set_column(place, rows.schema.field(place).name, column.cast(pa.timestamp("s")))
    try:
        frame = rows.to_pandas(integer_object_nulls=True)
    except ValueError as error:  # inside lists and structs there is no other way
        raise SchemaError(
            f"there are values which Python has no date for; take the rows by to_arrow(): {error}"
        ) from error
    for place, column in enumerate(rows.columns):
        if at.is_integer(column.type) and column.null_count:
            frame[frame.columns[place]] = column.to_pandas(types_mapper=nullable.get)
    return frame


def _beyond_python(dates: pa.ChunkedArray) -> bool:
    ends = pc.min_max(dates.cast(pa.int32())).as_py()
    first, last = (day.toordinal() - date(1970, 1, 1).toordinal() for day in (date.min, date.max))
    return ends["min"] is not None and not first <= ends["min"] <= ends["max"] <= last


def polars_frame(rows: pa.Table) -> Any:
    """The rows as a polars data frame."""
    return _library("polars").from_arrow(rows)


_INTEGERS = ("Int8", "Int16", "Int32", "Int64")


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise NotInstalled(f"{name} is not installed: pip install {name}, or take the rows by to_arrow().") from None
