"""pandas data frames as Arrow tables, or a sentence about the columns that cannot be.

pandas is never imported here: a program that has a data frame has it imported already.
"""

from collections.abc import Collection
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.types as at

from coalesce.arrow.records import UNCONVERTIBLE, mixture, unconvertible
from coalesce.arrow.reshape import bare_rows
from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import arrow_type
from coalesce.model.schema import Schema
from coalesce.model.types import INTEGRAL_BITS

_REFUSED = "the data frame cannot be taken as it is, and nothing was written:"
_ONE_OF_THEM = "leave one out, as reset_index(drop=True) does the level"
_CURE = "give it one type, as with astype()"


def frame_schema(frame: Any) -> pa.Schema:
    """The frame's columns; their types may depend on the values."""
    try:
        _refuse_mixtures(frame)
        return pa.Schema.from_pandas(frame, preserve_index=False)
    except UNCONVERTIBLE as error:
        raise _refused(frame, error) from error


def frame_table(frame: Any, schema: Schema) -> pa.Table:
    """The frame's rows for a table of this schema; None, NaN, NaT and NA are NULL, as they are to pandas.

    A level of the index that has the name of a column is that column; other levels only label the rows.
    """
    try:
        whole = _with_levels(frame, schema.names)
        _refuse_mixtures(whole)
        if not len(whole.columns):
            return bare_rows(len(whole))
        return _as_small_as_asked(pa.Table.from_pandas(whole, preserve_index=False), whole, schema)
    except UNCONVERTIBLE as error:
        raise _refused(frame, error) from error


def _as_small_as_asked(rows: pa.Table, frame: Any, schema: Schema) -> pa.Table:
    """Columns of Python's own integers, which have no width, in the width that the table has for them."""
    columns = rows.columns
    for place, name in enumerate(rows.column_names):
        field, own = schema.find(name), str(frame.dtypes.iloc[place]) == "object" and at.is_int64(columns[place].type)
        if own and field is not None and field.type in INTEGRAL_BITS:
            with suppress(pa.ArrowInvalid):  # too large a value is refused as any other of a wider type
                columns[place] = columns[place].cast(arrow_type(field.type))
    return pa.Table.from_arrays(columns, rows.column_names)


def _with_levels(frame: Any, columns: Collection[str]) -> Any:
    known = {name.lower() for name in columns}
    named = [name for name in frame.index.names if isinstance(name, str) and name.lower() in known]
    labels = {label.lower() for label in frame.columns if isinstance(label, str)}
    twice = [name for name in named if name.lower() in labels]
    if twice:
        raise _refusal([f"{name!r} is a column and a level of the index; {_ONE_OF_THEM}." for name in twice])
    return frame.reset_index(level=named) if named else frame


def _refuse_mixtures(frame: Any) -> None:
    """Refuse columns of Python objects whose values Arrow would take for one kind, though they are of several."""
    problems = [
        mixture(label, frame.iloc[:, place].dropna().tolist(), _CURE)
        for place, label in enumerate(frame.columns)
        if str(frame.dtypes.iloc[place]) == "object"
    ]
    found = [problem for problem in problems if problem is not None]
    if found:
        raise _refusal(found)


def _refused(frame: Any, error: Exception) -> SchemaError:
    """What is wrong with each column that Arrow cannot take, or what Arrow says of the whole frame."""
    problems = [_problem(label, frame.iloc[:, place]) for place, label in enumerate(frame.columns)]
    found = [problem for problem in problems if problem is not None]
    return _refusal(found) if found else SchemaError(f"{_REFUSED} {str(error).rstrip('.')}.")


def _refusal(problems: Collection[str]) -> SchemaError:
    return SchemaError(_REFUSED + "".join(f"\n  - {problem}" for problem in problems))


def _problem(label: object, column: Any) -> str | None:
    try:
        pa.array(column, from_pandas=True)
    except UNCONVERTIBLE:
        return unconvertible(label, column.dropna(), _CURE)
    return None
