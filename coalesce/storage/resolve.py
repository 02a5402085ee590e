"""From a location to the storage that serves it."""

import os
import re
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import unquote

from coalesce.distribution import install
from coalesce.errors import StorageError
from coalesce.storage.base import Storage
from coalesce.storage.local import LocalStorage

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_OBJECT_SCHEMES = frozenset({"s3", "gs", "az", "abfs", "abfss"})
_KNOWN_SCHEMES = _OBJECT_SCHEMES | {"file", "hdfs", "viewfs", "webhdfs", "s3a", "s3n"}


class Hadoop(Protocol):
    """The file systems that a Spark session reaches (`spark/jvm/hadoop.py`)."""

    def default_scheme(self) -> str | None:
        """The scheme of the default one, or None if nothing can be reached."""

    def open(self, location: str, *, create: str | None) -> Storage:
        """The storage at a location; `create` overrides how a file is created if absent."""


def open_storage(
    location: str | os.PathLike[str], *, options: Mapping[str, str] | None = None, hadoop: Hadoop | None = None
) -> Storage:
    """The storage at a location.

    | location | goes through |
    |---|---|
    | a path, `file:/path`, `file:///path` | this machine's file system |
    | `s3://`, `gs://`, `az://`, `abfs://`, `abfss://` | obstore, with `options` as its configuration |
    | `hdfs://`, `s3a://`, anything else | `hadoop`, in the JVM of a Spark session |

    A path without a scheme means what it means to the session, if there is one: on a cluster whose default file system
    is HDFS it lies there. Locations are literal; only in a `file:` URI are percent signs decoded.
    """
    text = os.fspath(location)
    if not text:
        raise StorageError("the location of the table is empty; give a path or a URI such as s3://bucket/events.")
    scheme = _scheme(text)
    if scheme == "file":
        return LocalStorage(_file_uri_path(text, text.partition(":")[2]), root=text)
    if scheme in _OBJECT_SCHEMES:
        return _open_objects(text, options)
    if scheme or (hadoop is not None and hadoop.default_scheme() not in (None, "file")):
        if hadoop is None:
            raise StorageError(
                f"{text} needs a Spark session, to be reached through Hadoop: coalesce.open(…, spark=spark)"
                + ("; or write it as s3://… to go without." if scheme in ("s3a", "s3n") else ".")
            )
        return hadoop.open(text, create=(options or {}).get("put_if_absent"))
    return LocalStorage(text, root=text)


def is_relative(location: str) -> bool:
    """Whether a location depends on the directory that a process is in."""
    return not _scheme(location) and not os.path.isabs(location)


def _scheme(text: str) -> str:
    """What stands before the colon: `a:b` without a slash is a path, unless it begins with a scheme we know."""
    match = _SCHEME.fullmatch(text)
    known = match is not None and (match[2].startswith("/") or match[1].lower() in _KNOWN_SCHEMES)
    return match[1].lower() if match is not None and known else ""


def _file_uri_path(uri: str, rest: str) -> str:
    """The path in `file:/path`, `file:///path` or `file://localhost/path`."""
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in ("", "localhost") or not slash:
            raise StorageError(f"{uri!r} is not a location on this machine: write file:///absolute/path.")
        rest = f"/{path}"
    if not rest.startswith("/"):
        raise StorageError(f"{uri!r} is not a location: write file:///absolute/path, or the path alone.")
    return unquote(rest)


def _open_objects(location: str, options: Mapping[str, str] | None) -> Storage:
    try:
        from coalesce.storage.objects import ObjectStorage  # here, because obstore is an extra
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "obstore":
            raise
        raise StorageError(f"{location} needs obstore: {install('objects')}.") from error
    return ObjectStorage(location, options)
