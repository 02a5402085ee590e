"""Opening tables: the newest version, an older one, and an older one behind a damaged newest."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import coalesce
from coalesce.errors import CorruptMetadata, NeedsSpark, PredicateError, TableExists, UnsupportedFeature
from coalesce.manifest.paths import version_path
from coalesce.table.table import core_of
from tests.manifest.examples import document_of, signed
from tests.support.settings import CASE_SENSITIVE, changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_rule_may_say_how_large_files_become(tmp_path: Path) -> None:
    """`small(target=…)` is the table's target, at creation and later; a property that says otherwise wins."""
    schema = pa.schema([("app", pa.string())])
    rule = coalesce.small("app", below="1MB", target="2MB")
    table = coalesce.create(tmp_path / "t", schema, partition_by=["app"], rule=rule)
    assert core_of(table).snapshot().target_file_bytes == 2 * 2**20
    table.set_rule(coalesce.small("app", target="3MB"))
    assert core_of(table).snapshot().target_file_bytes == 3 * 2**20
    table.set_rule(coalesce.small("app"))
    assert core_of(table).snapshot().target_file_bytes == 3 * 2**20
    said = {"write.target-file-bytes": "4MB"}
    other = coalesce.create(tmp_path / "u", schema, partition_by=["app"], rule=rule, properties=said)
    assert core_of(other).snapshot().target_file_bytes == 4 * 2**20


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
    with pytest.raises(NeedsSpark, match="soundex"):
        table.count("soundex(s) = soundex('x')")
    assert coalesce.open(tmp_path, spark=spark).count("soundex(s) = soundex('x')") == 2


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


EVENTS = pa.schema([("dt", pa.date32()), ("app", pa.string()), ("st", pa.struct([("a", pa.int64())]))])


def test_creating_a_table_that_is_there_opens_it_if_it_is_the_same(tmp_path: Path) -> None:
    """The same call twice is harmless, also after rows have come; what is not said is not compared."""
    said = {"owner": "me", "write.target-file-bytes": "64MB"}
    first = coalesce.create(
        tmp_path, EVENTS, partition_by=["dt", "app"], rule=coalesce.small("app"), properties=said, exists_ok=True
    )
    first.append(pa.table({"dt": [None], "app": ["A"], "st": [None]}, schema=EVENTS))
    again = coalesce.create(
        tmp_path, EVENTS, partition_by=["dt", "app"], rule=coalesce.small("app"), properties=said, exists_ok=True
    )
    coalesce.create(
        tmp_path, EVENTS, partition_by=["dt", "app"], properties={"write.target-file-bytes": "67108864"}, exists_ok=True
    )
    assert (again.version, again.count(), again.state.table_id) == (1, 1, first.state.table_id)
    bare = coalesce.create(tmp_path, EVENTS, partition_by=["dt", "app"], exists_ok=True)
    assert bare.append(pa.table({"dt": [None], "app": ["B"], "st": [None]}, schema=EVENTS)).version == 2
    with pytest.raises(TableExists, match=r"already; open it with coalesce\.open"):
        coalesce.create(tmp_path, EVENTS, partition_by=["dt", "app"])


@pytest.mark.parametrize(
    ("schema", "options", "sentence"),
    [
        (pa.schema([("dt", pa.date32()), ("app", pa.string())]), {}, "columns are dt date, app string, st struct"),
        (EVENTS.set(2, pa.field("st", pa.struct([pa.field("a", pa.int64(), nullable=False)]))), {}, "its columns are"),
        (EVENTS, {"partition_by": ["app"]}, "it is partitioned by dt, app, not by app"),
        (EVENTS, {"rule": coalesce.small("app", below="1KB")}, r"it has another rule.*set_rule"),
        (EVENTS, {"properties": {"owner": "you"}}, "its property 'owner' is not set, not 'you'"),
    ],
)
def test_another_table_that_is_there_is_refused(
    tmp_path: Path, schema: pa.Schema, options: dict[str, Any], sentence: str
) -> None:
    """With a sentence that says what is another."""
    coalesce.create(tmp_path, EVENTS, partition_by=["dt", "app"])
    with pytest.raises(TableExists, match=f"there is another coalesce table at .* already: .*{sentence}"):
        coalesce.create(tmp_path, schema, **{"partition_by": ["dt", "app"], **options}, exists_ok=True)


def test_of_two_that_create_a_table_at_once_both_have_it(tmp_path: Path) -> None:
    """Whoever is second opens what the first has made."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: coalesce.create(tmp_path, EVENTS, exists_ok=True), range(16)))
    assert len({table.state.table_id for table in made}) == 1
