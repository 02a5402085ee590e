"""What every place a table can lie in offers: named bytes, a sorted listing, and create-if-absent.

A path is relative to the table's root and literal: `_app=%5B%23small%5D/a b.parquet` names exactly those characters
on every store, and nothing here encodes or decodes it. Its segments are joined by `/`; none is empty, `.` or `..`,
so a path cannot leave the root.
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from coalesce.errors import FileMissing, NotAFile, StorageError


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of a listing; `modified_ms` counts milliseconds since 1970-01-01 UTC by the store's own clock."""

    path: str
    size: int
    modified_ms: int


# Inside a class that has a method called `list`, the type checker takes `list[...]` for the method.
Listing = list[StoredFile]


class Storage(Protocol):
    """The files under one root.

    Every method raises `FileMissing` for a file that is not there (a directory is not a file) and `StorageError` for
    every other failure, never an error of the library underneath.
    """

    @property
    def root(self) -> str:
        """The location as it was given, for messages."""

    def uri(self, path: str) -> str:
        """Where an engine finds `path`: a plain absolute path on a local disk, else `scheme://…`.

        It is as literal as `path` is, which is what Hadoop's `Path(String)` takes; `''` is the root itself.
        """

    def read(self, path: str) -> bytes:
        """The whole file."""

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, or as many as there are before the file ends."""

    def size(self, path: str) -> int:
        """The file's length in bytes."""

    def list(self, prefix: str, start_after: str | None = None) -> Listing:
        """Every file in the directory `prefix` and below it (`''`: the root), in the order of their paths' UTF-8 bytes.

        The listing begins strictly after the path `start_after`. A directory that is not there has no files.
        """

    def sweep(self, prefix: str) -> Listing:
        """What `list` shows and, besides, names of `temporary_beside`; but no links, and nothing that one leads to.

        For a clean-up, which must see what dead writers left, and must not touch what is not the table's own.
        """

    @property
    def lists_from_a_name(self) -> bool:
        """Whether a listing can begin at a name. Where it cannot, `numbered` looks files up one by one."""

    def numbered(self, name: Callable[[int], str], first: int) -> Listing:
        """The files `name(first)`, `name(first + 1)` and so on, as a listing shows them.

        The names lie in one directory, in the order of their numbers. How many lie before the first should not matter.
        Where a file is missing, some of those behind it are looked for and shown too, so that a gap is seen. If the
        first itself is missing, or there is a file `alone` behind the last that was found, there may be others
        nevertheless, and none may be shown.
        """

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create the file unless it is there; True if this call created it.

        A reader sees nothing or all of it, of several callers one gets True, and what was created survives a crash
        of the machine. After an error, and on object stores also after False, the file may nevertheless hold this
        call's bytes: a request whose answer was lost is sent again and finds its own work. Who must know reads it.
        Unless that error is NothingWritten: then it does not, and never will. NotAFile is one, if something else has
        the name, where there are such things: waiting would not help.
        """

    def put(self, path: str, data: bytes) -> None:
        """Write the file, replacing what is there. A reader sees the old or the new bytes; a crash may lose them."""

    def delete(self, path: str) -> None:
        """Delete the file if it is there. Directories that are empty without it may go or stay."""

    def open_input(self, path: str, *, size: int | None = None) -> pa.NativeFile:
        """The file for random reads by pyarrow. Giving the `size`, if it is known, saves a request."""


def check_path(path: str) -> str:
    """`path`, if it is one; paths come from table metadata, which must not be able to name a file outside the table."""
    if not path or "\0" in path or any(segment in ("", ".", "..") for segment in path.split("/")):
        raise StorageError(
            f"{path!r} is not a path inside a table: it has to be relative, with no empty, '.' or '..' segment."
        )
    return path


def directory_of(prefix: str) -> str:
    """The prefix of a listing as the beginning its files' paths share: `''` or `a/b/`."""
    return f"{check_path(prefix.removesuffix('/'))}/" if prefix else ""


def alone(path: str) -> str:
    """The name of a file that says: of the numbered files right behind `path`, some have been deleted on purpose."""
    return f"{path}.kept"


_AT_ONCE = 32  # the most names that are looked up together
_AHEAD = tuple(1 << n for n in range(11))  # where to look for more files behind one that is missing


def one_by_one(look_up: Callable[[Sequence[str]], Listing], name: Callable[[int], str], first: int) -> Listing:
    """`Storage.numbered` for a place that looks names up fast, and lists a directory no faster than from its start.

    `look_up` shows those of some files that are there. A gap of n files (1,024 at most) is seen if n more follow it.
    """
    found: Listing = []
    at_once = 2
    while True:
        here = look_up([name(first + n) for n in range(at_once)])
        run = next((n for n, file in enumerate(here) if file.path != name(first + n)), len(here))
        found += here[:run]
        first += run
        if run == at_once:
            at_once = min(_AT_ONCE, at_once * 4)
            continue
        if not found:
            return []
        last = alone(name(first - 1))
        behind = look_up([*(name(first + n) for n in _AHEAD), last])
        if any(file.path == last for file in behind):
            return []
        if not behind or not look_up([name(first)]):  # it may just have been created, and others after it
            return found + behind


def file_missing(root: str, path: str) -> FileMissing:
    """The error for a file that is not there."""
    return FileMissing(f"there is no file {path!r} in {root}.")


def not_a_file(root: str, path: str, what: str) -> NotAFile:
    """The error for a name that `what`, which is not a file, has taken."""
    return NotAFile(f"could not create {path!r} in {root}: {what} has this name; move it away.")


def storage_failed(verb: str, root: str, path: str, reason: str) -> StorageError:
    """The error for everything else, as a sentence. `path` is `''` when it is about the root as a whole."""
    return StorageError(f"could not {verb} {f'{path!r} in ' if path else ''}{root}: {reason}.")


_TEMPORARY = ".coalesce-"


def temporary_beside(path: str) -> str:
    """A new name in the directory of `path` for bytes that are not complete yet. Listings leave such names out."""
    return f"{path[: path.rfind('/') + 1]}{_TEMPORARY}{uuid.uuid4().hex}.tmp"


def is_temporary(name: str) -> bool:
    """Whether a file's name (its last segment) is one of `temporary_beside`: its writer is at work, or died."""
    return name.startswith(_TEMPORARY) and name.endswith(".tmp")
