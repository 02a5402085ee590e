"""The same questions to every reader that needs no jar; `python -m tests.interop.readers` asks the others, too."""

from pathlib import Path

import pytest

from coalesce.table.table import Table
from tests.interop import everything, reading
from tests.interop.queries import QUERIES, Query
from tests.interop.readers import REFUSALS, names_of

STAGES = list(everything.STAGES)


def different(reader: str, stage: str, read: reading.Reader, ours: reading.Reader, table: Table) -> list[str]:
    """The questions of a stage that a reader answers otherwise; each is asked at one of the stages."""
    names = names_of(table)
    return [
        f"{reader}, {stage}: {query.name}"
        for query in QUERIES[STAGES.index(stage) :: len(STAGES)]
        if _answer(reader, stage, read, query, names) not in (reading.answer(ours(query, names)), None)
    ]


def _answer(reader: str, stage: str, read: reading.Reader, query: Query, names: dict[str, str]) -> object:
    """The answer; None if the reader refuses the table for a known reason."""
    try:
        return reading.answer(read(query, names))
    except Exception as error:
        allowed = REFUSALS.get((reader, stage))
        if allowed is None or allowed not in str(error):
            raise
        return None


def test_every_reader_gives_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Out of exports that are brought up to date after deletes, changes of columns, a compaction and a wider type."""
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")  # without it, Polars recommends another package
    marked, purged = everything.create(tmp_path / "marked"), everything.create(tmp_path / "purged")
    wrong = []
    for stage, change in everything.STAGES.items():
        change(marked)
        change(purged)
        marked.export_iceberg()
        marked.export_delta(dead_rows="mark")
        purged.export_delta(partitioned=False)
        ours = reading.coalesce_arrow(marked.location)
        readers = {
            "PyIceberg": reading.pyiceberg(marked.location),
            "Polars, Iceberg": reading.polars_iceberg(marked.location),
            "delta-rs": reading.delta_rs(marked.location),
            "Polars, Delta": reading.polars_delta(purged.location),
        }
        for reader, read in readers.items():
            wrong += different(reader, stage, read, ours, marked)
    assert wrong == []
