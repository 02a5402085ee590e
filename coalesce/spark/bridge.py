"""The native source without a jar to install: Java classes compiled in the driver, and Python's end of the bridge.

Spark ships a Java compiler, Janino. The classes of `java/` are compiled once for each driver JVM and put on its class
loader in a jar of their own, where Spark finds `format("coalesce")` as it finds any other source. When it needs to know
something of a table, it calls back to this process: one call, one string each way. Executors never see the classes.
"""

import atexit
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Final

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from coalesce.errors import CoalesceError, SparkUnavailable
from coalesce.spark import arrivals, read
from coalesce.spark.create import columns, create_if_absent
from coalesce.spark.options import COLUMNS, CREATE, location, write_options

_SOURCES: Final = Path(__file__).with_name("java")
_PACKAGE: Final = "coalesce.spark"
_SERVICE: Final = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"

_connecting = Lock()
_connected: list[Any] = []  # the gateways to JVMs that know the way here


def connect(spark: SparkSession) -> None:
    """Make `format("coalesce")` known to the JVM of a session; SparkUnavailable if its Spark is too different."""
    gateway: Any = spark.sparkContext._gateway
    with _connecting:
        try:
            if not any(known is gateway for known in _connected):
                _load_classes(gateway)
                ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
                gateway.jvm.coalesce.spark.Bridge.connect(_Answers())
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


# --- Java --------------------------------------------------------------------------------------------------------


def _load_classes(gateway: Any) -> None:
    """Compile the sources and put them on the driver's class loader, unless an earlier Python of this JVM has."""
    jvm = gateway.jvm
    loader = _extensible_loader(jvm)
    try:
        jvm.java.lang.Class.forName(f"{_PACKAGE}.Bridge", True, loader)
    except Py4JError:
        jar = _packed(_compiled(gateway, loader))
        jvm.java.io.File(jar).deleteOnExit()
        atexit.register(Path(jar).unlink, missing_ok=True)  # Spark may be killed
        loader.addURL(jvm.java.io.File(jar).toURI().toURL())


def _extensible_loader(jvm: Any) -> Any:
    """The class loader that Spark looks for sources in; one that takes more jars, as that of spark-submit does."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    while loader is not None:
        if loader.getClass().getName().endswith("MutableURLClassLoader"):
            return loader
        loader = loader.getParent()
    raise SparkUnavailable(
        "the class loader of Spark's driver takes no more classes; start Spark with coalesce.session() or spark-submit."
    )


def _compiled(gateway: Any, loader: Any) -> dict[str, bytes]:
    """The class files of the sources, by path."""
    janino = gateway.jvm.org.codehaus.janino
    resource = gateway.jvm.org.codehaus.commons.compiler.util.resource
    compiled = gateway.jvm.java.util.HashMap()
    compiler = janino.Compiler()
    compiler.setIClassLoader(janino.ClassLoaderIClassLoader(loader))
    compiler.setTargetVersion(8)  # below that, Java has no static methods of interfaces
    compiler.setClassFileCreator(resource.MapResourceCreator(compiled))
    sources = sorted(_SOURCES.glob("*.java"))
    units = gateway.new_array(resource.Resource, len(sources))
    for position, source in enumerate(sources):
        name = f"{_PACKAGE.replace('.', '/')}/{source.name}"
        units[position] = resource.StringResource(name, source.read_text("utf-8"))
    compiler.compile(units)
    return {name: bytes(compiled[name]) for name in list(compiled)}


def _packed(classes: dict[str, bytes]) -> str:
    """A jar of the classes, in which Spark finds the source by its service entry."""
    with tempfile.NamedTemporaryFile(prefix="coalesce-", suffix=".jar", delete=False) as file:
        with zipfile.ZipFile(file, "w") as jar:
            for name, code in classes.items():
                jar.writestr(name, code)
            jar.writestr(_SERVICE, f"{_PACKAGE}.NativeSource\n")
        return file.name


# --- Python ------------------------------------------------------------------------------------------------------


class _Answers:
    """What `Bridge.ask` in Java calls. An error crosses as text: what Java throws is shorter than what Py4J would."""

    def apply(self, question: str, subject: JavaObject | None) -> str:
        """The answer to one question."""
        try:
            asked: dict[str, Any] = json.loads(question)
            return "+" + _CALLS[asked["call"]](asked, subject)
        except CoalesceError as error:
            return f"-{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001 - it belongs to whoever asked
            return f"-{type(error).__module__}.{type(error).__qualname__}: {error}"

    class Java:
        """How Py4J shows the object to Java."""

        implements: ClassVar = ["java.util.function.BiFunction"]


def _resolve(question: dict[str, Any], session: Any) -> str:
    spark = _session(session)
    if question["options"].get(CREATE) == COLUMNS and "schema" in question:
        create_if_absent(spark, question["table"], question["schema"], question["options"])
    return read.resolve(question, spark)


def _insert(question: dict[str, Any], dataset: Any) -> str:
    from coalesce.spark.save import insert

    frame = _frame(dataset)
    insert(frame.sparkSession, question["table"], frame, question["overwrite"], question["options"])
    return ""


def _save(question: dict[str, Any], dataset: Any) -> str:
    from coalesce.spark.save import save

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
    from coalesce.spark.save import opened

    options = write_options(question["options"], overwrite=False, catalog=True)
    opened(spark, question["table"], options).truncate()
    return ""


def _of_session(answer: Callable[[dict[str, Any], SparkSession], str]) -> Callable[[dict[str, Any], Any], str]:
    """For a question that comes with a session."""
    return lambda question, session: answer(question, _session(session))


_CALLS: Final[dict[str, Callable[[dict[str, Any], Any], str]]] = {
    "resolve": _resolve,
    "location": lambda question, _: location(question["options"]),
    "estimate": read.estimate,
    "list": read.listing,
    "floats": read.floats,
    "insert": _insert,
    "save": _save,
    "columns": _of_session(_columns),
    "truncate": _of_session(_truncate),
    "begin": _of_session(arrivals.begin),
    "newest": _of_session(arrivals.newest),
    "advance": _of_session(arrivals.advance),
    "batch": _of_session(arrivals.batch),
}


def _frame(dataset: Any) -> DataFrame:
    return DataFrame(dataset, _session(dataset.sparkSession()))


def _session(java_session: Any) -> SparkSession:
    """Python's view of a session that Java names; which one of several it is matters for settings and views."""
    context = SparkContext._active_spark_context
    assert context is not None  # Java has asked in its name
    return SparkSession(context, java_session)
