"""Single rows that change, found by Spark: one query says which rows of which files, and what becomes of each.

The table's own source reads them, so that conditions prune files, row groups and pages as in any query; `_metadata`
tells where a row lies. What was found is collected if it is little, and written by Arrow. Else executors keep it (it is
computed once, whatever it is made of), and jobs write the files.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import pairwise
from typing import Final
from urllib.parse import unquote
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.arrow.conform import conform
from coalesce.arrow.encode import ROW_ID, ROW_VERSION
from coalesce.arrow.reshape import bare_rows
from coalesce.arrow.revise import Changed, FoundRows, Positions, sources_of, tuples_in
from coalesce.errors import AmbiguousMatch, CommitConflict
from coalesce.model.columns import flags
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple
from coalesce.model.types import Field
from coalesce.model.version import Version
from coalesce.plan.plan import Plan
from coalesce.predicate.expr import TRUE, And, Bound
from coalesce.predicate.names import quoted
from coalesce.predicate.normalize import normalize
from coalesce.spark.jvm.catalyst import in_session, jvm, own_session
from coalesce.spark.jvm.collected import collected
from coalesce.spark.jvm.location import spark_uri
from coalesce.spark.translate.condition import condition
from coalesce.spark.translate.schema import nullable, spark_type
from coalesce.spark.write.assigned import Assigned
from coalesce.spark.write.concerned import concerned
from coalesce.spark.write.conform import Conformed, forbidden, name_of
from coalesce.spark.write.few import FewRows
from coalesce.spark.write.file_rows import ROW_INDEX
from coalesce.spark.write.here import Here
from coalesce.spark.write.report import WriteReport
from coalesce.spark.write.rewrite import EVERY_ROW, can_rewrite, rows_with
from coalesce.spark.write.writer import SETTINGS, write_conformed
from coalesce.table.engine import Found, Part, Snapshot
from coalesce.table.statement import Star

# What is found: where a row lies, if it is the table's, whether it goes, and, as `name_of` each field, what it holds.
FILE: Final = "file"
ROW: Final = "row"
GOES: Final = "goes"

# So many rows of a source, and of what was found by it, are brought here without asking how many there are.
_FEW_ROWS: Final = 50_000


@dataclass(frozen=True, slots=True)
class Change:
    """A clause as Spark understands it; `values` is None if the row goes."""

    condition: Column | None
    values: Mapping[str, Column] | Star | None


@dataclass(frozen=True, kw_only=True)
class Changes:
    """A statement as Spark understands it: its clauses, by kind, and the frames that they speak of.

    `shown` is how they want to see the rows of the table: with attributes, or under a name, that they know. `ready`
    adds to these, with the source's beside them, what clauses need besides. `columns` are those that they were analysed
    for, if they were; `version` is that of the table, if they read it besides.
    """

    source: DataFrame | None
    on: Column | None
    matched: tuple[Change, ...] = ()
    not_matched: tuple[Change, ...] = ()
    by_source: tuple[Change, ...] = ()
    shown: Callable[[DataFrame], DataFrame]
    ready: Callable[[DataFrame], DataFrame] = lambda frame: frame
    columns: tuple[str, ...] | None = None
    version: int | None = None

    @property
    def all(self) -> tuple[Change, ...]:
        """Every clause; its place here is its number."""
        return (*self.matched, *self.not_matched, *self.by_source)

    @property
    def may_match_twice(self) -> bool:
        """Whether it is no matter that several rows of the source match one of the table: it goes, whichever does."""
        return all(c.values is None and c.condition is None for c in self.matched)


@dataclass(frozen=True)
class FrameRevision:
    """A change of single rows; `read` gives the rows of a version as a frame of a session.

    Columns of our own are beside the user's, of two frames, until all is computed: their names end in a `tag`.
    """

    spark: SparkSession
    changes: Changes
    read: Callable[[SparkSession, Snapshot], DataFrame]
    here: Here
    tag: str = field(default_factory=lambda: uuid4().hex)
    _computed: list[DataFrame] = field(default_factory=list)  # the source, once it is

    @cached_property
    def _session(self) -> SparkSession:
        return own_session(self.spark, EVERY_ROW)

    def _source(self, snapshot: Snapshot) -> DataFrame | None:
        """The source's rows, computed once: what is looked for, found and written has to be the same.

        Few of them are brought here: then Spark knows how few they are.
        """
        source = self.changes.source
        if source is None or self._computed:
            return self._computed[0] if self._computed else None
        own = in_session(source, self._session)
        rows = FewRows(snapshot, own, self.here.write).up_to(_FEW_ROWS)
        if rows is None:
            own = own.localCheckpoint()
        else:
            here = self._session.createDataFrame(rows, nullable(own.schema))
            own = DataFrame(jvm(self._session).coalesce.spark.Attributes.of(own._jdf, here._jdf), self._session)
        self._computed.append(own.select("*", F.lit(True).alias(self._named("source"))))
        return self._computed[0]

    def _named(self, name: str) -> str:
        return f"_{name}_{self.tag}"

    def _own(self, column: Field) -> Column:
        """A column of the table's row, whatever names the source has."""
        return F.col(self._named(name_of(column)))

    def concerns(self, snapshot: Snapshot) -> Bound:
        """What the conditions say of the table's rows alone, and which values the source has where they are equal."""
        changes = self.changes
        if changes.source is not None and changes.by_source:
            return TRUE
        target, source = self._target(snapshot, TRUE), self._source(snapshot)
        if source is None:
            wheres = [change.condition for change in changes.by_source if change.condition is not None]
            if len(wheres) < len(changes.by_source):
                return TRUE
            frame = changes.ready(target).filter(reduce(Column.__or__, wheres))
        else:
            assert changes.on is not None
            frame = target.join(source, changes.on, "inner")
        found = concerned(frame, source, snapshot.version)
        return normalize(And(tuple(found))) if found else TRUE

    def find(self, snapshot: Snapshot, plan: Plan) -> Found:
        """The rows that change, and what becomes of them."""
        frame = self._acted(snapshot, plan.predicate)
        few = FewRows(snapshot, frame, self.here.write)
        rows = few.at_first() if self.changes.source is None else few.up_to(_FEW_ROWS)
        if rows is not None:
            return _collected(self, snapshot, plan, rows)
        return FoundFrame(self, snapshot, plan, frame.localCheckpoint())

    def _target(self, snapshot: Snapshot, predicate: Bound) -> DataFrame:
        """The rows of the table as the clauses see them, and beside that with their places and once more by field."""
        rows = self.read(self._session, snapshot)
        if predicate != TRUE:
            rows = rows.filter(condition(self._session, predicate))
        metadata, schema = rows.metadataColumn("_metadata"), snapshot.version.schema
        if self.changes.columns not in (None, schema.names):
            raise CommitConflict("the table has other columns by now than the statement was made for; run it again.")
        if self.changes.version not in (None, snapshot.version.number):
            raise CommitConflict(
                f"the statement reads the table itself, at version {self.changes.version}, and that is not the newest "
                "any more; run it again."
            )
        columns = [F.col(quoted(f.name)) for f in schema]
        places = (
            metadata.getField("file_path").alias(self._named("file")),
            metadata.getField("row_index").alias(self._named("row")),
        )
        own = [column.alias(self._named(name_of(f))) for f, column in zip(schema, columns, strict=True)]
        return self.changes.shown(rows.select(*columns, *places, *own))

    def _acted(self, snapshot: Snapshot, predicate: Bound) -> DataFrame:
        """A row for each that changes: where it lies, if it is the table's, and its values, if it stays or is new.

        Those of the table have the columns too that tuples are made of, as they were: `o` and the column's id.
        """
        changes, source, version = self.changes, self._source(snapshot), snapshot.version
        target = self._target(snapshot, predicate)
        if source is None:
            joined = target.withColumn(self._named("source"), F.lit(None).cast("boolean"))
        else:
            joined = target.join(source, changes.on, _HOW[bool(changes.not_matched), bool(changes.by_source)])
        action = F.col(self._named("action"))
        ready = changes.ready(joined)
        judged = ready.select("*", self._action().alias(self._named("action"))).filter(action.isNotNull())
        given = [_listed(change.values, version.schema) for change in changes.all]
        assigned = Assigned(judged, version.schema, given, self._is_new, self._own)
        goes = [number for number, change in enumerate(changes.all) if change.values is None]
        return judged.select(
            F.col(self._named("file")).alias(FILE),
            F.col(self._named("row")).alias(ROW),
            (action.isin(goes) if goes else F.lit(False)).alias(GOES),
            *(assigned.value(f, action).alias(name_of(f)) for f in version.schema),
            *(self._own(f).alias(f"o{f.id}") for f in sources_of(version)),
        )

    def _is_new(self, number: int) -> bool:
        """Whether the clause of this number makes new rows."""
        first = len(self.changes.matched)
        return first <= number < first + len(self.changes.not_matched)

    def _action(self) -> Column:
        """The number of the clause that is carried out on a row, or NULL."""
        changes = self.changes
        first = len(changes.matched)
        is_target, is_source = (F.col(self._named(name)).isNotNull() for name in ("row", "source"))
        kinds = (
            (is_target & is_source, changes.matched, 0),
            (~is_target, changes.not_matched, first),
            (is_target & ~is_source, changes.by_source, first + len(changes.not_matched)),
        )
        action = F.lit(None).cast("int")
        for is_kind, clauses, begin in kinds:
            chosen = F.lit(None).cast("int")
            for number, change in reversed([*enumerate(clauses, begin)]):
                own = F.lit(number)
                chosen = own if change.condition is None else F.when(change.condition, own).otherwise(chosen)
            if clauses:
                action = F.when(is_kind, chosen).otherwise(action)
        return action

    def files(self, snapshot: Snapshot, plan: Plan, uris: Sequence[str]) -> dict[str, DataFile]:
        """The files that Spark names so, by those names; all are among the plan's."""
        root = unquote(_hadoop_uri(self._session, spark_uri(self._session, snapshot.storage, "")))
        paths = {unquote(uri).removeprefix(root).lstrip("/"): uri for uri in uris}
        found: dict[str, DataFile] = {}
        for manifest in plan.manifests:
            names = manifest.index.paths(manifest.files)
            wanted = np.array([name in paths for name in names], np.bool_)
            if wanted.any():
                components = manifest.components(snapshot.version.schema)
                for file in manifest.index.entries.files(manifest.files[wanted], components):
                    found[paths[file.path]] = file
        missing = set(uris).difference(found)
        assert not missing, f"Spark read {min(missing)}, which the plan does not have"
        return found

    def jobs(self, snapshot: Snapshot) -> bool:
        """Whether Spark can write files of the table with the ids of rows."""
        return can_rewrite(snapshot)


