"""Tables with dead rows are sound; what is said of dead rows and is not so is found; no repair brings a row back."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coalesce.arrow.encode import TUPLE_ORDER
from coalesce.model.datafile import DataFile, DeadTuple
from coalesce.model.spec import LogicalTuple
from coalesce.storage.base import Storage
from coalesce.table.maintain import kinds
from coalesce.table.table import Table, core_of
from tests.checker import check_files
from tests.table.maintain import planting
from tests.table.maintain.planting import first, on_disk, plant, sound

Change = Callable[[DataFile], DataFile]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two files in each of two days; in version 5 the apps `a` and NULL are dead in all of them, which are half."""
    table = sound(tmp_path / "t")
    table.set_properties({"remove.by": "mark"})
    table.drop_partition(app="a")
    table.drop_partition(app=None)
    assert [(f.rows, f.dead_rows) for f in table.files()] == [(4, 4), (6, 6), (4, 4), (6, 6)]
    return table


def numbers(table: Table) -> list[int]:
    """The numbers of the rows, read from the files."""
    found: list[int] = table.scan().to_arrow().column("n").to_pylist()
    return sorted(found)


def told(table: Table) -> list[tuple[object, ...]]:
    """What entries say of rows, live and dead."""
    files = sorted(table.files(), key=lambda f: f.path)
    return [(f.path, f.tuples, f.tuple_rows, f.dead, f.rows, f.first_row_id, f.added_version) for f in files]


def in_newest(table: Table) -> list[str]:
    """What a deep check finds in the newest version."""
    return planting.kinds([f for f in table.check(deep=True) if table.version in f.versions])


def test_it_is_sound(table: Table) -> None:
    """With what is dead, after more of it, after a rollback, and after a purge; a repair has nothing to do."""
    assert not table.check()
    assert not table.check(deep=True)
    table.drop_partition(app="")
    table.rollback(5)
    assert not table.check()
    assert not table.check(deep=True)
    assert not table.repair().committed
    table.purge()
    table.append(planting.rows(5_000))
    assert not table.check()
    assert not table.check(deep=True)


def test_counts_of_null_are_those_of_live_rows(tmp_path: Path) -> None:
    """Where it was known of all rows, it is known of those that are left; a check counts these alone."""
    table = sound(tmp_path / "t")
    table.add_column("nothing", "int64")
    table.append([{"dt": planting.rows(0)["dt"][0].as_py(), "app": app, "n": 1} for app in "xyz" for _ in range(5)])
    table.set_properties({"remove.by": "mark"})
    table.drop_partition(app="x")
    (file,) = (f for f in table.files() if f.dead)
    counts = {i: (s.null_count, s.nan_count) for i, s in file.statistics.items()}
    assert counts[3] == (0, None)
    assert counts[4][0] == counts[5][0] == 10
    assert table.check(deep=True) == []


# --- what is planted ---------------------------------------------------------------------------------------------


def _dead(file: DataFile, number: int, **changed: object) -> DataFile:
    dead = list(file.dead)
    dead[number] = dead[number]._replace(**changed)  # type: ignore[arg-type]
    return replace(file, dead=tuple(dead))


def _live(file: DataFile) -> list[tuple[LogicalTuple, int]]:
    assert file.tuples is not None
    assert file.tuple_rows is not None
    return [(t, n or 0) for t, n in zip(file.tuples, file.tuple_rows, strict=True)]


def _with_live(file: DataFile, told: list[tuple[LogicalTuple, int]]) -> DataFile:
    return replace(
        file, tuples=tuple(t for t, _ in told), tuple_rows=tuple(n for _, n in told), rows=sum(n for _, n in told)
    )


def _absent(file: DataFile) -> DataFile:
    return _dead(file, 0, values=(file.dead[0].values[0], "zzz"))


def _count(file: DataFile) -> DataFile:
    (tuple_, count), *others = _live(file)
    return _with_live(_dead(file, 0, rows=file.dead[0].rows + 1), [(tuple_, count - 1), *others])


def _both(file: DataFile) -> DataFile:
    """A removed tuple is listed among the others, with a row of one of them."""
    (tuple_, count), *others = _live(file)
    return _with_live(file, [(tuple_, count - 1), *others, (file.dead[0].values, 1)])


