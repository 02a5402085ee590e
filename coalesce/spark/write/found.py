"""Rows that change, once Spark has found them: where they lie and what they hold, here or in Spark's hands.

Little is collected and written by Arrow; much is kept by executors and written by jobs. Either way it is computed once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.arrow.conform import conform
from coalesce.arrow.encode import ROW_ID, ROW_VERSION
from coalesce.arrow.reshape import bare_rows
from coalesce.arrow.revise import Changed, FoundRows, Positions, sources_of, tuples_in
from coalesce.errors import AmbiguousMatch
from coalesce.model.columns import flags
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.model.spec import LogicalTuple
from coalesce.model.types import Field
from coalesce.model.version import Version
from coalesce.plan.plan import Plan
from coalesce.spark.jvm.catalyst import in_session, java_class, own_session
from coalesce.spark.jvm.collected import collected
from coalesce.spark.jvm.location import spark_uri
from coalesce.spark.jvm.unseen import unseen
from coalesce.spark.translate.schema import nullable, spark_type
from coalesce.spark.write.conform import Conformed, forbidden, name_of
from coalesce.spark.write.file_rows import ROW_INDEX
from coalesce.spark.write.here import Here
from coalesce.spark.write.report import WriteReport
from coalesce.spark.write.rewrite import can_rewrite, rows_with
from coalesce.spark.write.writer import SETTINGS, write_conformed
from coalesce.table.engine import Found, Part, Snapshot

# What is found: where a row lies, if it is the table's, whether it goes, and, as `name_of` each field, what it holds;
# and as `o` and the id of each, what the columns held that tuples are made of.
FILE: Final = "file"
ROW: Final = "row"
GOES: Final = "goes"


@dataclass(frozen=True)
class Search:
    """Where rows were looked for: among the files of a plan, by a copy of the user's session that misses no row.

    `may_match_twice` if it is no matter that several rows of a source would change one of the table.
    """

    session: SparkSession
    snapshot: Snapshot
    plan: Plan
    here: Here
    may_match_twice: bool

    def files(self, uris: Sequence[str]) -> dict[str, DataFile]:
        """The files that Spark names so, by those names; all are among the plan's."""
        paths_of = java_class(self.session, "org.apache.hadoop.fs.Path")
        hadoop = paths_of(spark_uri(self.session, self.snapshot.storage, ""))
        root = unquote(str(hadoop.toUri().toString()))
        paths = {unquote(uri).removeprefix(root).lstrip("/"): uri for uri in uris}
        found: dict[str, DataFile] = {}
        for manifest in self.plan.manifests:
            wanted = np.array([name in paths for name in manifest.index.paths(manifest.files)], np.bool_)
            if wanted.any():
                components = manifest.components(self.snapshot.version.schema)
                for file in manifest.index.entries.files(manifest.files[wanted], components):
                    found[paths[file.path]] = file
        missing = set(uris).difference(found)
        assert not missing, f"Spark read {min(missing)}, which the plan does not have"
        return found


@dataclass
class _Collected(FoundRows):
    """What was found is here. Files that are much to write again are left to jobs all the same."""

    search: Search = field(kw_only=True)
    acted: pa.Table = field(kw_only=True)

    def write(self, parts: Sequence[Part]) -> list[DataFile]:
        size = sum(part.file.bytes * part.rows // max(part.file.physical_rows, 1) for part in parts)
        if size <= self.search.here.rewrite or not can_rewrite(self.snapshot):
            return super().write(parts)
        return FoundFrame(self.search, self.search.session.createDataFrame(self.acted)).write(parts)


def collect(search: Search, acted: pa.Table) -> Found:
    """What was found, of which all rows are here."""
    snapshot, schema = search.snapshot, search.snapshot.version.schema
    old = acted.filter(acted.column(ROW).is_valid())
    files = search.files([] if not old.num_rows else old.column(FILE).unique().to_pylist())
    places = np.asarray(old.column(ROW).combine_chunks()).astype(np.int64)
    goes = flags(old.column(GOES))
    before = _as_before(old, snapshot.version)
    changed, order = [], []
    for file, rows in zip(files.values(), _by_file(list(files), old.column(FILE), places), strict=True):
        same = np.flatnonzero(np.diff(places[rows]) == 0)
        if len(same) and not search.may_match_twice:
            raise _ambiguous(file.path, int(places[rows][same[0]]))
        once = np.delete(rows, same)
        tuples = tuples_in(_taken(before, once), file, snapshot.version)
        changed.append(Changed(file, places[once], ~goes[once], tuples))
        order.append(once[~goes[once]])
    stay = pa.array(np.concatenate([np.empty(0, np.int64), *order]))
    new = acted.filter(acted.column(ROW).is_null())
    names = [name_of(f) for f in schema]
    values = [conform(rows.select(names).rename_columns(list(schema.names)), schema) for rows in (old.take(stay), new)]
    return _Collected(snapshot, changed, *values, search=search, acted=acted)


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

    search: Search
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
        files = self.search.files(list(found))
        for uri, row in found.items():
            if row["most"]["times"] > 1 and not self.search.may_match_twice:
                raise _ambiguous(files[uri].path, row["most"][ROW])
        self._files = files
        self.deleted = sum(row["gone"] for row in found.values())
        self.updated = sum(row["rows"] for row in found.values()) - self.deleted
        self.inserted = self.acted.filter(F.col(ROW).isNull()).count()
        tuples = self._tuples(files)
        self.touched = [Part(file, tuples.get(uri)) for uri, file in files.items()]

    def _tuples(self, files: Mapping[str, DataFile]) -> dict[str, frozenset[LogicalTuple] | None]:
        """The tuples, by file, of the rows that change."""
        version, sources = self.search.snapshot.version, sources_of(self.search.snapshot.version)
        old = self.acted.filter(F.col(ROW).isNotNull())
        found = collected(old.select(FILE, *(f"o{f.id}" for f in sources)).distinct())
        rows = _as_before(found, version)
        by_file = _by_file(list(files), found.column(FILE), np.zeros(found.num_rows, np.int64))
        return {
            uri: tuples_in(_taken(rows, own), file, version)
            for (uri, file), own in zip(files.items(), by_file, strict=True)
        }

    @unseen()
    def write(self, parts: Sequence[Part]) -> list[DataFile]:
        """New files under the current spec and rule, by Spark's jobs."""
        session = own_session(self.search.session, SETTINGS)
        schema = self.search.snapshot.version.schema
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
        return write_conformed(session, self.search.snapshot, Conformed(rows, nulls), WriteReport(), self.search.here)

    def _kept(self, session: SparkSession, parts: Sequence[Part], acted: DataFrame) -> DataFrame:
        """The rows of the parts, with their new values where they have some, and without those that go."""
        schema = self.search.snapshot.version.schema
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
        rows = rows_with(session, self.search.snapshot, [p.file for p in parts], [p.tuples for p in parts])
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
