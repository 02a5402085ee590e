"""What the versions of a table name, and its exports: every manifest, data file and list of adopted files that is kept.

Nothing is taken for granted. A version or a manifest that is missing, damaged or of a newer release ends the search
with an error, for whatever it names would look as if nobody needed it.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from coalesce.errors import CorruptMetadata, FileMissing, VersionExpired, VersionNotFound
from coalesce.manifest.manifest_file import manifest_paths
from coalesce.manifest.paths import version_path
from coalesce.model.version import ManifestRef, Version
from coalesce.storage.base import Storage, StoredFile
from coalesce.table.commit.log import Log, why_missing
from coalesce.table.maintain.adopted import SEPARATOR, adopted_files
from coalesce.table.maintain.exported import EXPORTS, kept_manifests
from coalesce.table.properties import ADOPTED_FILES

_AT_ONCE: Final = 16  # manifests that are read at the same time: most of it is waiting for the store
_HELD: Final = 256  # manifests whose paths are in memory at once


def unused(storage: Storage, log: Log, head: Version, files: Sequence[StoredFile]) -> list[StoredFile]:
    """Those of some files that neither a version retained by `head`, the newest, nor an export names.

    What the table was adopted from is not among them, even if no version has it any more: it belongs to others.

    Names count as the same if a file system could take them for the same: some do not tell upper from lower case, and
    some spell letters with accents in their own way.
    """
    asked = {_folded(file.path) for file in files}
    used: set[str] = set()
    lists: dict[str, Version] = {}
    manifests: dict[tuple[str, str], tuple[ManifestRef, Version | None]] = {}
    for version in _retained(log, head):
        for ref in version.manifests:
            manifests.setdefault((ref.path, ref.digest), (ref, version))
        named = version.properties.get(ADOPTED_FILES)
        if named is not None:
            lists.setdefault(named, version)
    for named, version in lists.items():
        used.add(_folded(named.partition(SEPARATOR)[0]))
        used.update(asked.intersection(map(_folded, _adopted(storage, version))))
    for ref in kept_manifests(storage):
        manifests.setdefault((ref.path, ref.digest), (ref, None))
    used.update(asked.intersection(_folded(path) for path, _ in manifests))
    for paths in _paths(storage, list(manifests.values())):
        used.update(asked.intersection(map(_folded, paths)))
    return [file for file in files if _folded(file.path) not in used]


def _retained(log: Log, head: Version) -> Iterator[Version]:
    """Every version that is retained, the newest included."""
    numbers = sorted({*range(head.retained_from, head.number + 1), *head.tags.values()})
    try:
        for version in log.load_all(numbers):
            if version.table_id != head.table_id:
                raise CorruptMetadata(version_path(version.number), "it is a version of another table.")
            version.check_writable()  # what a newer release's writer needs, only that knows
            yield version
    except VersionExpired:
        raise
    except VersionNotFound as error:
        raise CorruptMetadata(f"{version_path(0).rpartition('/')[0]}/", f"a version is missing: {error}") from error


def _adopted(storage: Storage, version: Version) -> list[str]:
    try:
        paths: list[str] = adopted_files(storage, version).column("path").to_pylist()
    except CorruptMetadata as error:
        raise why_missing(storage, version) or error from None
    return paths


def _paths(storage: Storage, refs: Sequence[tuple[ManifestRef, Version | None]]) -> Iterator[Sequence[str]]:
    """The paths in each manifest, several of which are read at a time; its digest is checked.

    One that belongs to no version belongs to an export.
    """

    def read(named: tuple[ManifestRef, Version | None]) -> list[str]:
        ref, version = named
        try:
            return manifest_paths(storage.read(ref.path), ref)
        except FileMissing:
            if version is None:
                raise CorruptMetadata(
                    ref.path, f"it is missing although an export needs it; export again, or empty {EXPORTS}/."
                ) from None
            reason = f"the manifest is missing although version {version.number} names it."
            raise why_missing(storage, version) or CorruptMetadata(ref.path, reason) from None

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for first in range(0, len(refs), _HELD):
            yield from pool.map(read, refs[first : first + _HELD])


def _folded(path: str) -> str:
    return path.lower() if path.isascii() else unicodedata.normalize("NFC", path).casefold()
