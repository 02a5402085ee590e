"""A bound predicate as a Spark column, exact in all three outcomes; and one of Spark's conditions, bound."""

from functools import reduce
from typing import assert_never

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.errors import PredicateError
from coalesce.model.schema import Schema
from coalesce.predicate.bind import bind
from coalesce.predicate.expr import And, Bound, Computed, Constant, InBuckets, InRange, InSet, IsNull, Not, Opaque, Or
from coalesce.predicate.names import quoted
from coalesce.predicate.render import to_sql
from coalesce.predicate.sql.parse import opaque, parse
from coalesce.spark.jvm.values import END
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
        case Constant() | Opaque() | Computed() | IsNull() | InSet() | InRange():
            return F.expr(to_sql(predicate))
        case _:
            assert_never(predicate)


def bound_from(zoned: str, schema: Schema) -> Bound | None:
    """A condition as Spark has written it, or None if it is not understood.

    It comes with its time zone and has the table's own names: nothing in it is for the session's settings to say,
    which may have changed since the query was analysed. Of what only Spark can understand, such as a function of
    somebody's own, the text tells nothing but which columns it reads.
    """
    time_zone, text, *foreign = zoned.split(END)
    try:
        parsed = opaque(text) if foreign else parse(text, time_zone=time_zone)
        return bind(parsed, schema, case_sensitive=True, time_zone=time_zone, text=text)
    except PredicateError:
        return None
