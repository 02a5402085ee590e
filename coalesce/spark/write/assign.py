"""From a layout to the rows: which task gets which row, in which order it writes them, and into which directory.

A task writes one file, so the number of the planned file is the number of the task. What belongs to a tuple reaches its
rows by a broadcast join on a hash of the tuple, several times as fast as one on the tuple itself. Two tuples of one
hash would share a place, and two files would not be what was planned; entries are read back from the files and say so.

A tuple that lies in several files is spread over them by a hash of the row. By its contents, not by chance or by
counting: a task that has to be repeated must send every row where it went the first time, or rows would be lost or
doubled.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it
from pyspark.sql import types as spark

from coalesce.manifest.paths import physical_directory
from coalesce.model.rule import BySize, PhysicalKey, Rule
from coalesce.model.schema import Schema, all_fields
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.types import Field, MapType
from coalesce.model.values import column_of
from coalesce.spark.translate.schema import spark_type
from coalesce.spark.translate.transforms import components
from coalesce.spark.write.conform import name_of
from coalesce.table.layout import PlannedFile

TASK: Final = "task"
RANK: Final = "rank"

_HIVE_NULL: Final = "__HIVE_DEFAULT_PARTITION__"
# A JVM on a machine without a UTF-8 locale cannot name such files at all; and directories are only for people.
_AWKWARD: Final = re.compile(r"[^\x20-\x7e]")
_LONGEST: Final = 60  # characters of a value that becomes a directory without having been planned


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The files to be written for `tuples`; rows of other tuples go to the `spare` tasks after them, by tuple.

    `hashes` are those of the tuples (`tuple_hash`), if Spark was asked for them before.
    """

    tuples: Sequence[LogicalTuple]
    files: Sequence[PlannedFile]
    spare: int
    hashes: Sequence[int] | None = None

    @property
    def tasks(self) -> int:
        """How many tasks write."""
        return len(self.files) + self.spare


# --- rows to tasks -----------------------------------------------------------------------------------------------


def assigned(session: SparkSession, rows: DataFrame, layout: Layout, spec: Spec, schema: Schema) -> DataFrame:
    """Conformed rows with the number of their `TASK`, and a `RANK` that puts the rows of a task in tuple order.

    Columns that are none of the schema's come along. Rows that have their `TASK` already keep it.
    """
    places = _places(layout)
    salt = _salt(schema) if any(p.files > 1 for p in places) else None
    kept = [F.col(name) for name in rows.columns]
    if TASK in rows.columns and all(len(file.slices) == 1 for file in layout.files):
        return rows.select(*kept, F.lit(0).alias(RANK))
    if not spec.fields:
        (place,) = places
        task = _task(F.lit(place.first), F.lit(place.files), F.lit(None).cast("array<double>"), salt)
        return rows.select(*kept, task.alias(TASK), F.lit(0).alias(RANK))
    known = F.broadcast(_known(session, layout, places, spec, schema))
    keys = components(session, spec, schema, lambda f: F.col(name_of(f)))
    hashed = rows.select(*kept, *keys).select(*kept, tuple_hash(spec).alias("own"))
    spare = F.lit(len(layout.files)) + F.pmod(F.col("own"), F.lit(layout.spare)).cast("int")
    task = _task(F.col("first"), F.col("files"), F.col("cuts"), salt)
    joined = hashed.join(known, F.col("own") == F.col("hash"), "left")
    if TASK in rows.columns:
        return joined.select(*kept, F.col(RANK))
    return joined.select(*kept, F.coalesce(task, spare).alias(TASK), F.col(RANK))


def tuple_hash(spec: Spec) -> Column:
    """A hash of the components `t0`, `t1`, …; Spark's passes over NULLs, so that they are NULL is hashed as well."""
    components_ = [F.col(f"t{i}") for i in range(len(spec.fields))]
    return F.xxhash64(*components_, *(c.isNull() for c in components_)) if components_ else F.lit(0)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where one tuple's rows go: `files` files from number `first` on; `cuts` are the shares between uneven ones."""

    first: int
    files: int
    rank: int
    cuts: tuple[float, ...] | None


def _places(layout: Layout) -> list[_Place]:
    """For each tuple its place; ranks follow the order of the slices, which is that of tuples within every file."""
    starts: dict[int, list[int]] = {}
    first: dict[int, int] = {}
    rows: dict[int, int] = {}
    for number, file in enumerate(layout.files):
        for part in file.slices:
            first.setdefault(part.index, number)
            starts.setdefault(part.index, []).append(part.start)
            rows[part.index] = part.stop
    places: list[_Place] = [_NOWHERE] * len(layout.tuples)
    for rank, (index, begins) in enumerate(starts.items()):
        count, total = len(begins), rows[index]
        uneven = any(abs(start - total * i / count) > 1 for i, start in enumerate(begins))
        cuts = tuple(start / total for start in begins[1:]) if uneven else None
        places[index] = _Place(first[index], count, rank, cuts)
    return places


_NOWHERE: Final = _Place(0, 0, 0, None)


