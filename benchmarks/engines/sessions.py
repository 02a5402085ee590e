"""A Spark session for an engine: the same settings for all, and those that the engine's documentation asks for.

Two cores, as much memory for everyone, and Parquet with zstd at level 1, which is what our writer uses: bytes are
compared, and so the compression must not differ. Iceberg has its own setting for it, in its tables.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY: Final = "BENCHMARKS_MEMORY"  # of the driver, for a machine that has less or more
_LOGGING: Final = Path(__file__).parents[2] / "coalesce" / "spark" / "session" / "log4j2.properties"


def session(place: Path, settings: Mapping[str, str]) -> "SparkSession":
    """Start Spark in this process."""
    from pyspark.sql import SparkSession

    _java()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    everyone = {
        "spark.driver.memory": os.environ.get(MEMORY, "4g"),
        "spark.sql.shuffle.partitions": "8",
        # Directories are listed by as many tasks as there are, up to 10,000, for clusters.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
        "spark.network.timeout": "12h",  # while others have their turns, a session is stopped and sends no heartbeats
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(place / "spark-warehouse"),
        "spark.local.dir": str(place / "spark-local"),
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.hadoop.parquet.compression.codec.zstd.level": "1",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} -Dderby.system.home={place}",
    }
    builder = SparkSession.builder.master("local[2]").appName("benchmarks")
    for name, value in {**everyone, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _java() -> None:
    """Where there is no Java, that of the wheel, as the library itself does it."""
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        from coalesce.spark.session.jre import spark_java_home

        os.environ["JAVA_HOME"] = str(spark_java_home())
