"""Parquet directories become tables where they lie, and their rows are those that Spark finds there."""

import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.errors import SchemaError, StorageError, TableNotFound, UnsupportedFeature
from coalesce.model.version import MATERIALIZE_PARTITION_COLUMNS
from coalesce.storage import open_storage
from tests.interop.adopt.lakes import NULL, digest, lay, rows_of
from tests.s3 import S3Location

TWO = pa.table({"n": [1, 2], "s": ["x", "é"]})


def test_no_byte_is_moved(tmp_path: Path) -> None:
    """The table holds what the directories and files say, and nothing but `_coalesce` is new."""
    lay(tmp_path, {f"dt=2026-05-0{d}/app={a}/part-0.parquet": TWO for d in (1, 2) for a in ("web", "a%2Fb", NULL, "")})
    before = digest(tmp_path)
    done = coalesce.adopt(tmp_path)
    assert (done.source, done.version, done.files_added, done.rows_added, done.unknown) == ("parquet", 0, 8, 16, 0)
    assert digest(tmp_path) == before
    assert {p.name for p in tmp_path.iterdir()} == {"dt=2026-05-01", "dt=2026-05-02", "_coalesce"}
    table = done.table
    assert [str(f.type) for f in table.schema] == ["int64", "string", "date", "string"]
    assert {p.values["app"] for p in table.partitions()} == {"web", "a/b", None, ""}
    assert table.count("app = 'a/b'") == table.count("app IS NULL") == table.count("app = ''") == 4
    assert table.scan("app = 'a/b' AND dt = DATE '2026-05-02' AND n = 2").to_arrow().to_pylist() == [
        {"n": 2, "s": "é", "dt": date(2026, 5, 2), "app": "a/b"}
    ]
    assert len(table.files("app = 'web'")) == 2
    assert len(table.files("n > 2")) == 0
    assert MATERIALIZE_PARTITION_COLUMNS not in table.state.writer_features
    assert list(table.check(deep=True)) == []


def test_what_is_not_finished_is_left_out_and_told(tmp_path: Path) -> None:
    """Files in progress, hidden ones, empty ones and those that are no Parquet: each with a reason."""
    lay(tmp_path, {"app=a/part-0.parquet": TWO, "app=a/none.parquet": TWO.slice(0, 0)})
    lay(tmp_path, {"_temporary/0/task/app=b/part-0.parquet": TWO, ".hive-staging_1/app=b/part-0.parquet": TWO})
    lay(tmp_path, {"app=a/.part-1.parquet": TWO, "app=a/part-2.parquet._COPYING_": TWO})
    for name, text in {
        "_SUCCESS": "",
        "app=a/empty.parquet": "",
        "README.md": "About.",
        "app=a/_committed_1": "x",
    }.items():
        (tmp_path / name).write_text(text)
    done = coalesce.adopt(tmp_path)
    assert done.files_added == 1
    reasons = {file.path: file.reason for file in done.left_out}
    assert reasons["app=a/none.parquet"] == "it has no rows"
    assert reasons["app=a/empty.parquet"] == "it is empty"
    assert reasons["README.md"] == "it is not a Parquet file"
    assert "'_temporary'" in reasons["_temporary/0/task/app=b/part-0.parquet"]
    assert len(reasons) == 9


@pytest.mark.parametrize("cut", [10, 200])
def test_a_damaged_file_is_named_and_nothing_is_left(tmp_path: Path, cut: int) -> None:
    """Also one whose name does not say that it is Parquet, but that begins so."""
    lay(tmp_path, {"app=a/part-0.parquet": TWO, "app=b/000000_0": TWO})
    whole = (tmp_path / "app=b/000000_0").read_bytes()
    (tmp_path / "app=b/000000_0").write_bytes(whole[:cut])
    with pytest.raises(
        StorageError, match=r"1 file is not to be adopted\. app=b/000000_0: it cannot be read as Parquet"
    ):
        coalesce.adopt(tmp_path)
    assert not (tmp_path / "_coalesce").exists()
    (tmp_path / "app=b/000000_0").write_bytes(whole)
    assert coalesce.adopt(tmp_path).rows_added == 4


