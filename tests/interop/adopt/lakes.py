"""Directories as other programs leave them."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

NULL = "__HIVE_DEFAULT_PARTITION__"


def lay(root: Path, files: Mapping[str, pa.Table], **options: Any) -> Path:
    """Parquet files, by their paths."""
    for path, rows in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, root / path, **options)
    return root


def digest(root: Path) -> dict[str, str]:
    """Every file that is not the table's own metadata, and what is in it."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "_coalesce" not in path.parts
    }


def rows_of(table: pa.Table) -> list[str]:
    """The rows in an order that does not depend on the one they came in, NaN included."""
    names = sorted(table.column_names)
    return sorted(repr([row[name] for name in names]) for row in table.to_pylist())
