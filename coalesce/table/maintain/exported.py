"""What exports name: other engines read its data files, so a vacuum leaves them alone while the export is kept.

Before an export is committed, a file below `_coalesce/exports/` says which manifests it was made of; when it is
committed, those of earlier exports go. Whoever dies in between leaves one too many, never one too few. The manifests
and not the version are named, because the version may expire.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Final

from coalesce.errors import CorruptMetadata, FileMissing, StorageError
from coalesce.manifest.paths import METADATA
from coalesce.model.version import ManifestRef, Version
from coalesce.storage.base import Storage

EXPORTS: Final = f"{METADATA}/exports"


def record_of(format_: str, location: str | None) -> str:
    """The directory of the records of one export; there is one at each location."""
    suffix = "" if location is None else f"-{sha256(location.encode()).hexdigest()[:16]}"
    return f"{EXPORTS}/{format_}{suffix}"


def keep(storage: Storage, record: str, version: Version) -> None:
    """Say, before an export of the version is committed, that its files are needed."""
    named = [{"path": r.path, "length": r.length, "digest": r.digest, "files": r.files} for r in version.manifests]
    text = json.dumps({"version": version.number, "manifests": named}, separators=(",", ":"))
    storage.put_if_absent(_path(record, version.number), text.encode())


def release(storage: Storage, record: str, before: int | None = None) -> None:
    """Forget exports of earlier versions, or all; one that cannot be forgotten is left for the next time."""
    for file in storage.list(record):
        number = file.path.rpartition("/")[2].removesuffix(".json")
        if before is None or (number.isdigit() and int(number) < before):
            with suppress(StorageError):
                storage.delete(file.path)


def kept_manifests(storage: Storage) -> Sequence[ManifestRef]:
    """The manifests of everything that is exported; CorruptMetadata if that cannot be told."""
    found: dict[str, ManifestRef] = {}
    for file in storage.list(EXPORTS):
        try:
            document = json.loads(storage.read(file.path))
            for named in document["manifests"]:
                found[named["path"]] = _ref(**named)
        except FileMissing:  # a later export has replaced it
            continue
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptMetadata(
                file.path, "it does not say which files an export needs; delete it, and export again."
            ) from error
    return list(found.values())


def kept_of(storage: Storage, record: str, number: int) -> Sequence[ManifestRef] | None:
    """The manifests that the export of a version was made of; None if nothing says so any more."""
    try:
        document = json.loads(storage.read(_path(record, number)))
        return [_ref(**named) for named in document["manifests"]]
    except (FileMissing, ValueError, KeyError, TypeError):
        return None


def _path(record: str, number: int) -> str:
    return f"{record}/{number:020d}.json"


def _ref(*, path: object, length: object, digest: object, files: object) -> ManifestRef:
    if not (isinstance(path, str) and isinstance(length, int) and isinstance(digest, str) and isinstance(files, int)):
        raise TypeError("what names a manifest")
    return ManifestRef(
        path=path, spec_id=0, files=files, rows=0, bytes=0, length=length, digest=digest, bounds=None,
        added_version=0, first_row_id=0,
    )  # fmt: skip
