"""What a transaction is to change: files that come and go, tuples that die, entries and metadata that are made anew.

Nothing is written here, and nothing committed: `transaction.py` makes the next version of it.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import uuid4

import numpy as np

from coalesce.arguments import shown
from coalesce.errors import InvalidArgument
from coalesce.model.datafile import DataFile
from coalesce.model.entries import Entries, concatenate, from_files
from coalesce.model.rule import PhysicalKey
from coalesce.model.spec import LogicalTuple
from coalesce.model.version import ManifestRef, Version
from coalesce.plan.planner import JudgeOpaque, PlannedManifest
from coalesce.predicate.expr import Bound
from coalesce.predicate.outcomes import Mask

MAX_ATTEMPTS = 200
_LAST_SEQUENCE: Final = 2**63 - 1


@dataclass
class Staged:
    """What is to change relative to `base`.

    `matching` is the predicate a removal was made for: rows added meanwhile that it may match are a conflict, and of
    files that are marked, the tuples on which it is TRUE are dead `since` a moment.
    `exclusive` changes conflict with any other commit. `applies` is `(app, sequence)`: the commit is made
    only if the app has not committed this or a later sequence before. `rewritten` counts rows of added files that are
    not new: they were in removed ones. `opaque` judges what only an engine understands of `matching`. After so many
    `attempts`, each overtaken by another writer, it is given up.
    """

    base: Version
    operation: str
    matching: Bound | None = None
    exclusive: bool = False
    applies: tuple[str, int] | None = None
    opaque: JudgeOpaque | None = None
    summary: dict[str, int | str] = field(default_factory=dict)
    rewritten: int = 0
    attempts: int = MAX_ATTEMPTS
    began: float = field(default_factory=time.perf_counter)
    since: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    commit_id: str = field(default_factory=lambda: uuid4().hex)
    _added: list[Entries] = field(default_factory=list)
    _adopted: list[Entries] = field(default_factory=list)  # files of others among them, which stay whatever happens
    _removed: set[str] = field(default_factory=set)
    _copied: set[str] = field(default_factory=set)  # those among them whose rows are in added files
    _marked: set[str] = field(default_factory=set)
    _plans: dict[str, PlannedManifest] = field(default_factory=dict)  # of their manifests, by path: none ever changes
    _moved: dict[str, frozenset[LogicalTuple]] = field(default_factory=dict)  # tuples whose rows are in added files
    _mended: dict[str, tuple[Entries, int]] = field(default_factory=dict)  # by path, and the place among the entries
    _change: Callable[[Version], Version] | None = None
    _retention: Callable[[Version], Version] | None = None
    _replacement: tuple[ManifestRef, ...] | None = None

    def __post_init__(self) -> None:
        self.applies = _checked(self.applies)

    @property
    def was_applied(self) -> bool:
        """Whether what `applies` names was committed before, as far as `base` knows."""
        return self._is_in(self.base)

    @property
    def _replaced(self) -> set[str]:
        """The files whose entries do not stay."""
        return self._removed.union(self._mended, self._marked, self._moved)

    def _is_in(self, version: Version) -> bool:
        return self.applies is not None and version.applied.get(self.applies[0], -1) >= self.applies[1]

    def add(self, files: Sequence[DataFile], version: Version | None = None) -> None:
        """Stage data files that were written for this transaction, each under the spec it was written for.

        `version` has the columns and specs that they were written with, if those are not the ones of `base`.
        """
        written_for = self.base if version is None else version
        by_spec: dict[int, list[DataFile]] = defaultdict(list)
        for f in files:
            by_spec[f.spec_id].append(f)
        for spec_id, members in by_spec.items():
            self.add_entries(from_files(members, written_for.spec_by_id(spec_id), written_for.schema))

    def add_entries(self, entries: Entries) -> None:
        """Stage entries that are columns already."""
        if len(entries):
            self._added.append(entries)

    def adopt_entries(self, entries: Entries) -> None:
        """Stage entries of files that others wrote: they are not deleted if the commit is not made."""
        if len(entries):
            self._adopted.append(entries)

    def added_files(self) -> list[DataFile]:
        """The data files that were added."""
        return [file for entries in self._added for file in entries.files(columns=())]

    @property
    def touched(self) -> set[PhysicalKey]:
        """The physical partitions of the current spec that files were added to."""
        current = [entries for entries in self._added if entries.spec_id == self.base.current_spec_id]
        return {key for entries in current for key in entries.physical_keys()}

    def remove(self, files: Sequence[DataFile], *, copied: bool = False) -> None:
        """Stage the removal of files from the table; the files themselves stay for older versions.

        `copied` says that rows of theirs are in files that are added: then nobody may remove any of them meanwhile.
        """
        self._removed.update(f.path for f in files)
        if copied:
            self._copied.update(f.path for f in files)

    def mark(self, planned: PlannedManifest, files: Mask) -> None:
        """Stage that the tuples on which `matching` is TRUE are dead in some files of a manifest, as planned in `base`.

        No row of them is looked at. Others may mark the same files meanwhile: their tuples are dead, too.
        """
        self._marked.update(planned.index.paths(np.flatnonzero(files)))
        self._plans[planned.ref.path] = planned

    def move(self, path: str, tuples: frozenset[LogicalTuple]) -> None:
        """Stage that these tuples of a file are dead: their rows, as they are now, are in files that are added.

        Others may mark or move other tuples of the file meanwhile, but none of these.
        """
        self._moved[path] = tuples

    def mend(self, entries: Entries) -> None:
        """Stage entries in the place of those that name the same files. They have row ids and versions of their own.

        No file comes or goes by it, so none is deleted if it is not committed.
        """
        self._mended |= {path: (entries, i) for i, path in enumerate(entries.core.column("path").to_pylist())}

    def change(self, change: Callable[[Version], Version]) -> None:
        """Stage a change of metadata: a function from the version to the changed one."""
        self._change = change

    def retain(self, change: Callable[[Version], Version]) -> None:
        """Stage a change of which versions are kept. It conflicts with nothing, and is made anew on a newer version.

        A version that it refuses, it refuses by an error.
        """
        self._retention = change

    def replace_manifests(self, manifests: tuple[ManifestRef, ...]) -> None:
        """Stage another set of manifests in place of the table's; only for an exclusive transaction."""
        self._replacement = manifests

    # --- what follows from it ---------------------------------------------------------------------------------------

    def _by_spec(self) -> list[Entries]:
        by_spec: dict[int, list[Entries]] = defaultdict(list)
        for entries in (*self._added, *self._adopted):
            by_spec[entries.spec_id].append(entries)
        return [parts[0] if len(parts) == 1 else concatenate(parts) for parts in by_spec.values()]

    def _mended_of(self, paths: Sequence[str]) -> list[Entries]:
        """The entries that were made anew for some files."""
        found = [self._mended[path] for path in paths if path in self._mended]
        places: dict[int, list[int]] = defaultdict(list)
        for entries, place in found:
            places[id(entries)].append(place)
        by_id = {id(entries): entries for entries, _ in found}
        return [by_id[i].take(np.array(taken)) for i, taken in places.items()]


def _checked(applies: object) -> tuple[str, int] | None:
    """What a write that is to be made once is known by, if it can be recorded."""
    if applies is None:
        return None
    if isinstance(applies, tuple) and len(applies) == 2:
        app, sequence = applies
        is_number = isinstance(sequence, int | np.integer) and not isinstance(sequence, bool)
        if isinstance(app, str) and app and _is_unicode(app) and is_number and 0 <= int(sequence) <= _LAST_SEQUENCE:
            return app, int(sequence)
    raise InvalidArgument(
        f"applies= is (application, sequence), a name and a number from 0 to {_LAST_SEQUENCE}, not {shown(applies)}."
    )


def _is_unicode(text: str) -> bool:
    """Whether a text can be written down: Python's may hold half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
