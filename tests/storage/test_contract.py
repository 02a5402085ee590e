"""What every storage promises, on every kind of storage."""

import io
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coalesce.errors import FileMissing, NotAFile, StorageError
from coalesce.storage import Storage
from coalesce.storage.base import alone, temporary_beside
from tests.storage.conftest import DIRECTORIES

AWKWARD = [
    "data/w1/_dt=2026-05-17/_app=%5B%23small%5D/part-0.parquet",
    "data/w1/_app=%255B/part-0.parquet",
    "data/a b/c+d.parquet",
    "data/100%/x",
    "data/üñï/✓/\U0001f600.parquet",
    "data/q?x#y&z=1;2,3",
    "data/~'(c)!*$@",
    'data/[x]{y}^|<>"`',
    "data/.hidden",
    "_coalesce/versions/00000000000000000007.json",
]


def paths(storage: Storage, prefix: str = "", start_after: str | None = None) -> list[str]:
    """The paths of a listing."""
    return [file.path for file in storage.list(prefix, start_after)]


def test_what_is_written_is_read_back(storage: Storage) -> None:
    """Bytes come back as they were put, whole and by range, and their size is known without reading them."""
    data = bytes(range(256)) * 1000
    assert storage.put_if_absent("data/file", data)
    assert storage.read("data/file") == data
    assert storage.size("data/file") == len(data)
    assert storage.read_range("data/file", 1000, 50) == data[1000:1050]
    assert storage.read_range("data/file", 0, len(data)) == data


def test_a_range_ends_where_the_file_ends(storage: Storage) -> None:
    """A range that reaches past the end is shortened, also to nothing."""
    storage.put_if_absent("file", b"0123456789")
    storage.put_if_absent("empty", b"")
    assert storage.read_range("file", 8, 100) == b"89"
    assert storage.read_range("file", 10, 5) == b""
    assert storage.read_range("file", 50, 5) == b""
    assert storage.read_range("file", 3, 0) == b""
    assert storage.read_range("empty", 0, 5) == b""


def test_only_the_first_put_if_absent_creates(storage: Storage) -> None:
    """The second call says False and leaves the first one's bytes alone."""
    assert storage.put_if_absent("_coalesce/versions/1.json", b"first") is True
    assert storage.put_if_absent("_coalesce/versions/1.json", b"second") is False
    assert storage.read("_coalesce/versions/1.json") == b"first"


def test_a_deleted_file_can_be_created_again(storage: Storage) -> None:
    """Absent means absent now, not "never written"."""
    storage.put_if_absent("file", b"first")
    storage.delete("file")
    assert storage.put_if_absent("file", b"second") is True
    assert storage.read("file") == b"second"


def test_put_replaces(storage: Storage) -> None:
    """A hint can be written again and again."""
    storage.put("_coalesce/hint", b"1")
    storage.put("_coalesce/hint", b"22")
    assert storage.read("_coalesce/hint") == b"22"
    assert paths(storage) == ["_coalesce/hint"]


def test_delete_is_idempotent(storage: Storage) -> None:
    """Deleting what is not there, or never was, is no error."""
    storage.put_if_absent("a/file", b"x")
    storage.delete("a/file")
    storage.delete("a/file")
    storage.delete("never/was")
    assert paths(storage) == []


@pytest.mark.parametrize("path", AWKWARD)
def test_paths_are_literal(storage: Storage, path: str) -> None:
    """Escaped, reserved, blank and non-ASCII characters mean themselves in writing, listing and reading alike."""
    assert storage.put_if_absent(path, path.encode())
    assert storage.put_if_absent(path, b"other") is False
    assert paths(storage) == [path]
    assert paths(storage, path.rpartition("/")[0]) == [path]
    assert storage.read(path) == path.encode()
    assert storage.read_range(path, 0, 4) == path.encode()[:4]
    with storage.open_input(path) as file:
        assert file.read() == path.encode()
    assert storage.uri(path).endswith(path)
    storage.delete(path)
    assert paths(storage) == []


def test_escaped_and_unescaped_are_different_files(storage: Storage) -> None:
    """`%5B` and `[` are two names, and neither stands for the other."""
    storage.put_if_absent("a/%5B", b"escaped")
    assert storage.put_if_absent("a/[", b"plain") is True
    assert (storage.read("a/%5B"), storage.read("a/[")) == (b"escaped", b"plain")
    with pytest.raises(FileMissing):
        storage.read("a/%255B")