def _twice(file: DataFile) -> DataFile:
    one, *others = file.dead
    again = [one._replace(rows=one.rows - 1), DeadTuple(values=one.values, rows=1, place=len(_live(file)) + 2, since=1)]
    return replace(file, dead=(*again, *others))


def _back_to_life(file: DataFile) -> DataFile:
    """A removed tuple is not among the removed any more, and nowhere else."""
    (tuple_, count), *others = _live(file)
    gone, *dead = file.dead
    left = tuple(d._replace(place=d.place - 1) for d in dead)
    return _with_live(replace(file, dead=left), [(tuple_, count + gone.rows), *others])


def _place(file: DataFile) -> DataFile:
    """The places of the dead are those of others: readers would leave out others."""
    return replace(file, dead=tuple(d._replace(place=p) for d, p in zip(file.dead, (2, 3), strict=True)))


def _bounds(**changed: object) -> Change:
    return lambda file: replace(
        file,
        statistics={**file.statistics, 3: replace(file.statistics[3], **changed)},  # type: ignore[arg-type]
    )


CANNOT_BE_TOLD: dict[str, tuple[Change, str]] = {
    "absent": (_absent, "has no row of (dt = 2026-05-17, app = 'zzz'), whose rows its entry says were removed"),
    "both": (_both, "its entry says of (dt = 2026-05-17, app = NULL) that its rows were removed, and lists it"),
    "twice": (_twice, "its entry says of (dt = 2026-05-17, app = NULL) twice that its rows were removed"),
}
MENDED: dict[str, tuple[Change, str]] = {
    "count": (_count, kinds.WRONG_COUNT),
    "place": (_place, kinds.WRONG_ORDER),
    "lower": (_bounds(lower=5), kinds.WRONG_BOUNDS),
    "upper": (_bounds(upper=5), kinds.WRONG_BOUNDS),
    "nulls": (_bounds(null_count=1), kinds.WRONG_NULL_COUNT),
    "size": (lambda file: replace(file, bytes=file.bytes + 1), kinds.WRONG_SIZE),
    "live": (lambda file: _with_live(file, [(_live(file)[0][0], file.rows)]), kinds.MISSING_TUPLE),
    "other": (lambda file: _with_live(file, [((1, "no"), file.rows)]), kinds.WRONG_TUPLE),
}


@pytest.mark.parametrize("name", CANNOT_BE_TOLD)
def test_where_it_cannot_be_told_what_was_removed(table: Table, name: str) -> None:
    """It is found, and left alone: rows that were removed may never come back by themselves."""
    change, said = CANNOT_BE_TOLD[name]
    plant(table, first(change))
    assert table.check() == []
    (found,) = table.check(deep=True)
    assert (found.kind, found.versions, found.mendable) == (kinds.WRONG_DEAD, (6,), False)
    assert said in found.message
    assert "rollback(5)" in found.message
    result = table.repair()
    assert (result.committed, planting.kinds(result.left)) == (False, [kinds.WRONG_DEAD])


@pytest.mark.parametrize("name", MENDED)
def test_what_is_dead_stays_dead(table: Table, name: str) -> None:
    """The entry says again what is in its file: what was removed is, with the time of it, and nothing else."""
    (change, kind), before, known = MENDED[name], numbers(table), told(table)
    plant(table, first(change))
    assert in_newest(table) == [kind]
    result = table.repair()
    assert (planting.kinds(result.mended), planting.kinds(result.left)) == ([kind], [])
    assert in_newest(table) == []
    assert numbers(table) == before
    assert told(table) == known
    check_files(core_of(table).storage, table.state, table.files())


def test_a_tuple_that_nobody_knows_is_dead_is_found(table: Table) -> None:
    """An entry that forgot it has too many rows of another."""
    plant(table, first(_back_to_life))
    assert in_newest(table) == [kinds.MISSING_TUPLE]


def test_bounds_of_the_live_rows_will_do(table: Table) -> None:
    """They may be as narrow as those, and as wide as the file."""
    (file,) = table.files("n < 8")
    live = min(numbers(table))
    assert live > 0
    plant(table, lambda files: [_bounds(lower=live)(f) if f.path == file.path else f for f in files])
    assert table.check(deep=True) == []


