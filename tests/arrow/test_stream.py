"""Rows that come as a stream are written without being in memory together, and as one commit."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from coalesce.arrow.engine import ArrowEngine
from coalesce.arrow.scan import ArrowScan
from coalesce.arrow.stream import write_stream
from coalesce.arrow.write import checked
from coalesce.errors import SchemaError, StorageError
from coalesce.model.rule import Group, RuleRequest
from coalesce.storage.local import LocalStorage
from coalesce.table.create import create_table
from coalesce.table.engine import Engines, Snapshot
from coalesce.table.table import Table, core_of
from tests.arrow.generated import Generated, plain_rows, tables
from tests.arrow.test_store import Failing
from tests.builders import bound, make_plan_over, make_snapshot, make_version
from tests.checker import check_files
from tests.table.stores import MemoryStorage

SCHEMA = pa.schema([("app", pa.string()), ("n", pa.int64())])


def batch(apps: Sequence[str | None], start: int = 0) -> pa.RecordBatch:
    """A row for each app, numbered from `start`."""
    return pa.record_batch({"app": apps, "n": range(start, start + len(apps))}, schema=SCHEMA)


def events(batches: int, rows: int = 100, apps: int = 10) -> Iterator[pa.RecordBatch]:
    """Batches of rows of so many apps by turns; every row has its own number."""
    for number in range(batches):
        start = number * rows
        yield batch([f"app-{n % apps}" for n in range(start, start + rows)], start)


def table_with(buffer_bytes: int, rule: RuleRequest | None = None, target: str = "128MB") -> Table:
    """An empty table by app, in memory, that gathers so much of a stream."""
    engines = Engines(ArrowEngine(buffer_bytes=buffer_bytes))
    return create_table(
        MemoryStorage(),
        engines,
        SCHEMA,
        partition_by=["app"],
        rule=rule,
        properties={"write.target-file-bytes": target},
    )


@settings(max_examples=40)
@given(generated=tables(), data=st.data())
def test_a_stream_is_written_as_the_rows_would_be(
    generated: Generated, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """For any types, rule and target, batches of any size and any buffer: every row is there once, under its tuple."""
    snapshot = make_snapshot(tmp_path_factory.mktemp("table"), generated.version)
    rows = generated.rows
    sizes = st.integers(1, max(rows.num_rows, 1))
    parts = [b for start in range(0, rows.num_rows, 5) for b in rows.slice(start, 5).to_batches(data.draw(sizes))]
    files = write_stream(
        snapshot, map(pa.Table.from_batches, ([b] for b in parts)), data.draw(st.sampled_from([1, 64, 10**6]))
    )
    check_files(snapshot.storage, generated.version, files)
    assert [f.path for f in snapshot.storage.list("")] == sorted(f.path for f in files)
    read = ArrowScan(snapshot, make_plan_over(generated.version, files)).to_arrow()
    assert sorted(plain_rows(read)) == sorted(plain_rows(rows))


def test_one_commit() -> None:
    """However often the buffer was full, the rows come in together; and rows of a tuple keep their order."""
    table = table_with(2_000, coalesce.small("app"))
    before = table.version
    table.append(events(30))
    assert (table.version, table.count()) == (before + 1, 3_000)
    assert len(table.files()) > 1
    for app in table.distinct("app"):
        numbers = table.scan(f"app = '{app}'").to_arrow().column("n").to_pylist()
        assert numbers == sorted(numbers)


def test_rows_are_taken_as_they_are_needed() -> None:
    """While a stream is written, most of it has not been asked for."""
    taken = count(1)
    seen: list[tuple[int, int]] = []

    class Watching(MemoryStorage):
        def put_if_absent(self, path: str, data: bytes) -> bool:
            if path.startswith("data"):
                seen.append((next(taken), asked[-1]))
            return super().put_if_absent(path, data)

    asked: list[int] = []

    def stream() -> Iterator[pa.RecordBatch]:
        for number, part in enumerate(events(50)):
            asked.append(number)
            yield part

    create_table(Watching(), Engines(ArrowEngine(buffer_bytes=4_000)), SCHEMA, partition_by=["app"]).append(stream())
    assert seen[0][1] < 10
    assert seen[-1][1] == 49


def test_small_files_wait_for_more_rows() -> None:
    """What makes files of the wanted size goes out, and a small physical partition stays until the end: one file."""
    table = table_with(40_000, target="2KB")
    table.append(batch(["large"] * 995 + [f"s{n}" for n in range(5)], start * 1000) for start in range(20))
    files = {app: len(table.files(f"app = '{app}'")) for app in table.distinct("app")}
    assert files.pop("large") > 5
    assert files == {f"s{n}": 1 for n in range(5)}


def test_what_grows_within_a_stream_gets_its_own_files() -> None:
    """The rule by size counts what the same write has written before: as if all rows had been there."""
    table = table_with(20_000, coalesce.small("app", below="4KB"))
    table.append(batch(["large"] * 950 + [f"small-{n}" for n in range(50)], start * 1000) for start in range(40))
    last = max(table.files("app = 'large'"), key=lambda f: f.path)
    assert last.physical_key == ("large",)
    shared = {f.physical_key for f in table.files("app = 'small-7'")}
    assert shared == {(Group("[#small]"),)}


@pytest.mark.parametrize("buffer_bytes", [1, 1_000, 10**9])
def test_a_stream_that_fails_leaves_nothing(buffer_bytes: int) -> None:
    """The caller's own error comes through, no version is made, and no file is left."""
    table = table_with(buffer_bytes)
    before = core_of(table).storage.list("")

    def failing() -> Iterator[pa.RecordBatch]:
        yield from events(20, rows=10)
        raise ConnectionError("the other side went away")

    with pytest.raises(ConnectionError, match="the other side went away"):
        table.append(failing())
    assert (table.refresh().count(), core_of(table).storage.list("")) == (0, before)


