import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalesce.errors import CorruptMetadata
from coalesce.manifest.manifest_file import encode_manifest
from coalesce.manifest.paths import (
    check_data_path,
    is_manifest_path,
    new_manifest_path,
    new_write_directory,
    physical_directory,
    version_number,
    version_path,
)
from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.model.rule import Group
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec
from coalesce.model.types import BINARY, DATE, DOUBLE, INT64, STRING, TIMESTAMP, AtomicType, Field, Value
from tests.strategies import types_with_values

REFUSED = [
    "",
    "/",
    "/etc/passwd",
    "//etc/passwd",
    "~/secrets",
    "../../etc/passwd",
    "..",
    ".",
    "data/..",
    "data/../../other/data/a.parquet",
    "./data/a.parquet",
    "data/./a.parquet",
    "data//a.parquet",
    "data/a.parquet/",
    "file:/etc/passwd",
    "file:///etc/passwd",
    "s3://bucket/a.parquet",
    "S3A://bucket/a.parquet",
    "hdfs:a.parquet",
    "c:a.parquet",
    "C:\\a.parquet",
    "data\\..\\..\\a.parquet",
    "data/a\0.parquet",
    "_coalesce",
    "_coalesce/versions/00000000000000000000.json",
    "_coalesce/manifests/a.parquet",
    "_COALESCE/manifests/a.parquet",
    "inner/_coalesce/manifests/a.parquet",
]
ACCEPTED = [
    "a.parquet",
    "data/a.parquet",
    "data/0123/_dt=2026-05-17/_app=%5B%23small%5D/00000.parquet",
    "dt=2026-05-17/app=__HIVE_DEFAULT_PARTITION__/part-0.parquet",
    "data/..a/b../...",
    "data/a:b.parquet",
    "data/%2e%2e/a.parquet",
    "data/a b\n.parquet",
    "data/größe=🙂/a.parquet",
    "_coalesced/a.parquet",
    "x_coalesce/a.parquet",
    "data/~/a.parquet",
]


@pytest.mark.parametrize("path", REFUSED)
def test_a_path_that_could_lead_elsewhere_is_refused(path: str) -> None:
    """Absolute, upwards, to another store, into metadata, or not in its one spelling."""
    with pytest.raises(CorruptMetadata, match="not a data file inside this table") as caught:
        check_data_path(path, "_coalesce/manifests/m.parquet")
    assert caught.value.file == "_coalesce/manifests/m.parquet"


@pytest.mark.parametrize("path", ACCEPTED)
def test_a_path_inside_the_table_is_taken_literally(path: str) -> None:
    """Nothing is decoded and no character means anything but itself."""
    assert check_data_path(path, "m") == path


SEGMENTS = st.sampled_from(["", ".", "..", "a", "data", "_coalesce", "_Coalesce", "~", "s3:", "c:", "\\", "\0", "a:b"])
PATHS = st.lists(SEGMENTS | st.text(max_size=4), max_size=4).map("/".join) | st.text(max_size=10)


@given(PATHS | st.sampled_from(REFUSED + ACCEPTED))
def test_a_writer_refuses_what_a_reader_would(path: str) -> None:
    """No manifest is written that nobody could read: the fast look over a whole column misses nothing."""
    entries = from_files([DataFile(path=path, spec_id=0, rows=1, bytes=1)], Spec(0, ()), Schema(()))
    try:
        check_data_path(path, "m")
    except CorruptMetadata:
        with pytest.raises(CorruptMetadata, match="the manifest to be written"):
            encode_manifest(entries)
    else:
        assert encode_manifest(entries).files == 1


def test_versions_have_one_name_each_in_the_order_of_their_numbers() -> None:
    """Twenty digits: a listing is in order, and a number has no second spelling."""
    assert version_path(7) == "_coalesce/versions/00000000000000000007.json"
    numbers = [0, 1, 9, 10, 99, 10**6, 2**63 - 1]
    assert sorted(map(version_path, numbers)) == [version_path(n) for n in numbers]
    assert [version_number(version_path(n)) for n in numbers] == numbers


