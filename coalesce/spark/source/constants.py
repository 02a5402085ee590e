"""Columns that have one value in each file: `dt`, where every file holds a single day.

Spark takes them for partition values: it need not read them, and a join with a filtered dimension skips the files of
all other days (dynamic partition pruning). A column counts only if it is constant in *every* file of the version, since
Spark wants to know before it knows which files it will read. The version says so of each manifest, and a manifest has
to be read for that only if it does not.

A file that was adopted from a Hive-style directory even lacks its partition columns: only the entry has their values.
As long as those columns are constant everywhere, that is no matter. But when shared files join the table, `app` has to
be read from the rows of those and taken from the entries of the others. The version then has *parts*, and a query reads
each in its own way: part 0 are the files that hold all that is not constant everywhere, and the bits of another part's
number say which further columns its entries know. Above those bits stands how the rows of files with dead tuples are
told apart: 1, if they are known to lie in the order of tuples, by their places; else, by the columns of the spec of the
files, that spec and three more. No other file's reader has to look at either. Only where rows are counted, which costs
a file without dead ones nothing, are such files read *together* with those of 1, as 2: above a union of scans, Spark
takes each row in hand, which may take as long as to read it. And where a query asks for none of the dead rows, as its
own filters leave them out, all files of the same columns are one part again, 3, of which nothing need be told.
"""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.errors import CoalesceError
from coalesce.model.columns import numbers, whole
from coalesce.model.entry_columns import DEAD
from coalesce.model.spec import Spec
from coalesce.model.transforms import Identity, Void
from coalesce.model.types import AtomicType, Field
from coalesce.model.version import MATERIALIZE_PARTITION_COLUMNS, ManifestRef, Version
from coalesce.plan.index import ManifestIndex, Positions
from coalesce.plan.plan import Plan
from coalesce.plan.planner import LoadManifests
from coalesce.predicate.outcomes import Mask
from coalesce.spark.jvm.values import crosses

ROW_INDEX: Final = "_tmp_metadata_row_index"  # a column of this name Spark's Parquet reader makes up

_PLACED: Final = 1
_TOGETHER: Final = 2
_UNASKED: Final = 3
_BY_TUPLES: Final = 4  # and the id of a spec


