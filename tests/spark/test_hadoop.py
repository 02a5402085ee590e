"""What Hadoop adds to the contract; HDFS and S3A need a cluster and jars, so here it is its local file system."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from coalesce.errors import StorageError
from coalesce.spark.jvm.hadoop import Hadoop, HadoopStorage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def storage(spark: "SparkSession", tmp_path: Path) -> HadoopStorage:
    """An empty directory, created in by renaming."""
    return HadoopStorage(f"file:{tmp_path}/table", spark, create="rename")


def test_how_to_create_has_to_be_known(spark: "SparkSession", tmp_path: Path) -> None:
    """On a file system whose rename may replace a file nothing is committed unless somebody vouches for it."""
    storage = HadoopStorage(f"file:{tmp_path}/table", spark)
    with pytest.raises(StorageError, match="set the option put_if_absent to 'rename'"):
        storage.put_if_absent("file", b"x")
    assert storage.list("") == []
    storage.put("hint", b"x")
    assert storage.read("hint") == b"x"
    with pytest.raises(StorageError, match="put_if_absent is 'rename' or 'conditional', not 'hope'"):
        HadoopStorage(f"file:{tmp_path}/table", spark, create="hope")


def test_a_conditional_create_the_file_system_does_not_know_is_refused(spark: "SparkSession", tmp_path: Path) -> None:
    """The condition is a must: a file system that would ignore it fails instead of overwriting."""
    storage = HadoopStorage(f"file:{tmp_path}/table", spark, create="conditional")
    with pytest.raises(StorageError, match=r"fs\.option\.create\.conditional\.overwrite"):
        storage.put_if_absent("file", b"x")


def test_a_lost_race_leaves_no_temporary_file(storage: HadoopStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who finds the name taken only when renaming is told False and cleans up."""
    storage.put_if_absent("a/file", b"first")

    class Blind:
        """The file system, unable to see that the file is there."""

        def __getattr__(self, name: str) -> object:
            return (lambda _: False) if name == "exists" else getattr(seeing, name)

    seeing = storage._fs
    monkeypatch.setattr(storage, "_fs", Blind())
    assert storage.put_if_absent("a/file", b"second") is False
    monkeypatch.undo()
    assert storage.read("a/file") == b"first"
    assert [path.name for path in Path(storage.uri("a").removeprefix("file:")).glob("*.tmp")] == []


def test_temporary_files_are_not_listed(storage: HadoopStorage) -> None:
    """What a dead writer left behind is not a file of the table."""
    storage.put_if_absent("a/file", b"x")
    directory = Path(storage.uri("a").removeprefix("file:"))
    (directory / ".coalesce-0123456789abcdef.tmp").write_bytes(b"half")
    assert [file.path for file in storage.list("")] == ["a/file"]


def test_megabytes_cross_the_bridge_in_one_piece(storage: HadoopStorage) -> None:
    """A file of some megabytes is written and read in bulk."""
    data = bytes(range(256)) * 20_000
    storage.put_if_absent("file", data)
    assert storage.read("file") == data
    assert storage.read_range("file", 1_000_000, 1_000_000) == data[1_000_000:2_000_000]


def test_failures_of_the_file_system_are_sentences(spark: "SparkSession", storage: HadoopStorage) -> None:
    """Whatever the JVM throws, and however PySpark dresses it, comes out as one line of ours."""
    storage.put_if_absent("a", b"x")
    with pytest.raises(StorageError, match="could not write 'a/b' in file:") as caught:
        storage.put_if_absent("a/b", b"x")
    assert "\n" not in str(caught.value)
    with pytest.raises(StorageError, match='could not open nosuch://host/events: No FileSystem for scheme "nosuch"'):
        HadoopStorage("nosuch://host/events", spark)
    with pytest.raises(StorageError, match="could not open hdfs:"):
        HadoopStorage("hdfs://no.such.host.invalid:1/events", spark)


def test_a_session_without_a_jvm_is_refused() -> None:
    """A Spark Connect session cannot reach Hadoop for us, and the error says so."""

    class Connect:
        """Has none of a classic session's insides."""

    assert Hadoop(Connect()).default_scheme() is None
    with pytest.raises(StorageError, match="needs a Spark session with a JVM of its own"):
        HadoopStorage("hdfs://host/events", Connect())
