"""pandas data frames as Arrow tables, or a sentence about the columns that cannot be.

pandas is never imported here: a program that has a data frame has it imported already.
"""

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from coalesce.arrow.records import UNCONVERTIBLE, mixture, unconvertible
from coalesce.arrow.reshape import bare_rows
from coalesce.errors import SchemaError

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


def frame_table(frame: Any, columns: Collection[str]) -> pa.Table:
    """The frame's rows; None, NaN, NaT and NA are NULL, as they are to pandas.

    A level of the index that has the name of one of `columns` is that column; other levels only label the rows.
    """
    try:
        whole = _with_levels(frame, columns)
        _refuse_mixtures(whole)
        return pa.Table.from_pandas(whole, preserve_index=False) if len(whole.columns) else bare_rows(len(whole))
    except UNCONVERTIBLE as error:
        raise _refused(frame, error) from error


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