@pytest.mark.parametrize("last", [{"app": ["a"], "n": ["x"]}, {"app": ["a"]}, {"app": [None], "n": [1]}, {"n": [1]}])
def test_a_late_batch_that_does_not_fit_leaves_nothing(last: dict[str, list[object]]) -> None:
    """Rows are checked as they come: those before are taken away again. Each batch may have its own columns."""
    schema = pa.schema([SCHEMA.field("app").with_nullable(False), SCHEMA.field("n")])
    table = create_table(MemoryStorage(), Engines(ArrowEngine(buffer_bytes=1_000)), schema, partition_by=["app"])
    before = core_of(table).storage.list("")
    parts = (b for stream in (events(20), [pa.record_batch(last)]) for b in stream)
    if set(last) == {"app"}:  # a column that is not there holds NULL
        table.append(parts)
        assert table.count("n IS NULL") == 1
        return
    with pytest.raises(SchemaError, match="the rows do not fit the table"):
        table.append(parts)
    assert core_of(table).storage.list("") == before


def test_a_row_outside_an_overwrite_is_found_wherever_it_comes() -> None:
    """What was written of the stream before it is taken away again."""
    table = table_with(1_000)
    table.append([{"app": "a", "n": 1}, {"app": "b", "n": 2}])
    before = core_of(table).storage.list("")
    parts = [*(batch(["a"] * 100) for _ in range(20)), batch(["a", "b"])]
    with pytest.raises(SchemaError, match="1 row does not match app = 'a'"):
        table.overwrite(iter(parts), "app = 'a'")
    assert (core_of(table).storage.list(""), table.count()) == (before, 2)
    table.overwrite(iter(parts[:-1]), "app = 'a'")
    assert (table.count("app = 'a'"), table.count("app = 'b'")) == (2_000, 1)


def test_overwritten_logical_partitions_are_those_of_the_whole_stream() -> None:
    """Those of its first batch as well as those of its last."""
    table = table_with(500)
    table.append([{"app": app, "n": -1} for app in ("app-0", "app-1", "other")])
    table.overwrite_partitions(events(10, apps=2))
    assert set(table.distinct("app")) == {"app-0", "app-1", "other"}
    assert (table.count(), table.count("n = -1")) == (1_001, 1)


