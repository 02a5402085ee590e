"""Entries: what a manifest says of one data file.

Only path, spec, rows and bytes are always there. Everything else may be missing, and missing means *unknown*:
it never prunes a file and never counts as an answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, TypeVar

from coalesce.model.rule import PhysicalKey
from coalesce.model.spec import LogicalTuple
from coalesce.model.types import Value
from coalesce.model.values import Components, PythonValue, named_values

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """Bounds and counts of one column in one file; None is unknown.

    Bounds cover the values that are neither NULL nor NaN and may be wider than the truth (long strings are cut).
    With `nan_count` unknown on a floating column, the upper bound says nothing: NaN is above everything.
    """

    lower: Value = None
    upper: Value = None
    null_count: int | None = None
    nan_count: int | None = None


class DeadTuple(NamedTuple):
    """A logical tuple whose rows were removed from the table and still lie in a data file, where readers skip them.

    `place` is its number among all tuples of the file, live and dead, in the order in which their rows lie; `since` is
    when it was removed, in milliseconds since 1970.
    """

    values: LogicalTuple
    rows: int
    place: int
    since: int


def in_places(live: Iterable[T], dead: Sequence[DeadTuple], shown: Callable[[DeadTuple], T]) -> list[T]:
    """What there is of live tuples, in their order, and what is `shown` of dead ones, each where it lies among them."""
    whole: list[T] = []
    rest = iter(live)
    for one in sorted(dead, key=lambda one: one.place):
        whole += islice(rest, max(0, one.place - len(whole)))
        whole.append(shown(one))
    return [*whole, *rest]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DataFile:
    """One data file. `path` is relative to the table; `tuple_rows[i]` is the number of rows of `tuples[i]`.

    `tuples` are as manifests hold them, dates as days and times as microseconds; `partitions` says the same for people.
    Everything but `bytes` is said of the rows that the table has: those of `dead` tuples are only in the file.
    `ordered` says that all rows lie in the order of their tuples, dead ones in their places; False is unknown.
    """

    path: str
    spec_id: int
    rows: int
    bytes: int
    rule_id: int | None = None
    physical_key: PhysicalKey | None = None
    tuples: tuple[LogicalTuple, ...] | None = None
    tuple_rows: tuple[int | None, ...] | None = None
    complete: bool = False
    dead: tuple[DeadTuple, ...] = ()
    ordered: bool = False
    statistics: Mapping[int, ColumnStatistics] = field(default_factory=dict)
    first_row_id: int | None = None
    added_version: int | None = None
    components: Components | None = field(default=None, compare=False)

    @property
    def partitions(self) -> tuple[dict[str, PythonValue], ...] | None:
        """The logical partitions inside, as Python values under the fields' names; None if they are unknown."""
        if self.components is None or self.tuples is None or not self.trusted:
            return None
        return tuple(named_values(self.spec_id, self.components, values) for values in self.tuples)

    @property
    def dead_rows(self) -> int:
        """How many rows the file has that the table has no more."""
        return sum(dead.rows for dead in self.dead)

    @property
    def physical_rows(self) -> int:
        """How many rows are in the file, whether the table still has them or not."""
        return self.rows + self.dead_rows

    @property
    def dead_bytes(self) -> int:
        """About how many bytes of the file are taken by rows that the table has no more."""
        return self.bytes * self.dead_rows // self.physical_rows if self.dead else 0

    @property
    def trusted(self) -> bool:
        """Whether `tuples` are surely all tuples in the file; `entries.trusted` judges whole manifests the same way.

        `complete` alone is not enough: a list that is missing, is empty although the file has rows, or whose counts
        do not add up to the file's rows contradicts it, and then the tuples are unknown.
        """
        if not self.complete or self.tuples is None or (not self.tuples and self.rows):
            return False
        counts = [n for n in self.tuple_rows or () if n is not None]
        if min(counts, default=0) < 0:
            return False
        return len(counts) < len(self.tuples) or sum(counts) == self.rows

    def __repr__(self) -> str:
        held = f"{len(self.tuples):,}" if self.trusted and self.tuples is not None else "unknown"
        dead = f", removed rows: {self.dead_rows:,}" if self.dead else ""
        return f"<data file {self.path}: rows: {self.rows:,}, bytes: {self.bytes:,}, logical partitions: {held}{dead}>"
