"""A table that is copied, moved or made anew while this process reads it: every query reads the place it names."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import coalesce
from coalesce.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("rows_are_read")


def _table(spark: "SparkSession", path: Path, rows: int = 3) -> Table:
    table = coalesce.create(path, pa.schema([("p", pa.string()), ("k", pa.int64())]), partition_by=["p"], spark=spark)
    table.append(pa.table({"p": ["a"] * rows, "k": list(range(rows))}))
    return table


def _files(spark: "SparkSession", path: Path) -> set[str]:
    """The directories above the files that a query reads."""
    found = spark.read.format("coalesce").load(str(path)).where("p = 'a'").select("_metadata.file_path").collect()
    return {row.file_path.removeprefix("file://").removeprefix("file:").partition("/data/")[0] for row in found}


def test_a_copy_is_read_from_its_own_place(spark: "SparkSession", tmp_path: Path) -> None:
    """A copy has the same commits. Its rows, its plans and its reports are its own all the same."""
    original = _table(spark, tmp_path / "original")
    assert _files(spark, tmp_path / "original") == {str(tmp_path / "original")}
    shutil.copytree(tmp_path / "original", tmp_path / "copy")
    assert coalesce.open(tmp_path / "copy", spark=spark).last_scan() is None
    assert _files(spark, tmp_path / "copy") == {str(tmp_path / "copy")}
    both = original.read().join(coalesce.open(tmp_path / "copy", spark=spark).read(), "k")
    assert both.count() == 3
    shutil.rmtree(tmp_path / "original")
    assert coalesce.open(tmp_path / "copy", spark=spark).read().count() == 3


def test_damage_to_a_copy_is_found_in_the_copy(spark: "SparkSession", tmp_path: Path) -> None:
    """A backup that is checked is the backup: neither its manifests nor its rows are taken from the original."""
    _table(spark, tmp_path / "original")
    assert len(_files(spark, tmp_path / "original")) == 1
    for damaged in ("data", "_coalesce/manifests"):
        copy = tmp_path / damaged.rpartition("/")[2]
        shutil.copytree(tmp_path / "original", copy)
        for file in (f for f in (copy / damaged).rglob("*") if f.is_file()):
            file.write_bytes(file.read_bytes()[:-9] + b"damaged!!")
        with pytest.raises(Exception, match=r"(?i)corrupt|not a parquet|digest|magic"):
            spark.read.format("coalesce").load(str(copy)).where("p = 'a'").collect()
        with pytest.raises(Exception, match=r"(?i)corrupt|not a parquet|digest|magic"):
            coalesce.open(copy).scan("p = 'a'").to_arrow()
    assert spark.read.format("coalesce").load(str(tmp_path / "original")).count() == 3


def test_a_moved_table_and_another_in_its_place(spark: "SparkSession", tmp_path: Path) -> None:
    """After a rename the table is at its new place and nowhere else; one made anew at the old place is another."""
    _table(spark, tmp_path / "here")
    frame = spark.read.format("coalesce").load(str(tmp_path / "here"))
    assert frame.count() == 3
    (tmp_path / "here").rename(tmp_path / "there")
    assert _files(spark, tmp_path / "there") == {str(tmp_path / "there")}
    with pytest.raises(Exception, match="there is no coalesce table at"):
        spark.read.format("coalesce").load(str(tmp_path / "here"))
    _table(spark, tmp_path / "here", rows=5)
    assert spark.read.format("coalesce").load(str(tmp_path / "here")).count() == 5
    assert spark.read.format("coalesce").load(str(tmp_path / "there")).count() == 3
    with pytest.raises(Exception, match="FILE_NOT_EXIST"):  # of the rows it was made for, which are gone from there
        frame.select("k").collect()


def test_a_relative_path_goes_by_the_directory(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a change of directory it means the table there, also if it is a copy; what was opened before stays."""
    for place, rows in (("one", 3), ("other", 5)):
        (tmp_path / place).mkdir()
        monkeypatch.chdir(tmp_path / place)
        table = _table(spark, Path("events"), rows)
        assert table.read().where("p = 'a'").count() == rows
        assert spark.read.format("coalesce").load("events").count() == rows
        spark.range(1).selectExpr("'b' AS p", "id AS k").write.format("coalesce").mode("append").save("events")
        assert coalesce.open("events").count() == rows + 1
    monkeypatch.chdir(tmp_path / "one")
    assert spark.read.format("coalesce").load("events").count() == 4
    assert table.refresh().read().count() == 6
    assert table.last_scan() is not None
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    coalesce.open("events").append(pa.table({"p": ["a"], "k": [9]}))
    assert spark.read.format("coalesce").load("events").count() == 5
