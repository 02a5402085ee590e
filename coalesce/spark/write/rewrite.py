"""Write files again with Spark: without some of their rows, or all of them under the current spec and rule.

A task reads one file from its beginning to its end, so rows keep their order and nothing is shuffled. Rows keep their
ids and versions in columns of their own, as when pyarrow does this.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it
from pyspark.sql import types as spark

from coalesce.arrow.encode import ROW_ID, ROW_VERSION
from coalesce.arrow.read import constants_of
from coalesce.arrow.tuples import can_compute
from coalesce.model.datafile import DataFile
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.transforms import Identity, Void
from coalesce.model.types import FLOATING, Field
from coalesce.model.values import column_of
from coalesce.predicate.expr import Bound
from coalesce.spark.jvm.catalyst import own_session
from coalesce.spark.jvm.location import spark_uri
from coalesce.spark.translate.condition import condition
from coalesce.spark.translate.schema import spark_type
from coalesce.spark.write.assign import TASK, Layout, directory_names, planned_texts
from coalesce.spark.write.conform import Conformed, name_of, named, whole
from coalesce.spark.write.file_rows import ROW_INDEX, Facts, file_rows
from coalesce.spark.write.here import HERE, Here
from coalesce.spark.write.readback import read_back
from coalesce.spark.write.report import WriteReport
from coalesce.spark.write.writer import (
    SETTINGS,
    entry,
    file_columns,
    owned_directory,
    tidy,
    write_conformed,
    write_laid_out,
    write_parquet,
)
from coalesce.table.engine import Rewritten, Snapshot
from coalesce.table.layout import Arrangement, one_nan

# Whatever a user reads leniently: rows that cannot be read are not to be left out of what replaces them. Whatever files
# a user takes for those of Spark 2: dates are not to be shifted. Columns are known by their names in all files, also in
# those that others wrote, without ids. And what a statement asks twice is computed where it is asked, not before what
# leaves out removed rows, on which it may fail.
EVERY_ROW: Final = {
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.fieldId.read.enabled": "false",
    "spark.sql.parquet.fieldId.read.ignoreMissing": "true",
    "spark.sql.subexpressionElimination.enabled": "false",
}
FILE: Final = "_file"
_LISTED_FILE: Final = "listed_file"


def rewrite(
    spark_session: SparkSession,
    snapshot: Snapshot,
    files: Sequence[DataFile],
    drop: Bound,
    here: Here = HERE,
) -> Rewritten:
    """New files with the rows on which `drop` is not TRUE: one for each file, none where nothing is left.

    A file of which nothing goes stays, and its entry with it. Which those are is found first, from the columns that
    the condition speaks of.
    """
    matching = own_session(spark_session, SETTINGS | EVERY_ROW)
    rows = named(rows_of(matching, snapshot, files), snapshot.version.schema)
    found = rows.filter(condition(matching, drop)).select(f"{whole(snapshot.version.schema)}.{FILE}").distinct()
    touched = {row[0] for row in found.collect()}
    by_spec: dict[int, list[DataFile]] = defaultdict(list)
    for number in sorted(touched):
        by_spec[files[number].spec_id].append(files[number])
    session = own_session(spark_session, SETTINGS | EVERY_ROW)
    written = [
        new
        for spec_id, members in by_spec.items()
        for new in _rewrite_of_spec(session, snapshot, spec_id, members, drop, here.read)
    ]
    return Rewritten(written, [file for number, file in enumerate(files) if number not in touched])


def compact(
    spark_session: SparkSession,
    snapshot: Snapshot,
    files: Sequence[DataFile],
    arrangement: Arrangement | None = None,
    here: Here = HERE,
) -> list[DataFile]:
    """New files under the current spec and rule with the rows of `files`, which keep their ids and versions.

    With an `arrangement` nothing needs to be counted; and nothing is shuffled if it makes each new file of whole old
    ones, as it does where the files of a physical partition become one.
    """
    session = own_session(spark_session, SETTINGS | EVERY_ROW)
    tasks = None if arrangement is None else _whole_files(files, arrangement)
    rows = Conformed(rows_of(session, snapshot, files, tasks).drop(FILE), ())
    if arrangement is None:
        return write_conformed(session, snapshot, rows, WriteReport(), here)
    layout = Layout(tuples=arrangement.tuples, files=arrangement.files, spare=1)
    return write_laid_out(session, snapshot, rows, layout, WriteReport(), here)


def _whole_files(files: Sequence[DataFile], arrangement: Arrangement) -> list[list[int]] | None:
    """The old files that each new one is made of, by their numbers; None if one of them goes to several."""
    target: dict[LogicalTuple, int] = {}
    for number, planned in enumerate(arrangement.files):
        for part in planned.slices:
            if target.setdefault(one_nan(arrangement.tuples[part.index]), number) != number:
                return None
    made_of: list[list[int]] = [[] for _ in arrangement.files]
    for number, file in enumerate(files):
        targets = {target.get(one_nan(tuple_)) for tuple_ in file.tuples or ()}
        if len(targets) != 1 or None in targets:
            return None
        made_of[targets.pop() or 0].append(number)
    return made_of


def can_rewrite(snapshot: Snapshot) -> bool:
    """Whether Spark can tell lineage from the user's own columns, which it knows by name only."""
    return not any(f.physical_name.lower() in (ROW_ID, ROW_VERSION) for f in snapshot.version.schema)