@pytest.mark.parametrize(
    "path",
    [
        "_coalesce/versions/7.json",
        "_coalesce/versions/000000000000000000007.json",
        "_coalesce/versions/00000000000000000007.json.tmp",
        "_coalesce/versions/a/00000000000000000007.json",
        "x/_coalesce/versions/00000000000000000007.json",
        "_coalesce/versions/٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٧.json",
    ],
)
def test_other_files_among_the_versions_are_no_versions(path: str) -> None:
    """What somebody else left there does not count."""
    assert version_number(path) is None


def test_new_names_are_accepted_and_never_the_same() -> None:
    """What this library names, it reads back."""
    manifests = {new_manifest_path() for _ in range(100)}
    assert len(manifests) == 100
    assert all(is_manifest_path(m) for m in manifests)
    directories = {new_write_directory() for _ in range(100)}
    assert len(directories) == 100
    assert all(check_data_path(f"{d}/a.parquet", "m") for d in directories)


@pytest.mark.parametrize(
    ("type_", "value", "directory"),
    [
        (DATE, 20_590, "_c=2026-05-17"),
        (DATE, -1, "_c=1969-12-31"),
        (INT64, -5, "_c=-5"),
        (DOUBLE, float("nan"), "_c=NaN"),
        (BINARY, b"\x00\xff", "_c=X%2700FF"),
        (TIMESTAMP, 0, "_c=1970-01-01T00%3A00%3A00Z"),
        (STRING, "A", "_c=A"),
        (STRING, "", "_c="),
        (STRING, None, "_c=__HIVE_DEFAULT_PARTITION__"),
        (STRING, Group("[#small]"), "_c=%5B%23small%5D"),
        (STRING, "[#small]", "_c=%5B%23small%5D"),
        (STRING, "a/b=c%2F..", "_c=a%2Fb%3Dc%252F.."),
        (STRING, "../..", "_c=..%2F.."),
        (STRING, "🙂", "_c=🙂"),
        (STRING, "'quoted'", "_c=%27quoted%27"),
    ],
)
def test_a_directory_shows_people_what_is_in_it(type_: AtomicType, value: Value | Group, directory: str) -> None:
    """Escaped once. Two keys may share a directory's name: nothing is ever read out of it."""
    assert physical_directory(["c"], [type_], (value,)) == directory


def test_a_table_without_partition_fields_has_no_directories() -> None:
    """Nor one whose key is empty."""
    assert physical_directory([], [], ()) == ""


@given(st.text(min_size=1, max_size=300), types_with_values())
def test_a_directory_is_one_segment_that_every_file_system_takes(name: str, typed: tuple[AtomicType, Value]) -> None:
    """However long or odd the name and the value are: at most 255 bytes, no separator, an acceptable path."""
    directory = physical_directory([name], [typed[0]], (typed[1],))
    assert len(directory.encode()) <= 255
    assert "/" not in directory
    assert re.search(r"[\x00-\x1f]", directory) is None
    check_data_path(f"data/w/{directory}/00000.parquet", "m")


def test_long_values_are_cut_between_characters() -> None:
    """Neither an escape nor a character is left in halves."""
    for value in ("🙂" * 100, "/" * 100, "x" * 159 + "/", "x" * 158 + "/", "x" * 159 + "é"):
        directory = physical_directory(["app"], [STRING], (value,))
        assert len(directory.encode()) <= len("_app=") + 160
        assert re.search(r"%([^0-9A-F]|.[^0-9A-F]|.?$)", directory) is None


def test_a_column_called_anything_keeps_its_field() -> None:
    """A field whose name is odd has an odd directory, and no more."""
    schema = Schema((Field(id=1, name="a/b", type=STRING),))
    assert physical_directory([schema.names[0]], [STRING], ("x",)) == "_a%2Fb=x"