@dataclass(frozen=True)
class Constants:
    """What the files of a version have in common."""

    version: Version
    load: LoadManifests

    @cached_property
    def everywhere(self) -> tuple[Field, ...]:
        """The columns that have one value in each file, in the order of the schema."""
        specs = [self.version.spec_by_id(i) for i in {m.spec_id for m in self.version.manifests}]
        columns = self._partition_columns if specs else []
        found = [f for f in columns if all(s.identity_position(f.id) is not None for s in specs)]
        found = [f for f in found if crosses(_type(f))]
        told = [(ref, {b.field_id: b.constant for b in ref.bounds or ()}) for ref in self.version.manifests]
        for ref, constant in told:
            found = [f for f in found if constant.get(self._field_id(ref, f)) is not False]
        for ref, constant in told:
            silent = [f for f in found if constant.get(self._field_id(ref, f)) is None]
            if silent:
                (index,) = self.load([ref])
                spec = self.version.spec_by_id(ref.spec_id)
                several = {f.id for f in silent if not bool(by_file(index, spec, f.id).known.all())}
                found = [f for f in found if f.id not in several]
        return tuple(found)

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """The parts the version has: 0 and, if files may lack columns that others hold or have dead rows, some more."""
        if self._may_lack_columns:
            found = [self._part_of(index, spec) for index, spec in self._manifests()]
            return tuple(sorted({0, *np.unique(np.concatenate(found)).tolist()}))
        specs = {ref.spec_id for ref in self.version.manifests if ref.dead_rows}
        placed = {_PLACED << len(self._sometimes)} if specs and self._rows_can_be_numbered else ()
        return tuple(sorted({0, *placed, *map(self._part_of_dead, specs)}))

    def placed(self, part: int) -> bool:
        """Whether the files of a part have dead rows that are told by where they lie."""
        return part >> len(self._sometimes) in (_PLACED, _TOGETHER)

    @cached_property
    def together(self) -> dict[int, tuple[int, int]]:
        """Parts that may be read as one, by the number of that one: the files without dead rows, and with such."""
        columns = len(self._sometimes)
        placed = {part ^ _PLACED << columns: part for part in self.parts if part >> columns == _PLACED}
        return {_TOGETHER << columns | part: (part, placed[part]) for part in self.parts if part in placed}

    @cached_property
    def unasked(self) -> dict[int, tuple[int, ...]]:
        """Parts that a query may read as one that asks for none of their dead rows, by the number of that one."""
        columns, found = len(self._sometimes), dict[int, tuple[int, ...]]()
        for part in self.parts:
            one = _UNASKED << columns | part & (1 << columns) - 1
            found[one] = (*found.get(one, ()), part)
        return {one: several for one, several in found.items() if any(part >> columns for part in several)}

    def telling(self, part: int) -> tuple[Field, ...] | None:
        """The columns that tell the dead rows of each file of a part; None if its files have none, or places tell."""
        spec_id = (part >> len(self._sometimes)) - _BY_TUPLES
        if spec_id < 0:
            return None
        known = {f.id for f in self.of_part(part)}
        fields = [f for f in self.version.spec_by_id(spec_id).fields if not isinstance(f.transform, Void)]
        columns = [self.version.schema.by_id(i) for i in dict.fromkeys(f.source_id for f in fields) if i not in known]
        if not all(isinstance(f.transform, Identity) for f in fields):
            raise CoalesceError(
                "rows of some files were removed by a partition field that this release cannot compute."
            )
        if None in columns:
            raise CoalesceError(
                "the columns asked for lack one that tells which rows of some files were removed; read a version that "
                "has it, or purge() the table."
            )
        return tuple(cast("list[Field]", columns))

    def of_part(self, part: int) -> tuple[Field, ...]:
        """The columns that have one value in each file of a part, known from its entry."""
        further = [f for bit, f in enumerate(self._sometimes) if part >> bit & 1]
        for field in further:
            if not crosses(_type(field)):
                raise CoalesceError(
                    f"some files lack the partition column {field.name!r}, and its type, {field.type}, cannot be "
                    "taken from their entries exactly; compact() the table first."
                )
        return (*self.everywhere, *further)

    def within(self, plan: Plan, part: int) -> Plan:
        """The plan for the files of a part alone."""
        wanted = self.together.get(part) or self.unasked.get(part) or (part,)
        chosen = []
        for planned in plan.manifests:
            kept = np.zeros(len(planned.index.entries), np.bool_)
            kept[planned.files] = len(self.parts) == 1 or np.isin(
                self._part_of(planned.index, planned.spec)[planned.files], wanted
            )
            chosen.append(planned.only(kept))
        return replace(plan, manifests=tuple(m for m in chosen if len(m.files)))

    @property
    def _may_lack_columns(self) -> bool:
        return bool(self._sometimes) and MATERIALIZE_PARTITION_COLUMNS not in self.version.writer_features

    @cached_property
    def _partition_columns(self) -> list[Field]:
        """The columns that are partition fields themselves, under any spec."""
        ids = {f.source_id for f in self.version.partition_fields if isinstance(f.transform, Identity)}
        return [f for f in self.version.schema if f.id in ids]

    @cached_property
    def _sometimes(self) -> list[Field]:
        """The partition columns that some files hold several values of."""
        return [f for f in self._partition_columns if f not in self.everywhere]

    def _field_id(self, ref: ManifestRef, column: Field) -> int:
        """The partition field that is the column itself, under the spec of a manifest, which has it."""
        spec = self.version.spec_by_id(ref.spec_id)
        position = spec.identity_position(column.id)
        assert position is not None
        return spec.fields[position].field_id

    def _manifests(self) -> "list[tuple[ManifestIndex, Spec]]":
        refs = self.version.manifests
        return [(i, self.version.spec_by_id(ref.spec_id)) for i, ref in zip(self.load(refs), refs, strict=True)]

    def _part_of(self, index: ManifestIndex, spec: Spec) -> Positions:
        """The part of each file: a bit for each column that its entry knows, and nothing says that it holds."""
        told = np.full(len(index.entries), self._part_of_dead(spec.spec_id))
        if self._rows_can_be_numbered:
            told[index.entries.ordered] = _PLACED << len(self._sometimes)
        part: Positions = np.where(index.entries.dead_rows > 0, told, 0)
        for bit, field in enumerate(self._sometimes if self._may_lack_columns else ()):
            if spec.identity_position(field.id) is None:
                continue
            counted = index.entries.statistic(f"null_count_{field.id}")
            held = np.zeros(len(part), np.bool_) if counted is None else np.asarray(counted.is_valid())
            if not bool(held.all()):
                part |= (by_file(index, spec, field.id).known & ~held).astype(np.int64) << bit
        return part

    def _part_of_dead(self, spec_id: int) -> int:
        return (spec_id + _BY_TUPLES) << len(self._sometimes)

    @cached_property
    def _rows_can_be_numbered(self) -> bool:
        """Whether no column of the table has the name, in files or now, under which Spark numbers rows."""
        return not any(ROW_INDEX in (f.name.lower(), f.physical_name.lower()) for f in self.version.schema)