def test_a_listing_is_recursive_and_sorted_by_path(storage: Storage) -> None:
    """Order is that of the UTF-8 bytes of whole paths, so `a-b` comes before `a/b`, and U+FFFD before U+1F600."""
    names = ["b", "a/z/1", "a/b", "a-b", "a/B", "a/ü", "a/\ufffd", "a/\U0001f600", "a0"]
    for name in names:
        storage.put_if_absent(name, name.encode())
    listed = storage.list("")
    assert [file.path for file in listed] == sorted(names, key=str.encode)
    assert [file.size for file in listed] == [len(name) for name in sorted(map(str.encode, names))]
    now_ms = time.time() * 1000
    assert all(abs(now_ms - file.modified_ms) < 120_000 for file in listed)


def test_a_prefix_is_a_directory(storage: Storage) -> None:
    """`a` lists what is in the directory `a`, not its namesakes `ab`; the slash at the end is optional."""
    for name in ["a/1", "a/b/2", "ab/3", "a.txt", "c"]:
        storage.put_if_absent(name, b"")
    assert paths(storage, "a") == paths(storage, "a/") == ["a/1", "a/b/2"]
    assert paths(storage, "a/b") == ["a/b/2"]
    assert paths(storage, "c") == []
    assert paths(storage, "nothing/here") == []


def test_a_storage_with_nothing_in_it_lists_nothing(storage: Storage) -> None:
    """A root that was never written to is empty, not an error."""
    assert storage.list("") == []
    assert storage.list("_coalesce/versions", "_coalesce/versions/5.json") == []


def test_a_listing_begins_strictly_after_a_path(storage: Storage) -> None:
    """Whatever the path, there or not, inside the prefix or not: the rest of the full listing follows it."""
    names = sorted([f"v/{n:03}.json" for n in range(6)] + ["v/003/x", "v/006.json/y", "u/1", "w/1"])
    for name in names:
        storage.put_if_absent(name, b"x")
    for after in [*names, "v/003", "v/006.json", "v/006.json/", "v/0035", "v", "v/", "a", "z", "v/005.json/x"]:
        assert paths(storage, "", after) == [name for name in names if name > after], after
        assert paths(storage, "v", after) == [name for name in names if name > after and name[:2] == "v/"], after
    assert paths(storage, "v", None) == [name for name in names if name[:2] == "v/"]


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "a/", "./a", "a/.", "a\0b"])
def test_a_path_cannot_leave_the_root(storage: Storage, path: str) -> None:
    """Paths come from metadata that anybody may have written; whatever would leave the table is refused."""
    uses: list[Callable[[], object]] = [
        lambda: storage.read(path),
        lambda: storage.read_range(path, 0, 1),
        lambda: storage.size(path),
        lambda: storage.put_if_absent(path, b"x"),
        lambda: storage.put(path, b"x"),
        lambda: storage.delete(path),
        lambda: storage.open_input(path),
    ]
    for use in uses:
        with pytest.raises(StorageError, match="is not a path inside a table"):
            use()


@pytest.mark.parametrize("path", ["missing", "missing/too", "directory", "directory/file/below"])
def test_a_missing_file_is_named(storage: Storage, path: str) -> None:
    """The error says which file and where, also for a directory, which is not a file."""
    storage.put_if_absent("directory/file", b"x")
    uses: list[Callable[[], object]] = [
        lambda: storage.read(path),
        lambda: storage.read_range(path, 0, 1),
        lambda: storage.size(path),
        lambda: storage.open_input(path),
    ]
    for use in uses:
        with pytest.raises(FileMissing) as caught:
            use()
        assert str(caught.value) == f"there is no file {path!r} in {storage.root}."


@pytest.mark.parametrize("rows", [10, 200_000])
@pytest.mark.parametrize("size_known", [True, False])
def test_pyarrow_reads_parquet_from_an_input(storage: Storage, rows: int, size_known: bool) -> None:
    """A Parquet reader gets a column of a small and of a larger file, whether or not the size is given."""
    table = pa.table({"id": range(rows), "app": [f"app-{n % 7}" for n in range(rows)]})
    buffer = io.BytesIO()
    pq.write_table(table, buffer, row_group_size=50_000)
    storage.put_if_absent("data/part.parquet", buffer.getvalue())
    with storage.open_input("data/part.parquet", size=len(buffer.getvalue()) if size_known else None) as file:
        assert file.size() == len(buffer.getvalue())
        assert pq.ParquetFile(file).read(["app"]).equals(table.select(["app"]))