def _task(first: Column, files: Column, cuts: Column, salt: Column | None) -> Column:
    """The file of a row among those of its tuple."""
    if salt is None:
        return first
    even = F.floor(salt * files)
    uneven = F.size(F.filter(cuts, lambda cut: cut <= salt))
    return first + F.when(cuts.isNull(), even).otherwise(uneven).cast("int")


def _salt(schema: Schema) -> Column:
    """A number from 0 up to, not including, 1 that depends on all the row holds and Spark can hash."""
    columns = [column for f in schema if (column := _hashable(f)) is not None]
    return F.shiftrightunsigned(F.xxhash64(F.lit(0), *columns), 11) * F.lit(2.0**-53)


def _hashable(field: Field) -> Column | None:
    if not any(isinstance(f.type, MapType) for f in all_fields((field,))):
        return F.col(name_of(field))
    if isinstance(field.type, MapType) and not any(
        isinstance(f.type, MapType) for f in all_fields((field.type.key, field.type.value))
    ):
        return F.map_entries(F.col(name_of(field)))
    return None


def _known(session: SparkSession, layout: Layout, places: Sequence[_Place], spec: Spec, schema: Schema) -> DataFrame:
    """The tuples that have a place, by hash, as a small table; each hash once, or the join would double rows."""
    hashes = _hashes(session, layout.tuples, spec, schema) if layout.hashes is None else layout.hashes
    here = {hash_: place for hash_, place in zip(hashes, places, strict=True) if place.files}
    table = pa.table(
        {
            "hash": pa.array(here, pa.int64()),
            "first": pa.array([p.first for p in here.values()], pa.int32()),
            "files": pa.array([p.files for p in here.values()], pa.int32()),
            "cuts": pa.array([p.cuts for p in here.values()], pa.list_(pa.float64())),
            RANK: pa.array([p.rank for p in here.values()], pa.int32()),
        }
    )
    return session.createDataFrame(table)


def _hashes(session: SparkSession, tuples: Sequence[LogicalTuple], spec: Spec, schema: Schema) -> list[int]:
    types = spec.types(schema)
    arrays = [column_of(t, [tuple_[n] for tuple_ in tuples]) for n, t in enumerate(types)]
    fields = [spark.StructField(f"t{n}", spark_type(t)) for n, t in enumerate(types)]
    frame = session.createDataFrame(pa.table(arrays, [f.name for f in fields]), spark.StructType(fields))
    return frame.select(tuple_hash(spec).alias("hash")).toArrow().column("hash").to_pylist()  # type: ignore[no-any-return]


# --- tasks to directories ----------------------------------------------------------------------------------------


def directory_columns(session: SparkSession, layout: Layout, rule: Rule, spec: Spec, schema: Schema) -> list[Column]:
    """For each partition field the text Spark makes a directory of."""
    keys = [file.physical_key for file in layout.files]
    own = components(session, spec, schema, lambda f: F.col(name_of(f)))
    return [
        F.coalesce(planned, _unplanned(rule, field.field_id, value)).alias(name)
        for planned, field, value, name in zip(
            planned_texts(keys, spec, schema, F.col(TASK)), spec.fields, own, directory_names(spec, schema), strict=True
        )
    ]


def directory_names(spec: Spec, schema: Schema, *more: str) -> list[str]:
    """What the directories of each partition field, and `more`, are called: as no physical column is."""
    taken = {f.physical_name.lower() for f in schema}
    names = []
    for name in (*("_" + _AWKWARD.sub("_", f.name) for f in spec.fields), *more):
        while name.lower() in taken:
            name += "_"  # noqa: PLW2901 - until it is free
        taken.add(name.lower())
        names.append(name)
    return names


def planned_texts(keys: Sequence[PhysicalKey], spec: Spec, schema: Schema, number: Column) -> list[Column]:
    """For each partition field its text in the physical key at `number`; NULL beyond the last one."""
    names, types = [f.name for f in spec.fields], spec.types(schema)
    texts = [_texts(physical_directory(names, types, key)) for key in keys]
    # One string, cut by the optimizer: as a list, every element would be a call to the JVM.
    joined = ("\x01".join(text[position] for text in texts) for position in range(len(names)))
    return [F.get(F.split(F.lit(text), "\x01"), number) for text in joined]


def _texts(directory: str) -> list[str]:
    """The values in `_dt=2026-05-17/_app=%5B%23small%5D` as Spark wants them, which escapes them itself."""
    values = (unquote(segment.partition("=")[2]) for segment in directory.split("/"))
    return [_AWKWARD.sub("_", value) or _HIVE_NULL for value in values]


def _unplanned(rule: Rule, field_id: int, value: Column) -> Column:
    text = F.regexp_replace(F.substring(value.cast("string"), 1, _LONGEST), _AWKWARD.pattern, "_")
    text = F.nullif(text, F.lit(""))  # Spark has no directory for an empty one; that of NULL will do
    if isinstance(rule, BySize) and field_id in rule.field_ids:
        return F.lit(_AWKWARD.sub("_", rule.group))
    return text
