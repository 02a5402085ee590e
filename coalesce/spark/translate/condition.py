"""A bound predicate as a Spark column, exact in all three outcomes."""

from functools import reduce
from typing import assert_never

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.predicate.expr import And, Bound, Constant, InBuckets, InRange, InSet, IsNull, Not, Opaque, Or
from coalesce.predicate.names import quoted
from coalesce.predicate.render import to_sql
from coalesce.spark.translate.transforms import component


def condition(session: SparkSession, predicate: Bound) -> Column:
    """The predicate on a frame whose columns have their logical names."""
    match predicate:
        case And(parts):
            return reduce(Column.__and__, (condition(session, part) for part in parts))
        case Or(parts):
            return reduce(Column.__or__, (condition(session, part) for part in parts))
        case Not(part):
            return ~condition(session, part)
        case InBuckets(column, transform, buckets):
            # The only leaf that SQL has no words for.
            return component(session, transform, column.type, F.col(quoted(column.name))).isin(list(buckets))
        case Constant() | Opaque() | IsNull() | InSet() | InRange():
            return F.expr(to_sql(predicate))
        case _:
            assert_never(predicate)
