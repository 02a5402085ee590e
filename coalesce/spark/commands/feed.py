"""What `option("readChanges", "true")` reads: the rows that versions added, removed and updated."""

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from coalesce.arrow.engine import ArrowEngine
from coalesce.spark.source import versions
from coalesce.spark.translate.options import change_options
from coalesce.spark.translate.schema import change_schema
from coalesce.spark.write.feed import changed_rows
from coalesce.table.commit.log import Log
from coalesce.table.commit.manifests import Manifests
from coalesce.table.engine import Engines, Snapshot, Step
from coalesce.table.feed import feed_of
from coalesce.table.table import Table, core_of

Question = dict[str, Any]


def resolve(question: Question, spark: SparkSession) -> str:
    """Which versions a query reads the changes of, and the columns that it gets."""
    options = change_options(question["options"])
    storage = versions.storage_at(question["table"], spark)
    core = core_of(Table(storage, Engines(ArrowEngine())))
    first = core.number_of(options.starting)
    last = core.version.number if options.ending is None else core.number_of(options.ending)
    feed = feed_of(core.log, core.manifests, first, last)
    return json.dumps({"schema": change_schema(feed.version.schema).json(), "first": first, "last": last})


def rows(question: Question, relation: Any, spark: SparkSession) -> str:
    """Hand the relation the frame of the changes from `first` to `last`; with `everything`, of all rows of the last."""
    storage = versions.storage_at(question["table"], spark)
    log, manifests = Log(storage), Manifests(storage)
    feed = feed_of(log, manifests, question["first"], question["last"])
    steps: Sequence[Step] = [feed.everything()] if question.get("everything") else list(feed.steps())
    frame = changed_rows(spark, Snapshot(storage=storage, version=feed.version), steps)
    relation.take(frame._jdf)
    return ""
