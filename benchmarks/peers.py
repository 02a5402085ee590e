"""Other table formats on the same Spark: where their jars come from, and the settings their documentation asks for."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

JARS: Final = Path(__file__).parent.parent / "build" / "peers"

_DELTA: Final = ("spark_4.1_2.13", "storage", "kernel-api", "kernel-defaults", "kernel-unitycatalog")
# What these depend on otherwise, Spark has.
_ARTIFACTS: Final = {
    "delta": [("io.delta", f"delta-{part}", "4.4.0") for part in _DELTA],
    "iceberg": [("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.11.0")],
}
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
    if _jars(peer).is_dir() or shutil.which("mvn"):
        return None
    return "no mvn to fetch its jars with"


def _jars(peer: str) -> Path:
    directory = JARS / peer
    if directory.is_dir() or shutil.which("mvn") is None:
        return directory
    pom, staged = JARS / f"{peer}.xml", JARS / f"{peer}.fetching"
    JARS.mkdir(parents=True, exist_ok=True)
    dependencies = "".join(_DEPENDENCY.format(*artifact) for artifact in _ARTIFACTS[peer])
    pom.write_text(_POM.format(name=peer, dependencies=dependencies))
    copy = ["dependency:copy-dependencies", "-DexcludeTransitive=true", f"-DoutputDirectory={staged}"]
    subprocess.run(["mvn", "-B", "-q", "-f", str(pom), *copy], check=True, stdin=subprocess.DEVNULL)
    staged.rename(directory)
    return directory
