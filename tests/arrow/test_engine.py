from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest

from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import SchemaError
from coalesce.table.engine import Engine, Scan
from tests.builders import bound, make_plan_over, make_snapshot, make_version

TABLE = pa.table({"app": ["a", "b"], "n": [1, 2]})
KINDS = [
    TABLE,
    TABLE.to_batches()[0],
    TABLE.to_reader(),
    TABLE.to_pandas(),
    TABLE.to_pandas().set_index(pd.Index([7, 8], name="k")),
]


def test_it_is_an_engine(tmp_path: Path) -> None:
    """Rows in, rows out, through the protocol the table uses."""
    engine: Engine = ArrowEngine()
    snapshot = make_snapshot(tmp_path, make_version(TABLE.schema, ["app"]))
    files = engine.write(snapshot, TABLE)
    scan: Scan = engine.scan(snapshot, make_plan_over(snapshot.version, files, "n > 1"), ["app"])
    assert scan.to_arrow().to_pydict() == {"app": ["b"]}
    left = engine.rewrite(snapshot, files, bound(snapshot.version, "n > 1"))
    assert (left.added, [f.tuples for f in left.untouched]) == ([], [(("a",),)])


@pytest.mark.parametrize("data", KINDS, ids=lambda data: type(data).__name__)
def test_what_it_accepts(tmp_path: Path, data: object) -> None:
    """Arrow's tables, batches and readers and pandas' data frames, whose index is no column."""
    engine = ArrowEngine()
    assert engine.accepts(data)
    assert engine.infer_schema(data).names == ("app", "n")
    files = engine.write(make_snapshot(tmp_path, make_version(TABLE.schema)), data)
    assert sum(f.rows for f in files) == 2


def test_a_schema_is_accepted_but_has_no_rows(tmp_path: Path) -> None:
    """A table can be created from a schema; writing one is a mistake."""
    engine = ArrowEngine()
    assert engine.accepts(TABLE.schema)
    assert engine.infer_schema(TABLE.schema).names == ("app", "n")
    with pytest.raises(SchemaError, match="a Schema has no rows to write"):
        engine.write(make_snapshot(tmp_path, make_version(TABLE.schema)), TABLE.schema)


@pytest.mark.parametrize("data", [None, 1, "rows", {"a": [1]}, np.zeros(3)])
def test_what_it_leaves_to_others(data: object) -> None:
    """What has no rows and no columns is not taken."""
    assert not ArrowEngine().accepts(data)


def test_nanoseconds_of_pandas(tmp_path: Path) -> None:
    """Pandas counts nanoseconds; they are taken as long as none is lost."""
    snapshot = make_snapshot(tmp_path, make_version(pa.schema([("t", pa.timestamp("us"))])))
    ArrowEngine().write(snapshot, pd.DataFrame({"t": pd.to_datetime(["2026-05-17 08:30:00.000001"])}))
    with pytest.raises(SchemaError, match="would lose data"):
        ArrowEngine().write(snapshot, pd.DataFrame({"t": pd.to_datetime(["2026-05-17 08:30:00.000000001"])}))


def test_index_levels_that_are_columns(tmp_path: Path) -> None:
    """`set_index(["dt", "app"])` moves columns to the index; they are the rows' columns all the same."""
    frame = pd.DataFrame({"app": ["a", "b"], "dt": ["x", "y"], "n": [1, 2]})
    version = make_version(pa.schema([("dt", pa.string()), ("app", pa.string()), ("n", pa.int64())]), ["dt", "app"])
    for number, indexed in enumerate(
        [frame.set_index(["dt", "app"]), frame.rename(columns={"app": "APP"}).set_index("APP"), frame]
    ):
        snapshot = make_snapshot(tmp_path / str(number), version)
        files = ArrowEngine().write(snapshot, indexed)
        assert sorted(t for f in files for t in f.tuples or ()) == [("x", "a"), ("y", "b")]


def test_a_level_beside_a_column_of_its_name(tmp_path: Path) -> None:
    """Two values for one column: refused."""
    frame = pd.DataFrame({"app": ["a"], "n": [1]}).set_index("app", drop=False)
    with pytest.raises(SchemaError, match="'app' is a column and a level of the index; leave one out"):
        ArrowEngine().write(make_snapshot(tmp_path, make_version(TABLE.schema)), frame)
