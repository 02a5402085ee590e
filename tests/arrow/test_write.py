import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given

from coalesce.arrow import write as write_module
from coalesce.arrow.encode import encode_file
from coalesce.arrow.tuples import RowTuples
from coalesce.arrow.write import row_order, write
from coalesce.errors import SchemaError
from coalesce.model.datafile import DataFile
from coalesce.model.rule import Group, small
from coalesce.storage.local import LocalStorage
from tests.arrow.generated import Generated, plain_rows, tables
from tests.builders import make_snapshot, make_version
from tests.checker import check_files

AWKWARD = ["[#small]", "", None, "__HIVE_DEFAULT_PARTITION__", "🙂", "a/b=c", "\uffff", "NULL"]


@given(tables())
def test_entries_say_what_is_in_the_files(generated: Generated) -> None:
    """For any types, transforms, rule and target: the checker agrees, and the files together have the rows."""
    with tempfile.TemporaryDirectory() as directory:
        snapshot = make_snapshot(Path(directory), generated.version)
        files = write(snapshot, generated.rows)
        check_files(snapshot.storage, generated.version, files)
        assert [f.path for f in snapshot.storage.list("")] == sorted(f.path for f in files)
        found = []
        for file in files:
            table = pq.read_table(pa.BufferReader(snapshot.storage.read(file.path)))
            found += plain_rows(table.select(generated.rows.column_names))
        assert sorted(found) == sorted(plain_rows(generated.rows))


@pytest.mark.parametrize("shared", [False, True])
def test_awkward_values_are_tuples_of_their_own(tmp_path: Path, shared: bool) -> None:
    """NULL, the empty string and strings that look like markers stay apart, alone or in one shared file."""
    rows = pa.table({"app": AWKWARD * 2, "n": range(2 * len(AWKWARD))})
    snapshot = make_snapshot(tmp_path, make_version(rows.schema, ["app"], small("app") if shared else None))
    files = write(snapshot, rows)
    assert len(files) == (1 if shared else len(AWKWARD))
    counted = {t: n for f in files for t, n in zip(f.tuples or (), f.tuple_rows or (), strict=True)}
    assert counted == {(v,): 2 for v in AWKWARD}
    assert {f.physical_key for f in files} == ({(Group("[#small]"),)} if shared else {(v,) for v in AWKWARD})
    check_files(snapshot.storage, snapshot.version, files)


def test_nan_is_one_tuple_and_zero_has_one_sign(tmp_path: Path) -> None:
    """Spark finds all NaNs equal, and -0.0 equal to 0.0; the rows keep their bits all the same."""
    other_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    values = np.array([math.nan, 0.0, -0.0, other_nan, 1.0])
    rows = pa.table({"x": values})
    snapshot = make_snapshot(tmp_path, make_version(rows.schema, ["x"]))
    files = write(snapshot, rows)
    assert sorted(str(f.tuples) for f in files) == ["((0.0,),)", "((1.0,),)", "((nan,),)"]
    stored = np.concatenate([pq.read_table(tmp_path / f.path).column("x").to_numpy() for f in files])
    assert sorted(stored.view(np.uint64).tolist()) == sorted(values.view(np.uint64).tolist())
    check_files(snapshot.storage, snapshot.version, files)


def test_rows_of_a_tuple_keep_their_order(tmp_path: Path) -> None:
    """Sorting by tuple is stable, and tuples come NULL first, then in Spark's order."""
    rows = pa.table({"app": ["b", None, "a", "b", "a", None], "n": range(6)})
    snapshot = make_snapshot(tmp_path, make_version(rows.schema, ["app"], small("app")))
    (file,) = write(snapshot, rows)
    stored = pq.read_table(tmp_path / file.path)
    assert stored.column("n").to_pylist() == [1, 5, 2, 4, 0, 3]
    assert file.tuples == ((None,), ("a",), ("b",))


def test_partition_columns_come_after_the_data(tmp_path: Path) -> None:
    """They are materialized in every file, in the order of the spec, behind the other columns."""
    rows = pa.table({"dt": [1], "x": [2], "app": ["a"], "y": [3]})
    snapshot = make_snapshot(tmp_path, make_version(rows.schema, ["app", "bucket(4, dt)"]))
    (file,) = write(snapshot, rows)
    assert pq.read_schema(tmp_path / file.path).names == ["x", "y", "app", "dt"]


def test_paths(tmp_path: Path) -> None:
    """Files lie in the write's own directory, under their physical partition's, and two writes never meet."""
    rows = pa.table({"dt": [1, 1], "app": ["a", None]})
    snapshot = make_snapshot(tmp_path, make_version(rows.schema, ["dt", "app"]))
    first, second = write(snapshot, rows), write(snapshot, rows)
    assert {f.path.split("/", 2)[2] for f in first} == {
        "_dt=1/_app=__HIVE_DEFAULT_PARTITION__/00000.parquet",
        "_dt=1/_app=a/00001.parquet",
    }
    assert not {f.path for f in first} & {f.path for f in second}


def test_files_have_about_the_target_size(tmp_path: Path) -> None:
    """Bytes per row are estimated from a sample, well enough for files to come out near the target."""
    rng = np.random.default_rng(7)
    rows = pa.table({"app": rng.integers(0, 40, 200_000).astype("U2"), "x": rng.integers(0, 2**62, 200_000)})
    version = make_version(rows.schema, ["app"], small("app"), {"write.target-file-bytes": "256KB"})
    files = write(make_snapshot(tmp_path, version), rows)
    assert len(files) > 4
    assert all(100 * 1024 < f.bytes < 450 * 1024 for f in files)
    assert all(f.physical_key == (Group("[#small]"),) for f in files)


