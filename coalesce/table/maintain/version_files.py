"""The files of expired versions, deleted so that whoever looks for the newest version finds it at any moment.

Where a listing cannot begin at a name, versions are looked up one by one, from one that was seen before. It must not be
the last of those that are left while there are later ones behind a gap: whoever took it for the newest would commit
into the gap. So the oldest go first, one after the other, and a tagged version that stays alone is marked as such
before those behind it go.
"""

from collections.abc import Iterable, Sequence

from coalesce.manifest.paths import VERSIONS, version_number, version_path
from coalesce.model.version import Version
from coalesce.storage.base import Storage, StoredFile, alone
from coalesce.table.maintain.deleting import Deleted, Progress, delete_all, delete_in_order


def expired_files(head: Version, files: Iterable[StoredFile]) -> list[StoredFile]:
    """Those of some files that are of versions which have expired, by what `head` says; the oldest first.

    What has expired stays expired, so this holds whatever was committed since.
    """
    numbered = [(number, file) for file in files if (number := version_number(file.path)) is not None]
    return [file for number, file in sorted(numbered, key=lambda pair: pair[0]) if head.has_expired(number)]


def delete_versions(
    storage: Storage, head: Version, files: Sequence[StoredFile], progress: Progress | None = None
) -> Deleted:
    """Delete the files of expired versions, all of which have expired by what `head` says; the oldest first."""
    if not files:
        return Deleted((), ())
    if storage.lists_from_a_name:
        return delete_all(storage, files, progress)
    for number in sorted(set(head.tags.values())):
        if number < head.retained_from:
            storage.put_if_absent(alone(version_path(number)), b"kept by a tag\n")
    deleted = delete_in_order(storage, files, progress)
    _unmark(storage, head)
    return deleted


def _unmark(storage: Storage, head: Version) -> None:
    """Delete marks of versions that are gone: a tag may have been taken away since, or whoever set it was late."""
    there = {file.path for file in storage.list(VERSIONS)}
    for path in there:
        marked = path.removesuffix(alone(""))
        number = None if marked == path or marked in there else version_number(marked)
        if number is not None and head.has_expired(number):
            storage.delete(path)