@pytest.mark.parametrize("fails_at", [1, 3, 9])
def test_a_store_that_fails_leaves_nothing(tmp_path: Path, fails_at: int) -> None:
    """The files of earlier batches go as well."""
    snapshot = make_snapshot(tmp_path, make_version(SCHEMA, ["app"]))
    failing = replace(snapshot, storage=Failing(snapshot.storage, fails_at))
    with pytest.raises(StorageError, match="the disk is full"):
        write_stream(failing, (pa.Table.from_batches([b]) for b in events(20)), 1_000)
    assert LocalStorage(tmp_path).list("") == []
    assert [p for p in tmp_path.rglob("*") if p.name != "data"] == []  # nor a directory


def test_what_was_applied_before_is_not_consumed() -> None:
    """A write that is to be made once does not touch the rows the second time."""
    table = table_with(10**6)
    table.append(events(1), applies=("job", 1))
    again = events(1)
    table.append(again, applies=("job", 1))
    assert len(list(again)) == 1
    assert table.count() == 100


def test_a_lost_race_does_not_need_the_rows_again() -> None:
    """Another writer commits in between: the files are there, and only the version is made anew."""
    table = table_with(1_000)
    other = Table(core_of(table).storage, Engines(ArrowEngine()))

    def stream() -> Iterator[pa.RecordBatch]:
        yield from events(5)
        other.append(events(1))

    table.append(stream())
    assert table.count() == 600


def test_columns_are_checked_before_a_row_is_asked_for() -> None:
    """A reader says what its columns are; if they do not fit, nothing of it is computed."""
    asked: list[int] = []

    def numbered() -> Iterator[pa.RecordBatch]:
        asked.append(1)
        yield pa.record_batch({"app": [1]})

    reader = pa.RecordBatchReader.from_batches(pa.schema([("app", pa.int64())]), numbered())
    with pytest.raises(SchemaError, match="'app' is int64"):
        table_with(1_000).append(reader)
    assert asked == []


def test_encodings_do_not_outgrow_the_buffer(tmp_path: Path) -> None:
    """A batch of a few bytes may stand for many rows; it is decoded a handful at a time."""
    rows = 300_000
    ends = pa.array([rows], pa.int32())
    apps = pa.RunEndEncodedArray.from_arrays(ends, pa.array(["a"]))
    few_bytes = pa.record_batch({"app": apps, "n": pa.RunEndEncodedArray.from_arrays(ends, pa.array([1]))})
    snapshot = make_snapshot(tmp_path, make_version(SCHEMA, ["app"]))
    files = write_stream(snapshot, [pa.Table.from_batches([few_bytes])], 1_000_000)
    assert len(files) > 1
    assert sum(f.rows for f in files) == rows


@pytest.fixture
def handfuls(monkeypatch: pytest.MonkeyPatch) -> list[pa.Table]:
    """The rows of streams, as they were checked."""
    seen: list[pa.Table] = []

    def remembering(snapshot: Snapshot, rows: pa.Table) -> pa.Table:
        seen.append(checked(snapshot, rows))
        return seen[-1]

    monkeypatch.setattr("coalesce.arrow.stream.checked", remembering)
    return seen


def test_small_frames_are_checked_together(handfuls: list[pa.Table]) -> None:
    """Each says what its columns are; that is asked only when they are others than before."""
    table = table_with(1_000_000)
    table.append(pl.DataFrame({"app": ["a"], "n": [n]}) for n in range(1_000))
    assert table.count() == 1_000
    assert len(handfuls) < 5


def test_batches_whose_columns_change_come_in_their_order() -> None:
    """However many there are; each is checked by itself, and they are written together."""
    table = table_with(1_000_000)
    table.append(batch(["a"], n).select(["app", "n"] if n % 2 else ["n", "app"]) for n in range(2_000))
    assert table.scan().to_arrow().column("n").to_pylist() == list(range(2_000))
    assert len(table.files()) == 1


