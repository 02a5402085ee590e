"""Read a table as a stream: first what it holds, then what comes in, version by version.

    spark.readStream.format("coalesce").load(path)

A position in the stream is a version of the table. A micro-batch is read like any query, from the version it ends with,
except that only the files count that came in after the version it begins after. Options:

    startingVersion      begin with what came in with this version, or `latest`, instead of with all rows
    maxFilesPerTrigger   end a micro-batch before it has more files (1,000); versions and the first rows are not divided
    skipChanges          `true`: pass over versions that removed or replaced rows, which is an error otherwise
    readChanges          `true`: not new rows, but what each version added, removed and updated; at first, all rows
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from coalesce.errors import CoalesceError, VersionNotFound
from coalesce.model.version import Version
from coalesce.spark.source import versions
from coalesce.spark.source.queries import Question, check_columns, describe
from coalesce.spark.translate.options import StreamOptions, stream_options
from coalesce.spark.translate.schema import change_schema, spark_schema
from coalesce.table.commit.changes import Follower
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import Manifests
from coalesce.table.feed import check_names

# --- what Java asks ----------------------------------------------------------------------------------------------


def begin(question: Question, spark: SparkSession) -> str:
    """The columns of the stream, which are those of one version, and how many files a micro-batch may have."""
    options = stream_options(question["options"], catalog=question["catalog"])
    found = versions.resolve(question["table"], spark, question.get("columns"))
    check_columns(question, spark_schema(found.version.schema))
    if options.changes:
        check_names(found.version.schema)
        shown = change_schema(found.version.schema)
        described = {"version": found.version.number, "schema": shown.json(), "changes": True}
    else:
        described = describe(question["table"], found, spark)
    return json.dumps({**described, "maxFiles": options.max_files})


def newest(question: Question, spark: SparkSession) -> str:
    """The position after all that is there now."""
    table = _Table(question["table"], spark, _options(question))
    return table.position(table.newest)


def advance(question: Question, spark: SparkSession) -> str:
    """The position after the next micro-batch: the same as `start` if nothing came in.

    `maxFiles` may be missing; `last` is the position that must not be passed, or missing.
    """
    options = _options(question)
    table = _Table(question["table"], spark, options)
    last = table.newest if question.get("last") is None else table.version_at(question["last"])
    if question.get("start") is None and (options.starting is None or options.starting < 0):
        return table.position(last)
    start = table.first(last) if question.get("start") is None else table.version_at(question["start"])
    return table.position(table.next(start, last, question.get("maxFiles")))


def batch(question: Question, spark: SparkSession) -> str:
    """The rows between two positions; without `start` from the beginning."""
    options = _options(question)
    table = _Table(question["table"], spark, options)
    end = table.version_at(question["end"])
    until, columns = (versions.resolve(question["table"], spark, n) for n in (end, question["columns"]))
    _check_columns(until.version, columns.version)
    if options.changes:
        begins = None if question.get("start") is None else table.version_at(question["start"]) + 1
        return json.dumps(_changes(begins, end, options, columns.version))
    if question.get("start") is not None:
        since = table.since(table.version_at(question["start"]), end)
    elif options.starting in (None, 0):  # an adopted table has files in version 0 already
        since = -1
    else:
        since = end if options.starting < 0 else table.since(table.first(end), end)
    return json.dumps(describe(question["table"], versions.came_in(until, since, columns), spark))


def _changes(begins: int | None, end: int, options: StreamOptions, columns: Version) -> dict[str, object]:
    """The versions whose changes a micro-batch has; the first one begins with all rows, unless told with which."""
    first = begins
    if first is None and options.starting is not None:
        first = end + 1 if options.starting < 0 else options.starting
    shown = change_schema(columns.schema)
    return {"schema": shown.json(), "first": 0 if first is None else first, "last": end, "everything": first is None}


def _options(question: Question) -> StreamOptions:
    """The options of a stream that has begun, and with them those of its table's entry in the catalog."""
    return stream_options(question["options"], catalog=True)


def _check_columns(until: Version, columns: Version) -> None:
    """Refuse columns that are newer than the query; older files can be read with its own."""
    if until.number > columns.number and until.schema != columns.schema:
        raise CoalesceError(
            f"the columns of the table are others in version {until.number} than in version {columns.number}, with "
            "which this query began; load the table again and start the query, and it goes on with the new ones."
        )


# --- positions ---------------------------------------------------------------------------------------------------


class _Table:
    """The table of a stream, at the moment of one question."""

    def __init__(self, location: str, spark: SparkSession, options: StreamOptions) -> None:
        storage = versions.storage_at(location, spark)
        self.options = options
        self.log = Log(storage)
        self.head = self.log.head()
        self.follower = Follower(self.log.load, Manifests(storage), options.skip_changes)

    @property
    def newest(self) -> int:
        return self.head.number

    def position(self, version: int) -> str:
        """A position as Spark keeps it in the checkpoint."""
        return json.dumps({"table": self.head.table_id, "version": version})

    def version_at(self, position: str) -> int:
        """The version that a position names."""
        found: dict[str, Any] = json.loads(position)
        if found["table"] != self.head.table_id:
            raise CoalesceError(
                "the table was dropped and created again since this stream began; start a new stream, with a new "
                "checkpoint."
            )
        return int(found["version"])

    def first(self, last: int) -> int:
        """The version after which a stream with a `startingVersion` begins."""
        wanted = self.options.starting
        assert wanted is not None
        if wanted > last + 1:
            raise VersionNotFound(f"the stream cannot start with version {wanted}: the newest is {last}.")
        return max(wanted - 1, 0)

    def next(self, start: int, last: int, max_files: int | None) -> int:
        """The version that the micro-batch after version `start` ends with."""
        if self.options.changes:
            return self._next_changes(start, last, max_files)
        with _in_time(start):
            return self.follower.next(start, last, max_files).until

    def _next_changes(self, start: int, last: int, max_files: int | None) -> int:
        files, until = 0, start
        with _in_time(start):
            while until < last:
                summary = self.log.load(until + 1).summary
                files += int(summary.get("files_added", 0)) + int(summary.get("files_removed", 0))
                if max_files is not None and until > start and files > max_files:
                    break
                until += 1
        return until

    def since(self, start: int, last: int) -> int:
        """The version after which the files came in that the micro-batch after version `start` has."""
        with _in_time(start):
            return self.follower.since(start, last)


@contextmanager
def _in_time(start: int) -> Iterator[None]:
    """Say what it means for a stream that a version is not there."""
    try:
        yield
    except VersionNotFound as error:
        raise VersionNotFound(
            f"the stream has not read on from version {start} in time: {error} Start a new one, with a new checkpoint."
        ) from error