def test_no_rows_no_files(tmp_path: Path) -> None:
    """An empty table is checked like any other, and writes nothing."""
    version = make_version(pa.schema([("a", pa.int64())]))
    snapshot = make_snapshot(tmp_path, version)
    assert write(snapshot, pa.table({"a": pa.array([], pa.int64())})) == []
    with pytest.raises(SchemaError, match="there is no column 'b'"):
        write(snapshot, pa.table({"b": pa.array([], pa.int64())}))
    assert LocalStorage(tmp_path).list("") == []


def test_no_partition_fields(tmp_path: Path) -> None:
    """A table without partition fields has one tuple, and its rows stay in order."""
    rows = pa.table({"a": [3, 1, 2]})
    snapshot = make_snapshot(tmp_path, make_version(rows.schema))
    (file,) = write(snapshot, rows)
    assert (file.tuples, file.tuple_rows, file.physical_key) == (((),), (3,), ())
    assert pq.read_table(tmp_path / file.path).column("a").to_pylist() == [3, 1, 2]


def test_nothing_is_written_if_the_rows_do_not_fit(tmp_path: Path) -> None:
    """A NULL in a required column is found before the first file."""
    version = make_version(pa.schema([pa.field("a", pa.int64(), nullable=False)]))
    with pytest.raises(SchemaError, match="'a' is required and has 1 NULLs"):
        write(make_snapshot(tmp_path, version), pa.table({"a": pa.array([1, None])}))
    assert LocalStorage(tmp_path).list("") == []


def test_strings_that_only_a_file_has_room_for_are_narrowed_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What repeats itself is small in a file, of which more than Arrow's plain strings can hold makes a single one."""
    monkeypatch.setattr(write_module, "MAX_STRING_BYTES", 10_000)
    longest: list[int] = []

    def watched(rows: pa.Table, *args: Any) -> tuple[bytes, DataFile]:
        longest.extend(chunk.nbytes for chunk in rows.column("s").chunks)
        return encode_file(rows, *args)

    monkeypatch.setattr(write_module, "encode_file", watched)
    rows = pa.table({"k": ["x", "y"] * 3_000, "s": ["v" * 20 + str(i % 7) for i in range(6_000)]})
    snapshot = make_snapshot(tmp_path, make_version(rows.schema, ["k"], small("k")))
    (file,) = write(snapshot, rows)
    assert len(longest) > 12
    assert max(longest) <= 10_000
    check_files(snapshot.storage, snapshot.version, [file])
    assert sorted(plain_rows(pq.read_table(tmp_path / file.path).select(["k", "s"]))) == sorted(plain_rows(rows))


def test_strings_beyond_32_bit_offsets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns too long for Arrow's strings are carried as large ones; the files hold plain strings."""
    monkeypatch.setattr(write_module, "MAX_STRING_BYTES", 10)
    rows = pa.table({"app": ["b", "a"] * 10, "raw": [b"x" * 5, None] * 10, "list": [["y" * 9]] * 20})
    snapshot = make_snapshot(tmp_path, make_version(rows.schema, ["app"], small("app")))
    (file,) = write(snapshot, rows)
    check_files(snapshot.storage, snapshot.version, [file])
    assert pq.read_schema(tmp_path / file.path).field("app").type == pa.string()


def _bytes_as_strings(values: list[bytes]) -> pa.Array:
    """Strings of these bytes, whatever they are: Arrow does not look."""
    plain = pa.array(values, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(plain), plain.buffers())


def test_strings_that_are_not_utf8_have_no_bounds(tmp_path: Path) -> None:
    """They are kept as they are, and what cannot be written down as text is unknown; bounds that can be stay."""
    rows = pa.table({"app": ["a", "a", "b"], "s": _bytes_as_strings([b"\xff\xfe", b"ok", b"fine"])})
    snapshot = make_snapshot(tmp_path, make_version(rows.schema, ["app"]))
    files = write(snapshot, rows)
    bounds = [(f.statistics[2].lower, f.statistics[2].upper, f.statistics[2].null_count) for f in files]
    assert bounds == [(None, None, 0), ("fine", "fine", 0)]
    stored = pq.read_table(tmp_path / files[0].path).column("s").cast(pa.binary())
    assert stored.to_pylist() == [b"\xff\xfe", b"ok"]


@pytest.mark.parametrize("field", ["s", "truncate(2, s)"])
def test_a_partition_value_that_is_not_utf8_is_refused(tmp_path: Path, field: str) -> None:
    """It could be written into no manifest; nothing is left behind."""
    rows = pa.table({"s": _bytes_as_strings([b"ok", b"\xff\xfe"])})
    with pytest.raises(SchemaError, match="is not UTF-8, so it cannot be a partition value"):
        write(make_snapshot(tmp_path, make_version(rows.schema, [field])), rows)
    assert LocalStorage(tmp_path).list("") == []


def test_rows_of_very_many_tuples_keep_their_order() -> None:
    """Past 65,536 tuples rows still come tuple by tuple, and those of one as they were given."""
    codes = np.random.default_rng(1).permutation(np.arange(200_000) % 70_000)
    tuples = RowTuples([(i,) for i in range(70_000)], codes, [])
    in_order = list(range(69_999, -1, -1))
    assert np.array_equal(row_order(tuples, in_order), np.argsort(-codes, kind="stable"))
