"""A directory on this machine, or one that looks like it (NFS).

Create-if-absent is a hard link: the bytes go to a temporary name in the same directory and to the disk, and `link`
gives them their real name unless it is taken. Renaming would replace the other writer's file, and creating the
real name first would show readers an empty one.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import pyarrow as pa

from coalesce.errors import NothingWritten, StorageError
from coalesce.recent import Recent
from coalesce.storage.base import (
    Listing,
    StoredFile,
    check_path,
    directory_of,
    file_missing,
    is_temporary,
    not_a_file,
    one_by_one,
    storage_failed,
    temporary_beside,
)

_NOT_A_FILE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)

_ADVICE = {
    errno.ENOSPC: "; free some space and try again",
    errno.EDQUOT: "; free some space and try again",
    errno.EACCES: "; check who owns it and its mode",
    errno.EROFS: "; the table can only be read",
}

# What `link` says on a file system that has no hard links (FAT, some network mounts).
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}

# What `fsync` says of a directory where directories cannot be synced; there is nothing more to be done about it.
_NO_DIRECTORY_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}


_DURABLE = 1024  # directories
_ATTEMPTS = 20  # to put a file into a directory that others delete


class LocalStorage:
    """The files under the directory `directory`; `root` is what the user called it."""

    def __init__(self, directory: str | os.PathLike[str], *, root: str | None = None):
        self._directory = os.path.abspath(directory)
        self._root = os.fspath(directory) if root is None else root
        # Directories whose own names are known to be on the disk; each write has some that are never used again.
        self._durable: Recent[str, bool] = Recent(_DURABLE)

    def __reduce__(self) -> tuple[object, ...]:
        # What is known of this machine's disk is not known of another's.
        return _received, (self._directory, self._root)

    @property
    def root(self) -> str:
        """The location as it was given."""
        return self._root

    def uri(self, path: str) -> str:
        """The absolute path. Spark takes it for local unless its default file system is another one."""
        return self._at(path) if path else self._directory

    def read(self, path: str) -> bytes:
        """The whole file."""
        with self._reading(path), open(self._at(path), "rb") as file:
            return file.read()

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, or as many as there are."""
        with self._reading(path), open(self._at(path), "rb", buffering=0) as file:
            file.seek(offset)
            return file.read(length)

    def size(self, path: str) -> int:
        """The file's length in bytes."""
        with self._reading(path):
            status = os.stat(self._at(path))
        if stat.S_ISDIR(status.st_mode):
            raise file_missing(self._root, path)
        return status.st_size

    def list(self, prefix: str, start_after: str | None = None) -> Listing:
        """Every file below `prefix`, sorted. Only files after `start_after` are looked at.

        A link to a file counts as the file. A link to a directory is not followed.
        """
        return self._listed(prefix, "" if start_after is None else start_after, own=False)

    def sweep(self, prefix: str) -> Listing:
        """Every file below `prefix` that is one itself, temporaries too; none if the prefix leads through a link."""
        inside = directory_of(prefix)
        above = [inside[:i] for i, letter in enumerate(inside) if letter == "/"]
        return [] if any(os.path.islink(self._at(path)) for path in above) else self._listed(prefix, "", own=True)

    def _listed(self, prefix: str, after: str, *, own: bool) -> Listing:
        """The files below `prefix`; `own` means temporaries too, and no links."""
        found: Listing = []
        todo = [directory_of(prefix)]
        while todo:
            inside = todo.pop()
            # A directory or file that vanishes while we look is not there.
            with self._reading(inside), suppress(*_NOT_A_FILE), os.scandir(f"{self._directory}/{inside}") as entries:
                for entry in entries:
                    path = inside + entry.name
                    if entry.is_dir(follow_symlinks=False):
                        below = f"{path}/"
                        if below > after or after.startswith(below):
                            todo.append(below)
                    elif path > after and (own or not is_temporary(entry.name)):
                        with suppress(*_NOT_A_FILE):
                            status = entry.stat(follow_symlinks=not own)
                            if stat.S_ISREG(status.st_mode):
                                found.append(_stored(path, status))
        found.sort(key=lambda file: file.path)
        return found

    @property
    def lists_from_a_name(self) -> bool:
        """A directory is read as a whole."""
        return False

    def numbered(self, name: Callable[[int], str], first: int) -> Listing:
        """Those files, looked up by name: a listing would read the whole directory."""
        return one_by_one(self._present, name, first)

    def _present(self, paths: Sequence[str]) -> Listing:
        """Those of some files that are there."""
        found: Listing = []
        for path in paths:
            with self._reading(path), suppress(*_NOT_A_FILE):
                status = os.stat(self._at(path))
                if stat.S_ISREG(status.st_mode):
                    found.append(_stored(path, status))
        return found

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create the file unless it is there: written, synced, then linked to its name, and the name synced."""
        target = self._at(path)
        if self._is_taken(path, target):
            return False
        try:
            with self._writing(path):
                temporary = self._write_beside(target, data, durable=True)
        except StorageError as error:
            raise NothingWritten(str(error)) from error
        with self._writing(path):
            try:
                os.link(temporary, target)
            except FileExistsError:
                # Over NFS the answer to a link that was made can be lost and the call repeated: then there are two
                # names for our bytes, and the one that exists is ours.
                if os.stat(temporary).st_nlink != 2:
                    return False
            except OSError as error:
                if error.errno in _NO_LINKS:
                    reason = "the file system refuses hard links, and a commit cannot be atomic without them"
                    raise storage_failed("create", self._root, path, reason) from error
                raise
            finally:
                with suppress(OSError):
                    os.unlink(temporary)
            _sync_directory(os.path.dirname(target))
        return True

    def put(self, path: str, data: bytes) -> None:
        """Write the file, replacing what is there."""
        target = self._at(path)
        with self._writing(path):
            temporary = self._write_beside(target, data, durable=False)
            try:
                os.replace(temporary, target)
            except OSError:
                with suppress(OSError):
                    os.unlink(temporary)
                raise

    def delete(self, path: str) -> None:
        """Delete the file if it is there, and the directories that are empty without it.

        The topmost stays: others write below it, while a directory inside is one write's own.
        """
        with self._writing(path, "delete"), suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(self._at(path))
        directory = os.path.dirname(path)
        with suppress(OSError):  # there is more in it
            while "/" in directory:
                os.rmdir(self._at(directory))
                directory = os.path.dirname(directory)

    def open_input(self, path: str, *, size: int | None = None) -> pa.NativeFile:  # noqa: ARG002 - a disk knows it
        """The file for pyarrow, read with `pread`: a mapped file that is truncated would kill the process."""
        self.size(path)  # pyarrow's own words for a file that is not there, or a directory, are harder to tell apart
        with self._reading(path):
            return pa.OSFile(self._at(path), mode="r")

    def _is_taken(self, path: str, target: str) -> bool:
        """Whether there is a file of this name; NotAFile if something else has it."""
        # The link itself comes first: had it been looked at second, a file that was created in between would seem one.
        mode: int | None = None
        with self._writing(path):
            try:
                mode = os.lstat(target).st_mode
            except FileNotFoundError:
                return False
            if stat.S_ISLNK(mode):
                try:
                    mode = os.stat(target).st_mode
                except FileNotFoundError:
                    mode = None
        if mode is None or not stat.S_ISREG(mode):
            what = "a link to nothing" if mode is None else "a directory" if stat.S_ISDIR(mode) else "no regular file"
            raise not_a_file(self._root, path, what)
        return True

    def _at(self, path: str) -> str:
        return f"{self._directory}/{check_path(path)}"

    def _write_beside(self, target: str, data: bytes, *, durable: bool) -> str:
        """Write `data` to a temporary file in the directory of `target`, and return its name."""
        temporary = temporary_beside(target)
        directory = os.path.dirname(target)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._make_directory(directory)
                file = open(temporary, "xb")  # noqa: SIM115 - closed below
                break
            except FileNotFoundError:
                # The directory, or one above it, was deleted since we last made sure of it: with the last file in it,
                # perhaps, which another process may do again and again.
                self._durable.clear()
                if attempt == _ATTEMPTS:
                    raise
        try:
            with file:
                file.write(data)
                if durable:
                    file.flush()
                    _sync(file.fileno())
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        return temporary

    def _make_directory(self, directory: str) -> None:
        """Make the directory and those above it, and sync each one's name.

        Another writer may have made one a moment ago and not synced it yet, so inside the root each is synced once
        by every writer. Above the root, what exists is taken to be on the disk.
        """
        if directory in self._durable:
            return
        inside = len(directory) > len(self._directory)
        if not inside and os.path.isdir(directory):
            return
        parent = os.path.dirname(directory)
        self._make_directory(parent)
        with suppress(FileExistsError):
            os.mkdir(directory)
        _sync_directory(parent)
        self._durable.put(directory, True)

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        try:
            yield
        except _NOT_A_FILE as error:
            raise file_missing(self._root, path) from error
        except (OSError, ValueError) as error:
            raise self._failed("read", path, error) from error

    @contextmanager
    def _writing(self, path: str, verb: str = "write") -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            raise self._failed(verb, path, error) from error

    def _failed(self, verb: str, path: str, error: OSError | ValueError) -> StorageError:
        number = error.errno if isinstance(error, OSError) else None
        reason = str(error) if number is None else os.strerror(number).lower()
        return storage_failed(verb, self._root, path, reason + _ADVICE.get(number or 0, ""))


def _received(directory: str, root: str) -> LocalStorage:
    return LocalStorage(directory, root=root)


def _stored(path: str, status: os.stat_result) -> StoredFile:
    return StoredFile(path, status.st_size, status.st_mtime_ns // 1_000_000)


def _sync(descriptor: int) -> None:
    """Have the operating system and the disk write everything of an open file.

    On macOS `fsync` leaves the bytes in the disk's own cache; `F_FULLFSYNC` does what `fsync` does elsewhere.
    """
    full_sync: int | None = getattr(fcntl, "F_FULLFSYNC", None)
    if full_sync is None:
        os.fsync(descriptor)
    else:
        fcntl.fcntl(descriptor, full_sync)


def _sync_directory(directory: str) -> None:
    """Have the names in a directory written to the disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_SYNC:
            raise
    finally:
        os.close(descriptor)
