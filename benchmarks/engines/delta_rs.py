"""Delta Lake without a JVM."""

from collections.abc import Sequence
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable, QueryBuilder, WriterProperties, write_deltalake

from benchmarks.engines.conditions import no_join
from benchmarks.engines.engine import Engine, Footprint, NotOffered, Rows, measured
from benchmarks.staged import Target
from benchmarks.workload import Query


class DeltaRs(Engine):
    """By dt, rows sorted by app, zstd at level 1. Queries go through its own `QueryBuilder`: faster than a dataset of
    pyarrow's, which after a delete cannot be filtered by a text (string and string_view). Compaction is
    `optimize.compact`: it merges what is small, as ours does, where `z_order` writes the whole table again.
    """

    _BEST = WriterProperties(compression="ZSTD", compression_level=1)

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {"deltalake": deltalake.__version__}

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        self._place = str(self.place / name)
        self.append(source)

    def open(self, name: str) -> None:
        """See `Engine`."""
        self._place = str(self.place / name)
        self._table = DeltaTable(self._place)

    def append(self, source: Path) -> None:
        """See `Engine`."""
        rows = ds.dataset(source).to_table().sort_by([("dt", "ascending"), ("app", "ascending")])
        write_deltalake(self._place, rows, partition_by=["dt"], mode="append", writer_properties=self._BEST)
        self._table = DeltaTable(self._place)

    def query(self, query: Query) -> Rows:
        """See `Engine`."""
        no_join(query)
        answered = QueryBuilder().register("t", self._table).execute(query.sql("t"))
        return list(zip(*pa.table(answered).to_pydict().values(), strict=True))

    def plan(self, where: str) -> int:
        """See `Engine`; `file_uris`, which takes conditions that are joined by AND as triples."""
        triples = [(name, "=", value.strip("'")) for name, _, value in _conjuncts(where)]
        return len(self._table.file_uris(file_pruning_predicate=triples))

    def overwrite(self, source: Path, target: Target) -> None:
        """See `Engine`; `predicate=`."""
        rows = ds.dataset(source).to_table()
        where = _without_type(target.where)
        write_deltalake(self._place, rows, mode="overwrite", predicate=where, writer_properties=self._BEST)
        self._table = DeltaTable(self._place)

    def delete(self, where: str) -> None:
        """See `Engine`."""
        self._table.delete(_without_type(where), writer_properties=self._BEST)

    def update(self, column: str, value: str, where: str) -> None:
        """See `Engine`."""
        self._table.update(updates={column: value}, predicate=_without_type(where), writer_properties=self._BEST)

    def merge(self, source: Path) -> None:
        """See `Engine`."""
        merger = self._table.merge(
            ds.dataset(source).to_table(),
            f"t.dt = {_without_type(self.staged.values['day'])} AND t.dt = s.dt AND t.app = s.app AND t.id = s.id",
            source_alias="s",
            target_alias="t",
            writer_properties=self._BEST,
        )
        merger.when_matched_update({"value": "s.value"}).when_not_matched_insert_all().execute()

    def compact(self) -> None:
        """See `Engine`."""
        self._table.optimize.compact(writer_properties=self._BEST)

    def rename(self, old: str, new: str) -> None:
        """See `Engine`."""
        raise NotOffered("has no rename")

    def footprint(self) -> Footprint:
        """See `Engine`."""
        disk = measured(Path(self._place), ("_delta_log", ".bin"))
        sizes = self._table.get_add_actions(flatten=True)["size_bytes"].to_pylist()
        return Footprint(
            files=len(sizes),
            directories=disk.directories,
            data_bytes=sum(sizes),
            metadata_bytes=disk.metadata_bytes,
        )


def _without_type(where: str) -> str:
    """Its dates are texts."""
    return where.replace("DATE ", "")


def _conjuncts(where: str) -> list[tuple[str, str, str]]:
    """`dt = DATE '…' AND app = '…'`, part by part."""
    return [part.partition(" = ") for part in _without_type(where).split(" AND ")]
