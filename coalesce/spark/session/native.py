"""The native source, and Python's end of the bridge to it.

When Spark needs to know something of a table, Java classes call back to this process: one call, one string each way.
"""

import json
from collections.abc import Callable
from threading import Lock
from typing import Any, ClassVar, Final, cast

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from coalesce.errors import CoalesceError, SparkUnavailable
from coalesce.spark.catalog import answers, metadata_tables, procedures, writes
from coalesce.spark.commands import feed, sink, statements
from coalesce.spark.commands.create import columns, create_if_absent
from coalesce.spark.commands.save import insert, opened, save
from coalesce.spark.jvm.unseen import without_call_sites
from coalesce.spark.session.java_classes import load_classes
from coalesce.spark.source import queries, stream
from coalesce.spark.translate.option_names import COLUMNS, CREATE, location
from coalesce.spark.translate.options import write_options

_connecting = Lock()
_connected: list[Any] = []  # the gateways to JVMs that know the way here


def connect(spark: SparkSession) -> None:
    """Make `format("coalesce")` known to the JVM of a session; SparkUnavailable if its Spark is too different."""
    gateway: Any = spark.sparkContext._gateway
    with _connecting:
        try:
            if not any(known is gateway for known in _connected):
                load_classes(gateway)
                ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
                gateway.jvm.coalesce.spark.Bridge.connect(_PythonEnd())
                _connected.append(gateway)
            gateway.jvm.coalesce.spark.Session.prepare(spark._jsparkSession)
        except Py4JError as error:
            raise SparkUnavailable(
                f"the native source does not fit Spark {spark.version}: {_first_line(error)}."
            ) from error


def _first_line(error: Py4JError) -> str:
    """The cause, out of a Java stack trace."""
    java = getattr(error, "java_exception", None)
    text = str(error) if java is None else str(java.toString())
    return text.strip().splitlines()[0].rstrip(".")


# --- Python ------------------------------------------------------------------------------------------------------


class _PythonEnd:
    """What `Bridge.ask` in Java calls. An error crosses as text: what Java throws is shorter than what Py4J would."""

    @without_call_sites()
    def apply(self, question: str, subject: JavaObject | None) -> str:
        """The answer to one question."""
        try:
            asked: dict[str, Any] = json.loads(question)
            return "+" + _CALLS[asked["call"]](asked, subject)
        except CoalesceError as error:
            return f"-{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - it belongs to the caller
            return f"-{type(error).__module__}.{type(error).__qualname__}: {error}"

    class Java:
        """How Py4J shows the object to Java."""

        implements: ClassVar = ["java.util.function.BiFunction"]


def _resolve(question: dict[str, Any], session: Any) -> str:
    spark = _session_if_asked(session)
    if question["options"].get(CREATE) == COLUMNS and "schema" in question:
        create_if_absent(spark, question["table"], question["schema"], question["options"])
    return queries.resolve(question, spark)


def _insert(question: dict[str, Any], dataset: Any) -> str:
    frame = _frame(dataset)
    insert(frame.sparkSession, question["table"], frame, question["overwrite"], question["options"])
    return ""


def _save(question: dict[str, Any], dataset: Any) -> str:
    frame = _frame(dataset)
    save(
        frame.sparkSession,
        question["table"],
        frame,
        mode=question["mode"],
        options=question["options"],
        catalog=question["catalog"],
    )
    return ""


def _columns(question: dict[str, Any], spark: SparkSession) -> str:
    return columns(spark, question["table"], question["options"], question["timeZone"])


def _truncate(question: dict[str, Any], spark: SparkSession) -> str:
    options = write_options(question["options"], overwrite=False, catalog=True)
    opened(spark, question["table"], options).truncate()
    return ""


def _write(question: dict[str, Any], dataset: Any) -> str:
    writes.write(question, _frame(dataset))
    return ""


def _stage(question: dict[str, Any], subject: Any) -> str:
    frame = _frame(subject) if question["rows"] else None
    return writes.stage(question, _session(subject) if frame is None else frame.sparkSession, frame)


def _statement(question: dict[str, Any], statement: Any) -> str:
    statements.run(_session(statement.session()), question["table"], statement, question["options"])
    return ""


def _of_session(answer: Callable[[dict[str, Any], SparkSession], str]) -> Callable[[dict[str, Any], Any], str]:
    """For a question that comes with a session."""
    return lambda question, session: answer(question, _session(session))


_CALLS: Final[dict[str, Callable[[dict[str, Any], Any], str]]] = {
    "resolve": _resolve,
    "location": lambda question, _: location(question["options"]),
    "count": queries.count,
    "parts": queries.parts,
    "estimate": queries.estimate,
    "describe": queries.described,
    "list": queries.listing,
    "floats": queries.floats,
    "insert": _insert,
    "save": _save,
    "columns": _of_session(_columns),
    "truncate": _of_session(_truncate),
    "catalog": lambda question, session: answers.answer(question, _session_if_asked(session)),
    "write": _write,
    "stage": _stage,
    "metadata": lambda question, taker: metadata_tables.rows(question, _session(taker.session()), taker),
    "procedure": lambda question, taker: procedures.call(question, _session(taker.session()), taker),
    "statement": _statement,
    "begin": _of_session(stream.begin),
    "newest": _of_session(stream.newest),
    "advance": _of_session(stream.advance),
    "batch": _of_session(stream.batch),
    "changes": _of_session(feed.resolve),
    "changed rows": lambda question, relation: feed.rows(question, relation, _session(relation.session())),
    "stream sink": _of_session(sink.check),
    "stream batch": lambda question, dataset: sink.write(question, _frame(dataset)),
}


class _Later:
    """A session that Java names, which is made Python's when something is asked of it: that takes five calls.

    Most questions about a table need none of it, and every query asks some.
    """

    def __init__(self, java_session: Any) -> None:
        self._jsparkSession = java_session

    def __getattr__(self, name: str) -> Any:
        made = self.__dict__.get("_made")
        if made is None:
            made = self.__dict__["_made"] = _session(self._jsparkSession)
        return getattr(made, name)


def _session_if_asked(java_session: Any) -> SparkSession:
    return cast(SparkSession, _Later(java_session))


def _frame(dataset: Any) -> DataFrame:
    return DataFrame(dataset, _session(dataset.sparkSession()))


def _session(java_session: Any) -> SparkSession:
    """Python's view of a session that Java names; which one of several it is matters for settings and views."""
    context = SparkContext._active_spark_context
    assert context is not None  # Java has asked in its name
    return SparkSession(context, java_session)
