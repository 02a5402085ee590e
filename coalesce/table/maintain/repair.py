"""Make entries anew from their files where the two differ: one commit on the newest version, which keeps every row.

Only what a file itself tells is mended. What a file has lost, nobody can make again; and older versions never change.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from coalesce.errors import CoalesceError, CommitConflict, SpecError
from coalesce.manifest.paths import LATEST_HINT
from coalesce.model.datafile import DataFile
from coalesce.model.entries import Entries, from_files
from coalesce.model.version import ManifestRef, Version
from coalesce.table.commit.changes import REPAIR
from coalesce.table.commit.transaction import Transaction
from coalesce.table.core import Core
from coalesce.table.layout import MAX_TUPLES_PER_FILE
from coalesce.table.maintain import kinds
from coalesce.table.maintain.check import Checked, check
from coalesce.table.maintain.comparing import Compared, fingerprint, is_mendable, swaps
from coalesce.table.maintain.contents import as_told, dead_of, mended
from coalesce.table.maintain.deleting import Progress
from coalesce.table.maintain.findings import Finding, Findings, findings

_ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RepairResult:
    """What a repair did, or with `dry_run` would do.

    `mended` are findings that the newest version, `version`, is without now; **versions before it stay as they are**,
    and a check finds the same in those until they expire. `left` are findings that cannot be mended from here: their
    messages say what to do. `committed` says whether a version was made.
    """

    version: int
    mended: Findings
    left: Findings
    committed: bool
    dry_run: bool = False
    seconds: float = 0.0

    def __repr__(self) -> str:
        done = "would mend" if self.dry_run else "mended"
        kept = "; older versions stay as they are" if self.mended else ""
        return (
            f"<repair: {done} {len(self.mended):,}, left {len(self.left):,}; "
            f"version {self.version}{kept}, {self.seconds:.2f} s>"
        )


def repair(core: Core, *, dry_run: bool, progress: Progress | None = None) -> RepairResult:
    """Check everything, and mend what can be mended in the newest version."""
    began = time.perf_counter()
    transaction = core.transaction(REPAIR)  # before all that takes long: it refuses what cannot be written
    checked = check(core.storage, core.engines.rows.inspect, deep=True, progress=progress)
    wanted = [found for found in checked.findings if found.mendable]
    left = [found for found in checked.findings if not found.mendable]
    version, committed = transaction.base.number, False
    if wanted and not dry_run:
        staged = _committed(core, checked, wanted)
        committed = staged.committed
        version = core.version.number
        left += [found for found in wanted if found.where not in staged.places]
        wanted = [found for found in wanted if found.where in staged.places]
    return RepairResult(
        version=version,
        mended=findings(wanted),
        left=findings(left),
        committed=committed,
        dry_run=dry_run,
        seconds=time.perf_counter() - began,
    )


@dataclass(frozen=True, slots=True)
class _Done:
    """The files, manifests and hints that are right now."""

    places: set[str]
    committed: bool


def _committed(core: Core, checked: Checked, wanted: list[Finding]) -> _Done:
    """Mend as much of it as is still there, whatever others commit meanwhile."""
    for attempt in range(_ATTEMPTS):
        transaction = core.transaction(REPAIR)
        mending = _Mending(core, checked, transaction.base)
        places = mending.stage(transaction, {found.where for found in wanted})
        try:
            if places:
                transaction.summary["files_mended"] = len(places)
                core.committed(transaction)
            break
        except CommitConflict:  # a file was rewritten: it is another one now
            if attempt + 1 == _ATTEMPTS:
                raise
    if any(found.kind == kinds.WRONG_HINT for found in wanted):
        if not places:  # a commit has written it
            core.storage.put(LATEST_HINT, str(core.version.number).encode())
        return _Done({*places, LATEST_HINT}, bool(places))
    return _Done(places, bool(places))


class _Mending:
    """Makes entries anew for one version."""

    def __init__(self, core: Core, checked: Checked, base: Version) -> None:
        self.core = core
        self.base = base
        self.checked = checked
        self.columns = checked.survey.columns.as_in(base.schema)
        swapped = {number for number, _ in swaps(checked.survey, checked.compared)}
        self.broken: dict[tuple[str, int], Compared] = {
            (one.entry.path, fingerprint(one.entry)): one
            for number, one in enumerate(checked.compared)
            if is_mendable(one) and number not in swapped
        }

    def stage(self, transaction: Transaction, wanted: set[str]) -> set[str]:
        """Stage what is wanted and still as it was found; says which files and manifests these are."""
        staged: set[str] = set()
        for ref, entries in self._manifests():
            spec = self.base.spec_by_id(ref.spec_id)
            # An entry is known by what it says in the widest types, and made anew in those of the newest version.
            known = self.checked.survey.columns.files(entries, spec)
            now = self.columns.files(entries, spec)
            anew = [
                made
                for before, file in zip(known, now, strict=True)
                if file.path in wanted and (before.path, fingerprint(before)) in self.broken
                if (made := self._anew(file)) is not None
            ]
            if anew:
                try:
                    transaction.mend(from_files(anew, spec, self.columns.schema))
                except SpecError:  # a column that its tuples are made of is in no version any more
                    continue
                staged.update(file.path for file in anew)
            if ref.path in wanted and not anew:  # only what the version knows the manifest by is wrong
                transaction.mend(entries.take(np.arange(1)))
            if ref.path in wanted:
                staged.add(ref.path)
        return staged

    def _manifests(self) -> Iterator[tuple[ManifestRef, Entries]]:
        # Not through the cache: there, dates of a column that has become a timestamp are timestamps already.
        survey = self.checked.survey
        for ref in self.base.manifests:
            try:
                yield ref, survey.decoded(ref, self.base.spec_by_id(ref.spec_id))
            except CoalesceError:
                continue  # it is damaged, and was found to be

    def _anew(self, file: DataFile) -> DataFile | None:
        """The entry as its file has it; None if the file cannot be read any more, or does not tell enough."""
        storage, spec = self.core.storage, self.base.spec_by_id(file.spec_id)
        try:
            size = storage.size(file.path)
            contents = self.core.engines.rows.inspect(storage, file.path, size, spec, self.columns, dead_of(file))
        except CoalesceError:
            return None
        return mended(file, as_told(file, contents, spec), MAX_TUPLES_PER_FILE)
