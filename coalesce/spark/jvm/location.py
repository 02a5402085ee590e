"""Where Spark finds what a storage holds: the same place, under the name Hadoop has for it."""

from pyspark.sql import SparkSession

from coalesce.spark.jvm.catalyst import hadoop_configuration
from coalesce.storage.base import Storage
from coalesce.storage.local import LocalStorage


def spark_uri(session: SparkSession, storage: Storage, path: str) -> str:
    """A path of the storage (`''`: its root) as Hadoop's `Path(String)` takes it, which is literally."""
    uri = storage.uri(path)
    if isinstance(storage, LocalStorage):
        return f"file:{uri}"  # whatever file system is Spark's default
    if uri.startswith("s3://") and hadoop_configuration(session).get("fs.s3.impl") is None:
        return f"s3a{uri.removeprefix('s3')}"  # as Hadoop calls it
    return uri
