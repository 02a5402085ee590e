"""The same questions to every reader that needs no jar, at each stage of a table's life."""

from pathlib import Path

import pytest

from tests.interop import everything, reading
from tests.interop.queries import QUERIES

READERS = {
    "PyIceberg": reading.pyiceberg,
    "Polars, Iceberg": reading.polars_iceberg,
    "delta-rs": reading.delta_rs,
    "Polars, Delta": reading.polars_delta,
}


def names_of(table: object) -> dict[str, str]:
    """What the columns are called that are renamed on the way."""
    renamed = "title" in table.schema.names  # type: ignore[attr-defined]
    return {"name": "title", "city": "town"} if renamed else {"name": "name", "city": "city"}


def test_every_reader_gives_the_same_rows(tmp_path: Path) -> None:
    """Forty questions after each of four stages, out of exports that were brought up to date."""
    table = everything.create(tmp_path / "t")
    for stage, change in everything.STAGES.items():
        change(table)
        table.export_iceberg()
        table.export_delta(partitioned=False)
        names, place = names_of(table), str(tmp_path / "t")
        ours = reading.coalesce_arrow(place)
        for reader, make in READERS.items():
            read = make(place)
            for query in QUERIES:
                try:
                    got = reading.answer(read(query, names))
                except Exception as error:  # noqa: BLE001
                    pytest.fail(f"{reader}, {stage}, {query.name}: {error!r}")
                assert got == reading.answer(ours(query, names)), (reader, stage, query.name)
