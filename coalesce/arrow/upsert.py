"""Rows that take the place of those with the same keys, or come in if there are none; found without a JVM."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.arguments import check_texts
from coalesce.arrow.conform import conform
from coalesce.arrow.incoming import incoming_rows
from coalesce.arrow.read import open_file
from coalesce.arrow.revise import Changed, FoundRows, sources_of, tuples_in
from coalesce.arrow.threads import each
from coalesce.errors import AmbiguousMatch, SchemaError
from coalesce.model.arrow_schema import arrow_schema
from coalesce.model.columns import whole
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.model.types import FLOATING, AtomicType, Field
from coalesce.model.values import display, order_key, values_of
from coalesce.model.version import Version
from coalesce.plan.plan import Plan
from coalesce.predicate.expr import And, Bound, InRange, InSet
from coalesce.predicate.scalar.nodes import Reference
from coalesce.table.engine import Snapshot
from coalesce.table.match import matched

Codes = npt.NDArray[np.int64]

_LISTED = 1_000  # values of a key that a predicate lists; of more it has the first and the last
_FILES_AT_ONCE = 4


class Upsert:
    """Rows, whole in memory, and the columns that tell which row of the table each is."""

    def __init__(self, data: object, keys: Sequence[str]) -> None:
        self._data = data
        self._names = check_texts(keys, "the keys", "keys={}")
        self._rows: _Keyed | None = None

    def concerns(self, snapshot: Snapshot) -> Bound:
        """Rows whose keys are among these, or between the first and the last."""
        keyed = self._keyed(snapshot.version)
        parts = [_among(field, column) for field, column in zip(keyed.keys, keyed.columns, strict=True)]
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def find(self, snapshot: Snapshot, plan: Plan) -> FoundRows:
        """The rows of the table that have these keys."""
        version, keyed = snapshot.version, self._keyed(snapshot.version)
        found = [f for f in each(lambda f: _matches(snapshot, f, keyed), plan.files, _FILES_AT_ONCE) if f is not None]
        schema = arrow_schema(version.schema)
        rows = pa.concat_tables([schema.empty_table(), *(match.rows for match in found)])
        known = np.zeros(keyed.rows.num_rows, np.bool_)
        for match in found:
            known[match.sources] = True
        keyed.check_new(int((~known).sum()), version)
        return FoundRows(snapshot, [match.changed for match in found], rows, keyed.rows.filter(pa.array(~known)))

    def _keyed(self, version: Version) -> "_Keyed":
        """The rows as the table has them; they are read once, and judged again if the table has other columns now."""
        if self._rows is None or self._rows.schema != version.schema:
            if not isinstance(self._data, pa.Table):
                tables = list(incoming_rows(self._data, version.schema).tables)
                self._data = pa.concat_tables(tables, promote_options="permissive") if tables else None
            if self._data is None:
                self._data = arrow_schema(version.schema).empty_table()
            self._rows = _Keyed.of(self._data, version, self._names)
        return self._rows


@dataclass(frozen=True)
class _Keyed:
    """Rows that fit the table; `given` are the columns that they brought, the others are as before in rows there."""

    schema: Schema
    rows: pa.Table
    keys: tuple[Field, ...]
    given: frozenset[int]

    @staticmethod
    def of(data: pa.Table, version: Version, names: Sequence[str]) -> "_Keyed":
        schema = version.schema
        found, _ = matched(schema.fields, data.column_names, "")
        given = frozenset(f.id for f, place in zip(schema.fields, found, strict=True) if place is not None)
        # What rows that are there hold need not be brought again; of new ones it is asked when it is known which are.
        asked = Schema(tuple(f if f.id in given else replace(f, required=False) for f in schema))
        rows = conform(data, asked)
        keys = tuple(_key(schema, name, given) for name in names)
        if not keys or len({key.id for key in keys}) < len(keys):
            raise SchemaError("say by which columns rows are known, each once: upsert(rows, keys=['id']).")
        keyed = _Keyed(schema, rows, keys, given)
        keyed.check()
        return keyed

    @property
    def columns(self) -> list[pa.Array]:
        """The keys of each row."""
        return [whole(self.rows.column(key.name)) for key in self.keys]

    def check(self) -> None:
        """Refuse keys that are NULL, which match nothing, and two rows with the same ones."""
        for key, column in zip(self.keys, self.columns, strict=True):
            if column.null_count:
                raise SchemaError(
                    f"{column.null_count:,} rows have no {key.name}: NULL is equal to nothing, so they would be added "
                    "again each time; append them, or leave them out."
                )
        codes, counts = np.unique(self._codes, return_counts=True)
        if (counts > 1).any():
            first = int(np.flatnonzero(self._codes == codes[counts > 1][0])[0])
            named = ", ".join(f"{key.name} = {_shown(key, self.rows, first)}" for key in self.keys)
            raise AmbiguousMatch(f"keys stand in more than one of the rows, such as {named}; which one is meant?")

    def check_new(self, count: int, version: Version) -> None:
        """Refuse rows that are new and lack a column that a new row has to have."""
        needed = {f.id for f in self.schema if f.required} | set(version.spec.sources)
        lacking = [f.name for f in self.schema if f.id in needed - self.given and f.default is None]
        if count and lacking:
            raise SchemaError(
                f"{count:,} of the rows are new, and a new row needs the column {lacking[0]!r}, which they lack."
            )

    def sources(self, columns: Sequence[pa.ChunkedArray]) -> Codes:
        """For rows of the table, by their keys, the number of the row that takes their place; -1 where none does."""
        codes = self._coded(columns)
        found = np.full(len(codes), -1, np.int64)
        found[codes >= 0] = self._row_of_code[codes[codes >= 0]]
        return found

    @cached_property
    def _sets(self) -> list[pa.Array]:
        return [column.unique() for column in self.columns]

    @cached_property
    def _steps(self) -> list[Codes]:
        """What the rows have of each pair of what was coded so far and the next key, in order: to code others by it."""
        steps: list[Codes] = []
        codes = _places(self.columns[0], self._sets[0])
        for column, values in zip(self.columns[1:], self._sets[1:], strict=True):
            pairs = codes * len(values) + _places(column, values)
            steps.append(np.unique(pairs))
            codes = np.searchsorted(steps[-1], pairs)
        return steps

    @cached_property
    def _codes(self) -> Codes:
        return self._coded(self.columns)

    @cached_property
    def _row_of_code(self) -> Codes:
        rows = np.empty(self.rows.num_rows, np.int64)
        rows[self._codes] = np.arange(self.rows.num_rows)
        return rows

    def _coded(self, columns: Sequence[pa.Array | pa.ChunkedArray]) -> Codes:
        """A number for each combination of keys that the rows have, from 0 on; -1 for any other."""
        codes = _places(columns[0], self._sets[0])
        for column, values, step in zip(columns[1:], self._sets[1:], self._steps, strict=True):
            next_ = _places(column, values)
            pairs = np.where((codes < 0) | (next_ < 0), -1, codes * len(values) + next_)
            places = np.minimum(np.searchsorted(step, pairs), max(len(step) - 1, 0))
            codes = np.where(step[places] == pairs, places, -1) if len(step) else np.full(len(pairs), -1, np.int64)
        return codes


@dataclass(frozen=True)
class _Match:
    changed: Changed
    sources: Codes
    rows: pa.Table


def _matches(snapshot: Snapshot, entry: DataFile, keyed: _Keyed) -> _Match | None:
    """The rows of a file that have keys of the rows, with what they hold from now on."""
    schema = snapshot.version.schema
    with open_file(snapshot.storage, entry, snapshot.version) as file:
        groups = range(len(file.group_rows))
        sources = keyed.sources(file.read(keyed.keys, groups).columns)
        wanted = sources >= 0
        if not wanted.any():
            return None
        stays = file.read([f for f in schema if f.id not in keyed.given], groups, wanted=wanted)
        tuples = tuples_in(file.read(sources_of(snapshot.version), groups, wanted=wanted), entry, snapshot.version)
        places = file.places_of_live(np.flatnonzero(wanted))
    sources = sources[wanted]
    taken = keyed.rows.take(pa.array(sources))
    columns = [taken.column(f.name) if f.id in keyed.given else stays.column(f.name) for f in schema]
    rows = pa.Table.from_arrays(columns, schema=arrow_schema(schema))
    return _Match(Changed(entry, places, np.ones(len(places), np.bool_), tuples), sources, rows)


def _places(column: pa.Array | pa.ChunkedArray, values: pa.Array) -> Codes:
    found = pc.index_in(column, values, skip_nulls=True)
    places: Codes = np.asarray(found.fill_null(-1)).astype(np.int64)
    return places


def _key(schema: Schema, name: str, given: frozenset[int]) -> Field:
    field = schema.field(name)
    if schema.atomic(field.id) is None or field.type in FLOATING:
        raise SchemaError(f"column {field.name!r} is {field.type}, by which rows cannot be known; name other keys.")
    if field.id not in given:
        raise SchemaError(f"the rows lack the key {field.name!r}.")
    return field


def _among(field: Field, column: pa.Array) -> Bound:
    type_: AtomicType = field.type  # type: ignore[assignment]  # a key's is
    reference = Reference(field.id, field.name, type_)
    values = sorted(values_of(type_, column.unique()), key=lambda value: order_key(type_, value))
    if len(values) <= _LISTED:
        return InSet(reference, tuple(values))
    return InRange(reference, values[0], True, values[-1], True)


def _shown(key: Field, rows: pa.Table, place: int) -> str:
    type_: AtomicType = key.type  # type: ignore[assignment]  # a key's is
    return display(type_, values_of(type_, whole(rows.column(key.name).slice(place, 1)))[0])
