"""`python -m tests.stores [options of pytest]`: the tests on emulators of Azure and Google, on HDFS and on S3A.

They come from npm, the Go module proxy and Maven Central through the ordinary clients, into `build/stores`, once. What
cannot be had because a client is missing is said, and its tests are skipped.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.stores.places import AZURITE, FAKE_GCS, JARS

VERSIONS = {"azurite": "3.35.0", "fake-gcs-server": "v1.56.1", "hadoop": "3.4.2"}  # Hadoop's is the one in PySpark 4.1

_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>coalesce</groupId><artifactId>stores</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{}</dependencies>
</project>
"""
_DEPENDENCY = (
    "<dependency><groupId>org.apache.hadoop</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)


def main(options: list[str]) -> int:
    """Install what is missing, then run the tests."""
    root = Path("build", "stores").absolute()
    root.mkdir(parents=True, exist_ok=True)
    install(
        root / AZURITE, "npm", "install", "--no-fund", "--no-audit", "--prefix", root, f"azurite@{VERSIONS['azurite']}"
    )
    module = f"github.com/fsouza/fake-gcs-server@{VERSIONS['fake-gcs-server']}"
    install(root / FAKE_GCS, "go", "install", module, GOBIN=str((root / FAKE_GCS).parent))
    jars = [_DEPENDENCY.format(name, VERSIONS["hadoop"]) for name in ("hadoop-client-minicluster", "hadoop-aws")]
    (root / "pom.xml").write_text(_POM.format("".join(jars)))
    copy = ["dependency:copy-dependencies", f"-DoutputDirectory={root / JARS}"]
    install(root / JARS, "mvn", "-B", "-q", "-f", root / "pom.xml", *copy)
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/stores", *options]
    return subprocess.run(pytest, env={**os.environ, "COALESCE_STORES": str(root)}, check=False).returncode


def install(what: Path, client: str, *arguments: object, **environment: str) -> None:
    """Let a client of a package registry put `what` in its place, unless it is there."""
    if what.exists():
        return
    found = shutil.which(client)
    if found is None:
        sys.stderr.write(f"there is no {client} on PATH: the tests that need {what.name} are skipped\n")
        return
    subprocess.run(
        [found, *map(str, arguments)], env={**os.environ, **environment}, check=True, stdin=subprocess.DEVNULL
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
