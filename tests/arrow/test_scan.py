import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalesce.arrow import encode, read, row_groups, stretches
from coalesce.arrow import scan as scanning
from coalesce.arrow.read import OpenFile
from coalesce.arrow.scan import ArrowScan
from coalesce.arrow.write import write
from coalesce.errors import NeedsSpark, SchemaError
from coalesce.model.datafile import DataFile
from coalesce.model.rule import small
from coalesce.model.types import Value
from coalesce.model.values import values_of
from coalesce.predicate.expr import Bound
from tests.arrow.generated import Generated, plain_rows, predicates, tables
from tests.builders import make_plan_over, make_snapshot, make_version
from tests.predicate.reference import outcome


@pytest.fixture
def small_row_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of a handful of rows."""
    monkeypatch.setattr(encode, "SHARED_ROW_GROUP_BYTES", 1)
    monkeypatch.setattr(stretches, "SHARED_ROW_GROUP_BYTES", 1)
    monkeypatch.setattr(encode, "ALONE_ROW_GROUP_BYTES", 1)


def matching_rows(generated: Generated, predicate: Bound, opaque: bool | None) -> list[str]:
    """The rows on which the predicate is TRUE, one at a time, by definition."""
    schema = generated.version.schema
    columns: dict[int, list[Value]] = {}
    for field in schema:
        type_ = schema.atomic(field.id)
        column = generated.rows.column(field.name)
        # Of a nested value only whether it is NULL can be asked.
        columns[field.id] = (
            values_of(type_, column) if type_ is not None else [None if n else 0 for n in column.is_null().to_pylist()]
        )
    keep = [
        outcome(predicate, {i: c[row] for i, c in columns.items()}, {"f(x)": opaque}) is True
        for row in range(generated.rows.num_rows)
    ]
    return sorted(plain_rows(generated.rows.filter(pa.array(keep, pa.bool_()))))


@given(st.data())
def test_exactly_the_rows_that_match(data: st.DataObject) -> None:
    """For any table and predicate: the rows that brute force finds, or NeedsSpark where they depend on the unknown.

    Some entries have lost their tuples, statistics or both, and row groups are small.
    """
    generated = data.draw(tables())
    predicate = data.draw(predicates(generated))
    with tempfile.TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode, "SHARED_ROW_GROUP_BYTES", data.draw(st.sampled_from([1, 200, 10**9])))
        patch.setattr(read, "_LONG_RUN", data.draw(st.sampled_from([0, 2, 16])))
        snapshot = make_snapshot(Path(directory), generated.version)
        files = [data.draw(st.sampled_from(_weakened(f))) for f in write(snapshot, generated.rows)]
        scan = ArrowScan(snapshot, make_plan_over(generated.version, files, predicate))
        truths = [matching_rows(generated, predicate, answer) for answer in (True, False, None)]
        try:
            found = scan.to_arrow()
        except NeedsSpark:
            found = None
        if found is None:
            assert "Opaque" in str(predicate)
            return
        assert [sorted(plain_rows(found))] * 3 == truths
        assert found.num_rows == sum(b.num_rows for b in scan.to_batches())


def _weakened(file: DataFile) -> list[DataFile]:
    unknown = replace(file, tuples=None, tuple_rows=None, complete=False)
    return [
        file,
        unknown,
        replace(file, statistics={}),
        replace(unknown, statistics={}, physical_key=None),
        replace(file, tuple_rows=None),
    ]


# --- columns -----------------------------------------------------------------------------------------------------

ROWS = pa.table(
    {
        "day": np.repeat([1, 2, 3], 40),
        "app": np.tile(np.repeat(["a", "b", "c", "d"], 10), 3),
        "n": range(120),
        "t": [f"text {i}" for i in range(120)],
    }
)


def scan_of(
    directory: Path,
    where: str = "true",
    columns: list[str] | None = None,
    partition_by: tuple[str, ...] = ("day", "app"),
    shared: tuple[str, ...] = ("day", "app"),
) -> ArrowScan:
    """A scan over `ROWS`, which share one file."""
    version = make_version(ROWS.schema, partition_by, small(*shared))
    snapshot = make_snapshot(directory, version)
    return ArrowScan(snapshot, make_plan_over(version, write(snapshot, ROWS), where), columns)


def test_columns_come_as_they_were_asked_for(tmp_path: Path) -> None:
    """In that order, under the table's own names, each once; an unknown one is an error with a suggestion."""
    scan = scan_of(tmp_path, "app = 'b' AND day = 2", ["N", "day", "n"])
    assert scan.to_arrow().to_pydict() == {"n": list(range(50, 60)), "day": [2] * 10}
    with pytest.raises(SchemaError, match="did you mean 'app'"):
        scan_of(tmp_path, columns=["ap"]).to_arrow()


def test_no_columns_count_rows(tmp_path: Path) -> None:
    """Asking for no columns gives rows to count."""
    scan = scan_of(tmp_path, "n < 17", [])
    assert scan.to_arrow().num_rows == 17
    assert sum(batch.num_rows for batch in scan.to_batches()) == 17
    assert scan_of(tmp_path, "n < 0", []).to_arrow().num_rows == 0


def test_an_empty_result_has_the_schema(tmp_path: Path) -> None:
    """No file, or no row that matches: still a table with the right columns."""
    for where in ("day = 77", "n < 50 AND t = 'nothing'", "false"):
        found = scan_of(tmp_path, where, ["t", "n"]).to_arrow()
        assert found.schema.names == ["t", "n"]
        assert found.num_rows == 0


