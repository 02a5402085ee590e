"""A seekable file made of range requests, so that pyarrow reads only the parts of a remote file it needs."""

import io
from collections.abc import Callable

import pyarrow as pa

_TAIL = 1 << 20  # the most that is kept of a file's end


class RangeFile(io.RawIOBase):
    """A file of `size` bytes that `fetch(offset, length)` reads; `on_close` frees what `fetch` holds.

    Not for several threads at once; `pa.PythonFile` puts a lock around it.
    """

    def __init__(self, size: int, fetch: Callable[[int, int], bytes], on_close: Callable[[], None] | None = None):
        super().__init__()
        self._size = size
        self._fetch = fetch
        self._on_close = on_close
        self._position = 0
        # A Parquet reader asks for the last 64 KiB first. In a small file the column chunks are in there as well.
        self._tail = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The offset of the next read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move to `offset`, counted from the start, the current position or the end."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        """The next `size` bytes, or what is left."""
        left = max(0, self._size - self._position)
        length = left if size is None or size < 0 else min(size, left)
        if length == 0:
            return b""
        start = self._position - (self._size - len(self._tail))
        if start >= 0:
            data = self._tail[start : start + length]
        else:
            data = self._fetch(self._position, length)
            if self._position + length == self._size and length <= _TAIL:
                self._tail = data
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        """What is left."""
        return self.read()

    def close(self) -> None:
        """Free what the reads held."""
        if not self.closed and self._on_close is not None:
            self._on_close()
        super().close()


def as_arrow_file(file: RangeFile) -> pa.NativeFile:
    """The same file as pyarrow wants it."""
    return pa.PythonFile(file, mode="r")
