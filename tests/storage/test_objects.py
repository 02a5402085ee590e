"""What an object store adds to the contract: the number of requests, directory markers, and its ways to fail."""

import io
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coalesce.distribution import REQUIREMENTS
from coalesce.errors import FileMissing, InvalidArgument, StorageError
from coalesce.storage import open_storage
from coalesce.storage.objects import ObjectStorage
from tests.s3 import S3Location


@pytest.fixture
def storage(s3_location: S3Location) -> ObjectStorage:
    """An empty table in S3."""
    return ObjectStorage(s3_location.location, s3_location.options)


@contextmanager
def requests(place: S3Location, *expected: str) -> Iterator[None]:
    """Demand exactly these methods, in this order."""
    place.server.requests.clear()
    yield
    assert [request.partition(" ")[0] for request in place.server.requests] == list(expected)


def test_each_operation_is_one_request(storage: ObjectStorage, s3_location: S3Location) -> None:
    """Nothing is looked up first: what takes one request in principle takes one."""
    with requests(s3_location, "PUT"):
        assert storage.put_if_absent("file", b"x" * 20_000_000)
    with requests(s3_location, "PUT"):
        assert not storage.put_if_absent("file", b"y")
    with requests(s3_location, "PUT"):
        storage.put("hint", b"1")
    with requests(s3_location, "GET"):
        storage.read("hint")
    with requests(s3_location, "GET"):
        storage.read_range("file", 1000, 10)
    with requests(s3_location, "HEAD"):
        storage.size("file")
    with requests(s3_location, "POST"):
        storage.delete("file")


def test_a_listing_from_a_name_on_is_one_request(storage: ObjectStorage, s3_location: S3Location) -> None:
    """The store itself skips the older versions, so however many there were, the newer ones take one request."""
    for n in range(30):
        storage.put_if_absent(f"v/{n:020}.json", b"{}")
    with requests(s3_location, "GET"):
        assert [file.path for file in storage.list("v", f"v/{27:020}.json")] == [f"v/{28:020}.json", f"v/{29:020}.json"]
    assert f"start-after=warehouse%2Fevents%2Fv%2F{27:020}.json" in s3_location.server.requests[-1]


