"""Which storage serves a location."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coalesce.errors import StorageError
from coalesce.spark.jvm.hadoop import Hadoop, HadoopStorage
from coalesce.storage import open_storage
from coalesce.storage.local import LocalStorage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("location", "directory"),
    [
        ("/warehouse/events", "/warehouse/events"),
        ("/warehouse/a b%20c/", "/warehouse/a b%20c"),
        ("file:/warehouse/events", "/warehouse/events"),
        ("file:///warehouse/events", "/warehouse/events"),
        ("file://localhost/warehouse/events", "/warehouse/events"),
        ("file:///warehouse/a%20b%5B", "/warehouse/a b["),
        ("FILE:/x", "/x"),
        (Path("/warehouse/events"), "/warehouse/events"),
        ("/dt:2026/x", "/dt:2026/x"),
    ],
)
def test_local_locations(location: str | Path, directory: str) -> None:
    """Paths are literal, `file:` URIs are decoded, and the root is kept as it was written."""
    storage = open_storage(location)
    assert isinstance(storage, LocalStorage)
    assert storage.uri("") == directory
    assert storage.root == str(location)


def test_a_colon_does_not_make_a_uri() -> None:
    """A relative path may have a colon in it."""
    assert open_storage("my:table").uri("") == str(Path("my:table").absolute())


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "the location of the table is empty"),
        ("file://host/x", "is not a location on this machine"),
        ("file:relative", "is not a location: write file:///absolute/path"),
        ("s3://", "has to look like s3://bucket/path"),
        ("s3:///x", "has to look like s3://bucket/path"),
        ("s3:bucket/x", "has to look like s3://bucket/path"),
        (Path("s3://bucket/x"), "has to look like s3://bucket/path"),
        ("s3://bucket/a//b", "no empty, '.' or '..' segment"),
        ("hdfs://host/x", "hdfs://host/x needs a Spark session"),
        ("s3a://bucket/x", "or write it as s3://"),
        ("nosuch://bucket/x", "nosuch://bucket/x needs a Spark session"),
        ("hdfs:x", "hdfs:x needs a Spark session"),
    ],
)
def test_locations_that_lead_nowhere(location: str | Path, message: str) -> None:
    """Each is refused at once, in a sentence that says what it should look like or what is missing."""
    with pytest.raises(StorageError, match=message) as caught:
        open_storage(location)
    assert str(caught.value).endswith(".")


def test_with_a_session_a_path_means_what_it_means_to_spark(spark: "SparkSession", tmp_path: Path) -> None:
    """Local on a session whose default is local; on a cluster it lies in the cluster's file system."""
    assert isinstance(open_storage(tmp_path, hadoop=Hadoop(spark)), LocalStorage)
    cluster = spark.newSession()
    cluster.conf.set("fs.defaultFS", "viewfs://cluster/")
    cluster.conf.set("fs.viewfs.mounttable.cluster.link./data", f"file:{tmp_path}")
    storage = open_storage("/data/events", hadoop=Hadoop(cluster))
    assert isinstance(storage, HadoopStorage)
    assert storage.uri("file") == "viewfs://cluster/data/events/file"
    assert storage.put_if_absent("file", b"x") is True
    assert (tmp_path / "events/file").read_bytes() == b"x"
    assert isinstance(open_storage(f"file:{tmp_path}", hadoop=Hadoop(cluster)), LocalStorage)
