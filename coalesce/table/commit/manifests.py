"""Reading and writing manifests, through a cache bounded by bytes.

Manifests never change and have names that are never used twice, so a decoded one, together with the index the
planner builds over it, can be shared by every table object of the process for as long as there is room. A copy of a
table has the same names: it is another place, whose files are read for themselves.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from coalesce.errors import CorruptMetadata, FileMissing
from coalesce.manifest.manifest_file import EncodedManifest, decode_manifest, encode_manifest
from coalesce.manifest.paths import new_manifest_path
from coalesce.model.entries import Entries, dates_as_timestamps, sort_order
from coalesce.model.transforms import Identity
from coalesce.model.types import TIMESTAMP_NTZ
from coalesce.model.version import ManifestRef, Version
from coalesce.plan.index import ManifestIndex
from coalesce.recent import Recent
from coalesce.storage.base import Storage
from coalesce.table.commit.log import why_missing

MAX_ENTRIES = 10_000  # entries per manifest: what a plan decodes to find one file among them
CACHE_BYTES = 1024 * 1024 * 1024
AT_ONCE = 16  # manifests that are read or written at the same time: most of it is waiting for the store

Written = list[tuple[str, EncodedManifest]]  # manifests that were stored, by their paths


class ManifestCache(Recent[str, ManifestIndex]):
    """Decoded manifests, up to so many bytes; an index grows with what plans ask of it."""

    def __init__(self, capacity: int = CACHE_BYTES) -> None:
        super().__init__(capacity, lambda index: index.nbytes)

    def forget_table(self, uri: str) -> None:
        """Let go of the manifests of the table at a place, which is there no more: who asks for them is to be told."""
        self.forget_where(lambda key: key.startswith(f"{uri}\0"))


SHARED_CACHE = ManifestCache()


class Manifests:
    """The manifests of the table in `storage`."""

    def __init__(self, storage: Storage, cache: ManifestCache = SHARED_CACHE) -> None:
        self.storage = storage
        self.cache = cache

    def __reduce__(self) -> tuple[object, ...]:
        """To be sent elsewhere: without what is remembered here."""
        return Manifests, (self.storage,)

    def load(self, ref: ManifestRef, version: Version) -> ManifestIndex:
        """The manifest `ref` of `version` points to."""
        return next(self.load_all([ref], version))

    def load_all(self, refs: Sequence[ManifestRef], version: Version, *, keep: bool = True) -> Iterator[ManifestIndex]:
        """The manifests that `refs` of `version` point to, in order; those that are not held several at a time.

        Without `keep` they are not held afterwards either: nobody will ask for manifests that are about to be merged.
        """
        for first in range(0, len(refs), AT_ONCE):
            some = refs[first : first + AT_ONCE]
            missing = [ref for ref in some if self.key(ref, version) not in self.cache]
            read: dict[str, ManifestIndex] = {}
            if len(missing) > 1:
                with ThreadPoolExecutor(len(missing)) as pool:
                    indexes = pool.map(lambda ref: self._decoded(ref, version), missing)
                    read = {ref.path: index for ref, index in zip(missing, indexes, strict=True)}
            for ref in some:
                key = self.key(ref, version)
                index = self.cache.get(key)
                if index is None:
                    index = read[ref.path] if ref.path in read else self._decoded(ref, version)
                    if keep:
                        self.cache.put(key, index)
                yield index

    def key(self, ref: ManifestRef, version: Version) -> str:
        """What a manifest is held under: where it really lies, for a relative location is another one elsewhere."""
        became_late = _may_have_been_dates(version, ref.spec_id)
        path = f"{self.storage.uri('')}\0{ref.path}"
        return f"{path} as {became_late}" if became_late else path

    def superseded(self, old: Version, new: Version) -> None:
        """Let go of the manifests that `old` has and `new` has not: merged or rewritten, and hardly asked for again.

        Whoever still reads the old version reads them again.
        """
        kept = {ref.path for ref in new.manifests}
        self.cache.forget(self.key(ref, old) for ref in old.manifests if ref.path not in kept)

    def hold(self, written: Written, version: Version) -> None:
        """Hold those of the manifests written here that `version` names: whoever wrote them need not read them."""
        encoded = dict(written)
        for ref in version.manifests:
            entries = encoded[ref.path].entries(ref) if ref.path in encoded else None
            if entries is not None:
                self.cache.put(self.key(ref, version), self._index(entries, ref, version))

    def _decoded(self, ref: ManifestRef, version: Version) -> ManifestIndex:
        entries = decode_manifest(self._read(ref, version), ref, version.spec_by_id(ref.spec_id))
        return self._index(entries, ref, version)

    def _index(self, entries: Entries, ref: ManifestRef, version: Version) -> ManifestIndex:
        return ManifestIndex(dates_as_timestamps(entries, _may_have_been_dates(version, ref.spec_id)))

    def _read(self, ref: ManifestRef, version: Version) -> bytes:
        try:
            return self.storage.read(ref.path)
        except FileMissing:
            gone = why_missing(self.storage, version)
            if gone is not None:
                raise gone from None
            raise CorruptMetadata(
                ref.path, f"the manifest is missing although version {version.number} names it."
            ) from None

    def write_all(self, all_entries: Sequence[Entries], begun: list[str]) -> list[Written]:
        """Store each of some entries in manifests of their own; `begun` gets the name of each before it is sent off.

        If one cannot be stored, none is still under way when that is said.
        """
        if len(all_entries) < 2:
            return [self.write(entries, begun) for entries in all_entries]
        with ThreadPoolExecutor(min(len(all_entries), AT_ONCE)) as pool:
            return list(pool.map(lambda entries: self.write(entries, begun), all_entries))

    def write(self, entries: Entries, begun: list[str] | None = None) -> Written:
        """Store `entries` in as many manifests as they need, each a contiguous run of physical keys.

        `begun` gets the name of each before it is sent off, for the clean-up after a failure.
        """
        names: list[str] = [] if begun is None else begun
        order = sort_order(entries)
        parts = np.array_split(order, -(-len(order) // MAX_ENTRIES))
        return [self._write_one(entries.take(part) if len(parts) > 1 else entries, names) for part in parts]

    def _write_one(self, entries: Entries, begun: list[str]) -> tuple[str, EncodedManifest]:
        encoded = encode_manifest(entries)
        path = new_manifest_path()
        begun.append(path)
        self.storage.put_if_absent(path, encoded.data)
        return path, encoded


def _may_have_been_dates(version: Version, spec_id: int) -> tuple[int, ...]:
    """The partition fields that are timestamps now and may have been dates when a manifest was written."""
    fields = version.spec_by_id(spec_id).fields
    return tuple(
        f.field_id
        for f in fields
        if isinstance(f.transform, Identity) and version.schema.atomic(f.source_id) == TIMESTAMP_NTZ
    )


def refs(written: Written, added_version: int, first_row_id: int) -> tuple[list[ManifestRef], int]:
    """Pointers to freshly written manifests, and the next free row id after them."""
    found = []
    for path, encoded in written:
        found.append(encoded.ref(path, added_version, first_row_id))
        first_row_id += encoded.rows_without_id
    return found, first_row_id
