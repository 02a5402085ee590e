"""Apache Iceberg without a JVM."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow.dataset as ds
import pyiceberg
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import AlwaysTrue, BooleanExpression
from pyiceberg.expressions.parser import parse

from benchmarks.engines.conditions import aggregated, expression, no_join
from benchmarks.engines.engine import Engine, Footprint, NotOffered, Rows, measured
from benchmarks.staged import Staged, Target
from benchmarks.workload import Query


class PyIceberg(Engine):
    """By dt, rows sorted by app, zstd at level 1; a catalog in SQLite, as in its documentation. A condition with a
    function it does not know: then everything is read and filtered with pyarrow.
    """

    def __init__(self, staged: Staged, place: Path) -> None:
        super().__init__(staged, place)
        self._catalog = SqlCatalog("benchmarks", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}")
        self._catalog.create_namespace_if_not_exists("db")

    def versions(self) -> dict[str, str]:
        """See `Engine`."""
        return {"pyiceberg": pyiceberg.__version__}

    def create(self, name: str, source: Path, by: Sequence[str] = ("dt", "app")) -> None:
        """See `Engine`."""
        properties = {"write.parquet.compression-codec": "zstd", "write.parquet.compression-level": "1"}
        self._table = self._catalog.create_table(f"db.{name}", ds.dataset(source).schema, properties=properties)
        with self._table.update_spec() as spec:
            spec.add_identity("dt")
        self.append(source)

    def open(self, name: str) -> None:
        """See `Engine`."""
        self._table = self._catalog.load_table(f"db.{name}")

    def append(self, source: Path) -> None:
        """See `Engine`."""
        self._table.append(ds.dataset(source).to_table().sort_by([("dt", "ascending"), ("app", "ascending")]))

    def prepare(self, where: str | None) -> None:
        """See `Engine`."""
        with suppress(NotOffered):  # said where it is measured
            expression(where)

    def query(self, query: Query) -> Rows:
        """See `Engine`."""
        no_join(query)
        if query.columns == ():
            return [[self._table.scan(row_filter=_filter(query.where)).count()]]
        if query.where is not None and query.where.startswith("lower("):
            rows = self._table.scan(selected_fields=("dt", "app", *query.columns)).to_arrow()
            return aggregated(query, rows.filter(expression(query.where)))
        scan = self._table.scan(row_filter=_filter(query.where), selected_fields=query.columns)
        return aggregated(query, scan.to_arrow())

    def plan(self, where: str) -> int:
        """See `Engine`."""
        return len(list(self._table.scan(row_filter=_filter(where)).plan_files()))

    def overwrite(self, source: Path, target: Target) -> None:
        """See `Engine`."""
        self._table.overwrite(ds.dataset(source).to_table(), overwrite_filter=_filter(target.where))

    def delete(self, where: str) -> None:
        """See `Engine`."""
        self._table.delete(_filter(where))

    def merge(self, source: Path) -> None:
        """See `Engine`; by keys."""
        self._table.upsert(ds.dataset(source).to_table(), join_cols=["dt", "app", "id"])

    def rename(self, old: str, new: str) -> None:
        """See `Engine`."""
        with self._table.update_schema() as schema:
            schema.rename_column(old, new)

    def change_spec(self, field: str) -> None:
        """See `Engine`."""
        with self._table.update_spec() as spec:
            spec.add_identity(field)

    def footprint(self) -> Footprint:
        """See `Engine`."""
        disk = measured(Path(self._table.location().removeprefix("file://")), ("metadata",))
        sizes = self._table.inspect.files()["file_size_in_bytes"].to_pylist()
        return Footprint(
            files=len(sizes),
            directories=disk.directories,
            data_bytes=sum(sizes),
            metadata_bytes=disk.metadata_bytes,
        )


def _filter(where: str | None) -> BooleanExpression:
    """Its own language is nearly SQL: a date is a text."""
    return AlwaysTrue() if where is None else parse(where.replace("DATE ", ""))