@pytest.mark.parametrize("storage", DIRECTORIES, indirect=True)
def test_ten_thousand_names(storage: Storage) -> None:
    """A long directory is listed in order and from the middle, in one go; for S3, `test_objects.py` counts requests."""
    directory = Path(storage.uri("v").removeprefix("file:"))
    directory.mkdir(parents=True)
    for n in range(10_000):
        (directory / f"{n:020}.json").touch()
    assert paths(storage, "v") == [f"v/{n:020}.json" for n in range(10_000)]
    assert paths(storage, "v", f"v/{9_990:020}.json") == [f"v/{n:020}.json" for n in range(9_991, 10_000)]


def names_of(storage: Storage, first: int) -> list[int]:
    """The numbers of the numbered files that a storage shows from `first` on."""
    return [int(file.path[2:-5]) for file in storage.numbered(lambda n: f"v/{n:020}.json", first)]


def test_numbered_files_are_found_from_any_of_them_on(storage: Storage) -> None:
    """However many follow; what sorts before them is not shown, and each is shown as a listing shows it."""
    for n in range(3, 60):
        storage.put_if_absent(f"v/{n:020}.json", bytes(n))
    for first in (3, 4, 20, 57, 58, 59):
        assert names_of(storage, first) == list(range(first, 60))
    assert storage.numbered(lambda n: f"v/{n:020}.json", 58) == storage.list("v", f"v/{57:020}.json")
    assert names_of(storage, 60) == names_of(storage, 10**19) == []
    assert storage.numbered(lambda n: f"nowhere/{n:020}.json", 0) == []


def test_a_numbered_file_that_stays_alone_is_not_the_last(storage: Storage) -> None:
    """Those behind it were deleted and later ones are there: that is seen, or nothing is shown."""
    for n in [3, 40]:
        storage.put(f"v/{n:020}.json", b"{}")
    storage.put(alone(f"v/{3:020}.json"), b"kept")
    found = [file.path for file in storage.numbered(lambda n: f"v/{n:020}.json", 3)]
    if storage.lists_from_a_name:
        assert found == [f"v/{3:020}.json", f"v/{3:020}.json.kept", f"v/{40:020}.json"]
    else:
        assert found == []


def test_a_sweep_shows_what_a_listing_shows_and_temporaries(storage: Storage) -> None:
    """Those of the very directory that was asked for."""
    temporary = temporary_beside("data/a/x")
    for path in ("data/a/x", "data/b", "database", temporary):
        storage.put(path, b"1234")
    swept = [file.path for file in storage.sweep("data")]
    assert swept == sorted(["data/a/x", "data/b", temporary])
    assert [(f.size, f.modified_ms > 0) for f in storage.sweep("data")] == [(4, True)] * 3
    assert storage.sweep("nowhere") == []


@pytest.mark.parametrize("missing", [1, 2, 5])
def test_a_gap_among_numbered_files_is_seen(storage: Storage, missing: int) -> None:
    """Files that follow it are shown, though perhaps not all of them: whoever counts them notices."""
    there = [*range(4), *range(4 + missing, 4 + 2 * missing)]
    for n in there:
        storage.put_if_absent(f"v/{n:020}.json", b"x")
    for first in range(4):
        found = names_of(storage, first)
        assert found[: 4 - first] == there[first:4]
        assert found[4 - first :]
        assert set(found) <= set(there)


@pytest.mark.parametrize("storage", DIRECTORIES, indirect=True)
def test_a_directory_is_in_the_way_of_a_file(storage: Storage) -> None:
    """Where there are directories, their names are taken; that is no file which somebody else has created."""
    storage.put_if_absent("v/1.json/inside", b"x")
    with pytest.raises(NotAFile, match=r"could not create 'v/1\.json' in .*: a directory has this name; move it away"):
        storage.put_if_absent("v/1.json", b"x")
    assert storage.numbered(lambda n: f"v/{n}.json", 1) == []
    assert paths(storage) == ["v/1.json/inside"]