def test_files_are_put_together_by_name(tmp_path: Path) -> None:
    """Wider types take narrower ones, missing columns are NULL, members of structs likewise, in any case."""
    lay(
        tmp_path,
        {
            "a.parquet": pa.table(
                {"N": pa.array([1], pa.int32()), "d": pa.array([Decimal("1.5")], pa.decimal128(3, 1))}
            ),
            "b.parquet": pa.table({"n": [2**40], "f": [1.5], "st": [{"a": 1}]}),
            "c.parquet": pa.table(
                {"f": pa.array([2.5], pa.float32()), "st": [{"b": "x", "A": 7}], "d": [Decimal("12345678.5")]}
            ),
            "d.parquet": pa.table({"n": pa.array([200], pa.uint8()), "s": pa.array(["v"]).dictionary_encode()}),
        },
    )
    table = coalesce.adopt(tmp_path).table
    types = {f.name: str(f.type) for f in table.schema}
    assert types == {
        "N": "int64",
        "d": "decimal(9,1)",
        "f": "double",
        "st": "struct<a: int64, b: string>",
        "s": "string",
    }
    assert sorted(table.scan().to_arrow().to_pylist(), key=repr) == sorted(
        [
            {"N": 1, "d": Decimal("1.5"), "f": None, "st": None, "s": None},
            {"N": 2**40, "d": None, "f": 1.5, "st": {"a": 1, "b": None}, "s": None},
            {"N": None, "d": Decimal("12345678.5"), "f": 2.5, "st": {"a": 7, "b": "x"}, "s": None},
            {"N": 200, "d": None, "f": None, "st": None, "s": "v"},
        ],
        key=repr,
    )
    assert table.count("N = 200") == 1
    assert table.count("d > 2") == 1


