"""Deleting what no version needs: data files and manifests of expired versions, and what dead writers left behind.

Files are listed first. Then the newest version is read, as it is in the store by then, and everything that it and all
other retained versions name is left alone. So a file that is committed while this is under way is either not in the
list, or named by the version that is read, or younger than a day: which is why age counts, by the store's own clock.
"""

import time
from dataclasses import dataclass
from datetime import timedelta
from itertools import takewhile
from typing import Final

from coalesce.errors import VersionExpired
from coalesce.manifest.paths import DATA, METADATA
from coalesce.model.version import Version
from coalesce.storage.base import StoredFile
from coalesce.table.commit.log import Log
from coalesce.table.core import Core
from coalesce.table.maintain.deleting import Deleted, NotDeleted, Progress, delete_all
from coalesce.table.maintain.own_files import is_own
from coalesce.table.maintain.reachable import unused
from coalesce.table.maintain.retention import moment_before
from coalesce.table.maintain.version_files import delete_versions, expired_files

_ATTEMPTS: Final = 5  # each begun anew because of an expiry that was committed while versions were read


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VacuumResult:
    """What a vacuum deleted, or with `dry_run` would delete.

    `paths` are the files, `bytes` what they held together. `failures` are files that could not be deleted, each with
    its `path` and a `reason`; the next vacuum tries again.
    """

    paths: tuple[str, ...]
    bytes: int
    failures: tuple[NotDeleted, ...] = ()
    dry_run: bool = False
    seconds: float = 0.0

    @property
    def files(self) -> int:
        """How many files are gone, or would be."""
        return len(self.paths)

    def __repr__(self) -> str:
        count = f"{self.files:,} file{'s' if self.files != 1 else ''}"
        failed = f", {len(self.failures):,} not deleted" if self.failures else ""
        done = "would delete" if self.dry_run else "deleted"
        return f"<{done} {count}, {self.bytes:,} bytes{failed}; {self.seconds:.2f} s>"


def vacuum(core: Core, age: timedelta, *, dry_run: bool, progress: Progress | None = None) -> VacuumResult:
    """Delete files of the table's own that are older than `age` and that no retained version names."""
    began = time.perf_counter()
    core.check_follows()
    storage = core.storage
    moment = moment_before(storage, age)
    listed = [*storage.sweep(DATA), *storage.sweep(METADATA)]
    head, gone = _unused(core, [file for file in listed if file.modified_ms <= moment and is_own(file.path)])
    old = list(takewhile(lambda file: file.modified_ms <= moment, expired_files(head, listed)))
    if dry_run:
        deleted = Deleted([*gone, *old], ())
    else:
        files = delete_all(storage, gone, progress)
        versions = delete_versions(storage, head, old)
        deleted = Deleted([*files.gone, *versions.gone], files.failures + versions.failures)
    return VacuumResult(
        paths=tuple(file.path for file in deleted.gone),
        bytes=sum(file.size for file in deleted.gone),
        failures=deleted.failures,
        dry_run=dry_run,
        seconds=time.perf_counter() - began,
    )


def _unused(core: Core, files: list[StoredFile]) -> tuple[Version, list[StoredFile]]:
    """The newest version, now that the files were listed, and those of them that no retained version needs."""
    attempt = 0
    while True:
        log = Log(core.storage)  # one that remembers nothing
        head = log.surely_newest()
        try:
            return head, unused(core.storage, log, head, files)
        except VersionExpired:
            attempt += 1
            if attempt == _ATTEMPTS:
                raise
