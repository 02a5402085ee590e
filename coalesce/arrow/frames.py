"""pandas data frames as Arrow tables, or a sentence about the columns that cannot be.

pandas is never imported here: a program that has a data frame has it imported already.
"""

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from coalesce.errors import SchemaError


def is_frame(data: object) -> bool:
    """Whether `data` is a data frame of pandas'."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.partition(".")[0] == "pandas"


def schema_of(frame: Any) -> pa.Schema:
    """The frame's columns; their types may depend on the values."""
    try:
        return pa.Schema.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise _refused(frame, error) from error


def rows_of(frame: Any, columns: Collection[str]) -> pa.Table:
    """The frame's rows; None, NaN, NaT and NA are NULL, as they are to pandas.

    A level of the index that has the name of one of `columns` is that column; other levels only label the rows.
    """
    try:
        return pa.Table.from_pandas(_with_levels(frame, columns), preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise _refused(frame, error) from error


def _with_levels(frame: Any, columns: Collection[str]) -> Any:
    known = {name.lower() for name in columns}
    named = [name for name in frame.index.names if isinstance(name, str) and name.lower() in known]
    return frame.reset_index(level=named) if named else frame


def _refused(frame: Any, error: Exception) -> SchemaError:
    """What is wrong with each column that Arrow cannot take, or what Arrow says of the whole frame."""
    problems = [_problem(label, frame.iloc[:, place]) for place, label in enumerate(frame.columns)]
    listed = "".join(f"\n  - {problem}" for problem in problems if problem is not None)
    reason = listed or f" {str(error).rstrip('.')}."
    return SchemaError(f"the data frame cannot be taken as it is, and nothing was written:{reason}")


def _problem(label: object, column: Any) -> str | None:
    try:
        pa.array(column, from_pandas=True)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        kinds = sorted({type(value).__name__ for value in column.dropna()})
        if len(kinds) > 1:
            return f"column {str(label)!r} mixes values of {', '.join(kinds[:5])}; give it one type, as with astype()."
        return (
            f"column {str(label)!r} holds values of {', '.join(kinds)} that Arrow has no type for; convert them first."
        )
    return None
