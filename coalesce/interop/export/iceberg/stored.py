"""PyIceberg's files over our storage: every store a table can lie in, and bytes that appear at once or not at all."""

import io
from typing import Any

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream

from coalesce.errors import FileMissing
from coalesce.storage.base import Storage


class StorageIO(FileIO):
    """The files of one storage, by the addresses that other engines know them by; `root` is where it was, if moved."""

    def __init__(self, storage: Storage, root: str | None = None) -> None:
        super().__init__({})
        self.storage = storage
        self._root = (storage.uri("") if root is None else root).rstrip("/")

    def path_of(self, location: str) -> str:
        """The path inside the storage of an address."""
        return location.removeprefix(self._root).lstrip("/")

    def new_input(self, location: str) -> "StoredInput":
        """A file to read."""
        return StoredInput(location, self)

    def new_output(self, location: str) -> "StoredOutput":
        """A file to write."""
        return StoredOutput(location, self)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete a file."""
        self.storage.delete(self.path_of(location if isinstance(location, str) else location.location))


class StoredInput(InputFile):
    """A file that is read as a whole: metadata is small."""

    def __init__(self, location: str, files: StorageIO) -> None:
        super().__init__(location)
        self._files = files
        self._data: bytes | None = None

    def _read(self) -> bytes:
        if self._data is None:
            self._data = self._files.storage.read(self._files.path_of(self.location))
        return self._data

    def __len__(self) -> int:
        return len(self._read())

    def exists(self) -> bool:
        """Whether it is there."""
        try:
            self._read()
        except FileMissing:
            return False
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - PyIceberg's signature
        """Its bytes."""
        return io.BytesIO(self._read())


class _Pending(io.BytesIO):
    """Bytes that are stored when they are complete."""

    def __init__(self, output: "StoredOutput") -> None:
        super().__init__()
        self._output = output

    def close(self) -> None:
        """Store them."""
        if not self.closed:
            self._output.store(self.getvalue())
        super().close()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self.close()
        else:
            super().close()


class StoredOutput(OutputFile):
    """A file that is stored when it is complete, under a name that no other has."""

    def __init__(self, location: str, files: StorageIO) -> None:
        super().__init__(location)
        self._files = files
        self._length = 0

    def store(self, data: bytes) -> None:
        """Put the bytes in their place."""
        self._length = len(data)
        self._files.storage.put_if_absent(self._files.path_of(self.location), data)

    def __len__(self) -> int:
        return self._length

    def exists(self) -> bool:
        """Whether it is there."""
        return self.to_input_file().exists()

    def to_input_file(self) -> InputFile:
        """The same, to be read."""
        return self._files.new_input(self.location)

    def create(self, overwrite: bool = False) -> OutputStream:  # noqa: ARG002 - names are used once
        """A stream to write it with."""
        return _Pending(self)
