"""A warehouse's directories, without Spark: what is shown, what may be made, and what a drop may take along."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import CoalesceError, InvalidArgument
from coalesce.spark.catalog.directories import Kind
from coalesce.spark.catalog.warehouse import NotEmpty, NotThere, Taken, Warehouse, directory_of

SCHEMA = pa.schema([("k", pa.int64())])


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """A warehouse with a table `db.events` in it."""
    (tmp_path / "db").mkdir()
    coalesce.create(tmp_path / "db" / "events", SCHEMA)
    return Warehouse("lake", directory_of(tmp_path))


def test_what_is_shown(warehouse: Warehouse) -> None:
    """Tables and namespaces; no files, no links, nothing hidden, and nothing that is inside of a table."""
    db = Path(warehouse.root) / "db"
    for name in ("_hidden", ".hidden", "inner"):
        (db / name).mkdir()
    (db / "file").touch()
    (db / "link").symlink_to(db / "events")
    (db / "broken").mkdir()
    (db / "broken" / "_coalesce").symlink_to(db / "events" / "_coalesce")
    assert warehouse.inside(["db"], Kind.TABLE) == ["events"]
    assert warehouse.inside(["db"], Kind.NAMESPACE) == ["broken", "inner"]
    assert warehouse.find(["db", "link"]) is None
    assert warehouse.find(["db", "events", "data"]) is None
    assert warehouse.find(["db", "file", "x"]) is None
    assert warehouse.find(["..", os.path.basename(warehouse.root), "db"]) is None
    with pytest.raises(NotThere):
        warehouse.inside(["db", "events"], Kind.TABLE)


def test_a_namespace_that_is_a_file(warehouse: Warehouse) -> None:
    """It is no namespace, and cannot become one."""
    (Path(warehouse.root) / "notes").touch()
    with pytest.raises(InvalidArgument, match="a file or a link"):
        warehouse.create_namespace(["notes"])
    with pytest.raises(NotThere):
        warehouse.create_namespace(["notes", "inner"])
    assert warehouse.drop_namespace(["notes"], cascade=True) is False


def test_a_claim_that_comes_to_nothing_leaves_nothing(warehouse: Warehouse) -> None:
    """A directory for a table goes again if no table is made in it; one with files in it stays."""

    def fail() -> None:
        with warehouse.claimed(["db", "new"]) as place:
            os.makedirs(f"{place}/_coalesce/versions")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert warehouse.find(["db", "new"]) is None
    with pytest.raises(Taken), warehouse.claimed(["db", "events"]):
        pass
    assert coalesce.open(Path(warehouse.root) / "db" / "events").version == 0


def test_of_several_drops_one_drops(warehouse: Warehouse) -> None:
    """A table that is dropped by many at once is dropped once, and all of it is gone."""
    table = coalesce.open(Path(warehouse.root) / "db" / "events")
    for number in range(20):
        table.append(pa.table({"k": [number]}))
    with ThreadPoolExecutor(8) as pool:
        dropped = list(pool.map(lambda _: warehouse.drop_table(["db", "events"]), range(8)))
    assert sorted(dropped) == [False] * 7 + [True]
    assert os.listdir(Path(warehouse.root) / "db") == []


def test_of_several_claims_one_is_granted(warehouse: Warehouse) -> None:
    """Two tables of one name are never begun at once."""

    def claim(_: int) -> bool:
        try:
            with warehouse.claimed(["db", "new"]) as place:
                coalesce.create(place, SCHEMA)
            return True
        except Taken:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(claim, range(8))) == 1


def test_a_cascade(warehouse: Warehouse) -> None:
    """All namespaces and tables go, leftovers of a drop that was cut short too; nothing, if there is something else."""
    db = Path(warehouse.root) / "db"
    (db / "inner" / "deep").mkdir(parents=True)
    coalesce.create(db / "inner" / "deep" / "t", SCHEMA)
    (db / ".coalesce-dropped-1" / "data").mkdir(parents=True)
    with pytest.raises(NotEmpty):
        warehouse.drop_namespace(["db"], cascade=False)
    (db / "inner" / "stray").touch()
    with pytest.raises(CoalesceError, match="stray is neither"):
        warehouse.drop_namespace(["db"], cascade=True)
    assert warehouse.inside(["db"], Kind.TABLE) == ["events"]
    (db / "inner" / "stray").unlink()
    assert warehouse.drop_namespace(["db"], cascade=True) is True
    assert os.listdir(warehouse.root) == []
    assert warehouse.drop_namespace(["db"], cascade=True) is False
    with pytest.raises(InvalidArgument, match="no namespace that could be dropped"):
        warehouse.drop_namespace([], cascade=True)


def test_links_inside_of_a_table_are_not_followed(warehouse: Warehouse, tmp_path: Path) -> None:
    """A drop deletes the link in a table's directory, and not what it leads to."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("kept")
    (tmp_path / "db" / "events" / "data").mkdir(exist_ok=True)
    (tmp_path / "db" / "events" / "data" / "link").symlink_to(elsewhere)
    assert warehouse.drop_table(["db", "events"])
    assert (elsewhere / "kept").read_text() == "kept"


def test_where_a_warehouse_may_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path, absolute or not, a file: URI, through a link; not in a table, and nowhere else than on this machine."""
    (tmp_path / "real dir").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real dir")
    monkeypatch.chdir(tmp_path)
    here = str((tmp_path / "real dir").resolve())
    assert {directory_of(p) for p in ("real dir", tmp_path / "link", f"file://{tmp_path}/real%20dir")} == {here}
    coalesce.create("table", SCHEMA)
    for place in ("s3://bucket/lake", "hdfs://host/lake", "", "table", "table/data/inner"):
        with pytest.raises(InvalidArgument, match="warehouse of a catalog"):
            directory_of(place)
