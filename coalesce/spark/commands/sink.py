"""What `df.writeStream.format("coalesce")` does to a table: each micro-batch is one commit, made once.

    query = events.writeStream.format("coalesce").option("checkpointLocation", place).partitionBy("dt").start(path)

Spark gives a batch again, with the same number, if it does not know that it was finished. The commit carries the
query's id, which the checkpoint keeps, and the batch's number, and a table takes each pair once. In the mode `append`
rows are added, in `complete` all rows are replaced.
"""

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from coalesce.errors import TableNotFound
from coalesce.spark.commands.save import check_same_table, created, opened
from coalesce.spark.translate.option_names import PARTITION_COLUMNS
from coalesce.spark.translate.options import WriteOptions, sink_options
from coalesce.spark.translate.schema import nullable


def check(question: dict[str, Any], spark: SparkSession) -> str:
    """Refuse what cannot be meant before the query starts: options, and fields that are not those of the table."""
    options = _options(question)
    try:
        check_same_table(opened(spark, question["table"], options), options)
    except TableNotFound:
        return ""  # the first batch makes it
    return ""


def write(question: dict[str, Any], frame: DataFrame) -> str:
    """Write a micro-batch, unless that was done before."""
    options, spark = _options(question), frame.sparkSession
    applies = (f"stream-{question['query']}", int(question["batch"]))
    try:
        table = opened(spark, question["table"], options)
    except TableNotFound:
        table = created(spark, question["table"], nullable(frame.schema), options)
    frame.persist()  # computed once, however often it is looked at: operators with a state count what they have seen
    try:
        if question["complete"]:
            table.overwrite(frame, applies=applies, layout=options.layout, schema_mode=options.schema_mode)
        else:
            table.append(frame, applies=applies, layout=options.layout, schema_mode=options.schema_mode)
    finally:
        frame.unpersist()
    return ""


def _options(question: dict[str, Any]) -> WriteOptions:
    given = dict(question["options"])
    if question["partitionBy"]:
        given[PARTITION_COLUMNS] = json.dumps(question["partitionBy"])
    return sink_options(given)
