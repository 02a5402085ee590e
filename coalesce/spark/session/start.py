"""Start Spark on this machine with what it needs and without its noise.

A session made any other way serves just as well: nothing in the library relies on the settings made here.
"""

import atexit
import os
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from coalesce.arguments import check_text
from coalesce.distribution import install
from coalesce.errors import InvalidArgument, SparkUnavailable
from coalesce.spark.session.attach import attach
from coalesce.spark.session.jre import spark_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OLDEST = (4, 1)  # repartitionById, and Python data sources that read and write Arrow
_LOGGING = Path(__file__).with_name("log4j2.properties")


def session(master: str | None = None, **config: object) -> "SparkSession":
    """The running Spark session, or a new one on this machine.

    `master` is `local[*]` unless where Spark runs is decided already: a session is running, `spark-submit` started
    this program, or SPARK_REMOTE names a Spark Connect server. `config` holds Spark's own settings by their own
    names, as in `session("local[4]", **{"spark.driver.memory": "4g"})`, and wins over the defaults made here.

    Starting Spark sets JAVA_HOME in this process, and a local master also PYSPARK_PYTHON and SPARK_LOCAL_IP unless
    they are set: Spark's start script and its Python workers take them from there and from nowhere else.

    Raises `SparkUnavailable` if there is no PySpark or no Java, and `InvalidArgument` for what is not Spark's setting.

    >>> spark = coalesce.session()
    >>> spark.sql("SELECT 1 AS one").collect()
    [Row(one=1)]
    """
    _check_names(config)
    if master is not None:
        check_text(master, "master=")
    builder = _spark_session_class().builder
    if _starts_here(config):
        master = "local[*]" if master is None else master
        os.environ["JAVA_HOME"] = str(spark_java_home())
        if master.startswith("local"):
            _prepare_local_environment()
            config = {**_local_defaults(config), **config}
    if master is not None:
        builder = builder.master(master)
    for name, value in config.items():
        builder = builder.config(name, value)
    return attach(builder.getOrCreate())


def _check_names(config: Mapping[str, object]) -> None:
    """Refuse what cannot be a setting of Spark: a misspelt argument would otherwise never be read."""
    for name in config:
        if not name.startswith("spark."):
            raise InvalidArgument(
                f"session() has no argument {name!r}, and Spark's settings begin with 'spark.', "
                'as in session(**{"spark.driver.memory": "4g"}).'
            )


def _spark_session_class() -> type["SparkSession"]:
    try:
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError as missing:
        raise SparkUnavailable(
            f"PySpark cannot be imported ({missing}). Install it with `{install('spark')}`."
        ) from missing
    major, minor = pyspark.__version__.split(".")[:2]
    if (int(major), int(minor)) < _OLDEST:
        raise SparkUnavailable(
            f"coalesce needs PySpark {_OLDEST[0]}.{_OLDEST[1]} or later, and this is {pyspark.__version__}. "
            f"Install a newer one with `{install('spark')}`."
        )
    return SparkSession


def _starts_here(config: Mapping[str, object]) -> bool:
    """Whether this call is what starts the JVM, and so may choose where and with which Java."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # spark-submit has started one and waits for us
        return False
    if "SPARK_REMOTE" in os.environ or "spark.remote" in config:
        return False
    from pyspark.util import is_remote_only

    if is_remote_only():  # the package pyspark-client, which has no JVM to start
        return False
    from pyspark import SparkContext

    # SparkSession.getActiveSession() will not do: it answers for one thread only.
    return SparkContext._active_spark_context is None


def _prepare_local_environment() -> None:
    # Workers would run the first python3 on PATH, which lacks pyarrow when a virtual environment is not activated.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # No other machine needs to reach a local Spark. It also ends a warning about the host name, and a failure where the
    # host name does not resolve.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _local_defaults(config: Mapping[str, object]) -> dict[str, object]:
    """Settings for a quiet Spark that leaves nothing behind in the working directory."""
    if "SPARK_CONF_DIR" in os.environ:  # someone has configured Spark on this machine
        return {}
    defaults: dict[str, object] = {
        "spark.app.name": "coalesce",
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
        # Prepended to the user's own driver options, which therefore win.
        "spark.driver.defaultJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}",
    }
    keeps_tables = config.get("spark.sql.catalogImplementation") == "hive"
    if "spark.sql.warehouse.dir" not in config and not keeps_tables:
        defaults["spark.sql.warehouse.dir"] = _temporary_warehouse()
    return defaults


def _temporary_warehouse() -> str:
    """Where tables without a location go; Spark would take `spark-warehouse` in the working directory.

    Their names are forgotten with the session, but their rows may be someone's: only an empty warehouse is removed.
    """
    warehouse = tempfile.mkdtemp(prefix="coalesce-warehouse-")

    @atexit.register
    def remove_if_empty() -> None:
        with suppress(OSError):
            os.rmdir(warehouse)

    return warehouse