def _rewrite_of_spec(
    session: SparkSession, snapshot: Snapshot, spec_id: int, files: Sequence[DataFile], drop: Bound, here_bytes: int
) -> list[DataFile]:
    schema, spec = snapshot.version.schema, snapshot.version.spec_by_id(spec_id)
    rows = rows_of(session, snapshot, files, [[number] for number in range(len(files))])
    kept = named(rows, schema).filter(~F.coalesce(condition(session, drop), F.lit(False))).select(f"{whole(schema)}.*")
    columns = file_columns(rows, schema, spec)
    directories = _directories(snapshot, spec, files)
    ready = kept.select(*columns, *directories)
    with owned_directory(session, snapshot.storage) as directory:
        write_parquet(ready, spark_uri(session, snapshot.storage, directory), ready.columns[len(columns) :])
        found = read_back(session, snapshot, directory, spec, here_bytes)
        tidy(snapshot.storage, directory, found)
        entries = []
        for new in found:
            old = files[int(new.path.split("/")[-2].partition("=")[2])]
            entries.append(entry(new, directory, spec_id, old.rule_id, old.physical_key))
        return entries


def _directories(snapshot: Snapshot, spec: Spec, files: Sequence[DataFile]) -> list[Column]:
    """The directories of the old files, for people, and the number of the file, by which its new one is found."""
    schema = snapshot.version.schema
    keys = [f.physical_key for f in files if f.physical_key is not None]
    if len(keys) < len(files) or not can_compute(spec, schema):
        spec = Spec(spec.spec_id, ())
    *names, last = directory_names(spec, schema, FILE)
    texts = planned_texts(keys, spec, schema, F.col(FILE))
    return [*(text.alias(name) for text, name in zip(texts, names, strict=True)), F.col(FILE).alias(last)]


# --- rows of files -----------------------------------------------------------------------------------------------


def rows_of(
    session: SparkSession,
    snapshot: Snapshot,
    files: Sequence[DataFile],
    tasks: Sequence[Sequence[int]] | None = None,
    *,
    places: bool = False,
) -> DataFrame:
    """The rows of data files in the table's types of now, as `conform` names them, with lineage and the file's number.

    A file that lacks a column holds its default there, or what the entry says if it is a partition column. If `tasks`
    are given, each reads the files of those numbers, and `TASK` is the task's own. With `places`, `ROW_INDEX` is where
    in its file a row lies.
    """
    schema = snapshot.version.schema
    facts = _facts(snapshot, files, tasks)
    read = file_rows(session, snapshot, files, facts, tasks)
    row_id = F.coalesce(F.col(ROW_ID), F.col("first_row_id") + F.col(ROW_INDEX))
    rows = read.select(
        *(_column(f, facts).alias(name_of(f)) for f in schema),
        row_id.alias(ROW_ID),
        F.coalesce(F.col(ROW_VERSION), F.col("added_version")).alias(ROW_VERSION),
        *(F.col(name) for name in (FILE, TASK) if name in facts),
        *([F.col(ROW_INDEX)] if places else []),
    )
    return _alive(session, snapshot, files, rows)


