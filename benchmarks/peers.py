"""Other table formats on Spark: where their jars come from, the settings their documentation asks for, and their Spark.

Delta and Iceberg run on the Spark that we run on. Of Paimon and Hudi, the newest releases that could be fetched when
this was written are for Spark 3.5, which they get, in an environment of its own below `build/peers`.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

JARS: Final = Path(__file__).parent.parent / "build" / "peers"

_DELTA: Final = ("spark_4.1_2.13", "storage", "kernel-api", "kernel-defaults", "kernel-unitycatalog")
# What these depend on otherwise, Spark has.
_ARTIFACTS: Final = {
    "delta": [("io.delta", f"delta-{part}", "4.4.0") for part in _DELTA],
    "iceberg": [("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.11.0")],
    "paimon": [("org.apache.paimon", "paimon-spark-3.5", "0.9.0")],
    "hudi": [("org.apache.hudi", "hudi-spark3.5-bundle_2.12", "1.2.0")],
}
_OLDER_SPARK: Final = "3.5.7"
_ON_OLDER_SPARK: Final = ("paimon", "hudi")
_POM: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>coalesce</groupId><artifactId>{name}</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY: Final = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def settings(peer: str, warehouse: Path) -> dict[str, str]:
    """What a session needs to read and write tables of a peer; Maven fetches its jars the first time."""
    jars = {"spark.jars": ",".join(str(jar) for jar in sorted(_jars(peer).glob("*.jar")))}
    if peer == "delta":
        return jars | {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        }
    if peer == "hudi":
        return jars | {
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        }
    if peer == "paimon":
        return jars | {
            "spark.sql.extensions": "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
            "spark.sql.catalog.lake": "org.apache.paimon.spark.SparkCatalog",
            "spark.sql.catalog.lake.warehouse": f"file:{warehouse}",
        }
    return jars | {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
        "spark.sql.catalog.lake.warehouse": str(warehouse),
    }


def version(peer: str) -> str:
    """The release that is fetched."""
    return _ARTIFACTS[peer][0][2]


def unavailable(peer: str) -> str | None:
    """Why a peer cannot be had here, in a few words; None if it can."""
    if _jars(peer, fetch=False).is_dir() or shutil.which("mvn"):
        return None
    return "no mvn to fetch its jars with"


def prepare(peer: str) -> str | None:
    """Fetch whatever a peer needs; why that cannot be done, if it cannot."""
    reason = unavailable(peer)
    if reason is not None:
        return reason
    try:
        _jars(peer)
        if peer in _ON_OLDER_SPARK:
            _environment()
    except subprocess.CalledProcessError as error:
        return f"`{' '.join(map(str, error.cmd[:4]))} …` failed"
    return None


def python(peer: str) -> str | None:
    """The Python that has the Spark a peer needs, if that is not this one."""
    return str(_environment() / "bin" / "python") if peer in _ON_OLDER_SPARK else None


def _environment() -> Path:
    directory = JARS / f"venv-{_OLDER_SPARK}"
    done = directory / ".installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(directory)], check=True)
        install = [str(directory / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, f"pyspark=={_OLDER_SPARK}", "psutil"], check=True)
        done.touch()
    return directory


def _jars(peer: str, *, fetch: bool = True) -> Path:
    directory = JARS / peer
    if directory.is_dir() or not fetch or shutil.which("mvn") is None:
        return directory
    pom, staged = JARS / f"{peer}.xml", JARS / f"{peer}.fetching"
    JARS.mkdir(parents=True, exist_ok=True)
    dependencies = "".join(_DEPENDENCY.format(*artifact) for artifact in _ARTIFACTS[peer])
    pom.write_text(_POM.format(name=peer, dependencies=dependencies))
    copy = ["dependency:copy-dependencies", "-DexcludeTransitive=true", f"-DoutputDirectory={staged}"]
    subprocess.run(["mvn", "-B", "-q", "-f", str(pom), *copy], check=True, stdin=subprocess.DEVNULL)
    staged.rename(directory)
    return directory
