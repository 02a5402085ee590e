"""Opening tables: the newest version, an older one, and an older one behind a damaged newest."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import CorruptMetadata, NeedsSpark, PredicateError, UnsupportedFeature
from coalesce.manifest.paths import version_path
from tests.manifest.examples import document_of, signed
from tests.support.settings import CASE_SENSITIVE, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_rule_may_say_how_large_files_become(tmp_path: Path) -> None:
    """`small(target=…)` is the table's target, at creation and later; a property that says otherwise wins."""
    schema = pa.schema([("app", pa.string())])
    rule = coalesce.small("app", below="1MB", target="2MB")
    table = coalesce.create(tmp_path / "t", schema, partition_by=["app"], rule=rule)
    assert table.snapshot().target_file_bytes == 2 * 2**20
    table.set_rule(coalesce.small("app", target="3MB"))
    assert table.snapshot().target_file_bytes == 3 * 2**20
    table.set_rule(coalesce.small("app"))
    assert table.snapshot().target_file_bytes == 3 * 2**20
    said = {"write.target-file-bytes": "4MB"}
    other = coalesce.create(tmp_path / "u", schema, partition_by=["app"], rule=rule, properties=said)
    assert other.snapshot().target_file_bytes == 4 * 2**20


def test_an_older_version_opens_behind_a_damaged_newest(tmp_path: Path) -> None:
    """The damage is reported to whoever wants the newest version, and to nobody else."""
    table = coalesce.create(tmp_path, pa.schema([("n", pa.int64())]))
    table.append(pa.table({"n": [1]}))
    table.append(pa.table({"n": [2]}))
    newest = tmp_path / version_path(2)
    newest.chmod(0o644)
    newest.write_bytes(newest.read_bytes()[:-10])
    assert coalesce.open(tmp_path, version=1).count() == 1
    with pytest.raises(CorruptMetadata, match=r"00002\.json"):
        coalesce.open(tmp_path)


def test_counting_asks_spark_where_only_spark_knows(tmp_path: Path, spark: "SparkSession") -> None:
    """A function in the predicate is counted by Spark if there is one, and refused with a sentence if not."""
    table = coalesce.create(tmp_path, pa.schema([("app", pa.string()), ("s", pa.string())]), partition_by=["app"])
    table.append(pa.table({"app": ["A", "b", "a"], "s": ["X", "x", "y"]}))
    with pytest.raises(NeedsSpark, match="lower"):
        table.count("lower(s) = 'x'")
    assert coalesce.open(tmp_path, spark=spark).count("lower(s) = 'x'") == 2


def test_a_table_with_an_unknown_kind_of_rule_is_read(tmp_path: Path) -> None:
    """A newer release may have made it the current one: rows are found and counted, and only a write is refused."""
    table = coalesce.create(tmp_path, pa.schema([("app", pa.string())]), partition_by=["app"])
    table.append(pa.table({"app": ["a", "b"]}))
    document = document_of(table.state)
    document["rules"].append({"rule_id": 1, "kind": "by_moon"})
    document["current_rule_id"] = 1
    newest = tmp_path / version_path(1)
    newest.unlink()
    newest.write_bytes(signed(document))
    found = coalesce.open(tmp_path)
    assert found.count("app = 'a'") == 1
    assert found.scan("app > 'a'").to_arrow().to_pylist() == [{"app": "b"}]
    writes: list[Callable[[], object]] = [
        lambda: found.append(pa.table({"app": ["c"]})),
        lambda: found.delete("app = 'a'"),
        found.truncate,
    ]
    for write in writes:
        with pytest.raises(UnsupportedFeature, match=r"can read the table but not write it.*'by_moon'"):
            write()
    assert sorted(path.name for path in (tmp_path / "data").rglob("*.parquet")) == ["00000.parquet", "00001.parquet"]


def test_a_table_just_created_goes_by_the_sessions_case_sensitivity(tmp_path: Path, spark: "SparkSession") -> None:
    """As it does when it is opened."""
    schema = pa.schema([("app", pa.string())])
    with changed(spark, {CASE_SENSITIVE: "true"}):
        created = coalesce.create(tmp_path, schema, partition_by=["app"], spark=spark)
    assert created.count("app = 'a'") == 0
    with pytest.raises(PredicateError, match="APP"):
        created.count("APP = 'a'")
