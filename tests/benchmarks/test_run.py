from typing import Any

import pytest

from benchmarks.engines.registry import chosen
from benchmarks.run import groups
from benchmarks.workload import parse

NAMES = ["coalesce", "hive", "iceberg-day", "coalesce-arrow", "polars", "duckdb"]


@pytest.mark.parametrize(
    ("together", "expected"),
    [
        (True, ["coalesce hive iceberg-day", "coalesce-arrow polars duckdb"]),
        (False, NAMES),
        (["polars", "coalesce-arrow"], ["coalesce-arrow polars", "coalesce", "hive", "iceberg-day", "duckdb"]),
        (["coalesce", "hive", "hudi"], ["coalesce hive", "iceberg-day", "coalesce-arrow", "polars", "duckdb"]),
    ],
)
def test_who_takes_turns_with_whom(together: Any, expected: list[str]) -> None:
    """Those that the workload names, with others of their kind; nobody is left out, and nobody comes twice."""
    size = {"rows": 10, "days": 1, "tenants": 1, "together": together}
    loaded = parse("small", {"purpose": "a few rows", "seed": 1, "sizes": {"tiny": size}, "queries": [{"name": "all"}]})
    assert [" ".join(e.name for e in group) for group in groups(chosen(NAMES), loaded.size(None))] == expected