def parquet(rows: int) -> bytes:
    """A file of two columns that do not compress."""
    buffer = io.BytesIO()
    table = pa.table({"id": range(rows), "key": [(n * 2654435761) % 2**32 for n in range(rows)]})
    pq.write_table(table, buffer, row_group_size=rows // 2 or 1, use_dictionary=False, compression="none")
    return buffer.getvalue()


def test_a_small_parquet_file_is_read_in_one_request(storage: ObjectStorage, s3_location: S3Location) -> None:
    """The first read is of the file's end, and a small file is all end."""
    data = parquet(1_000)
    storage.put_if_absent("small.parquet", data)
    with requests(s3_location, "GET"), storage.open_input("small.parquet", size=len(data)) as file:
        assert pq.ParquetFile(file).read().num_rows == 1_000
    with requests(s3_location, "HEAD", "GET"), storage.open_input("small.parquet") as file:
        assert pq.ParquetFile(file).read().num_rows == 1_000


def test_one_column_of_a_large_parquet_file_is_read_by_range(storage: ObjectStorage, s3_location: S3Location) -> None:
    """The footer, and the column in each row group: three requests, and not the bytes of the other column."""
    data = parquet(400_000)
    storage.put_if_absent("large.parquet", data)
    with requests(s3_location, "GET", "GET", "GET"), storage.open_input("large.parquet", size=len(data)) as file:
        assert pq.ParquetFile(file, pre_buffer=True).read(["key"]).num_rows == 400_000


def test_directory_markers_are_not_files(storage: ObjectStorage, s3_location: S3Location) -> None:
    """Other tools mark directories by empty objects whose keys end in a slash; empty files are still files."""
    for key in ["", "a/", "a/b/", "a/b/file", "empty/"]:
        s3_location.server.put(s3_location.bucket, f"warehouse/events/{key}", b"x" if key.endswith("file") else b"")
    storage.put_if_absent("a/nothing", b"")
    assert [(file.path, file.size) for file in storage.list("")] == [("a/b/file", 1), ("a/nothing", 0)]
    assert [file.path for file in storage.list("a/b")] == ["a/b/file"]


def test_neighbours_in_the_bucket_are_not_seen(storage: ObjectStorage, s3_location: S3Location) -> None:
    """A table whose name begins with ours is another table."""
    s3_location.server.put(s3_location.bucket, "warehouse/events2/file", b"x")
    s3_location.server.put(s3_location.bucket, "other", b"x")
    assert storage.list("") == []


def test_a_table_can_be_a_whole_bucket(s3_location: S3Location) -> None:
    """Without a path the keys are the paths."""
    storage = open_storage(f"s3://{s3_location.bucket}", options=s3_location.options)
    storage.put_if_absent("a/file", b"x")
    assert [file.path for file in storage.list("")] == ["a/file"]
    assert [file.path for file in storage.list("a", "a/b")] == ["a/file"]
    assert storage.uri("a/file") == f"s3://{s3_location.bucket}/a/file"


def test_the_location_is_literal(s3_location: S3Location) -> None:
    """A root may have escaped, blank and non-ASCII characters in it, like any path."""
    location = f"s3://{s3_location.bucket}/ware house/%5Bü%5D"
    storage = open_storage(location, options=s3_location.options)
    storage.put_if_absent("f", b"x")
    assert storage.uri("f") == f"{location}/f"
    whole = open_storage(f"s3://{s3_location.bucket}", options=s3_location.options)
    assert [file.path for file in whole.list("")] == ["ware house/%5Bü%5D/f"]


def test_a_bucket_that_is_not_there_is_a_sentence(s3_location: S3Location) -> None:
    """Writing, reading and listing all name the bucket, and a read does not blame the file."""
    storage = ObjectStorage("s3://no-such-bucket/events", s3_location.options)
    uses: list[Callable[[], object]] = [
        lambda: storage.put_if_absent("f", b""),
        lambda: storage.put("f", b""),
        lambda: storage.read("f"),
        lambda: storage.list(""),
        lambda: storage.delete("f"),
    ]
    for use in uses:
        with pytest.raises(StorageError) as caught:
            use()
        assert str(caught.value) == "there is no bucket 'no-such-bucket' for s3://no-such-bucket/events."
        assert not isinstance(caught.value, FileMissing)


def test_a_server_that_does_not_answer_is_a_sentence(s3_location: S3Location) -> None:
    """One line, with what was tried and where; the secret is not in it."""
    options = s3_location.options | {"endpoint": "http://127.0.0.1:1", "max_retries": "0", "secret_access_key": "hush"}
    storage = ObjectStorage("s3://bucket/events", options)
    with pytest.raises(StorageError) as caught:
        storage.read("file")
    message = str(caught.value)
    assert message.startswith("could not read 'file' in s3://bucket/events: ")
    assert "http://127.0.0.1:1" in message
    assert "\n" not in message
    assert "hush" not in message


def test_an_endpoint_without_tls_has_to_be_allowed(s3_location: S3Location) -> None:
    """The error says which option allows it."""
    options = {key: value for key, value in s3_location.options.items() if key != "allow_http"}
    with pytest.raises(StorageError, match='set the option allow_http to "true"'):
        ObjectStorage(s3_location.location, options).read("file")


@pytest.mark.parametrize(("name", "value"), [("max_retries", "abc"), ("max_retries", "-1"), ("retry_timeout", "soon")])
def test_a_number_that_is_none_is_a_sentence(name: str, value: str) -> None:
    """How often and how long to try again are numbers."""
    with pytest.raises(InvalidArgument, match=f"the storage option '{name}' is a .*number.*, not '{value}'"):
        ObjectStorage("s3://bucket/events", {name: value})


def test_an_unknown_option_is_named() -> None:
    """A misspelt option is an error and not silently without effect."""
    with pytest.raises(StorageError, match=r"could not open s3://bucket/events: .*'endpiont' is not valid"):
        ObjectStorage("s3://bucket/events", {"endpiont": "x"})


def test_a_path_the_store_cannot_hold_is_a_sentence(storage: ObjectStorage) -> None:
    """Control characters in a key are refused by the client, and told as ours."""
    with pytest.raises(StorageError, match="could not write"):
        storage.put_if_absent("a\tb", b"")


def test_it_can_be_sent_to_another_process(storage: ObjectStorage) -> None:
    """A worker gets the same storage, with its options."""
    storage.put_if_absent("file", b"x")
    copy: ObjectStorage = pickle.loads(pickle.dumps(storage))
    assert copy.read("file") == b"x"
    assert copy.root == storage.root


def test_without_obstore_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named, for a shell to take."""
    monkeypatch.delitem(sys.modules, "coalesce.storage.objects")
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(StorageError) as caught:
        open_storage("s3://bucket/events")
    assert str(caught.value) == f's3://bucket/events needs obstore: pip install "{REQUIREMENTS["objects"]}".'


def test_google_and_azure_locations_are_understood() -> None:
    """Each scheme finds its store; Hadoop's way to write an Azure account too."""
    assert open_storage("gs://bucket/events", options={"skip_signature": "true"}).uri("f") == "gs://bucket/events/f"
    azure = {"account_name": "account", "skip_signature": "true"}
    assert open_storage("az://container/events", options=azure).uri("f") == "az://container/events/f"
    location = "abfss://container@account.dfs.core.windows.net/events"
    assert open_storage(location, options={"skip_signature": "true"}).uri("f") == f"{location}/f"
    with pytest.raises(StorageError, match=r"could not open az://container/events: .*[Aa]ccount must be specified"):
        open_storage("az://container/events")
