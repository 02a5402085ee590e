"""Stores that are not on the package index: collected only when `make test-stores` has put them somewhere."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coalesce.storage import Storage
from tests.s3 import S3Server, s3_server
from tests.stores.places import (
    AZURITE,
    FAKE_GCS,
    JARS,
    Place,
    azure_container,
    azurite,
    fake_gcs,
    gcs_bucket,
    home,
    storage_at,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["s3_server"]

collect_ignore_glob = [] if "COALESCE_STORES" in os.environ else ["test_*.py"]


def there(needed: Path) -> Path:
    """Skip the test unless its server could be installed."""
    if not (home() / needed).exists():
        pytest.skip(f"{needed.name} is not installed")
    return home() / needed


@pytest.fixture(scope="session")
def azure() -> Iterator[int]:
    """Azurite."""
    there(AZURITE)
    with azurite() as port:
        yield port


@pytest.fixture(scope="session")
def google() -> Iterator[int]:
    """fake-gcs-server."""
    there(FAKE_GCS)
    with fake_gcs() as port:
        yield port


@pytest.fixture(scope="session")
def spark(s3_server: S3Server) -> Iterator["SparkSession"]:
    """A Spark with Hadoop's jars for S3 and for clusters inside one process."""
    from coalesce.spark.session.start import session

    jars = sorted(there(JARS).glob("*.jar"))
    wanted = (
        "hadoop-client-minicluster",
        "hadoop-aws",
        "bundle",
        "analyticsaccelerator",
        "wildfly",
        "junit",
        "hamcrest",
    )
    s3a = {
        "endpoint": s3_server.url,
        "endpoint.region": "us-east-1",
        "access.key": "test",
        "secret.key": "test",
        "path.style.access": True,
        "connection.ssl.enabled": False,
    }
    running = session(
        "local[2]",
        **{
            "spark.driver.extraClassPath": os.pathsep.join(str(jar) for jar in jars if jar.name.startswith(wanted)),
            "spark.sql.shuffle.partitions": 4,
            "spark.sql.session.timeZone": "UTC",
            **{f"spark.hadoop.fs.s3a.{key}": value for key, value in s3a.items()},
        },
    )
    yield running
    running.stop()


@pytest.fixture(scope="session")
def name_node(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Hadoop's own cluster for tests, a name node and a data node, in Spark's JVM; the value is its URI."""
    jvm: Any = spark._jvm
    configuration = jvm.org.apache.hadoop.conf.Configuration()
    configuration.set("hdfs.minidfs.basedir", str(tmp_path_factory.mktemp("hdfs")))
    cluster = jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(configuration).numDataNodes(1).build()
    cluster.waitActive()
    yield str(cluster.getFileSystem().getUri().toString())
    cluster.shutdown()


@pytest.fixture(params=["azure", "google", "hdfs", "s3a"])
def place(request: pytest.FixtureRequest) -> Place:
    """A new, empty place in each store."""
    name = f"bucket-{uuid.uuid4().hex}"
    match request.param:
        case "azure":
            return azure_container(request.getfixturevalue("azure"), name)
        case "google":
            return gcs_bucket(request.getfixturevalue("google"), name)
        case "hdfs":
            return Place(f"{request.getfixturevalue('name_node')}/{name}/events")
        case _:
            request.getfixturevalue("spark")
            server: S3Server = request.getfixturevalue("s3_server")
            server.put(name)
            return Place(f"s3a://{name}/warehouse/events")


@pytest.fixture
def session_of(place: Place, request: pytest.FixtureRequest) -> "SparkSession | None":
    """The Spark session that the place is reached through, if it needs one."""
    if place.options:
        return None
    found: SparkSession = request.getfixturevalue("spark")
    return found


@pytest.fixture
def storage(place: Place, session_of: "SparkSession | None") -> Storage:
    """An empty storage there."""
    return storage_at(place, session_of)
