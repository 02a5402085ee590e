"""Write a stream into a table, each micro-batch exactly once.

    query = events.writeStream.foreachBatch(coalesce.each_batch(table)).option("checkpointLocation", place).start()

Spark gives a batch again, with the same number, if it does not know that it was finished: the process died after the
commit and before the checkpoint. The commit itself carries the stream's name and the batch's number, and a table takes
each pair once. The name is the query's id, which the checkpoint keeps across restarts; a stream that begins with a
new checkpoint begins with new batches and is a new stream.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from coalesce.arguments import check_text
from coalesce.errors import CoalesceError, InvalidArgument
from coalesce.table.engine import check_layout
from coalesce.table.table import Table

if TYPE_CHECKING:  # `coalesce.each_batch` is there where PySpark is not, and is never called
    from pyspark.sql import DataFrame

_QUERY_ID = "sql.streaming.queryId"


def each_batch(
    table: Table, *, app: str | None = None, layout: str | None = None
) -> "Callable[[DataFrame, int], None]":
    """The function for `foreachBatch` that appends each batch to `table` once, also after a crash.

    * `table`: a table opened with `spark=`.
    * `app`: names the stream instead of its query id: give one if several streams with checkpoints of their own write
      the same batches. Two different streams must not have one name, or the second one's batches are taken for done.
    * `layout`: as for `Table.append`.

    Raises `InvalidArgument` for a name or layout that cannot be.

    >>> from pathlib import Path
    >>> copy = coalesce.create("copy", rows.schema, spark=spark)
    >>> stream = coalesce.attach(spark).readStream.format("coalesce").load("events")
    >>> place = str(Path("checkpoint").absolute())
    >>> writer = stream.writeStream.foreachBatch(coalesce.each_batch(copy)).option("checkpointLocation", place)
    >>> writer.trigger(availableNow=True).start().awaitTermination()
    >>> copy.count()
    4
    """
    check_layout(layout)
    if app is not None and not check_text(app, "app"):
        raise InvalidArgument("app is empty; name the stream, or leave app out to take the id of its query.")

    def append(batch: "DataFrame", number: int) -> None:
        name = app if app is not None else _query_id(batch)
        table.append(batch, applies=(name, number), layout=layout)

    return append


def _query_id(batch: "DataFrame") -> str:
    name = batch.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
    if name is None:
        raise CoalesceError("this is not a micro-batch of a streaming query; call it from foreachBatch, or give app=…")
    return f"stream-{name}"
