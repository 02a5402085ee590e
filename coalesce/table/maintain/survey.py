"""All versions of a table that have not expired, and all manifests they name: each is read once, and kept as numbers.

Ten thousand versions name mostly the same manifests, and these mostly the same files. So versions are kept as what
changed from one to the next, paths as numbers, and entries as arrays.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from coalesce.errors import CoalesceError, CorruptMetadata, FileMissing
from coalesce.manifest.manifest_file import decode_manifest, manifest_bounds
from coalesce.model.columns import numbers
from coalesce.model.entries import Entries
from coalesce.model.spec import Spec
from coalesce.model.values import order_key
from coalesce.model.version import FieldBounds, ManifestRef, Version
from coalesce.storage.base import Storage
from coalesce.table.maintain import kinds
from coalesce.table.maintain.columns import ColumnHistory
from coalesce.table.maintain.spans import Spans, has, merged
from coalesce.table.maintain.versions import Read

Integers = npt.NDArray[np.int64]
T = TypeVar("T")
R = TypeVar("R")

_GONE: Final = "the manifest is missing"
_AT_ONCE: Final = 8  # manifests that are read at the same time


@dataclass(frozen=True, slots=True)
class Draft:
    """Something that is wrong, before it is known which versions are whole."""

    kind: str
    where: str
    versions: Spans
    text: str
    mendable: bool = False


@dataclass(eq=False)
class Named:
    """A manifest that versions name: where it is known from, and its entries as arrays.

    `files` are numbers of paths. `rows` are those that lie in each, dead ones too. `next_row_id` is that of the first
    version that names it.
    """

    ref: ManifestRef
    spec: Spec
    next_row_id: int
    spans: list[tuple[int, int]] = field(default_factory=list)  # the first and the last of some versions in a row
    files: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    rows: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    bytes: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    first_row_id: Integers = field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(eq=False)
class Survey:
    """The versions and manifests of a table; `changes` says by version which manifests came and which went."""

    storage: Storage
    head: Version | None
    versions: tuple[int, ...]
    columns: ColumnHistory
    manifests: list[Named]
    changes: list[tuple[int, list[int], list[int]]]
    drafts: list[Draft]
    paths: list[str] = field(default_factory=list)

    def naming(self, manifests: Iterable[int]) -> Spans:
        """The versions that name one of these manifests."""
        return merged(span for m in manifests for span in self.manifests[m].spans)

    @property
    def is_readable(self) -> bool:
        """Whether the newest version can be read."""
        return self.head is not None and self.head.number == max(self.versions)

    def is_newest(self, versions: Spans) -> bool:
        """Whether the newest version is among these."""
        return self.head is not None and has(versions, self.head.number)

    def rows_of(self, version: int) -> int:
        """How many rows a version has."""
        return sum(m.ref.rows for m in self.manifests if any(a <= version <= b for a, b in m.spans))

    def holders(self, files: Iterable[int]) -> dict[int, list[int]]:
        """The manifests that name some files."""
        wanted = np.array(sorted(set(files)), np.int64)
        found: dict[int, list[int]] = {f: [] for f in wanted.tolist()}
        if len(wanted):
            for number, manifest in enumerate(self.manifests):
                for f in manifest.files[np.isin(manifest.files, wanted)].tolist():
                    found[f].append(number)
        return found

    def entries(self, number: int) -> Entries | None:
        """The entries of a manifest, read again; None if it is damaged, or gone since: that is noted."""
        manifest = self.manifests[number]
        if not len(manifest.files):
            return None
        try:
            return self.decoded(manifest.ref, manifest.spec)
        except FileMissing:
            self.drafts.append(Draft(kinds.MISSING_MANIFEST, manifest.ref.path, self.naming([number]), _GONE))
            return None

    def decoded(self, ref: ManifestRef, spec: Spec) -> Entries:
        """The entries of a manifest as they are stored: a cache may have them in wider types."""
        return decode_manifest(self.storage.read(ref.path), ref, spec)


def surveyed(storage: Storage, read: Read) -> Survey:
    """Read all manifests that the versions name."""
    survey = Survey(
        storage=storage,
        head=read.head,
        versions=tuple(read.numbers),
        columns=read.columns.history(),
        manifests=[Named(m.ref, m.spec, m.next_row_id, m.spans) for m in read.manifests],
        changes=read.changes,
        drafts=[Draft(kind, where, ((n, n),), text, kind == kinds.WRONG_HINT) for kind, where, n, text in read.wrong],
    )
    ids: dict[str, int] = {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        # Reading is waiting for the store; decoding many small manifests is not quicker in several threads.
        stored = in_order(pool, survey.manifests, lambda m: _stored(storage, m.ref.path))
        for number, (manifest, data) in enumerate(zip(survey.manifests, stored, strict=True)):
            outcome = _loaded(data, manifest) if isinstance(data, bytes) else data
            if isinstance(outcome, _Wrong):
                versions = survey.naming([number])
                survey.drafts.append(Draft(outcome.kind, manifest.ref.path, versions, outcome.text))
                continue
            paths, manifest.rows, manifest.bytes, manifest.first_row_id, narrow = outcome
            manifest.files = np.array([ids.setdefault(path, len(ids)) for path in paths], np.int64)
            if narrow is not None:
                versions = survey.naming([number])
                mendable = survey.is_newest(versions)
                survey.drafts.append(Draft(kinds.WRONG_RANGE, manifest.ref.path, versions, narrow, mendable))
    survey.paths = list(ids)
    return survey


@dataclass(frozen=True, slots=True)
class _Wrong:
    kind: str
    text: str


_Loaded = tuple[list[str], Integers, Integers, Integers, str | None]


def _stored(storage: Storage, path: str) -> bytes | _Wrong:
    """The bytes of a manifest, or why there are none."""
    try:
        return storage.read(path)
    except FileMissing:
        return _Wrong(kinds.MISSING_MANIFEST, _GONE)


def _loaded(data: bytes, manifest: Named) -> _Loaded | _Wrong:
    """The arrays of a manifest, and what is wrong with the ranges that versions know it by; or why there are none."""
    ref = manifest.ref
    try:
        entries = decode_manifest(data, ref, manifest.spec)
    except CoalesceError as error:
        twice = _named_twice(data, error)
        if twice is not None:
            return _Wrong(
                kinds.DUPLICATE_PATH, f"the manifest names the file {twice} twice, and its rows would be read twice"
            )
        return _Wrong(kinds.DAMAGED_MANIFEST, f"the manifest is damaged: {_reason(error)}")
    core = entries.core
    arrays = [numbers(core.column(name)) for name in ("rows", "bytes", "first_row_id")]
    rows = arrays[0] + entries.dead_rows
    return core.column("path").to_pylist(), rows, arrays[1], arrays[2], _narrow(ref.bounds, entries)


def _reason(error: CoalesceError) -> str:
    return (error.reason if isinstance(error, CorruptMetadata) else str(error)).rstrip(".")


def _named_twice(data: bytes, error: CoalesceError) -> str | None:
    """A path that stands twice in a manifest that is refused, if that is why."""
    if not isinstance(error, CorruptMetadata) or error.where != "path":
        return None
    try:
        paths: list[str | None] = pq.read_table(pa.BufferReader(data), columns=["path"]).column("path").to_pylist()
    except (pa.ArrowException, OSError):
        return None
    return next((path for path in paths if path is not None and paths.count(path) > 1), None)


def _narrow(bounds: tuple[FieldBounds, ...] | None, entries: Entries) -> str | None:
    """What is wrong with the bounds of partition fields by which a version skips the manifest; None if nothing is."""
    if bounds is None:
        return None
    exact = manifest_bounds(entries)
    if exact == bounds:
        return None
    if exact is None:
        return "the version knows the range of its tuples, although those of an entry are unknown"
    true = {b.field_id: b for b in exact}
    wrong = [b.field_id for b in bounds if b.field_id in true and not _covers(b, true[b.field_id])]
    return f"the range of the partition field {wrong[0]} that the version knows it by is too narrow" if wrong else None


def _covers(said: FieldBounds, true: FieldBounds) -> bool:
    if (true.has_null and not said.has_null) or (said.constant and not true.constant):
        return False
    if true.lower is None or true.upper is None:
        return True
    if said.lower is None or said.upper is None:
        return False
    try:
        low = order_key(true.type, said.lower) <= order_key(true.type, true.lower)
        return bool(low and order_key(true.type, said.upper) >= order_key(true.type, true.upper))
    except (TypeError, AssertionError):
        return False


def in_order(pool: ThreadPoolExecutor, items: Iterable[T], work: Callable[[T], R]) -> Iterator[R]:
    """The results of `work` on each item, in order; only a few are made before they are asked for."""
    under_way = []
    for item in items:
        under_way.append(pool.submit(work, item))
        if len(under_way) > 4 * _AT_ONCE:
            yield under_way.pop(0).result()
    for future in under_way:
        yield future.result()
