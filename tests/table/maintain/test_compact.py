"""Compaction: old data moves to the current spec and rule in steps, and nothing is lost, doubled or renumbered."""

import datetime as dt
from pathlib import Path

import pyarrow as pa

import coalesce
from coalesce.table.table import Table, core_of
from tests.checker import check_files

SCHEMA = pa.schema([("dt", pa.date32()), ("merchant", pa.string()), ("n", pa.int64())])


def table_of_two_specs(directory: Path) -> Table:
    """Four days by day, then one more under day and bucket."""
    table = coalesce.create(directory, SCHEMA, partition_by=["dt"])
    for day in range(1, 6):
        if day == 5:
            table.evolve(add="bucket(4, merchant)")
        rows = {"dt": [dt.date(2026, 4, day)] * 40, "merchant": [f"m-{i}" for i in range(40)], "n": range(40)}
        table.append(pa.table(rows, schema=SCHEMA))
    return table


def test_it_moves_everything_and_can_stop_between_steps(tmp_path: Path) -> None:
    """After one step the table is whole and the rest is left; after all of them only the current layout is there."""
    table = table_of_two_specs(tmp_path)
    rows = table.scan().to_arrow().sort_by([("dt", "ascending"), ("n", "ascending")])
    first = next(iter(table.compact_steps(step_bytes=1)))
    assert first.bytes_left > 0
    assert [layout.files for layout in table.describe_evolution()] == [3, 8]
    assert table.count() == 200
    last = list(table.compact_steps(step_bytes=1))[-1]
    assert last.bytes_left == 0
    (only,) = table.describe_evolution()
    assert only.current
    assert table.scan().to_arrow().sort_by([("dt", "ascending"), ("n", "ascending")]).equals(rows)
    assert table.plan("dt = DATE '2026-04-01' AND merchant = 'm-7'").file_count == 1
    assert table.compact().files_before == 0
    check_files(core_of(table).storage, table.state, table.files())


def test_rows_keep_their_ids(tmp_path: Path) -> None:
    """A moved row carries its id and the version that wrote it in reserved columns of its new file."""
    table = table_of_two_specs(tmp_path)
    (old,) = table.files("dt = DATE '2026-04-02'")
    table.compact()
    ids = []
    for file in table.files("dt = DATE '2026-04-02'"):
        stored = pa.parquet.read_table(pa.BufferReader(core_of(table).storage.read(file.path)))
        ids += stored.column("_row_id").to_pylist()
        assert set(stored.column("_row_commit_version").to_pylist()) == {old.added_version}
    assert old.first_row_id is not None
    assert sorted(ids) == list(range(old.first_row_id, old.first_row_id + old.rows))


def table_of_small_files(directory: Path) -> Table:
    """Sixteen files of one physical partition."""
    table = coalesce.create(directory, SCHEMA)
    for number in range(16):
        table.append([{"dt": dt.date(2026, 4, 1), "merchant": "m", "n": number}])
    return table


def test_what_there_is_no_room_for_is_told(tmp_path: Path) -> None:
    """Nothing is done, but there is something to do: a dry run says the same."""
    table = table_of_small_files(tmp_path)
    done, dry = table.compact(max_bytes=0), table.compact(max_bytes=0, dry_run=True)
    assert (done.files_before, done.steps, table.version) == (0, 0, 16)
    assert done.bytes_left == dry.bytes_left == table.state.bytes
    assert repr(done).startswith("<compact: nothing done, ")


def test_little_room_is_used(tmp_path: Path) -> None:
    """Small files that are too many for it at once are merged as many at a time as it has room for."""
    table = table_of_small_files(tmp_path)
    room = table.state.bytes // 3
    files = []
    while table.state.files > 1:
        files.append(table.state.files)
        assert 0 < table.compact(max_bytes=room).bytes_moved <= room
        assert table.state.files < files[-1]
    assert files[0] == 16
    assert sorted(table.scan().to_arrow().column("n").to_pylist()) == list(range(16))
