"""Files that workers have written, and what may happen to the table before the driver commits them: no JVM needed."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import CommitConflict, InvalidArgument, SchemaError
from coalesce.table.table import Table, core_of

if TYPE_CHECKING:
    from coalesce.spark.connect.source import PortableWriter

SCHEMA = pa.schema([("app", pa.string()), ("n", pa.int64())])


def written(table: Table, **options: str) -> "tuple[PortableWriter, list[Any]]":
    """A write whose tasks have come to their end: only the commit is left."""
    from coalesce.spark.connect.source import PortableWriter, Settings, Written, write_batches
    from coalesce.spark.translate.option_names import Source
    from coalesce.spark.translate.options import write_options

    given = write_options({"path": table.location, **options}, Source.PORTABLE, overwrite=bool(options))
    writer = PortableWriter(core_of(table).snapshot(), bool(options), given)
    rows = pa.table({"app": ["A"], "n": [1]}, schema=SCHEMA)
    return writer, [Written(write_batches(core_of(table).snapshot(), iter(rows.to_batches())), Settings())]


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
    assert {f.path for f in core_of(table).storage.list("data")} == {f.path for f in table.files()}


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


def test_a_condition_that_means_other_columns_when_the_workers_are_done_is_a_conflict(tmp_path: Path) -> None:
    """`app` is another column by then: neither the rows of the old one nor those of the new one are replaced."""
    table = coalesce.create(tmp_path, SCHEMA, partition_by=["app"])
    table.append(pa.table({"app": ["A", "B"], "n": [5, 6]}))
    writer, messages = written(table, replaceWhere="app = 'A'")
    table.rename_column("app", "program")
    table.add_column("app", "string")
    with pytest.raises(CommitConflict, match="app = 'A' names were changed"):
        writer.commit(messages)
    assert table.refresh().count() == 2


def test_an_abort_takes_away_files_that_no_message_names(tmp_path: Path) -> None:
    """A task that Spark gave up, because another one failed, has written its files all the same."""
    table = coalesce.create(tmp_path, SCHEMA, partition_by=["app"])
    writer, _ = written(table)
    for batch in pa.table({"app": ["B"], "n": [2]}, schema=SCHEMA).to_batches():
        writer.write(iter([batch]))
    before = len(core_of(table).storage.list("data"))
    writer.abort([])
    assert len(core_of(table).storage.list("data")) == before - 1


def test_a_frame_without_rows_is_held_to_the_columns_too(tmp_path: Path) -> None:
    """Tasks see nothing of it, and an overwrite by what was not meant would empty the table."""
    from pyspark.sql.types import LongType, StructType

    from coalesce.spark.connect.source import PortableSource

    table = coalesce.create(tmp_path, SCHEMA, partition_by=["app"])
    table.append(pa.table({"app": ["A", "B"], "n": [5, 6]}))
    with pytest.raises(SchemaError, match="'id'"):
        PortableSource({"path": table.location}).writer(StructType().add("id", LongType()), True)


def test_columns_that_are_asked_for_twice_are_refused(tmp_path: Path) -> None:
    """Spark could make nothing of what it then got."""
    from coalesce.spark.connect.source import PortableSource

    table = coalesce.create(tmp_path, SCHEMA, partition_by=["app"])
    with pytest.raises(InvalidArgument, match="names a column twice: 'n, app, N'"):
        PortableSource({"path": table.location, "columns": "n, app, N"}).schema()
