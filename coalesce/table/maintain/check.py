"""Is a table sound? All versions, manifests and files that have not expired are looked at, and nothing is changed.

Versions and manifests are read once each, files looked up in one listing. A deep check reads every file to its end and
compares it with what its entries say, a few files at a time.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from coalesce.errors import CoalesceError, FileMissing
from coalesce.manifest.paths import DATA
from coalesce.model.spec import Spec
from coalesce.storage.base import Storage
from coalesce.table.maintain import kinds
from coalesce.table.maintain.advice import advised
from coalesce.table.maintain.comparing import ABSENT, Compared, Inspect, compared_entries, drafts_of, swapped_text
from coalesce.table.maintain.contents import Contents
from coalesce.table.maintain.deleting import Progress
from coalesce.table.maintain.findings import Findings
from coalesce.table.maintain.row_ids import overlaps
from coalesce.table.maintain.spans import common, in_several, merged
from coalesce.table.maintain.survey import Draft, Integers, Survey, in_order, surveyed
from coalesce.table.maintain.versions import newest_readable, read_versions

_LOOKED_UP: Final = 16  # sizes that are asked for at the same time


@dataclass(eq=False)
class Checked:
    """What was found, and what a repair goes on with: the entries that differ from their files."""

    survey: Survey
    compared: list[Compared]
    findings: Findings


def check(storage: Storage, inspect: Inspect, *, deep: bool, progress: Progress | None = None) -> Checked:
    """Look at everything that has not expired; with `deep`, into every data file."""
    survey = surveyed(storage, read_versions(storage))
    drafts = [*_duplicates(survey)]
    sizes = _sizes(survey)
    footer = partial(_footer, survey, sizes, inspect)
    drafts += overlaps(survey, partial(_has_own_ids, footer))
    drafts += _missing(survey, sizes)
    compared: list[Compared] = []
    if deep:
        compared = [c for c in compared_entries(survey, sizes, inspect, progress) if c.different]
        drafts += drafts_of(survey, compared)
    else:
        drafts += _wrong_sizes(survey, sizes, footer)
    return Checked(survey, compared, advised(survey, _still_kept(storage, [*survey.drafts, *drafts])))


def _still_kept(storage: Storage, drafts: list[Draft]) -> Iterator[Draft]:
    """What is wrong with versions that are kept: while a check is under way some may expire, and their files go."""
    head = newest_readable(storage) if drafts else None
    kept = None
    if head is not None:  # versions that came after it could not be read
        kept = merged([(head.retained_from, sys.maxsize), *((n, n) for n in head.tags.values())])
    for draft in drafts:
        versions = draft.versions if kept is None else common(draft.versions, kept)
        if versions:
            yield replace(draft, versions=versions)


# --- files as they are listed ------------------------------------------------------------------------------------


def _sizes(survey: Survey) -> Integers:
    """The size of every file that an entry names, by the number of its path; -1 if it is not there."""
    listed = {file.path: file.size for file in survey.storage.list(DATA)} if survey.paths else {}
    sizes = np.array([listed.get(path, ABSENT) for path in survey.paths], np.int64)
    others = np.flatnonzero(sizes == ABSENT).tolist()  # outside of that directory, or behind a link
    with ThreadPoolExecutor(_LOOKED_UP) as pool:
        found = in_order(pool, others, lambda file: _size(survey.storage, survey.paths[file]))
        for file, size in zip(others, found, strict=True):
            sizes[file] = size
    return sizes


def _size(storage: Storage, path: str) -> int:
    try:
        return storage.size(path)
    except FileMissing:
        return ABSENT


def _missing(survey: Survey, sizes: Integers) -> Iterator[Draft]:
    missing = np.flatnonzero(sizes == ABSENT).tolist()
    for file, manifests in survey.holders(missing).items():
        yield Draft(kinds.MISSING_FILE, survey.paths[file], survey.naming(manifests), "the data file is missing")


def _duplicates(survey: Survey) -> Iterator[Draft]:
    """Files that two manifests of one version name."""
    counts = np.zeros(len(survey.paths), np.int64)
    twice: set[int] = set()
    for _, came, went in survey.changes:
        for m in went:
            counts[survey.manifests[m].files] -= 1
        for m in came:
            counts[survey.manifests[m].files] += 1
        for m in came:
            files = survey.manifests[m].files
            twice.update(files[counts[files] > 1].tolist())
    for file, manifests in survey.holders(twice).items():
        versions = in_several(survey.naming([m]) for m in manifests)
        text = "two manifests name the file, and its rows are read twice"
        yield Draft(kinds.DUPLICATE_PATH, survey.paths[file], versions, text)


Footer = Callable[[int, Spec], Contents]


def _footer(survey: Survey, sizes: Integers, inspect: Inspect, file: int, spec: Spec) -> Contents:
    return inspect(survey.storage, survey.paths[file], int(sizes[file]), spec, survey.columns, None)


def _has_own_ids(footer: Footer, file: int, spec: Spec) -> bool:
    try:
        return footer(file, spec).own_ids
    except CoalesceError:
        return False


def _wrong_sizes(survey: Survey, sizes: Integers, footer: Footer) -> Iterator[Draft]:
    """Files of another size than an entry says; the footers of these few tell whether that is all."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for number, manifest in enumerate(survey.manifests):
        actual = sizes[manifest.files]
        for at in np.flatnonzero((actual != ABSENT) & (actual != manifest.bytes)).tolist():
            key = int(manifest.files[at]), int(manifest.bytes[at]), int(manifest.rows[at])
            found.setdefault(key, []).append(number)
    places = {(said, int(sizes[file])): file for file, said, _ in found}
    for (file, said, rows), manifests in found.items():
        versions = survey.naming(manifests)
        other = places.get((int(sizes[file]), said))
        if other is not None:  # each has the size of the other
            text = swapped_text(survey.paths[other])
            yield Draft(kinds.SWAPPED_FILES, survey.paths[file], versions, text)
            continue
        text = f"the file has {sizes[file]:,} bytes, and its entry says {said:,}"
        try:
            same_rows = footer(file, survey.manifests[manifests[0]].spec).rows == rows
        except CoalesceError as error:
            yield Draft(kinds.UNREADABLE_FILE, survey.paths[file], versions, f"{text}; {str(error).rstrip('.')}")
            continue
        mendable = same_rows and survey.is_newest(versions)
        yield Draft(kinds.WRONG_SIZE, survey.paths[file], versions, text, mendable)