@pytest.mark.parametrize(
    "rows",
    [
        [pa.record_batch({"app": pa.DictionaryArray.from_arrays([0] * 2_000, ["x" * 1_000])})],
        [pa.record_batch({"app": pa.RunEndEncodedArray.from_arrays([2_000], pa.array(["x" * 1_000]))})],
        [pa.record_batch({"app": ["x" * 1_000] * 2_000})],
        [pa.record_batch({"n": range(20_000)})],
        [{"app": "x" * 1_000}] * 2_000,
    ],
    ids=["dictionary", "runs", "texts", "columns that are not given", "dicts"],
)
def test_no_handful_outgrows_its_share(handfuls: list[pa.Table], rows: list[object]) -> None:
    """Memory is counted by what rows become, not by what they are encoded in."""
    table = create_table(MemoryStorage(), Engines(ArrowEngine(buffer_bytes=200_000)), SCHEMA)
    table.append(iter(rows))
    assert table.count() >= 2_000
    assert max(part.nbytes for part in handfuls) < 60_000


def test_heavy_dicts_are_not_gathered_by_thousands() -> None:
    """Python's values are held until they are a table: few of them if they are long, also inside others."""
    for heavy in ("x" * 500_000, ["x" * 250_000] * 2, {"a": "x" * 500_000}):
        taken = iter(range(1_000))
        table = create_table(MemoryStorage(), Engines(ArrowEngine(buffer_bytes=10)), pa.schema([("n", pa.int64())]))
        with pytest.raises(SchemaError):
            table.append({"n": heavy} for _ in taken)
        assert next(taken) < 5


def test_within_is_checked_with_the_tables_values(tmp_path: Path) -> None:
    """The predicate is judged after the rows fit the table."""
    version = make_version(SCHEMA, ["app"])
    snapshot = replace(make_snapshot(tmp_path, version), within=bound(version, "n < 100"))
    assert (
        sum(f.rows for f in write_stream(snapshot, [pa.table({"N": pa.array([1], pa.int8()), "APP": ["x"]})], 10)) == 1
    )


# The peak is the kernel's own count for this process; what its parent took would be in that of `getrusage`.
LARGER_THAN_MEMORY = """
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

import coalesce

def peak():
    line = next(l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("VmHWM"))
    return int(line.split()[1]) * 1024

ROWS, BATCHES = 100_000, 50
TEXTS = pa.array([f"{n % 1_000:0120d}" for n in range(ROWS)])
APPS = pa.array([f"app-{n % 20}" for n in range(ROWS)])

def stream():
    for number in range(BATCHES):
        numbers = pa.array(np.arange(number * ROWS, (number + 1) * ROWS))
        yield pa.record_batch({"app": APPS, "n": numbers, "text": TEXTS})

schema = next(stream()).schema
table = coalesce.create(
    sys.argv[1],
    schema,
    partition_by=["app"],
    rule=coalesce.small("app"),
    properties={"write.buffer-bytes": "32MB", "write.target-file-bytes": "1MB"},
)
table.append(next(stream()).slice(0, 1000))
before, given = peak(), 0

def counted():
    global given
    for batch in stream():
        given += batch.nbytes
        yield batch

table.append(pa.RecordBatchReader.from_batches(schema, counted()))
print(given, peak() - before, len(table.files()))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from Linux' /proc")
def test_a_stream_larger_than_the_memory_it_is_given(tmp_path: Path) -> None:
    """Some 700 MB go through less than 250 MB, and every row of them arrives."""
    location = str(tmp_path / "table")
    run = subprocess.run(
        [sys.executable, "-c", LARGER_THAN_MEMORY, location], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    given, taken, _ = map(int, run.stdout.split())
    assert given > 600 * 2**20
    assert taken < 250 * 2**20
    table = coalesce.open(location)
    total = 5_000_000
    assert table.count() == total + 1_000
    numbers = sum(b.column(0).cast(pa.int64()).to_numpy().sum() for b in table.scan(columns=["n"]).to_batches())
    assert numbers == total * (total - 1) // 2 + 999 * 500