@dataclass(frozen=True)
class ByFile:
    """The value of a column in each file of a manifest; where it is not `known`, there are several, or may be."""

    values: pa.Array
    known: Mask

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return int(self.values.nbytes) + self.known.nbytes


def by_file(index: ManifestIndex, spec: Spec, column_id: int) -> ByFile:
    """What a manifest's entries say of a column that is a partition field of their spec."""
    position = spec.identity_position(column_id)
    assert position is not None
    return index.derived((ByFile, column_id), partial(_by_file, index, spec, position))


def _type(field: Field) -> AtomicType:
    return cast(AtomicType, field.type)  # only columns of such types partition a table


def _by_file(index: ManifestIndex, spec: Spec, position: int) -> ByFile:
    component = index.component(position)
    codes = component.codes[index.posting_tuple]
    highest = np.full(len(index.entries), -1, codes.dtype)  # -1 is NULL; a file without rows may have any value
    lowest = np.full(len(index.entries), np.iinfo(codes.dtype).max, codes.dtype)
    file = index.posting_file.astype(np.intp)  # of other types NumPy takes each number in hand: 40 times as slow
    np.maximum.at(highest, file, codes)
    np.minimum.at(lowest, file, codes)
    values = component.values.take(pa.array(np.maximum(highest, 0), mask=highest < 0))
    known = np.asarray(lowest >= highest)
    known[_others_among_dead(index, spec.fields[position].field_id, values)] = False
    if len(index.untrusted_files) == 0:
        return ByFile(values, known)
    # What files with unknown tuples hold, their physical keys say, as long as they do not name a group.
    core, field_id = index.entries.core, spec.fields[position].field_id
    is_group = np.asarray(core.column(f"physical_group_{field_id}").is_valid())
    by_key = np.asarray(core.column("physical_known")) & ~is_group
    physical = core.column(f"physical_value_{field_id}").combine_chunks().cast(values.type)
    return ByFile(pc.if_else(pa.array(index.trusted), values, physical), np.where(index.trusted, known, by_key))


def _others_among_dead(index: ManifestIndex, field_id: int, values: pa.Array) -> Positions:
    """The files with a dead tuple that has another value than the live ones, which all have the one in `values`.

    What Spark takes for a partition value it takes for that of every row: dead rows would be as alive as the others.
    """
    if DEAD not in index.entries.core.column_names:
        return np.array([], np.int64)
    lists = whole(index.entries.core.column(DEAD))
    file = np.repeat(np.arange(len(lists)), np.diff(numbers(lists.offsets)))
    dead, live = lists.flatten().field(f"f{field_id}").cast(values.type), values.take(pa.array(file))
    same = pc.or_(pc.fill_null(pc.equal(dead, live), False), pc.and_(dead.is_null(), live.is_null()))
    return np.unique(file[~np.asarray(same)])
