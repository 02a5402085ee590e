"""Streams give their rows once: what has been read before is refused, since it would be taken for no rows, or fewer.

Who repeats a write that another writer got in the way of has to have the rows anew; an overwrite with a stream that is
used up would empty the table.
"""

import inspect
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from coalesce.errors import InvalidArgument

# What has been read and is still there, by `id`.
_read: Final[dict[int, weakref.ref[object]]] = {}
# Python's own iterators, such as `map`, cannot be referred to weakly; the last few of them are kept.
_kept: Final[deque[object]] = deque(maxlen=8)


def read_once(data: object) -> None:
    """Remember that the rows of `data` are read now; refuse a stream of which this was done before."""
    if not isinstance(data, Iterator | pa.RecordBatchReader):
        return  # begins anew each time
    closed = inspect.isgenerator(data) and inspect.getgeneratorstate(data) == inspect.GEN_CLOSED
    if closed or _was_read(data):
        raise InvalidArgument(
            f"this {type(data).__name__} has been read before, and a stream gives its rows only once; nothing was "
            "written. Make it anew, or give the rows as a table or a list."
        )
    key = id(data)
    try:
        _read[key] = weakref.ref(data, lambda _: _read.pop(key, None))
    except TypeError:
        _kept.append(data)


def _was_read(data: object) -> bool:
    known = _read.get(id(data))
    return (known is not None and known() is data) or any(kept is data for kept in _kept)
