"""Letting old versions go: a commit that says so, and then their files.

The commit raises the oldest version that is kept. Only what it has let go is deleted, the oldest first, so whoever dies
on the way leaves a table that is whole, and files that the next one deletes. Data files and manifests are not looked
at: `vacuum` deletes those that no version needs any more.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from coalesce.errors import VersionExpired
from coalesce.manifest.paths import version_number
from coalesce.model.version import RETENTION, Version
from coalesce.storage.base import StoredFile
from coalesce.table.commit.log import Log
from coalesce.table.commit.transaction import Transaction
from coalesce.table.core import Core
from coalesce.table.maintain.deleting import Deleted, NotDeleted, Progress
from coalesce.table.maintain.retention import moment_before
from coalesce.table.maintain.tags import TAG, UNTAG
from coalesce.table.maintain.version_files import delete_versions, expired_files

EXPIRE: Final = "expire"

# Commits that only say which versions are kept. Where versions are counted they are none: a table that nobody writes
# to would lose one for each expiry.
_UPKEEP: Final = frozenset({EXPIRE, TAG, UNTAG})

_ATTEMPTS: Final = 5  # each begun anew because of another expiry that was committed while versions were read


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExpireResult:
    """What an expiry did, or with `dry_run` would do.

    `versions` are those whose files are gone, `retained_from` is the oldest version that is kept without a tag, and
    `version` the newest. `failures` are files that could not be deleted, each with its `path` and a `reason`: their
    versions have expired all the same, and the next expiry tries again.
    """

    version: int
    retained_from: int
    versions: tuple[int, ...]
    bytes: int
    failures: tuple[NotDeleted, ...] = ()
    dry_run: bool = False
    seconds: float = 0.0

    def __repr__(self) -> str:
        count = f"{len(self.versions):,} version{'s' if len(self.versions) != 1 else ''}"
        done = "would expire" if self.dry_run else "expired"
        failed = f", {len(self.failures):,} not deleted" if self.failures else ""
        return f"<{done} {count}{failed}; kept from version {self.retained_from}, {self.seconds:.2f} s>"


def expire(
    core: Core, age: timedelta, keep_last: int, *, dry_run: bool, progress: Progress | None = None
) -> ExpireResult:
    """Let versions go that are older than `age`, but not the last so many."""
    began = time.perf_counter()
    transaction, files, first = _begun(core, moment_before(core.storage, age), keep_last)
    base = transaction.base
    head = replace(base, retained_from=first)
    if first > base.retained_from and not dry_run:
        transaction.summary["retained_from"] = first
        transaction.retain(lambda newer: _kept_from(newer, first))
        core.committed(transaction)
        head = core.version
    old = expired_files(head, files.values())
    deleted = Deleted(old, ()) if dry_run else delete_versions(core.storage, head, old, progress)
    return ExpireResult(
        version=head.number,
        retained_from=head.retained_from,
        versions=tuple(number for file in deleted.gone if (number := version_number(file.path)) is not None),
        bytes=sum(file.size for file in deleted.gone),
        failures=deleted.failures,
        dry_run=dry_run,
        seconds=time.perf_counter() - began,
    )


def _begun(core: Core, moment: int, keep_last: int) -> tuple[Transaction, dict[int, StoredFile], int]:
    """What is to be committed to, the version files by number, and the oldest version to be kept."""
    attempt = 0
    while True:
        transaction = core.transaction(EXPIRE)
        files = {number: file for file in core.log.files() if (number := version_number(file.path)) is not None}
        try:
            return transaction, files, _first_kept(core.log, transaction.base, files, moment, keep_last)
        except VersionExpired:
            attempt += 1
            if attempt == _ATTEMPTS:
                raise


def _kept_from(head: Version, number: int) -> Version:
    return replace(
        head,
        retained_from=max(head.retained_from, number),
        writer_features=head.writer_features | {RETENTION},
    )


def _first_kept(log: Log, head: Version, files: Mapping[int, StoredFile], moment: int, keep_last: int) -> int:
    """The oldest version to be kept.

    It is the one that was current at `moment`, so that every time since then can still be gone back to; or an older
    one, if there would be too few.
    """
    kept = [number for number in sorted(files) if head.retained_from <= number <= head.number]
    younger = next((number for number in kept if files[number].modified_ms > moment), None)
    current = head.number if younger is None else younger - 1
    counted, last = 0, head.number
    for version in log.load_all(kept[::-1]):
        last = version.number
        counted += version.operation not in _UPKEEP
        if counted == keep_last:
            break
    return max(min(current, last), head.retained_from)