def test_another_number_of_rows(table: Table) -> None:
    """The file has to have the live and the dead, and no others."""
    plant(table, first(lambda f: _dead(f, 0, rows=f.dead[0].rows + 1)))
    (found,) = (f for f in table.check(deep=True) if f.kind != kinds.ROW_ID_OVERLAP)
    assert (found.kind, found.mendable) == (kinds.WRONG_ROWS, False)
    assert "the file has 8 rows, and its entry says 9" in found.message


def test_ids_of_dead_rows_are_given_out(table: Table) -> None:
    """No other file may have them: a version that is kept has the rows."""
    files = {f.path: f for f in table.files()}
    one = next(f for f in files.values() if f.first_row_id == 0)
    clash = next(f for f in files.values() if f.first_row_id == 8)

    def overlapping(given: list[DataFile]) -> list[DataFile]:
        return [replace(f, first_row_id=one.physical_rows - 1) if f.path == clash.path else f for f in given]

    plant(table, overlapping)
    assert planting.kinds(table.check()) == [kinds.ROW_ID_OVERLAP]


# --- files that do not lie in order --------------------------------------------------------------------------------


def _in_disorder(table: Table, metadata: dict[bytes, bytes], *, ordered: bool = False) -> str:
    """Write the first file again with every other row first, and let its entry say that rows are `ordered`, or not."""
    path = on_disk(table)
    found = pq.ParquetFile(path).read()
    order = [*range(1, found.num_rows, 2), *range(0, found.num_rows, 2)]
    with pq.ParquetWriter(path, found.schema, store_schema=False) as writer:
        writer.write_table(found.take(pa.array(order)))
        writer.add_key_value_metadata(metadata)
    entry = table.files()[0].path
    plant(table, first(lambda f: replace(f, bytes=path.stat().st_size, ordered=ordered)))
    return entry


def test_rows_in_any_order_are_known_by_what_they_are(table: Table) -> None:
    """A file that does not say that its rows lie in order is as sound as any, and can be mended."""
    before = numbers(table)
    path = _in_disorder(table, {})
    assert in_newest(table) == []
    assert numbers(table) == before
    plant(table, lambda files: [_bounds(lower=7)(f) if f.path == path else f for f in files])
    assert in_newest(table) == [kinds.WRONG_BOUNDS]
    assert table.repair().committed
    assert in_newest(table) == []
    assert numbers(table) == before


def test_a_file_that_promises_an_order_it_does_not_have(table: Table) -> None:
    """Readers would take other rows for the dead ones; that is found, and nobody can mend it."""
    _in_disorder(table, {TUPLE_ORDER: b"true"})
    assert in_newest(table) == [kinds.WRONG_DEAD]
    assert not table.repair().committed


def test_an_entry_that_promises_an_order_its_file_does_not_have(table: Table) -> None:
    """Readers take other rows for the dead ones; a repair lets the entry say nothing, and the tuples tell again."""
    before = numbers(table)
    path = _in_disorder(table, {}, ordered=True)
    assert numbers(table) != before
    assert in_newest(table) == [kinds.WRONG_ORDER]
    assert table.repair().committed
    assert in_newest(table) == []
    assert numbers(table) == before
    assert [f.ordered for f in table.files() if f.path == path] == [False]


def test_a_repair_says_that_rows_lie_in_order(table: Table) -> None:
    """An entry that does not say it is sound; one that is made anew does, with the tuples as the file has them."""
    before = numbers(table)
    path = table.files()[0].path
    plant(table, first(lambda f: replace(f, ordered=False)))
    assert in_newest(table) == []
    plant(table, lambda files: [_bounds(lower=7)(f) if f.path == path else f for f in files])
    assert table.repair().committed
    assert [f.ordered for f in table.files() if f.path == path] == [True]
    assert in_newest(table) == []
    assert numbers(table) == before


def test_a_file_is_read_once_however_often_it_was_marked(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each removal makes an entry anew; all of them say the same of the file, and one is compared with it."""
    for app in ("", "b"):
        table.drop_partition(app=app)
    engine, read = core_of(table).engines.rows, list[str]()
    original = engine.inspect

    def counted(storage: Storage, path: str, *rest: Any) -> Any:
        read.append(path)
        return original(storage, path, *rest)

    monkeypatch.setattr(engine, "inspect", counted)
    assert not table.check(deep=True)
    assert max(map(read.count, read)) <= 2  # as it was, and with dead tuples
