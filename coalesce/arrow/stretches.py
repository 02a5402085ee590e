"""Row groups that are read at once: in files that tenants share they are small, and each read has its own costs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from coalesce.arrow.encode import SHARED_ROW_GROUP_BYTES
from coalesce.arrow.places import Part
from coalesce.arrow.read import OpenFile
from coalesce.predicate.outcomes import Mask


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is read at once: whole row groups, or `part` of a single one.

    `matching` says which of the live rows there match, where that is known; otherwise all have to be looked at.
    """

    groups: Sequence[int]
    part: range | None
    matching: Mask | None


def groups_together(file: OpenFile, groups: Sequence[int]) -> Iterator[list[int]]:
    """Row groups that are read at once: as many as take no more than a large one."""
    most = SHARED_ROW_GROUP_BYTES * file.entry.physical_rows / max(1, file.entry.bytes)
    some: list[int] = []
    rows = 0
    for group in groups:
        if some and rows + file.group_rows[group] > most:
            yield some
            some, rows = [], 0
        some.append(group)
        rows += file.group_rows[group]
    if some:
        yield some


def stretches(file: OpenFile, parts: Sequence[Part]) -> Iterator[Stretch]:
    """The same rows, in the same order.

    Of a row group that has to be looked at, no more rows than its part are: others need not satisfy what makes a
    condition computable. Where it is known which match, the rest of the row group may come along and is left out.
    """
    alike: list[Part] = []
    for part in parts:
        if alike and not (_may_grow(file, part) and (part.matching is None) == (alike[0].matching is None)):
            yield from _joined(file, alike)
            alike = []
        alike.append(part)
        if not _may_grow(file, part):
            yield from _joined(file, alike)
            alike = []
    yield from _joined(file, alike)


def _may_grow(file: OpenFile, part: Part) -> bool:
    return part.matching is not None or _is_whole(file, part)


def _is_whole(file: OpenFile, part: Part) -> bool:
    return part.stop - part.start == file.group_rows[part.group]


def _joined(file: OpenFile, parts: Sequence[Part]) -> Iterator[Stretch]:
    """Parts that may grow and are all known to match, or all not; or a single one."""
    by_group = {part.group: part for part in parts}
    for groups in groups_together(file, [*by_group]):
        first = by_group[groups[0]]
        if len(groups) == 1:
            yield Stretch(groups, None if _is_whole(file, first) else range(first.start, first.stop), first.matching)
        elif first.matching is None:
            yield Stretch(groups, None, None)
        else:
            yield Stretch(groups, None, np.concatenate([_in_group(file, by_group[group]) for group in groups]))


def _in_group(file: OpenFile, part: Part) -> Mask:
    """Which live rows of its row group match."""
    assert part.matching is not None
    before = file.live_part(part.group, 0, part.start)
    after = file.live_part(part.group, part.stop, file.group_rows[part.group])
    return np.pad(part.matching, (before, after))
