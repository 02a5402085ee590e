"""The public surface is what it says it is, and needs neither Spark nor Java until they are asked for."""

import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest

import coalesce
from coalesce import errors

# What users meet. A name is added here because somebody decided so.
ERRORS = [name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)]
FUNCTIONS = [
    "adopt",
    "advise",
    "attach",
    "col",
    "create",
    "each_batch",
    "group",
    "keep_all",
    "open",
    "session",
    "small",
]
CLASSES = [
    "AdoptResult",
    "Advice",
    "CompactResult",
    "DataFile",
    "Description",
    "ExpireResult",
    "ExportResult",
    "Finding",
    "Generation",
    "Listing",
    "LogicalPartition",
    "Merge",
    "Plan",
    "RepairResult",
    "Report",
    "Scan",
    "Schema",
    "Step",
    "Table",
    "VacuumResult",
    "Version",
    "WriteResult",
]


def run(code: str) -> str:
    """What a Python of its own prints."""
    shown = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    return shown.stdout.strip()


def members(kind: type) -> list[str]:
    """What an object of a class offers its user."""
    return sorted(name for name in dir(kind) if not name.startswith("_"))


def test_the_public_names_are_these_and_no_others() -> None:
    """What `dir` offers, what `import *` brings, and what is written down here are the same."""
    expected = sorted(["__version__", *ERRORS, *FUNCTIONS, *CLASSES])
    assert sorted(coalesce.__all__) == expected
    assert dir(coalesce) == expected
    for name in expected:
        assert getattr(coalesce, name) is not None
    found = {name for name, held in vars(coalesce).items() if not isinstance(held, ModuleType)}
    assert {name for name in found if not name.startswith("_")} <= set(expected)
    print("\n".join(expected))  # noqa: T201 - the surface, for those who run this with -s


TABLE = [
    *("location", "version", "schema", "state", "refresh", "at", "history"),
    *("plan", "scan", "read", "changes", "last_scan", "count", "distinct", "min", "max", "partitions", "files"),
    *("append", "delete", "truncate", "overwrite", "overwrite_partitions", "drop_partition", "rollback"),
    *("update", "merge", "upsert"),
    *("set_rule", "set_properties", "evolve", "add_column", "drop_column", "rename_column", "reorder", "widen_column"),
    *("enable_feature", "replace_schema", "compact", "compact_steps", "purge", "purge_steps"),
    *("describe", "describe_evolution"),
    *("tag", "untag", "tags", "expire", "vacuum", "check", "repair"),
    *("export_iceberg", "export_delta", "drop_export"),
]
OTHERS = {
    "WriteResult": [
        *("version", "operation", "rows_added", "rows_removed", "rows_updated", "files_added", "files_removed"),
        *("seconds", "committed"),
    ],
    "ExpireResult": ["version", "retained_from", "versions", "bytes", "failures", "dry_run", "seconds"],
    "VacuumResult": ["files", "paths", "bytes", "failures", "dry_run", "seconds"],
    "ExportResult": [
        *("format", "location", "version", "number", "files", "files_added", "files_removed", "dead_files"),
        *("partitioned_by", "written", "seconds"),
    ],
    "Finding": ["kind", "where", "versions", "message", "mendable"],
    "RepairResult": ["version", "mended", "left", "committed", "dry_run", "seconds"],
    "Merge": [
        *("when_matched_update", "when_matched_delete", "when_not_matched_insert", "when_not_matched_by_source_update"),
        *("when_not_matched_by_source_delete", "execute"),
    ],
    "LogicalPartition": ["spec_id", "values", "files", "rows", "bytes"],
    "Description": [
        *("location", "table_id", "version", "committed", "operation", "rows", "dead_rows", "files", "bytes"),
        *("dead_bytes", "manifests", "schema", "partition_by", "rule", "specs", "rules", "properties"),
        *("reader_features", "writer_features"),
    ],
    "Listing": ["count", "index", "to_arrow", "to_pandas", "to_polars"],
    "Report": ["version", "predicate", "stages", "unknown_files", "residual", "to_dict"],
}


def test_a_table_offers_these_and_nothing_else(tmp_path: Path) -> None:
    """What a table is made of is behind one door, and no part of what it promises; nor does an object have more."""
    assert members(coalesce.Table) == sorted(TABLE)
    table = coalesce.create(tmp_path, pa.schema([("n", pa.int64())]))
    assert [name for name in dir(table) if not name.startswith("_")] == sorted(TABLE)
    for name, expected in OTHERS.items():
        assert members(getattr(coalesce, name)) == sorted(expected)


def test_a_misspelt_name_is_an_attribute_error() -> None:
    """So that `hasattr` and tools that look around work."""
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        coalesce.opne  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(coalesce, "Any")


def test_importing_starts_nothing() -> None:
    """`import coalesce` loads no PySpark, data frames or stores: a planner in a small function stays small."""
    unwanted = ("pyspark", "py4j", "pandas", "polars", "duckdb", "obstore")
    code = f"import sys, coalesce; print([m for m in {unwanted} if m in sys.modules])"
    assert run(code) == "[]"


def test_every_name_is_there_without_pyspark() -> None:
    """Looking at them needs no Spark; starting one says in a sentence what is missing."""
    code = """
import sys
sys.modules["pyspark"] = None
from coalesce import *
import coalesce.spark.commands.each_batch
try:
    session()
except SparkUnavailable as error:
    print(error)
"""
    assert run(code).startswith("PySpark cannot be imported")


def test_the_package_is_the_command() -> None:
    """`python -m coalesce` does what `coalesce` does, its exit code included."""
    shown = subprocess.run([sys.executable, "-m", "coalesce", "--version"], capture_output=True, text=True)
    assert (shown.returncode, shown.stdout) == (0, f"coalesce {coalesce.__version__}\n")
    shown = subprocess.run([sys.executable, "-m", "coalesce", "nothing"], capture_output=True, text=True)
    assert shown.returncode == 2