REFUSED = {
    "text and number": (
        {"a.parquet": pa.table({"n": [1]}), "b.parquet": pa.table({"n": ["1"]})},
        "do not agree on column 'n'",
    ),
    "a directory more": ({"app=a/x.parquet": TWO, "x.parquet": TWO}, "do not all have the same columns"),
    "twice": ({"app=a/APP=b/x.parquet": TWO}, "have the same column"),
    "two of one name": ({"a.parquet": pa.table({"n": [1], "N": [2]})}, "differ only in case"),
    "nanoseconds": ({"a.parquet": pa.table({"t": pa.array([1], pa.timestamp("ns"))})}, "nanoseconds"),
    "a time": ({"a.parquet": pa.table({"t": pa.array([1], pa.time64("us"))})}, "which a table cannot hold"),
    "no type": ({"a.parquet": pa.table({"n": [1], "z": pa.nulls(1)})}, "column 'z' has no type in some files"),
    "other ids": (
        {
            "a.parquet": pa.table(
                {"n": [1]}, schema=pa.schema([pa.field("n", pa.int64(), metadata={"PARQUET:field_id": "1"})])
            ),
            "b.parquet": pa.table(
                {"n": [1]}, schema=pa.schema([pa.field("n", pa.int64(), metadata={"PARQUET:field_id": "2"})])
            ),
        },
        "do not agree on column 'n'",
    ),
    "some ids": (
        {
            "a.parquet": pa.table(
                {"n": [1], "m": [2]},
                schema=pa.schema([pa.field("n", pa.int64(), metadata={"PARQUET:field_id": "1"}), ("m", pa.int64())]),
            )
        },
        "some of its columns have field ids and others have not",
    ),
    "row ids": ({"a.parquet": pa.table({"_row_id": [1]})}, "cannot be called '_row_id'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_go_together_is_refused_with_the_files(tmp_path: Path, what: str) -> None:
    """A sentence that names a file, and no table."""
    files, reason = REFUSED[what]
    lay(tmp_path, files)
    with pytest.raises(SchemaError, match=reason) as refused:
        coalesce.adopt(tmp_path)
    assert any(path in str(refused.value) for path in files)
    assert not (tmp_path / "_coalesce").exists()


def test_ids_that_files_have_are_the_tables(tmp_path: Path) -> None:
    """Nobody asked old releases of pyarrow for them; files are read by them all the same, so they have to count."""
    fields = [
        pa.field("a", pa.int64(), metadata={"PARQUET:field_id": "7"}),
        pa.field("b", pa.string(), metadata={"PARQUET:field_id": "3"}),
    ]
    lay(tmp_path, {"app=x/1.parquet": pa.table({"a": [1], "b": ["p"]}, schema=pa.schema(fields))})
    lay(tmp_path, {"app=y/2.parquet": pa.table({"b": ["q"], "a": [2]})})
    table = coalesce.adopt(tmp_path).table
    assert [(f.name, f.id) for f in table.schema] == [("a", 7), ("b", 3), ("app", 8)]
    assert rows_of(table.scan().to_arrow()) == rows_of(pa.table({"a": [1, 2], "b": ["p", "q"], "app": ["x", "y"]}))


def test_types_are_inferred_or_given(tmp_path: Path) -> None:
    """As Spark infers numbers and dates; what would lose something stays text; a schema says otherwise."""
    paths = [f"n={n}/d=2026-05-0{n}/v=1.{n}0/t=2026-05-01 0{n}%3A00%3A00/h=0{n}/x.parquet" for n in (1, 2)]
    lay(tmp_path, dict.fromkeys(paths, TWO.select(["s"])))
    table = coalesce.adopt(tmp_path).table
    assert [f"{f.name} {f.type}" for f in table.schema][1:] == ["n int32", "d date", "v string", "t string", "h int32"]
    assert table.count("v = '1.10' AND h = 1 AND d = DATE '2026-05-01'") == 2
    other = tmp_path / "other"
    lay(other, dict.fromkeys(paths, TWO.select(["s"])))
    given = pa.schema(
        [
            ("t", pa.timestamp("us", "UTC")),
            ("v", pa.decimal128(4, 2)),
            ("n", pa.string()),
            ("s", pa.string()),
            ("h", pa.string()),
        ]
    )
    table = coalesce.adopt(other, schema=given).table
    assert table.schema.names == ("t", "v", "n", "s", "h", "d")
    row = table.scan("h = '02' AND s = 'x'").to_arrow().to_pylist()
    assert row == [
        {
            "t": datetime(2026, 5, 1, 2, tzinfo=UTC),
            "v": Decimal("1.20"),
            "n": "2",
            "s": "x",
            "h": "02",
            "d": date(2026, 5, 2),
        }
    ]
    third = tmp_path / "third"
    lay(third, {"n=one/x.parquet": TWO})
    with pytest.raises(SchemaError, match="'n' is 'one', which is no int32"):
        coalesce.adopt(third, schema=pa.schema([("n", pa.int32()), ("s", pa.string())]))
    with pytest.raises(SchemaError, match="a directory's name cannot be struct"):
        coalesce.adopt(third, schema=pa.schema([("n", pa.struct([("a", pa.int32())])), ("s", pa.string())]))
    with pytest.raises(SchemaError, match="'s' is to be int64, and files hold string"):
        coalesce.adopt(third, schema=pa.schema([("n", pa.string()), ("s", pa.int64())]))


def test_a_column_of_directories_and_files(tmp_path: Path) -> None:
    """The directory's value counts, as with Spark; a float, of which that is not certain, is refused."""
    lay(tmp_path, {f"app={a}/x.parquet": pa.table({"app": ["other", a], "n": [1, 2]}) for a in ("a", "b")})
    table = coalesce.adopt(tmp_path).table
    assert table.schema.names == ("app", "n")
    assert rows_of(table.scan().to_arrow()) == rows_of(pa.table({"app": ["a", "a", "b", "b"], "n": [1, 2, 1, 2]}))
    assert table.count("app = 'other'") == 0
    assert list(table.check(deep=True)) == []
    table.repair()
    assert table.count("app = 'other'") == 0
    lay(tmp_path / "f", {"x=1/x.parquet": pa.table({"x": [1.0]})})
    with pytest.raises(SchemaError, match="floating-point column that lies in the files, too"):
        coalesce.adopt(tmp_path / "f", schema=pa.schema([("x", pa.float64())]))


def test_old_timestamps_are_instants(tmp_path: Path) -> None:
    """12-byte timestamps have no order that statistics could be in, and are what Spark takes them for."""
    moment = datetime(2026, 5, 1, 10)
    lay(tmp_path, {"a.parquet": pa.table({"t": [moment], "l": [[moment]]})}, use_deprecated_int96_timestamps=True)
    table = coalesce.adopt(tmp_path).table
    assert [str(f.type) for f in table.schema] == ["timestamp", "list<timestamp>"]
    aware = moment.replace(tzinfo=UTC)
    assert table.scan("t = TIMESTAMP '2026-05-01 10:00:00'").to_arrow().to_pylist() == [{"t": aware, "l": [aware]}]
    assert table.files()[0].statistics == {}


def test_partition_fields_of_rows(tmp_path: Path) -> None:
    """Footers tell what is the same in a whole file; the rest, rows do if asked; else it is unknown, and kept."""
    files = {
        "dt=1/same.parquet": pa.table({"app": ["a", "a"], "n": [1, 2]}),
        "dt=1/null.parquet": pa.table({"app": pa.array([None], pa.string()), "n": [3]}),
        "dt=2/mixed.parquet": pa.table({"app": ["a", "b", "b"], "n": [4, 5, 6]}),
    }
    lay(tmp_path / "plain", files)
    lay(tmp_path / "scanned", files)
    done = coalesce.adopt(tmp_path / "plain", partition_by=["dt", "app"])
    assert done.unknown == 1
    assert {f.path: f.partitions for f in done.table.files()} == {
        "dt=1/same.parquet": ({"dt": 1, "app": "a"},),
        "dt=1/null.parquet": ({"dt": 1, "app": None},),
        "dt=2/mixed.parquet": None,
    }
    assert {f.path for f in done.table.files("app = 'ab'")} == {"dt=2/mixed.parquet"}
    assert done.table.scan("dt = 2 AND app = 'b'").to_arrow().num_rows == 2
    assert done.table.count("dt = 2") == 3
    scanned = coalesce.adopt(tmp_path / "scanned", partition_by=["dt", "app"], scan=True)
    assert scanned.unknown == 0
    assert [p.rows for p in scanned.table.partitions("dt = 2 AND app = 'b'")] == [2]
    assert rows_of(scanned.table.scan().to_arrow()) == rows_of(done.table.scan().to_arrow())
    for table in (done.table, scanned.table):
        before = rows_of(table.scan().to_arrow())
        table.compact()
        assert rows_of(table.scan().to_arrow()) == before
        assert list(table.check(deep=True)) == []
    with pytest.raises(SchemaError, match="has to be among the partition fields"):
        coalesce.adopt(lay(tmp_path / "less", files), partition_by=["app"])


def test_a_required_column_has_to_be_known_so(tmp_path: Path) -> None:
    """A promise is made for files that keep it."""
    lay(tmp_path, {"a.parquet": pa.table({"n": [1, None]})})
    required = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    with pytest.raises(SchemaError, match="'n' is required, and of some files it is not known"):
        coalesce.adopt(tmp_path, schema=required)
    lay(tmp_path, {"a.parquet": pa.table({"n": [1, 2]})})
    assert coalesce.adopt(tmp_path, schema=required).table.schema.field("n").required


def test_names_that_no_entry_may_have(tmp_path: Path) -> None:
    """Refused with the name; odd characters that are only odd are names as good as any, of columns, too."""
    lay(tmp_path / "odd", {"day(n)=1/%60x=2/x.parquet": TWO})
    assert coalesce.adopt(tmp_path / "odd").table.schema.names == ("n", "s", "day(n)", "`x")
    tmp_path = tmp_path / "one"
    lay(tmp_path, {"a=1/ x y#?&é%41.parquet": TWO})
    assert coalesce.adopt(tmp_path).table.scan("a = 1").to_arrow().num_rows == 2
    lay(tmp_path / "other", {"back\\slash.parquet": TWO})
    with pytest.raises(StorageError, match="cannot have a file called"):
        coalesce.adopt(tmp_path / "other")


def test_a_table_below_is_refused(tmp_path: Path) -> None:
    """Which of its rows are alive, its own metadata says; what is hidden with its files does not matter."""
    lay(tmp_path, {"a/x.parquet": TWO, "a/sub/x.parquet": TWO})
    for kind, name in {
        "a Delta": "a/sub/_delta_log/00000000000000000000.json",
        "an Iceberg": "a/sub/metadata/v1.metadata.json",
        "a coalesce": "a/sub/_coalesce/versions/00000000000000000000.json",
    }.items():
        below = tmp_path / name
        below.parent.mkdir(parents=True)
        below.write_text("{}")
        with pytest.raises(UnsupportedFeature, match=rf"a/sub/ in .* is {kind} table of its own.*move it elsewhere"):
            coalesce.adopt(tmp_path)
        below.unlink()
    lay(tmp_path, {".old/sub/x.parquet": TWO, ".old/sub/_coalesce/x.parquet": TWO})
    assert coalesce.adopt(tmp_path).files_added == 2


def test_maps(tmp_path: Path) -> None:
    """Their keys are never NULL, at any depth, which Arrow insists on; and files agree with each other on it."""
    type_ = pa.map_(pa.string(), pa.list_(pa.map_(pa.int32(), pa.string())))
    rows = pa.table({"m": pa.array([[("a", [[(1, "x")]])], None], type_)})
    lay(tmp_path, {"x.parquet": rows})
    table = coalesce.adopt(tmp_path).table
    assert table.scan().to_arrow().to_pylist() == rows.to_pylist()
    lay(tmp_path, {"y.parquet": rows})
    table = coalesce.adopt(tmp_path).table
    assert table.scan().to_arrow().to_pylist() == rows.to_pylist() * 2
    table.compact()
    assert table.count("m IS NULL") == 2


def test_nothing_to_adopt(tmp_path: Path) -> None:
    """A sentence, and no directory."""
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(TableNotFound, match="there is nothing to adopt"):
            coalesce.adopt(path)
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(TableNotFound, match="of its files, none is Parquet"):
        coalesce.adopt(tmp_path)
    assert os.listdir(tmp_path) == ["notes.txt"]


def test_columns_beyond_those_asked_for_are_told(tmp_path: Path) -> None:
    """A schema may leave columns out; files keep them."""
    lay(tmp_path, {"a.parquet": pa.table({"n": [1], "m": [2], "z": pa.nulls(1)})})
    done = coalesce.adopt(tmp_path, schema=pa.schema([("n", pa.int64()), ("more", pa.string())]))
    assert done.ignored_columns == ("m", "z")
    assert done.table.scan().to_arrow().to_pylist() == [{"n": 1, "more": None}]


def test_rows_change_and_files_stay(tmp_path: Path) -> None:
    """Delete, overwrite, drop, upsert and compact work on files of others, which are never deleted or changed."""
    lay(tmp_path, {f"dt=1/app={a}/x.parquet": pa.table({"n": list(range(5))}) for a in "abcdef"})
    before = digest(tmp_path)
    table = coalesce.adopt(tmp_path, rule=coalesce.small("app")).table
    table.delete("app = 'a' AND n < 2")
    table.drop_partition(dt=1, app="b")
    table.overwrite(pa.table({"n": [9], "dt": pa.array([1], pa.int32()), "app": ["c"]}), where="app = 'c'")
    table.upsert([{"dt": 1, "app": "d", "n": 0}, {"dt": 1, "app": "d", "n": 77}], ["dt", "app", "n"])
    table.compact()
    counts = {p.values["app"]: p.rows for p in table.partitions()}
    assert counts == {"a": 3, "c": 1, "d": 6, "e": 5, "f": 5}
    assert len(table.files()) == 1
    table.expire("0s", keep_last=1, force=True)
    table.vacuum("0s", force=True)
    after = digest(tmp_path)
    assert {path: after.get(path) for path in before} == before
    assert list(table.check(deep=True)) == []


def test_files_of_a_committed_adoption_outlive_a_failed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that fails deletes what was written for it: never what was there."""
    lay(tmp_path, {"app=a/x.parquet": TWO})
    coalesce.adopt(tmp_path)
    lay(tmp_path, {"app=b/x.parquet": TWO})
    before = digest(tmp_path)
    from coalesce.errors import CommitConflict
    from coalesce.table.commit.log import Log

    def overtaken(*_: object) -> bool:
        raise CommitConflict("always")

    with monkeypatch.context() as patched:
        patched.setattr(Log, "head", overtaken)
        with pytest.raises(CommitConflict):
            coalesce.adopt(tmp_path)
    assert digest(tmp_path) == before
    assert coalesce.adopt(tmp_path).files_added == 1
    assert pq.read_metadata(tmp_path / "app=b/x.parquet").num_rows == 2


def test_in_an_object_store(tmp_path: Path, s3_location: S3Location) -> None:
    """Names are literal there, too, and nothing is written outside of `_coalesce`."""
    storage = open_storage(s3_location.location, options=s3_location.options)
    lay(tmp_path, {"app=a%2Fb/x y.parquet": TWO, f"app={NULL}/x.parquet": TWO, "app=é/x.parquet": TWO})
    for path in sorted(tmp_path.rglob("*.parquet")):
        storage.put_if_absent(str(path.relative_to(tmp_path)), path.read_bytes())
    before = [file.path for file in storage.list("")]
    done = coalesce.adopt(s3_location.location, rule=coalesce.small("app"), storage_options=s3_location.options)
    assert [file.path for file in storage.list("") if not file.path.startswith("_coalesce/")] == before
    assert {p.values["app"] for p in done.table.partitions()} == {"a/b", None, "é"}
    assert done.table.scan("app = 'é' AND n = 2").to_arrow().num_rows == 1
    done.table.compact()
    assert done.table.count() == 6
    storage.delete("app=é/x.parquet")
    again = coalesce.adopt(s3_location.location, storage_options=s3_location.options)
    assert (again.committed, again.passed_over) == (False, 2)