def rows_with(
    session: SparkSession,
    snapshot: Snapshot,
    files: Sequence[DataFile],
    tuples: Sequence[Collection[LogicalTuple] | None],
) -> DataFrame:
    """The same rows with their places in the files; of each file those of some tuples, or, for None, all of them."""
    rows = rows_of(session, snapshot, files, places=True)
    for spec_id in sorted({f.spec_id for f, some in zip(files, tuples, strict=True) if some is not None}):
        wanted = [
            (number, values)
            for number, (file, some) in enumerate(zip(files, tuples, strict=True))
            if some is not None and file.spec_id == spec_id
            for values in some
        ]
        listed, same = _listed(session, snapshot, spec_id, wanted)
        others = ~F.col(FILE).isin(sorted({number for number, _ in wanted}))
        found = rows.join(F.broadcast(listed), same, "left").filter(others | F.col(_LISTED_FILE).isNotNull())
        rows = found.select(*rows.columns)
    return rows


def _alive(session: SparkSession, snapshot: Snapshot, files: Sequence[DataFile], rows: DataFrame) -> DataFrame:
    """The rows without those of dead tuples, which are known by the columns of the spec of their file."""
    with_dead = [number for number, file in enumerate(files) if file.dead]
    for spec_id in sorted({files[number].spec_id for number in with_dead}):
        dead = [(n, d.values) for n in with_dead if files[n].spec_id == spec_id for d in files[n].dead]
        listed, same = _listed(session, snapshot, spec_id, dead)
        rows = rows.join(F.broadcast(listed), same, "left_anti")
    # No condition is moved below what is not deterministic: on a row that is dead, it might fail.
    return rows.filter(F.monotonically_increasing_id() >= 0) if with_dead else rows


def _listed(
    session: SparkSession, snapshot: Snapshot, spec_id: int, tuples: Sequence[tuple[int, LogicalTuple]]
) -> tuple[DataFrame, Column]:
    """Tuples of files, each with the file's number, as a frame; and the condition that a row is of one of them."""
    schema, spec = snapshot.version.schema, snapshot.version.spec_by_id(spec_id)
    arrays: dict[str, pa.Array] = {_LISTED_FILE: pa.array([number for number, _ in tuples], pa.int32())}
    fields = [spark.StructField(_LISTED_FILE, spark.IntegerType())]
    same = F.col(FILE) == F.col(_LISTED_FILE)
    for place, field in enumerate(spec.fields):
        type_, source = schema.atomic(field.source_id), schema.by_id(field.source_id)
        if isinstance(field.transform, Void):
            continue
        assert isinstance(field.transform, Identity)  # or nothing of the file could have been marked
        assert type_ is not None
        assert source is not None
        name = f"listed{place}"
        arrays[name] = column_of(type_, [values[place] for _, values in tuples])
        fields.append(spark.StructField(name, spark_type(type_)))
        same &= F.col(name_of(source)).eqNullSafe(F.col(name))
    return session.createDataFrame(pa.table(arrays), spark.StructType(fields)), same


def _facts(snapshot: Snapshot, files: Sequence[DataFile], tasks: Sequence[Sequence[int]] | None) -> Facts:
    """What the entries say of the files and of all their rows: `v3` is what column 3 holds, where `h3`."""
    version = snapshot.version
    constants = [constants_of(f, version.spec_by_id(f.spec_id)) for f in files]
    facts: dict[str, tuple[spark.DataType, pa.Array]] = {
        FILE: (spark.IntegerType(), pa.array(range(len(files)), pa.int32())),
        "first_row_id": (spark.LongType(), pa.array([f.first_row_id for f in files], pa.int64())),
        "added_version": (spark.LongType(), pa.array([f.added_version for f in files], pa.int64())),
    }
    if tasks is not None:
        own = {number: task for task, numbers in enumerate(tasks) for number in numbers}
        facts[TASK] = spark.IntegerType(), pa.array([own[number] for number in range(len(files))], pa.int32())
    for field in version.schema:
        type_ = version.schema.atomic(field.id)
        if type_ is not None and any(field.id in c for c in constants):
            values = column_of(type_, [c.get(field.id) for c in constants])
            facts[f"v{field.id}"] = spark_type(type_), values
            facts[f"h{field.id}"] = spark.BooleanType(), pa.array([field.id in c for c in constants], pa.bool_())
    return facts


def _column(field: Field, facts: Facts) -> Column:
    """A column of the file; if the entry knows its value, that."""
    own = F.col(name_of(field))
    if f"v{field.id}" not in facts:
        return own
    constant = F.col(f"v{field.id}")
    if field.type in FLOATING:
        # The entry does not tell 0.0 from -0.0 or one NaN from another; the file does, if it has the column.
        return F.coalesce(own, constant)
    return F.when(F.col(f"h{field.id}"), constant).otherwise(own)
