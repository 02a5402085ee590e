"""Whatever Hadoop can reach, through the JVM of a running Spark session.

How a file is created only if it is absent depends on the file system, by the location's scheme:

| scheme | how | atomic | durable |
|---|---|---|---|
| `hdfs`, `viewfs`, `webhdfs`, `swebhdfs` | write a temporary file, `hsync`, `FileContext.rename` without overwrite | yes: the name node decides | yes: data nodes sync the bytes, the name node its log |
| `s3a` | `createFile().must("fs.option.create.conditional.overwrite")` (Hadoop 3.4.2 or later): a PUT with `If-None-Match` at `close` | yes | yes |
| others | refused, unless the option `put_if_absent` says `rename` or `conditional` | as the file system's own | likewise |

HDFS's `create(overwrite=false)` also has one winner, but shows readers the file while it is being written. `rename`
on Hadoop's local file system looks first and renames then, so two writers can both win; that is why a `file:` location
never comes here except in tests.

Calls cross a socket to the JVM, each in a fraction of a millisecond, so a listing is put together on the other side
and crosses as one string.
"""  # noqa: E501 - a table

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import pyarrow as pa

from coalesce.errors import CoalesceError, StorageError
from coalesce.spark.jvm.catalyst import hadoop_configuration
from coalesce.spark.jvm.java_helpers import helper
from coalesce.storage.base import (
    Listing,
    Storage,
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
from coalesce.storage.rangefile import RangeFile, as_arrow_file

_CREATE_BY_SCHEME: Final = {
    "hdfs": "rename",
    "viewfs": "rename",
    "webhdfs": "rename",
    "swebhdfs": "rename",
    "s3a": "conditional",
}

_NOT_THERE = frozenset({"FileNotFoundException", "NoSuchFileException", "ParentNotDirectoryException"})
_THERE_ALREADY = frozenset({"FileAlreadyExistsException", "RemoteFileChangedException"})
_WRAPPERS = frozenset({"InvocationTargetException", "UndeclaredThrowableException", "ExecutionException"})


class Hadoop:
    """The file systems that a Spark session reaches through Hadoop."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    def default_scheme(self) -> str | None:
        """The scheme of the default file system, or None if the session has no JVM of its own (Spark Connect)."""
        try:
            default: str = hadoop_configuration(self._spark).get("fs.defaultFS", "file:///")
        except Exception:  # noqa: BLE001 - what a session without a JVM raises differs by release
            return None
        return default.partition(":")[0].lower()

    def open(self, location: str, *, create: str | None) -> Storage:
        """The files under a path; `create` overrides how a file is created if absent."""
        return HadoopStorage(location, self._spark, create=create)


class HadoopStorage:
    """The files under a Hadoop path; `create` overrides how a file is created if absent (see the module)."""

    def __init__(self, location: str, spark: Any, *, create: str | None = None):
        self._root = location
        if create not in (None, "rename", "conditional"):
            raise StorageError(f"the option put_if_absent is 'rename' or 'conditional', not {create!r}.")
        try:
            self._jvm = spark._jvm
            self._gateway = spark.sparkContext._gateway
            self._configuration = hadoop_configuration(spark)
        except Exception as error:
            raise StorageError(
                f"{location} is reached through Hadoop, which needs a Spark session with a JVM of its own: "
                "neither a stopped one nor one of Spark Connect."
            ) from error
        with self._java("open", ""):
            self._new_path = self._jvm.org.apache.hadoop.fs.Path
            given = self._new_path(location)
            self._fs = given.getFileSystem(self._configuration)
            qualified = self._fs.makeQualified(given)
            self._base = str(qualified.toString()).rstrip("/")
            scheme: str = qualified.toUri().getScheme()
        self._scheme = scheme.lower()
        self._create = create or _CREATE_BY_SCHEME.get(self._scheme)

    def __reduce__(self) -> tuple[Any, ...]:
        raise StorageError(
            f"{self._root} is reached through this process's Spark session, and a table there cannot be pickled: "
            "open it again on the other side, or hand over its rows."
        )

    @property
    def root(self) -> str:
        """The location as it was given."""
        return self._root

    def uri(self, path: str) -> str:
        """The Hadoop path, qualified with scheme and authority."""
        return f"{self._base}/{check_path(path)}" if path else self._base

    def read(self, path: str) -> bytes:
        """The whole file."""
        with self._java("read", path):
            stream = self._fs.open(self._at(path))
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, or as many as there are."""
        with self._java("read", path):
            stream = self._fs.open(self._at(path))
            try:
                return self._read_at(stream, offset, length)
            finally:
                stream.close()

    def size(self, path: str) -> int:
        """The file's length in bytes."""
        with self._java("read", path):
            status = self._fs.getFileStatus(self._at(path))
            if status.isDirectory():
                raise file_missing(self._root, path)
            return int(status.getLen())

    def list(self, prefix: str, start_after: str | None = None) -> Listing:
        """Every file below `prefix`, sorted. Hadoop cannot begin at a name, so all are looked at."""
        after = "" if start_after is None else start_after
        found = self._listed(prefix)
        return [file for file in found if file.path > after and not is_temporary(file.path.rpartition("/")[2])]

    def sweep(self, prefix: str) -> Listing:
        """Every file below `prefix`, temporaries too. HDFS has no links."""
        return self._listed(prefix)

    def _listed(self, prefix: str) -> Listing:
        inside = directory_of(prefix)
        with self._java("list", prefix):
            try:
                text = self._list_files(inside)
            except Exception as error:
                if _is_missing(error):
                    return []
                raise
        found = [file for file in _stored_files(text) if file.path.startswith(inside)]
        found.sort(key=lambda file: file.path)
        return found

    @property
    def lists_from_a_name(self) -> bool:
        """S3A does."""
        return self._scheme == "s3a"

    def numbered(self, name: Callable[[int], str], first: int) -> Listing:
        """Those files: looked up by name, or, as S3A takes two requests for that and one for a listing, listed."""
        if self.lists_from_a_name:
            return self.list(name(first).rpartition("/")[0], name(first - 1) if first > 0 else None)
        return one_by_one(self._present, name, first)

    def _present(self, paths: Sequence[str]) -> Listing:
        """Those of some files that are there, in one call to the other side."""
        with self._java("read", paths[0]):
            root = self._new_path(f"{self._base}/")
            text = helper(self._gateway, "FileTree").present(self._fs, root, "\0".join(map(check_path, paths)))
        return _stored_files(text)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create the file unless it is there."""
        target = self._at(path)
        with self._java("write", path):
            match self._create:
                case "conditional":
                    created = self._create_on_close(target, data)
                case "rename":
                    created = not self._fs.exists(target) and self._rename_into_place(path, data, "NONE")
                case _:
                    raise self._cannot_create(path)
            if not created and self._fs.exists(target) and self._fs.getFileStatus(target).isDirectory():
                raise not_a_file(self._root, path, "a directory")
            return created

    def put(self, path: str, data: bytes) -> None:
        """Write the file, replacing what is there."""
        with self._java("write", path):
            if self._create == "conditional":
                # An object store shows the file when it is closed, all at once.
                _write(self._fs.create(self._at(path), True), data, sync=False)
            else:
                self._rename_into_place(path, data, "OVERWRITE")

    def delete(self, path: str) -> None:
        """Delete the file if it is there."""
        with self._java("delete", path):
            self._fs.delete(self._at(path), False)

    def open_input(self, path: str, *, size: int | None = None) -> pa.NativeFile:
        """The file for pyarrow, over one open stream."""
        length = self.size(path) if size is None else size
        with self._java("read", path):
            stream = self._fs.open(self._at(path))

        def fetch(offset: int, count: int) -> bytes:
            with self._java("read", path):
                return self._read_at(stream, offset, count)

        def close() -> None:
            with self._java("close", path):
                stream.close()

        return as_arrow_file(RangeFile(length, fetch, close))

    def _at(self, path: str) -> Any:
        # One string, not Path(parent, child): a child that begins with `a:b` would be taken for a URI.
        return self._new_path(f"{self._base}/{check_path(path)}")

    def _read_at(self, stream: Any, offset: int, length: int) -> bytes:
        try:
            stream.seek(offset)
        except Exception as error:
            if _java_class(error) == "EOFException":
                return b""
            raise
        return bytes(stream.readNBytes(length))

    def _cannot_create(self, path: str) -> StorageError:
        return storage_failed(
            "create",
            self._root,
            path,
            f"how the file system {self._scheme}: creates a file atomically is not known here; if its rename never "
            "replaces a file, set the option put_if_absent to 'rename', and if it honours Hadoop's conditional create, "
            "to 'conditional'",
        )

    def _create_on_close(self, target: Any, data: bytes) -> bool:
        builder = self._fs.createFile(target)
        builder.must("fs.option.create.conditional.overwrite", True)
        stream = builder.build()
        try:
            _write(stream, data, sync=False)
        except Exception as error:
            if _java_class(error) in _THERE_ALREADY:
                return False
            raise
        return True

    def _rename_into_place(self, path: str, data: bytes, overwrite: str) -> bool:
        hadoop = self._jvm.org.apache.hadoop.fs
        temporary = self._at(temporary_beside(path))
        try:
            context = hadoop.FileContext.getFileContext(self._fs.getUri(), self._configuration)
            option = self._gateway.new_array(hadoop.Options.Rename, 1)
            option[0] = getattr(hadoop.Options.Rename, overwrite)
            _write(self._fs.create(temporary, False), data, sync=True)
            try:
                context.rename(temporary, self._at(path), option)
            except Exception as error:
                # Only here does it mean the file itself; creating the temporary can fail so because of a directory.
                if _java_class(error) not in _THERE_ALREADY:
                    raise
                self._fs.delete(temporary, False)
                return False
        except BaseException:
            with suppress(Exception):  # the first error is the one to tell
                self._fs.delete(temporary, False)
            raise
        return True

    def _list_files(self, inside: str) -> str:
        root = self._new_path(f"{self._base}/")
        start = self._new_path(f"{self._base}/{inside}")
        listed = helper(self._gateway, "FileTree").list(self._fs, root, start, self._scheme == "s3a")
        return str(listed)

    @contextmanager
    def _java(self, verb: str, path: str) -> Iterator[None]:
        try:
            yield
        except CoalesceError:
            raise
        except Exception as error:
            if _is_missing(error) and verb != "write":
                raise file_missing(self._root, path) from error
            raise storage_failed(verb, self._root, path, _reason(error)) from error


def _stored_files(text: str) -> Listing:
    """What `FileTree.java` says of files."""
    fields = text.split("\0")
    return [
        StoredFile(path, int(length), int(modified))
        for path, length, modified in zip(fields[:-1:3], fields[1::3], fields[2::3], strict=True)
    ]


def _write(stream: Any, data: bytes, *, sync: bool) -> None:
    try:
        stream.write(data)
        if sync:
            stream.hsync()
    except BaseException:
        with suppress(Exception):  # the first error is the one to tell
            if sync:
                stream.close()
            else:
                stream.abort()  # closing would publish what was written so far
        raise
    stream.close()


def _throwable(error: Exception) -> Any:
    """The Java exception behind a Python one: Py4J keeps it in one place, PySpark's translated errors in another."""
    thrown = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while thrown is not None and thrown.getCause() is not None and thrown.getClass().getSimpleName() in _WRAPPERS:
        thrown = thrown.getCause()
    return thrown


def _java_class(error: Exception) -> str:
    """The simple name of the Java exception behind an error, or `''`."""
    thrown = _throwable(error)
    return "" if thrown is None else str(thrown.getClass().getSimpleName())


def _is_missing(error: Exception) -> bool:
    """Whether it says that there is no such file. HDFS may call a file that is asked for a file below it forbidden."""
    name = _java_class(error)
    return name in _NOT_THERE or (name == "AccessControlException" and "(is not a directory)" in str(error))


def _reason(error: Exception) -> str:
    """What went wrong in one clause: the Java class tells as much as the message, which can be just a host's name."""
    thrown = _throwable(error)
    if thrown is None:
        if type(error).__name__ in ("Py4JNetworkError", "ConnectionRefusedError"):
            return "the Spark session has been stopped"
        return (str(error) or type(error).__name__).partition("\n")[0].rstrip(".")
    message = thrown.getMessage()
    first = "" if message is None else str(message).partition("\n")[0].rstrip(".")
    if len(first) > 300:  # some repeat themselves, request ids included
        first = f"{first[:300]}…"
    return f"{first} ({thrown.getClass().getSimpleName()})" if first else str(thrown.getClass().getSimpleName())