def _listed(values: Mapping[str, Column] | Star | None, schema: Schema) -> Mapping[str, Column] | None:
    """The values of a clause, column by column."""
    return {f.name: F.col(f"s.{quoted(f.name)}") for f in schema} if isinstance(values, Star) else values


_HOW: Final = {(False, False): "inner", (True, False): "right", (False, True): "left", (True, True): "full"}


def _hadoop_uri(session: SparkSession, uri: str) -> str:
    """A location as Spark writes it in a row's metadata."""
    jvm = session.sparkContext._jvm
    assert jvm is not None
    return str(jvm.org.apache.hadoop.fs.Path(uri).toUri().toString())


# --- little ------------------------------------------------------------------------------------------------------


@dataclass
class _Collected(FoundRows):
    """What was found is here. Files that are much to write again are left to jobs all the same."""

    revision: FrameRevision = field(kw_only=True)
    plan: Plan = field(kw_only=True)
    acted: pa.Table = field(kw_only=True)

    def write(self, parts: Sequence[Part]) -> list[DataFile]:
        size = sum(part.file.bytes * part.rows // max(part.file.physical_rows, 1) for part in parts)
        if size <= self.revision.here.rewrite or not self.revision.jobs(self.snapshot):
            return super().write(parts)
        session = self.revision._session
        return FoundFrame(self.revision, self.snapshot, self.plan, session.createDataFrame(self.acted)).write(parts)


def _collected(revision: FrameRevision, snapshot: Snapshot, plan: Plan, acted: pa.Table) -> Found:
    schema = snapshot.version.schema
    old = acted.filter(acted.column(ROW).is_valid())
    files = revision.files(snapshot, plan, [] if not old.num_rows else old.column(FILE).unique().to_pylist())
    places = np.asarray(old.column(ROW).combine_chunks()).astype(np.int64)
    goes = flags(old.column(GOES))
    before = _as_before(old, snapshot.version)
    changed, order = [], []
    for file, rows in zip(files.values(), _by_file(list(files), old.column(FILE), places), strict=True):
        same = np.flatnonzero(np.diff(places[rows]) == 0)
        if len(same) and not revision.changes.may_match_twice:
            raise _ambiguous(file.path, int(places[rows][same[0]]))
        once = np.delete(rows, same)
        tuples = tuples_in(_taken(before, once), file, snapshot.version)
        changed.append(Changed(file, places[once], ~goes[once], tuples))
        order.append(once[~goes[once]])
    stay = pa.array(np.concatenate([np.empty(0, np.int64), *order]))
    new = acted.filter(acted.column(ROW).is_null())
    names = [name_of(f) for f in schema]
    values = [conform(rows.select(names).rename_columns(list(schema.names)), schema) for rows in (old.take(stay), new)]
    return _Collected(snapshot, changed, *values, revision=revision, plan=plan, acted=acted)


def _as_before(acted: pa.Table, version: Version) -> pa.Table:
    """The columns that tuples are made of, as they were in rows that change."""
    sources = sources_of(version)
    own = acted.select([f"o{f.id}" for f in sources]).rename_columns([f.name for f in sources])
    return conform(own, Schema(tuple(sources))) if sources else bare_rows(acted.num_rows)


def _taken(rows: pa.Table, places: Positions) -> pa.Table:
    """Some of the rows. Of a table without columns Arrow would forget how many that are."""
    return rows.take(pa.array(places)) if rows.num_columns else bare_rows(len(places))


def _by_file(files: Sequence[str], names: pa.ChunkedArray, places: Positions) -> list[Positions]:
    """The numbers of rows by the files in which they lie; those of each in the order of their places there."""
    codes = np.asarray(pc.index_in(names, pa.array(files, pa.string())).combine_chunks()).astype(np.int64)
    order = np.lexsort((places, codes))
    ends = np.searchsorted(codes[order], np.arange(len(files) + 1))
    return [order[begin:end] for begin, end in pairwise(ends)]


def _ambiguous(path: str, place: int) -> AmbiguousMatch:
    return AmbiguousMatch(
        f"several rows of the source would change one row of the table, row {place:,} of {path}; make the rows of the "
        "source unique, or the conditions narrower."
    )


# --- much --------------------------------------------------------------------------------------------------------


@dataclass
class FoundFrame:
    """What was found, in Spark's hands."""

    revision: FrameRevision
    snapshot: Snapshot
    plan: Plan
    acted: DataFrame
    touched: Sequence[Part] = field(init=False)
    updated: int = field(init=False, default=0)
    deleted: int = field(init=False, default=0)
    inserted: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        old = self.acted.filter(F.col(ROW).isNotNull())
        by_row = old.groupBy(FILE, ROW).agg(F.count(F.lit(1)).alias("times"), F.max(GOES).alias(GOES))
        counted = by_row.groupBy(FILE).agg(
            F.count(F.lit(1)).alias("rows"),
            F.count_if(GOES).alias("gone"),
            F.max(F.struct("times", ROW)).alias("most"),
        )
        found = {row[FILE]: row for row in counted.collect()}
        files = self.revision.files(self.snapshot, self.plan, list(found))
        for uri, row in found.items():
            if row["most"]["times"] > 1 and not self.revision.changes.may_match_twice:
                raise _ambiguous(files[uri].path, row["most"][ROW])
        self._files = files
        self.deleted = sum(row["gone"] for row in found.values())
        self.updated = sum(row["rows"] for row in found.values()) - self.deleted
        self.inserted = self.acted.filter(F.col(ROW).isNull()).count()
        tuples = self._tuples(files)
        self.touched = [Part(file, tuples.get(uri)) for uri, file in files.items()]

    def _tuples(self, files: Mapping[str, DataFile]) -> dict[str, frozenset[LogicalTuple] | None]:
        """The tuples, by file, of the rows that change."""
        version, sources = self.snapshot.version, sources_of(self.snapshot.version)
        old = self.acted.filter(F.col(ROW).isNotNull())
        found = collected(old.select(FILE, *(f"o{f.id}" for f in sources)).distinct())
        rows = _as_before(found, version)
        by_file = _by_file(list(files), found.column(FILE), np.zeros(found.num_rows, np.int64))
        return {
            uri: tuples_in(_taken(rows, own), file, version)
            for (uri, file), own in zip(files.items(), by_file, strict=True)
        }

    def write(self, parts: Sequence[Part]) -> list[DataFile]:
        """New files under the current spec and rule, by Spark's jobs."""
        session = own_session(self.revision.spark, SETTINGS | EVERY_ROW)
        schema = self.snapshot.version.schema
        acted = in_session(self.acted, session)
        rows = acted.filter(F.col(ROW).isNull()).select(
            *(_in_files(f) for f in schema),
            F.lit(None).cast("bigint").alias(ROW_ID),
            F.lit(None).cast("bigint").alias(ROW_VERSION),
        )
        if parts:
            rows = self._kept(session, parts, acted).unionByName(rows)
        # Once more: where two sides differ in what may be NULL, Spark merges their types, and ids of members get lost.
        rows = rows.select(*(_in_files(f) for f in schema), ROW_ID, ROW_VERSION)
        nulls = tuple(
            broken
            for f in schema
            for broken in forbidden(F.col(name_of(f)), nullable(spark_type(f.type)), True, f, f.name)
        )
        return write_conformed(session, self.snapshot, Conformed(rows, nulls), WriteReport(), self.revision.here)

    def _kept(self, session: SparkSession, parts: Sequence[Part], acted: DataFrame) -> DataFrame:
        """The rows of the parts, with their new values where they have some, and without those that go."""
        schema = self.snapshot.version.schema
        uris = {file.path: uri for uri, file in self._files.items()}
        numbers = pa.table(
            {"uri": [uris[p.file.path] for p in parts], "number": pa.array(range(len(parts)), pa.int32())}
        )
        named = F.broadcast(session.createDataFrame(numbers))
        new = [_in_files(f).alias(f"n{f.id}") for f in schema]
        once = acted.filter(F.col(ROW).isNotNull()).dropDuplicates([FILE, ROW])
        changes = once.join(named, F.col(FILE) == F.col("uri")).select(
            F.col("number"), F.col(ROW).alias("place"), F.col(GOES), *new
        )
        rows = rows_with(session, self.snapshot, [p.file for p in parts], [p.tuples for p in parts])
        joined = rows.join(changes, (F.col("_file") == F.col("number")) & (F.col(ROW_INDEX) == F.col("place")), "left")
        is_changed = F.col(GOES).isNotNull()
        return joined.filter(~F.coalesce(F.col(GOES), F.lit(False))).select(
            *(F.when(is_changed, F.col(f"n{f.id}")).otherwise(F.col(name_of(f))).alias(name_of(f)) for f in schema),
            F.col(ROW_ID),
            F.when(~is_changed, F.col(ROW_VERSION)).alias(ROW_VERSION),
        )


def _in_files(field: Field) -> Column:
    """A column with the members of its structs as data files have them: by other names, if need be, and with ids."""
    return F.col(name_of(field)).cast(spark_type(field.type, physical=True)).alias(name_of(field))
