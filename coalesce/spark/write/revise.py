"""Single rows that change, found by Spark: one query says which rows of which files, and what becomes of each.

The table's own source reads them, so that conditions prune files, row groups and pages as in any query; `_metadata`
tells where a row lies. What becomes of what was found is in `found.py`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Final
from uuid import uuid4

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.arrow.revise import sources_of
from coalesce.errors import CommitConflict
from coalesce.model.schema import Schema
from coalesce.model.types import Field
from coalesce.plan.plan import Plan
from coalesce.predicate.expr import TRUE, And, Bound
from coalesce.predicate.names import quoted
from coalesce.predicate.normalize import normalize
from coalesce.spark.jvm.catalyst import in_session, java_class, own_session
from coalesce.spark.jvm.frames import Marks, exactly, selected
from coalesce.spark.jvm.unseen import unseen
from coalesce.spark.translate.condition import condition
from coalesce.spark.translate.schema import nullable
from coalesce.spark.write.assigned import Assigned, Name
from coalesce.spark.write.concerned import Source, concerned, scanned
from coalesce.spark.write.conform import name_of
from coalesce.spark.write.few import FewRows
from coalesce.spark.write.found import FILE, GOES, ROW, FoundFrame, Search, collect
from coalesce.spark.write.here import Here
from coalesce.spark.write.rewrite import EVERY_ROW
from coalesce.table.engine import Found, Snapshot
from coalesce.table.statement import Star

# So many rows of a source, and of what was found by it, are brought here without asking how many there are.
_FEW_ROWS: Final = 50_000


@dataclass(frozen=True, slots=True)
class Change:
    """A clause as Spark understands it; `values` is None if the row goes."""

    condition: Column | None
    values: Mapping[Name, Column] | Star | None


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
    _computed: list[Source] = field(default_factory=list)  # the source, once it is
    _read: dict[str, DataFrame] = field(default_factory=dict)  # the rows of the version that was read last, by commit

    @cached_property
    def _session(self) -> SparkSession:
        return own_session(self.spark, EVERY_ROW)

    def _source(self, snapshot: Snapshot) -> Source | None:
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
            attributes = java_class(self._session, "coalesce.spark.Attributes")
            own = DataFrame(attributes.of(own._jdf, here._jdf), self._session)
        self._computed.append(Source(selected(own, ["*", f"true AS {self._named('source')}"]), rows))
        return self._computed[0]

    def _named(self, name: str) -> str:
        return f"_{name}_{self.tag}"

    def _own(self, column: Field) -> Column:
        """A column of the table's row, whatever names the source has."""
        return F.col(self._named(name_of(column)))

    @unseen()
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
            with self._in_its_words(snapshot):
                frame = changes.ready(target).filter(reduce(Column.__or__, wheres))
        else:
            with self._in_its_words(snapshot):
                frame = target.join(source.frame, changes.on, "inner")
        found = concerned(frame, source, snapshot.version)
        return normalize(And(tuple(found))) if found else TRUE

    @unseen()
    def find(self, snapshot: Snapshot, plan: Plan) -> Found:
        """The rows that change, and what becomes of them."""
        with self._in_its_words(snapshot):
            frame = self._acted(snapshot, plan.predicate if self.changes.source is None else scanned(plan))
        few = FewRows(snapshot, frame, self.here.write)
        if self.changes.source is not None:
            rows = few.up_to(_FEW_ROWS)
        else:  # each row of the plan's files is found once at most
            rows = few.no_more_than(plan.rows) if plan.rows <= _FEW_ROWS else few.at_first()
        twice = self.changes.may_match_twice
        search = Search(self._session, snapshot, plan, self.here, twice)
        return FoundFrame(search, frame.localCheckpoint()) if rows is None else collect(search, rows)

    def _rows(self, snapshot: Snapshot) -> DataFrame:
        """The rows of the table, which are looked at twice."""
        commit = snapshot.version.commit_id
        if commit not in self._read:
            self._read.clear()
            self._read[commit] = self.read(self._session, snapshot)
        return self._read[commit]

    def _target(self, snapshot: Snapshot, predicate: Bound) -> DataFrame:
        """The rows of the table as the clauses see them, and beside that with their places and once more by field."""
        rows = self._rows(snapshot)
        if predicate != TRUE:
            rows = rows.filter(condition(self._session, predicate))
        schema = snapshot.version.schema
        if self.changes.columns not in (None, schema.names):
            raise CommitConflict("the table has other columns by now than the statement was made for; run it again.")
        if self.changes.version not in (None, snapshot.version.number):
            raise CommitConflict(
                f"the statement reads the table itself, at version {self.changes.version}, and that is not the newest "
                "any more; run it again."
            )
        columns = [exactly(f.name) for f in schema]
        file, row = self._named("file"), self._named("row")
        marks = Marks()
        metadata = rows.metadataColumn("_metadata")
        known = ((file, "file_path"), (row, "row_index"))
        places = [f"{marks.put(metadata.getField(member))} AS {name}" for name, member in known]
        shown = self.changes.shown(selected(rows, [*columns, *places], marks))
        own = [f"{column} AS {self._named(name_of(f))}" for f, column in zip(schema, columns, strict=True)]
        # What has an alias of its own is none of the columns that `t.*` means.
        return selected(shown, [*columns, *(f"{name} AS {name}" for name in (file, row)), *own])

    @contextmanager
    def _in_its_words(self, snapshot: Snapshot) -> Iterator[None]:
        """What Spark refuses, it refuses once more where there are no columns of ours, which it would suggest."""
        try:
            yield
        except AnalysisException:
            changes, schema = self.changes, snapshot.version.schema
            frame = changes.shown(self.read(self._session, snapshot))
            if changes.source is not None:
                frame = frame.join(in_session(changes.source, self._session), changes.on, "inner")
            given = [_listed(change.values, schema) or {} for change in changes.all]
            wheres = [change.condition for change in changes.all if change.condition is not None]
            frame.select(*wheres, *(value for values in given for value in values.values()))
            raise

    def _acted(self, snapshot: Snapshot, predicate: Bound) -> DataFrame:
        """A row for each that changes: where it lies, if it is the table's, and its values, if it stays or is new.

        Those of the table have the columns too that tuples are made of, as they were: `o` and the column's id.
        """
        changes, source, version = self.changes, self._source(snapshot), snapshot.version
        target = self._target(snapshot, predicate)
        if source is None:
            joined = selected(target, ["*", f"CAST(NULL AS BOOLEAN) AS {self._named('source')}"])
        else:
            joined = target.join(source.frame, changes.on, _HOW[bool(changes.not_matched), bool(changes.by_source)])
        action, marks = self._named("action"), Marks()
        ready = selected(changes.ready(joined), ["*", f"{self._action(marks)} AS {action}"], marks)
        judged = ready.filter(f"{action} IS NOT NULL")
        given = [_listed(change.values, version.schema) for change in changes.all]
        assigned, marks = Assigned(judged, version.schema, given, self._is_new, self._own), Marks()
        goes = ", ".join(str(number) for number, change in enumerate(changes.all) if change.values is None)
        own = {f.id: self._named(name_of(f)) for f in version.schema}
        columns = [
            f"{self._named('file')} AS {exactly(FILE)}",
            f"{self._named('row')} AS {exactly(ROW)}",
            f"{f'{action} IN ({goes})' if goes else 'false'} AS {exactly(GOES)}",
            *(f"{assigned.value(f, own[f.id], action, marks)} AS {name_of(f)}" for f in version.schema),
            *(f"{own[f.id]} AS o{f.id}" for f in sources_of(version)),
        ]
        return selected(judged, columns, marks)

    def _is_new(self, number: int) -> bool:
        """Whether the clause of this number makes new rows."""
        first = len(self.changes.matched)
        return first <= number < first + len(self.changes.not_matched)

    def _action(self, marks: Marks) -> str:
        """The number of the clause that is carried out on a row, or NULL, as SQL."""
        changes = self.changes
        first = len(changes.matched)
        row, source = self._named("row"), self._named("source")
        kinds = (
            (f"{row} IS NOT NULL AND {source} IS NOT NULL", changes.matched, 0),
            (f"{row} IS NULL", changes.not_matched, first),
            (f"{row} IS NOT NULL AND {source} IS NULL", changes.by_source, first + len(changes.not_matched)),
        )
        nothing = "CAST(NULL AS INT)"
        action = nothing
        for is_kind, clauses, begin in kinds:
            chosen = nothing
            for number, change in reversed([*enumerate(clauses, begin)]):
                own = str(number)
                if change.condition is not None:
                    own = f"CASE WHEN {marks.put(change.condition)} THEN {number} ELSE {chosen} END"
                chosen = own
            if clauses:
                action = f"CASE WHEN {is_kind} THEN {chosen} ELSE {action} END"
        return action


def _listed(values: Mapping[Name, Column] | Star | None, schema: Schema) -> Mapping[Name, Column] | None:
    """The values of a clause, column by column."""
    return {(f.name,): F.col(f"s.{quoted(f.name)}") for f in schema} if isinstance(values, Star) else values


_HOW: Final = {(False, False): "inner", (True, False): "right", (False, True): "left", (True, True): "full"}
