"""Object stores through obstore: Amazon S3 and what speaks its protocol, Google Cloud Storage, Azure.

Create-if-absent is a PUT with `If-None-Match: *` (or what the store has instead): one request, atomic and durable
when it answers. obstore repeats a request whose answer got lost, and a repeated create finds the object that the
first one made; S3 also answers 409 while another create of the same key is under way. Both come out as "it was
there", which is why the contract of `put_if_absent` lets False mean "read it to know whose it is".

Options are obstore's configuration keys: for S3 `endpoint`, `region`, `access_key_id`, `secret_access_key`,
`session_token`, `allow_http`, `virtual_hosted_style_request`, and so on; `max_retries` and `retry_timeout` (seconds)
bound the repeats. What they leave open comes from the environment (`AWS_REGION`, …), as obstore reads it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import obstore
import pyarrow as pa
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from coalesce.arguments import shown
from coalesce.errors import FileMissing, InvalidArgument, StorageError
from coalesce.storage.base import Listing, StoredFile, check_path, directory_of, file_missing, storage_failed
from coalesce.storage.rangefile import RangeFile, as_arrow_file

if TYPE_CHECKING:
    from obstore import ObjectMeta
    from obstore.store import RetryConfig

SCHEMES: Final = frozenset({"s3", "gs", "az", "abfs", "abfss"})

_Store = S3Store | GCSStore | AzureStore

# Long enough to sit out a throttled minute, short enough that a wrong endpoint is reported to a person who waits.
_MAX_RETRIES = 8
_RETRY_SECONDS = 60.0

_LOCATION = re.compile(r"(?P<scheme>[a-z0-9]+)://(?P<bucket>[^/@]+)(?:@(?P<host>[^/]+))?(?:/(?P<key>.*))?", re.DOTALL)
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "specified bucket does not exist")
_OUT_OF_RANGE = ("416 Range Not Satisfiable", "non-partial response", "Wanted range starting at")


class ObjectStorage:
    """The objects whose keys begin with the location's; `location` is such as `s3://bucket/path/of/table`."""

    def __init__(self, location: str, options: Mapping[str, str] | None = None):
        self._root = location
        self._options = dict(options or {})
        match = _LOCATION.fullmatch(location.rstrip("/"))
        if match is None or match["scheme"] not in SCHEMES:
            raise StorageError(f"{location!r} is not a location: it has to look like s3://bucket/path/of/table.")
        key = match["key"] or ""
        self._prefix = directory_of(key)
        self._bucket = match["bucket"]
        with self._failing("open", ""):
            self._store = _connect(match["scheme"], match["bucket"], match["host"], self._options)

    def __reduce__(self) -> tuple[Any, ...]:
        # obstore's own pickling fails for some options; the connection is made again on the other side.
        return ObjectStorage, (self._root, self._options)

    @property
    def root(self) -> str:
        """The location as it was given."""
        return self._root

    def uri(self, path: str) -> str:
        """The object's URL, as literal as the path."""
        root = self._root.rstrip("/")
        return f"{root}/{check_path(path)}" if path else root

    def read(self, path: str) -> bytes:
        """The whole object, in one request."""
        with self._failing("read", path):
            return obstore.get(self._store, self._key(path)).bytes().to_bytes()

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`, or as many as there are, in one request (and one more at or past the end)."""
        if length == 0:
            return b""
        key = self._key(path)
        with self._failing("read", path):
            try:
                return obstore.get_range(self._store, key, start=offset, length=length).to_bytes()
            except BaseError as error:
                # Stores refuse a range that begins at the end, or answer it as if none had been asked for.
                if any(sign in str(error) for sign in _OUT_OF_RANGE) and offset >= self.size(path):
                    return b""
                raise

    def size(self, path: str) -> int:
        """The object's length in bytes."""
        with self._failing("read", path):
            return obstore.head(self._store, self._key(path))["size"]

    def list(self, prefix: str, start_after: str | None = None) -> Listing:
        """Every object below `prefix`, sorted; S3 and Google begin at `start_after` and give 1,000 names a request."""
        inside = self._prefix + directory_of(prefix)
        after = "" if start_after is None else start_after
        with self._failing("list", prefix):
            stream = obstore.list(
                self._store, inside or None, offset=None if start_after is None else self._prefix + start_after
            )
            objects = stream.collect()
            found = [
                StoredFile(path, meta["size"], int(meta["last_modified"].timestamp() * 1000))
                for meta in self._without_directories(objects)
                if (path := meta["path"][len(self._prefix) :]) > after
            ]
        found.sort(key=lambda file: file.path)
        return found

    def sweep(self, prefix: str) -> Listing:
        """The same: there are no links, and an object that is not complete is not there."""
        return self.list(prefix)

    @property
    def lists_from_a_name(self) -> bool:
        """As stores do."""
        return True

    def numbered(self, name: Callable[[int], str], first: int) -> Listing:
        """Those files and whatever sorts behind them, in one request for 1,000."""
        return self.list(name(first).rpartition("/")[0], name(first - 1) if first > 0 else None)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create the object unless it is there, in one request."""
        with self._writing(path):
            try:
                # Never in parts: only a single request carries the condition.
                obstore.put(self._store, self._key(path), data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
        return True

    def put(self, path: str, data: bytes) -> None:
        """Write the object, replacing what is there, in one request."""
        with self._writing(path):
            obstore.put(self._store, self._key(path), data, use_multipart=False)

    def delete(self, path: str) -> None:
        """Delete the object if it is there."""
        try:
            with self._failing("delete", path):
                obstore.delete(self._store, self._key(path))
        except FileMissing:
            pass

    def open_input(self, path: str, *, size: int | None = None) -> pa.NativeFile:
        """The object for pyarrow: one request for each range it wants, and one for the size if that is not given."""
        length = self.size(path) if size is None else size
        return as_arrow_file(RangeFile(length, lambda offset, count: self.read_range(path, offset, count)))

    def _key(self, path: str) -> str:
        return self._prefix + check_path(path)

    def _without_directories(self, objects: "Sequence[ObjectMeta]") -> "Iterator[ObjectMeta]":
        """The objects that are files.

        Some tools mark a directory by an empty object called `a/b/`, and obstore's listing drops the last slash. It
        is then the directory of another object, or asking for `a/b` finds nothing.
        """
        directories = {meta["path"].rpartition("/")[0] for meta in objects}
        for meta in objects:
            if meta["size"] == 0:
                if meta["path"] in directories or f"{meta['path']}/" == self._prefix:
                    continue
                try:
                    obstore.head(self._store, meta["path"])
                except FileNotFoundError:
                    continue
            yield meta

    @contextmanager
    def _failing(self, verb: str, path: str) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            text = str(error)
            if any(sign in text for sign in _NO_BUCKET):
                raise StorageError(f"there is no bucket {self._bucket!r} for {self._root}.") from error
            if isinstance(error, FileNotFoundError):
                raise file_missing(self._root, path) from error
            raise storage_failed(verb, self._root, path, _reason(text)) from error

    @contextmanager
    def _writing(self, path: str) -> Iterator[None]:
        try:
            with self._failing("write", path):
                yield
        except FileMissing as error:  # a write does not need the object, so it is the bucket that is missing
            raise StorageError(f"there is no bucket {self._bucket!r} for {self._root}.") from error


def _connect(scheme: str, bucket: str, host: str | None, options: Mapping[str, str]) -> _Store:
    config: dict[str, Any] = dict(options)
    retry: RetryConfig = {
        "max_retries": int(_number(config, "max_retries", _MAX_RETRIES, r"\d{1,9}")),
        "retry_timeout": timedelta(seconds=_number(config, "retry_timeout", _RETRY_SECONDS, r"\d{1,9}(\.\d*)?")),
    }
    if scheme == "s3":
        return S3Store(bucket, config=config, retry_config=retry)  # type: ignore[arg-type]
    if scheme == "gs":
        return GCSStore(bucket, config=config, retry_config=retry)  # type: ignore[arg-type]
    if host is not None:
        # abfss://container@account.dfs.core.windows.net/path, as Hadoop writes it
        config.setdefault("account_name", host.split(".")[0])
        if host.endswith(".fabric.microsoft.com"):
            config.setdefault("use_fabric_endpoint", "true")
    return AzureStore(bucket, config=config, retry_config=retry)  # type: ignore[arg-type]


def _number(config: dict[str, Any], name: str, default: float, pattern: str) -> float:
    """A number among the options, taken out of them."""
    text = config.pop(name, str(default))
    if re.fullmatch(pattern, text, re.ASCII) is None:
        kind = "a whole number" if isinstance(default, int) else "a number of seconds"
        raise InvalidArgument(f"the storage option {name!r} is {kind}, 0 or more, not {shown(text)}.")
    return float(text)


def _reason(text: str) -> str:
    """What went wrong, out of obstore's account of it: the store's own code and message, or the first line."""
    code, message = (re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL) for tag in ("Code", "Message"))
    if code is not None and message is not None:
        return f"{message[1].strip().rstrip('.')} ({code[1]})"
    first = text.partition("\n")[0].strip().rstrip(".:")
    if "builder error" in text and "BadScheme" in text:
        first += '; for an endpoint without TLS set the option allow_http to "true"'
    return first
