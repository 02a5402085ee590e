"""Every data file beside what entries say of it, a few at a time; and files that lie in each other's place."""

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np

from coalesce.errors import CoalesceError, FileMissing
from coalesce.model.datafile import DataFile, in_places
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.storage.base import Storage
from coalesce.table.layout import one_nan
from coalesce.table.maintain import kinds
from coalesce.table.maintain.columns import ColumnHistory
from coalesce.table.maintain.contents import MENDABLE, Contents, Difference, as_told, dead_of, differences
from coalesce.table.maintain.deleting import Progress
from coalesce.table.maintain.row_ids import beyond
from coalesce.table.maintain.survey import Draft, Integers, Survey, in_order

_READERS: Final = 4  # files that are read at the same time: decoding runs outside Python's lock

ABSENT: Final = -1  # the size of a file that is not there

# What is in a file of so many bytes, of which some tuples are dead, as an engine reads it: to its end, or, without a
# word of those, as far as its footer tells.
Inspect = Callable[[Storage, str, int, Spec, ColumnHistory, Collection[LogicalTuple] | None], Contents]


@dataclass(eq=False)
class Compared:
    """An entry beside its file: what is in it (None if it cannot be read) and how the two differ."""

    entry: DataFile
    spec: Spec
    contents: Contents | None
    different: list[Difference]
    manifests: list[int] = field(default_factory=list)


def compared_entries(
    survey: Survey, sizes: Integers, inspect: Inspect, progress: Progress | None
) -> Iterator[Compared]:
    """Every entry beside its file. Most entries stand in several manifests, unchanged: they are compared once."""
    known: dict[tuple[str, int], Compared] = {}
    done, total = 0, int(np.count_nonzero(sizes != ABSENT))
    numbers = {path: file for file, path in enumerate(survey.paths)}

    def entries() -> Iterator[Compared]:
        for manifest in reversed(range(len(survey.manifests))):
            spec, found = survey.manifests[manifest].spec, survey.entries(manifest)
            for entry in [] if found is None else survey.columns.files(found, spec):
                key = entry.path, fingerprint(entry)
                if key in known:
                    known[key].manifests.append(manifest)
                elif sizes[numbers[entry.path]] != ABSENT:
                    known[key] = Compared(entry, spec, None, [], [manifest])
                    yield known[key]

    with ThreadPoolExecutor(_READERS) as pool:
        for compared in in_order(pool, entries(), partial(_compare, survey, sizes, numbers, inspect)):
            done += 1
            if progress is not None:
                progress(min(done, total), total)
            yield compared


def _compare(
    survey: Survey, sizes: Integers, numbers: dict[str, int], inspect: Inspect, compared: Compared
) -> Compared:
    entry, spec = compared.entry, compared.spec
    try:
        size = int(sizes[numbers[entry.path]])
        contents = inspect(survey.storage, entry.path, size, spec, survey.columns, dead_of(entry))
    except FileMissing:
        compared.different = [Difference(kinds.MISSING_FILE, "the data file is missing")]
        return compared
    except CoalesceError as error:
        compared.different = [Difference(kinds.UNREADABLE_FILE, str(error).rstrip("."))]
        return compared
    compared.different = differences(entry, as_told(entry, contents, spec), spec, survey.columns)
    next_row_id = max(survey.manifests[m].next_row_id for m in compared.manifests)
    if contents.highest_row_id is not None and contents.highest_row_id >= next_row_id:
        compared.different.append(Difference(kinds.ROW_ID_BEYOND, beyond(contents.highest_row_id, next_row_id)))
    if compared.different:  # what is as it should be need not be kept
        compared.contents = contents
    return compared


def fingerprint(entry: DataFile) -> int:
    """The same for entries that say the same of a file, whichever of its tuples are dead.

    Of those with dead tuples one stands for all, the newest: each removal makes another, and the file is the same.
    """
    if entry.dead:
        live = zip(entry.tuples or (), entry.tuple_rows or (), strict=False)
        listed = in_places(live, entry.dead, lambda dead: (dead.values, dead.rows))
        bounds = {(column, said.lower, said.upper) for column, said in entry.statistics.items()}
        rest = entry.physical_key, entry.physical_rows, entry.bytes, entry.spec_id, entry.ordered
        return hash((tuple(listed), rest, frozenset(bounds)))
    tuples = None if entry.tuples is None else tuple(map(one_nan, entry.tuples))
    key = None if entry.physical_key is None else one_nan(entry.physical_key)  # type: ignore[arg-type]
    counts = entry.tuple_rows, entry.complete, entry.ordered, entry.rows, entry.bytes, entry.spec_id
    return hash((tuples, key, counts, frozenset(entry.statistics.items())))


def drafts_of(survey: Survey, compared: list[Compared]) -> Iterator[Draft]:
    """What is wrong with entries that differ from their files."""
    swapped = dict(swaps(survey, compared))
    for number, one in enumerate(compared):
        versions = survey.naming(one.manifests)
        if number in swapped:
            other = compared[swapped[number]].entry.path
            yield Draft(kinds.SWAPPED_FILES, one.entry.path, versions, swapped_text(other))
            continue
        for difference in one.different:
            mendable = is_mendable(one) and survey.is_newest(versions)
            yield Draft(difference.kind, one.entry.path, versions, difference.text, mendable)


def swapped_text(other: str) -> str:
    """What is wrong with a file that lies where another one should."""
    return f"the file holds what {other} should hold, and that one what this one should"


def is_mendable(compared: Compared) -> bool:
    """Whether an entry made anew from its file would be right, and the rows the same as before."""
    return compared.contents is not None and {d.kind for d in compared.different} <= MENDABLE


def swaps(survey: Survey, compared: list[Compared]) -> Iterator[tuple[int, int]]:
    """Pairs of files, each in both orders, of which each holds exactly what the entry of the other says."""
    by_look: dict[tuple[int, int, int], list[int]] = {}
    for number, one in enumerate(compared):
        by_look.setdefault((one.entry.spec_id, one.entry.physical_rows, one.entry.bytes), []).append(number)
    for number, one in enumerate(compared):
        if one.contents is None:
            continue
        for other in by_look.get((one.entry.spec_id, one.contents.rows, one.contents.bytes), []):
            two = compared[other]
            if other == number or two.contents is None or two.entry.path == one.entry.path:
                continue
            if not (
                differences(two.entry, one.contents, two.spec, survey.columns)
                or differences(one.entry, two.contents, one.spec, survey.columns)
            ):
                yield number, other
                break