# --- what is read ------------------------------------------------------------------------------------------------


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[str, ...], int]]:
    """Which columns were read of how many rows, call by call."""
    calls: list[tuple[tuple[str, ...], int]] = []
    original = OpenFile.read

    def counted(self: OpenFile, fields: Any, groups: Any, part: Any = None, wanted: Any = None) -> pa.Table:
        rows = sum(self.group_rows[group] for group in groups) if part is None else len(part)
        calls.append((tuple(f.name for f in fields), rows))
        return original(self, fields, groups, part, wanted)

    monkeypatch.setattr(OpenFile, "read", counted)
    return calls


@pytest.mark.usefixtures("small_row_groups")
def test_only_row_groups_that_may_match_are_read(tmp_path: Path, reads: list[tuple[tuple[str, ...], int]]) -> None:
    """Parquet's statistics and the places of tuples leave out most of a shared file."""
    found = scan_of(tmp_path, "n = 57", ["t"]).to_arrow()
    assert found.to_pydict() == {"t": ["text 57"]}
    assert sum(rows for columns, rows in reads if "n" in columns) < 5


@pytest.mark.usefixtures("small_row_groups")
def test_tuples_tell_where_rows_lie(
    tmp_path: Path, reads: list[tuple[tuple[str, ...], int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even without statistics: the entry's counts say where in the file the rows of a bucket are."""
    monkeypatch.setattr(row_groups, "_statistics_domains", lambda *_: {})
    scan = scan_of(tmp_path, "t = 'text 57'", ["n"], ("bucket(50, t)",), ("t_bucket",))
    assert scan.plan.file_count == 1
    assert scan.to_arrow().to_pydict() == {"n": [57]}
    assert sum(rows for columns, rows in reads if "t" in columns) < 10


@pytest.mark.usefixtures("small_row_groups")
def test_places_are_not_trusted_without_the_footers_word(tmp_path: Path) -> None:
    """An entry whose counts do not fit the file, or a file that was not sorted, is filtered row by row."""
    scan = scan_of(tmp_path, "t = 'text 57'", ["n"], ("bucket(50, t)",), ("t_bucket",))
    (entry,) = scan.plan.files
    assert entry.tuples is not None
    assert entry.tuple_rows is not None
    rest = entry.tuple_rows[1:]
    for counts in (None, (None, *rest), (entry.rows, *rest), (None, entry.rows + 1, *rest[1:])):
        plan = make_plan_over(scan.plan.version, [replace(entry, tuple_rows=counts)], scan.plan.predicate)
        assert ArrowScan(scan.snapshot, plan, ["n"]).to_arrow().to_pydict() == {"n": [57]}


@pytest.mark.usefixtures("small_row_groups")
@pytest.mark.parametrize("cores", [2, 3, 64])
def test_a_large_file_is_read_in_shares(
    tmp_path: Path, reads: list[tuple[tuple[str, ...], int]], monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    """Each row group by one thread, and the rows come in the order in which they lie."""
    scan = scan_of(tmp_path, "n % 3 = 1 OR t = 'text 57'", ["n"])
    in_order = pa.Table.from_batches(scan.to_batches(), scan.schema)
    alone = sum(rows for _, rows in reads)
    reads.clear()
    monkeypatch.setattr(scanning, "_WORTH_SHARING", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    shared = scan.to_arrow()
    assert shared.num_rows > 20
    assert shared.combine_chunks().equals(in_order.combine_chunks())
    assert sum(rows for _, rows in reads) == alone


def test_other_columns_are_read_only_where_something_matches(
    tmp_path: Path, reads: list[tuple[tuple[str, ...], int]]
) -> None:
    """The columns of the predicate come first; if no row matches, the others are never decoded."""
    assert scan_of(tmp_path, "t = 'text 57x'").to_arrow().num_rows == 0
    assert {columns for columns, _ in reads} == {("t",)}


def test_conditions_a_file_satisfies_are_not_checked_again(
    tmp_path: Path, reads: list[tuple[tuple[str, ...], int]]
) -> None:
    """Where all tuples of a file match, its rows are handed on as they are."""
    assert scan_of(tmp_path, "day >= 1 AND app <> 'x'", ["n"]).to_arrow().num_rows == 120
    assert {columns for columns, _ in reads} == {("n",)}


# --- what only Spark knows ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_row_groups")
def test_threads_may_share_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch goes to one of them, and those that come meanwhile wait."""
    monkeypatch.setattr(stretches, "SHARED_ROW_GROUP_BYTES", 1)  # each row group by itself
    scan = scan_of(tmp_path, columns=["n"])
    original = OpenFile.read

    def slow(*arguments: Any) -> pa.Table:
        time.sleep(0.005)  # others have their turn
        return original(*arguments)

    monkeypatch.setattr(OpenFile, "read", slow)
    reader = scan.to_reader()
    with ThreadPoolExecutor(4) as pool:
        parts = [*pool.map(lambda _: list(reader), range(4))]
    assert sum(len(part) for part in parts) > 4
    found = [n for part in parts for batch in part for n in batch.column(0).to_pylist()]
    assert sorted(found) == sorted(ROWS.column("n").to_pylist())


def test_unknown_conditions_need_spark(tmp_path: Path) -> None:
    """The error names the condition, and comes only if it matters."""
    with pytest.raises(NeedsSpark, match="soundex"):
        scan_of(tmp_path, "soundex(t) = 'X' AND n = 5").to_arrow()
    assert scan_of(tmp_path, "soundex(t) = 'X' AND n < 0").to_arrow().num_rows == 0
    assert scan_of(tmp_path, "soundex(t) = 'X' AND n <> n + 0 AND day = 77").to_arrow().num_rows == 0
    assert scan_of(tmp_path, "(soundex(t) = 'X' AND t = 'y') OR n = 5").to_arrow().num_rows == 1
