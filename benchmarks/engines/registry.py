"""The engines there are, and why one cannot be had here. None is imported before it is used, in its own process."""

import importlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import peers
from benchmarks.engines.engine import Engine
from benchmarks.staged import Staged
from benchmarks.workload import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One engine: where its class is, and what it needs."""

    name: str
    module: str
    class_: str
    spark: bool = True
    packages: tuple[str, ...] = ()
    peer: str | None = None

    def unavailable(self) -> str | None:
        """Why it cannot be had here, in a few words; None if it can."""
        missing = [name for name in self.packages if importlib.util.find_spec(name) is None]
        if missing:
            return f"{', '.join(missing)} is not installed"
        return None if self.peer is None else peers.unavailable(self.peer)

    @property
    def python(self) -> str | None:
        """The Python of its own environment; None for this one."""
        return None if self.peer is None else peers.python(self.peer)

    def load(self, staged: Staged, place: Path) -> Engine:
        """The engine, in this process."""
        made = getattr(importlib.import_module(f"benchmarks.engines.{self.module}"), self.class_)(staged, place)
        assert isinstance(made, Engine)
        return made

    def configuration(self) -> str:
        """What is set and why: the class's docstring, out of the source, so that nothing has to be imported."""
        import ast

        tree = ast.parse((Path(__file__).parent / f"{self.module}.py").read_text())
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == self.class_]
        return " ".join((ast.get_docstring(classes[0]) or "").split())


def _spark(name: str, module: str, class_: str, peer: str | None = None) -> Entry:
    return Entry(name=name, module=module, class_=class_, peer=peer, packages=() if peer else ("pyspark",))


def _direct(name: str, module: str, class_: str, *packages: str) -> Entry:
    return Entry(name=name, module=module, class_=class_, spark=False, packages=("pyarrow", *packages))


_ALL: Final = (
    _spark("coalesce", "ours", "Coalesce"),
    _spark("hive", "plain", "Hive"),
    _spark("parquet-day", "plain", "ByDay"),
    _spark("delta-partitioned", "delta", "DeltaPartitioned", "delta"),
    _spark("delta-day", "delta", "DeltaByDay", "delta"),
    _spark("delta-liquid", "delta", "DeltaLiquid", "delta"),
    _spark("iceberg-partitioned", "iceberg", "IcebergPartitioned", "iceberg"),
    _spark("iceberg-day", "iceberg", "IcebergByDay", "iceberg"),
    _spark("iceberg-day-mor", "iceberg", "IcebergByDayMergeOnRead", "iceberg"),
    _spark("iceberg-bucket-cow", "iceberg", "IcebergBucketCopyOnWrite", "iceberg"),
    _spark("iceberg-bucket-mor", "iceberg", "IcebergBucketMergeOnRead", "iceberg"),
    _spark("paimon", "paimon", "Paimon", "paimon"),
    _spark("hudi", "hudi", "Hudi", "hudi"),
    _direct("coalesce-arrow", "ours_arrow", "CoalesceArrow"),
    _direct("pyarrow-dataset", "arrow_dataset", "ArrowDataset"),
    _direct("delta-rs", "delta_rs", "DeltaRs", "deltalake"),
    _direct("pyiceberg", "py_iceberg", "PyIceberg", "pyiceberg"),
    _direct("polars", "polars_scan", "PolarsScan", "polars"),
    _direct("duckdb", "duckdb_scan", "DuckDbScan", "duckdb"),
)
ENTRIES: Final = {entry.name: entry for entry in _ALL}
# What the others of each kind are compared with.
OURS: Final = {True: "coalesce", False: "coalesce-arrow"}


def chosen(names: list[str]) -> list[Entry]:
    """Some engines, by name."""
    unknown = [name for name in names if name not in ENTRIES]
    if unknown:
        raise Refused(f"there is no engine {unknown[0]!r}; there are {', '.join(ENTRIES)}.")
    return [ENTRIES[name] for name in dict.fromkeys(names)]
