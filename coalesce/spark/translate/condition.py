"""A bound predicate as a Spark column, exact in all three outcomes; and one of Spark's conditions, bound."""

import re
from functools import reduce
from typing import Any, Final, assert_never

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everyone calls it

from coalesce.errors import PredicateError
from coalesce.model.schema import Schema
from coalesce.predicate.bind import bind
from coalesce.predicate.expr import And, Bound, Computed, Constant, InBuckets, InRange, InSet, IsNull, Not, Opaque, Or
from coalesce.predicate.names import quoted
from coalesce.predicate.render import to_sql
from coalesce.predicate.scalar.catalogue import names
from coalesce.predicate.sql.parse import opaque, parse
from coalesce.spark.jvm.catalyst import jvm
from coalesce.spark.jvm.values import END
from coalesce.spark.translate.transforms import component

_CALLED: Final = re.compile(r"(\w+)\s*\(")


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
        case Computed(text=text):
            _refuse_own_functions(session, text)
            return F.expr(text)
        case Constant() | Opaque() | IsNull() | InSet() | InRange():
            return F.expr(to_sql(predicate))
        case _:
            assert_never(predicate)


def _refuse_own_functions(session: SparkSession, text: str) -> None:
    """Refuse a condition that this session would understand otherwise than a plan does."""
    known = set(names())
    called = {word.lower() for word in _CALLED.findall(text)} & known
    catalog: Any = session._jsparkSession.sessionState().catalog()
    catalyst: Any = jvm(session).org.apache.spark.sql.catalyst
    builtin = catalyst.analysis.FunctionRegistry.builtin()
    # Spark 4.3 has them under `system.builtin`; a name alone means what the session finds by it in either.
    listed = builtin.listFunction().head()
    for name in sorted(called):
        spark_s = builtin.lookupFunction(catalyst.FunctionIdentifier(name, listed.database(), listed.catalog()))
        if not spark_s.isDefined():
            continue  # a word of SQL's, such as CAST
        own = catalog.lookupFunctionInfo(catalyst.FunctionIdentifier(name))
        if own.getClassName() != spark_s.get().getClassName():
            raise PredicateError(
                f"this session has a function of its own called {name!r}, by which the condition means something else "
                "than to a plan; register it under another name.",
                text,
            )


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
