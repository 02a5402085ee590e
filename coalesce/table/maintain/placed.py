"""Where tuples belong: what the rule of now makes of what the table has of each, and which files that concerns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from coalesce.model.rule import Group, PhysicalKey, route
from coalesce.model.spec import LogicalTuple
from coalesce.plan.index import Positions
from coalesce.predicate.outcomes import Mask
from coalesce.table.maintain.held import NO_KEY, Held


@dataclass(frozen=True)
class Placed:
    """Where each tuple is wanted: `wanted` are numbers of `keys`."""

    held: Held
    keys: Sequence[PhysicalKey]
    wanted: npt.NDArray[np.int64]

    @staticmethod
    def by_rule(held: Held) -> "Placed":
        """By what the table has of each tuple; one that is alone stays so until it is well below the limit."""
        rule, spec = held.version.rule, held.version.spec
        share = held.posting_rows * held.row_bytes[held.posting_file]
        sizes = np.bincount(held.posting_tuple, weights=share, minlength=len(held.tuples))
        alone = np.zeros(len(held.tuples), np.bool_)
        alone[held.posting_tuple[held.is_alone[held.posting_file]]] = True
        rows = np.bincount(held.posting_tuple, weights=held.posting_rows, minlength=len(held.tuples))
        numbers: dict[PhysicalKey, int] = {key: number for number, key in enumerate(held.keys)}
        densest = np.zeros(len(numbers) + 1)  # bytes of a row in each physical partition; the last is for unknown ones
        np.maximum.at(densest, held.key, held.row_bytes)

        def wanted_key(tuple_: LogicalTuple, size: float, count: float, was_alone: bool) -> int:
            key = route(rule, spec, tuple_, int(size), was_alone)
            number = numbers.get(key, NO_KEY)
            # A number beyond those of the table is a key that another tuple is wanted at: nothing lies there yet.
            if was_alone and 0 <= number < len(held.keys) and any(isinstance(component, Group) for component in key):
                # Beside rows that take more it would count for more: if it would have to leave again, it stays.
                key = route(rule, spec, tuple_, int(max(size, count * densest[number])))
            return numbers.setdefault(key, len(numbers))

        tuples = zip(held.tuples, sizes.tolist(), rows.tolist(), alone.tolist(), strict=True)
        wanted = [wanted_key(*tuple_) for tuple_ in tuples]
        return Placed(held, list(numbers), np.array(wanted, np.int64))

    @cached_property
    def astray(self) -> Mask:
        """The postings whose tuple belongs elsewhere than where their file lies."""
        found: Mask = self.wanted[self.held.posting_tuple] != self.held.key[self.held.posting_file]
        return found

    @cached_property
    def moved(self) -> Mask:
        """The files that have a tuple which belongs elsewhere."""
        found = np.zeros(len(self.held.rows), np.bool_)
        found[self.held.posting_file[self.astray]] = True
        return found

    @cached_property
    def old(self) -> Mask:
        """The files that another rule has made."""
        found: Mask = self.held.known & (self.held.rule_id != self.held.version.current_rule_id)
        return found

    @cached_property
    def stray(self) -> Mask:
        """The files of which no tuple belongs where they lie."""
        held = self.held
        stays = np.zeros(len(held.rows), np.bool_)
        stays[held.posting_file[~self.astray]] = True
        found: Mask = held.known & (held.rows > 0) & ~stays
        return found

    def homes(self, among: Mask) -> Iterator[tuple[int, Positions]]:
        """The physical partitions, and the files of each; not those with one file in which nothing has grown."""
        for number, members in by_key(self.held, among & self.held.known):
            if len(members) > 1 or self.moved[members[0]]:
                yield number, members


def by_key(held: Held, chosen: Mask) -> Iterator[tuple[int, Positions]]:
    """The physical partitions that the chosen files lie in, and the files of each, in order."""
    files = np.flatnonzero(chosen & (held.key >= 0))
    files = files[np.argsort(held.key[files], kind="stable")]
    keys, starts, counts = np.unique(held.key[files], return_index=True, return_counts=True)
    for number, start, count in zip(keys.tolist(), starts.tolist(), counts.tolist(), strict=True):
        yield number, files[start : start + count]


def keep(held: Held, key: int) -> Placed:
    """Every tuple where it is."""
    return Placed(held, held.keys, np.full(len(held.tuples), key))
