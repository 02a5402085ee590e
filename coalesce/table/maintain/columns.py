"""Every column that a table had in the versions that are still there: what files of any age are read by.

A file may be named by versions that call its columns otherwise, give them wider types, or no longer have them. To read
it once for all of them, each column id stands for one column here, in the widest type it had.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from coalesce.model.arrow_schema import type_from_arrow
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.entries import Entries, dates_as_timestamps
from coalesce.model.schema import Schema, all_fields
from coalesce.model.spec import PartitionField, Spec, field_type
from coalesce.model.transforms import Identity
from coalesce.model.types import DATE, STRING, TIMESTAMP_NTZ, AtomicType, Field, Type, Value
from coalesce.model.version import Version
from coalesce.table.evolve import widens

_DAY_MICROS = 86_400_000_000


@dataclass(frozen=True)
class ColumnHistory:
    """The columns of all versions by id; `given_out` are all ids that are known to be columns, nested ones too.

    `whole` says that no version has expired, nor is damaged: an id that is not among these was never given out. Names
    inside `schema` are made up, as a name may have stood for several columns.
    """

    schema: Schema
    types: dict[int, frozenset[Type]]
    names: dict[int, str]
    given_out: frozenset[int]
    max_column_id: int
    whole: bool

    def name(self, column_id: int) -> str:
        """What the column was called last."""
        return self.names.get(column_id, str(column_id))

    def is_foreign(self, column_id: int) -> bool:
        """Whether the table never had a column of this id."""
        return column_id > self.max_column_id or (self.whole and column_id not in self.given_out)

    def component(self, field: PartitionField) -> AtomicType:
        """The type of a tuple's component; of a column that no version has any more it is unknown, and text will do."""
        return STRING if self.schema.atomic(field.source_id) is None else field_type(field, self.schema)

    def as_in(self, schema: Schema) -> "ColumnHistory":
        """The same with the columns of one version in the types that they have there."""
        now = {f.id: f.type for f in schema}
        return replace(self, schema=Schema(tuple(replace(f, type=now.get(f.id, f.type)) for f in self.schema)))

    @cached_property
    def _became_late(self) -> frozenset[int]:
        # Those that may have: versions in which they were dates may have expired.
        return frozenset(f.id for f in self.schema if f.type == TIMESTAMP_NTZ)

    def files(self, entries: Entries, spec: Spec) -> list[DataFile]:
        """The entries as objects, with every date of a column that has become a timestamp as the timestamp."""
        late = [
            f.field_id for f in spec.fields if f.source_id in self._became_late and isinstance(f.transform, Identity)
        ]
        files = dates_as_timestamps(entries, late).files()
        dates = {c for c in self._became_late if _is_date(entries, c)}
        if not dates:
            return files
        return [
            replace(f, statistics={c: _late(s) if c in dates else s for c, s in f.statistics.items()}) for f in files
        ]


def _is_date(entries: Entries, column_id: int) -> bool:
    bounds = entries.statistic(f"lower_{column_id}")
    return bounds is not None and type_from_arrow(bounds.type) == DATE


def _late(statistics: ColumnStatistics) -> ColumnStatistics:
    return replace(statistics, lower=_midnight(statistics.lower), upper=_midnight(statistics.upper))


def _midnight(day: Value) -> Value:
    return day * _DAY_MICROS if isinstance(day, int) else day


class Gatherer:
    """Goes through versions, oldest first, and keeps their columns."""

    def __init__(self) -> None:
        self._fields: dict[int, Field] = {}
        self._types: dict[int, set[Type]] = {}
        self._given_out: set[int] = set()
        self._last: Schema | None = None
        self._max_column_id = 0
        self._next: int | None = 0  # the version after those that were taken; None if one was left out

    def add(self, version: Version) -> None:
        """Take the columns of one more version."""
        self._next = version.number + 1 if version.number == self._next else None
        self._max_column_id = max(self._max_column_id, version.max_column_id)
        if version.schema is self._last or version.schema == self._last:
            return
        self._last = version.schema
        self._given_out.update(f.id for f in all_fields(version.schema.fields))
        for field in version.schema:
            before = self._fields.get(field.id)
            # A rollback may bring the narrower type back; values of the wider one are still in older versions.
            wide = before is not None and widens(field.type, before.type)
            self._fields[field.id] = replace(field, type=before.type) if wide and before is not None else field
            self._types.setdefault(field.id, set()).add(field.type)

    def history(self) -> ColumnHistory:
        """What was gathered."""
        return ColumnHistory(
            schema=Schema(tuple(_named(self._fields.values()))),
            types={i: frozenset(types) for i, types in self._types.items()},
            names={f.id: f.name for f in self._fields.values()},
            given_out=frozenset(self._given_out),
            max_column_id=self._max_column_id,
            whole=self._next is not None,
        )


def _named(fields: Iterable[Field]) -> Iterable[Field]:
    """The fields under names that no two of them have; of two physical names that are alike the later one stays."""
    by_physical_name = {f.physical_name.lower(): f.id for f in fields}
    for f in fields:
        own = by_physical_name[f.physical_name.lower()] == f.id
        name = f"column {f.id}"
        yield replace(f, name=name, physical_name=f.physical_name if own else name, default=None)
