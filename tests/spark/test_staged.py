"""Files that workers have written, and what may happen to the table before the driver commits them: no JVM needed."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import CommitConflict
from coalesce.table.table import Table

if TYPE_CHECKING:
    from coalesce.spark.portable import PortableWriter

SCHEMA = pa.schema([("app", pa.string()), ("n", pa.int64())])


def written(table: Table, **options: str) -> "tuple[PortableWriter, list[Any]]":
    """A write whose tasks have come to their end: only the commit is left."""
    from coalesce.spark.options import Source, write_options
    from coalesce.spark.portable import PortableWriter, Settings, Written, write_batches

    given = write_options({"path": table.location, **options}, Source.PORTABLE, overwrite=bool(options))
    writer = PortableWriter(table.place(), bool(options), given)
    rows = pa.table({"app": ["A"], "n": [1]}, schema=SCHEMA)
    return writer, [Written(write_batches(table.place(), iter(rows.to_batches())), Settings())]


def test_an_abort_after_a_commit_that_has_happened_deletes_nothing(tmp_path: Path) -> None:
    """Spark aborts whatever failed, a commit among it whose answer was lost; a version names those files."""
    table = coalesce.create(tmp_path, SCHEMA, partition_by=["app"])
    writer, messages = written(table)
    writer.commit(messages)
    writer.abort(messages)
    assert table.refresh().scan().to_arrow().to_pylist() == [{"app": "A", "n": 1}]


def test_an_abort_takes_away_what_no_version_names(tmp_path: Path) -> None:
    """Files of a write that came to nothing, while another writer's stay."""
    table = coalesce.create(tmp_path, SCHEMA, partition_by=["app"])
    writer, messages = written(table)
    table.append(pa.table({"app": ["B"], "n": [2]}))
    writer.abort(messages)
    assert {f.path for f in table.storage.list("data")} == {f.path for f in table.files()}


def test_a_schema_that_changed_while_the_workers_wrote_is_a_conflict(tmp_path: Path) -> None:
    """The driver opens the table when they are done: what counts is the version they wrote for."""
    table = coalesce.create(tmp_path, SCHEMA, partition_by=["app"])
    writer, messages = written(table)
    table.drop_column("n")
    with pytest.raises(CommitConflict, match="column 'n' is gone"):
        writer.commit(messages)
    assert table.refresh().count() == 0


def test_a_spec_that_changed_while_the_workers_wrote_is_a_conflict_for_partitions(tmp_path: Path) -> None:
    """Their tuples are of another spec, and would name other logical partitions to replace."""
    table = coalesce.create(tmp_path, SCHEMA, partition_by=["app"])
    table.append(pa.table({"app": ["A", "B"], "n": [5, 6]}))
    writer, messages = written(table, partitionOverwriteMode="dynamic")
    table.evolve(drop="app", add="n")
    with pytest.raises(CommitConflict, match="partition fields were changed"):
        writer.commit(messages)
    assert table.refresh().count() == 2
