"""Arrow tables as the data frames of other libraries, which are imported when they are asked for."""

from importlib import import_module
from typing import Any

import pyarrow as pa
import pyarrow.types as at

from coalesce.errors import NotInstalled


def pandas_frame(rows: pa.Table) -> Any:
    """The rows as a pandas data frame.

    Left to itself, pandas makes floats of integers among which there are NULLs, and their last digits are lost. Here
    they are of its nullable types, and inside lists and structs Python's own.
    """
    pandas = _library("pandas")
    nullable = {getattr(pa, name.lower())(): getattr(pandas, f"{name}Dtype")() for name in _INTEGERS}
    frame = rows.to_pandas(integer_object_nulls=True)
    for place, column in enumerate(rows.columns):
        if at.is_integer(column.type) and column.null_count:
            frame[frame.columns[place]] = column.to_pandas(types_mapper=nullable.get)
    return frame


def polars_frame(rows: pa.Table) -> Any:
    """The rows as a polars data frame."""
    return _library("polars").from_arrow(rows)


_INTEGERS = ("Int8", "Int16", "Int32", "Int64")


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise NotInstalled(f"{name} is not installed: pip install {name}, or take the rows by to_arrow().") from None
