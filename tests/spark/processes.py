"""Programs that tests run in a Python of their own, because they start, stop or break Spark."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(program: str, *arguments: object, directory: Path) -> list[str]:
    """The lines a program prints; it fails the test if it fails itself. It is a module of tests/spark, or text."""
    told = ["-m", f"tests.spark.{program}"] if program.isidentifier() else ["-c", program]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    environment["PYTHONPATH"] = str(ROOT)
    done = subprocess.run(
        [sys.executable, *told, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=directory,
        env=environment,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()
