"""Into the driver's JVM, where Spark's Python surface ends: a session of our own, and calls from generated code.

All of it was there, and public to the JVM, in Spark 4.1 to 4.3.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import DataType

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_EXPRESSIONS: Final = "org.apache.spark.sql.catalyst.expressions"
_NO_ESTIMATE: Final = 2**60  # about what Spark says of rows it knows nothing about
_UTILS: Final = "org.apache.spark.sql.classic.ExpressionUtils$"


# --- sessions ----------------------------------------------------------------------------------------------------


def own_session(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A copy of the session with settings of its own: those of the user's stay as they are, also while others use it.

    The copy shares the context, the caches and the catalog; temporary views and settings are copied.
    """
    copy = session._jsparkSession.cloneSession()
    for name, value in settings.items():
        copy.conf().set(name, value)
    return SparkSession(session.sparkContext, copy)


def in_session(frame: DataFrame, session: SparkSession) -> DataFrame:
    """The same rows, computed in another session of the same JVM: the plan is analysed already and stays as it is."""
    analyzed = frame._jdf.queryExecution().analyzed()
    datasets = java_class(session, "org.apache.spark.sql.classic.Dataset")
    dataset = datasets.ofRows(session._jsparkSession, analyzed)
    return DataFrame(dataset, session)


def size_estimate(plan: Any) -> int | None:
    """How many bytes Spark expects the rows of a logical plan to take; None where it has no idea."""
    estimate = int(plan.stats().sizeInBytes())
    return estimate if estimate < _NO_ESTIMATE else None


def hadoop_configuration(session: SparkSession) -> Any:
    """The cluster's Hadoop settings and everything set as `spark.hadoop.…`."""
    return session._jsparkSession.sessionState().newHadoopConf()


def jvm(session: SparkSession) -> Any:
    """The gateway's view of the driver's JVM."""
    return session.sparkContext._jvm


def java_class(session: SparkSession, name: str) -> Any:
    """A Java class by its whole name. Word by word, as Py4J lets one write it, each word is a call."""
    return getattr(jvm(session), name)


# --- expressions -------------------------------------------------------------------------------------------------


def static_call(session: SparkSession, class_name: str, method: str, result: str, *arguments: Any) -> Column:
    """A static Java method on columns, called from generated code; NULL if an argument is.

    `result` is the Spark type of what the method returns. Arguments are columns or Catalyst expressions.
    """
    java = jvm(session)
    invoke = getattr(java, f"{_EXPRESSIONS}.objects.StaticInvoke")(
        java.java.lang.Class.forName(class_name),
        java.org.apache.spark.sql.types.DataType.fromDDL(result),
        method,
        _sequence(session, (_expression(session, a) for a in arguments)),
        _sequence(session, ()),
        True,
        True,
        True,
        java.scala.Option.empty(),
    )
    return column(session, invoke)


def method_call(session: SparkSession, target: Any, method: str, result: Any, *arguments: Any) -> Any:
    """A method of the Java object a column or expression has; `result` is a Spark type, or the name of a class.

    The answer is a Catalyst expression, which may be the target of another call; `column` makes a column of it.
    """
    java = jvm(session)
    types = java.org.apache.spark.sql.types
    if "." in result:
        data_type = types.ObjectType(java.java.lang.Class.forName(result))
    else:
        data_type = types.DataType.fromDDL(result)
    return getattr(java, f"{_EXPRESSIONS}.objects.Invoke")(
        _expression(session, target),
        method,
        data_type,
        _sequence(session, (_expression(session, a) for a in arguments)),
        _sequence(session, ()),
        True,
        True,
        True,
    )


def timestamp_as_long(session: SparkSession, value: Column, type_name: str) -> Column:
    """The microseconds inside a column of TIMESTAMP_NTZ (or TIMESTAMP): the same bits, no zone involved."""
    java = jvm(session)
    data_type = java.org.apache.spark.sql.types.DataType.fromDDL
    conversion = getattr(java, f"{_EXPRESSIONS}.PreciseTimestampConversion")
    return column(session, conversion(_expression(session, value), data_type(type_name), data_type("bigint")))


def is_stored(session: SparkSession, given: DataType, type_: DataType) -> bool:
    """Whether Spark stores values of the one type in a column of the other, by the session's rules for INSERT."""
    java = jvm(session)
    cast = getattr(java, f"{_EXPRESSIONS}.Cast")
    types = [session._jsparkSession.parseDataType(t.json()) for t in (given, type_)]
    match _storing(session):
        case "ANSI":
            return bool(cast.canANSIStoreAssign(*types))
        case "STRICT":
            return bool(cast.canUpCast(*types))
        case _:
            return bool(cast.canCast(*types))


def stored(session: SparkSession, value: Column, given: DataType, type_: DataType) -> Column:
    """The value as INSERT would store it: what does not fit is an error, unless the session stores as Hive does."""
    if given == type_:
        return value
    java = jvm(session)
    mode = getattr(java, f"{_EXPRESSIONS}.EvalMode")
    cast = getattr(java, f"{_EXPRESSIONS}.Cast")(
        _expression(session, value),
        session._jsparkSession.parseDataType(type_.json()),
        java.scala.Option.empty(),
        mode.LEGACY() if _storing(session) == "LEGACY" else mode.ANSI(),
    )
    return column(session, cast)


def has_star(value: Column) -> bool:
    """Whether `*` stands in an expression for all columns, of whatever it is put beside."""
    session = SparkSession.active()
    return bool(jvm(session).coalesce.spark.Attributes.hasStar(value._jc))


def _storing(session: SparkSession) -> str:
    return str(session.conf.get("spark.sql.storeAssignmentPolicy")).upper()


def column(session: SparkSession, expression: Any) -> Column:
    """A Catalyst expression as a column."""
    return Column(_utils(session).column(expression))


def _expression(session: SparkSession, value: Any) -> Any:
    return _utils(session).expression(value._jc) if isinstance(value, Column) else value


def _utils(session: SparkSession) -> Any:
    return getattr(getattr(jvm(session), _UTILS), "MODULE$")


def _sequence(session: SparkSession, items: Iterable[Any]) -> "JavaObject":
    java = jvm(session)
    gathered = java.java.util.ArrayList()
    for item in items:
        gathered.add(item)
    return java.scala.jdk.javaapi.CollectionConverters.asScala(gathered).toSeq()
