"""Whether a test is marked for what it does: `-m 'not spark'` must start no JVM, and must leave nothing else out.

Processes that this one starts are seen by an audit hook. What a Python program does in turn is told from its text.
"""

import sys
from collections.abc import Sequence
from typing import Final

# What stands in the command, or in the program, of a process that starts Spark.
_STARTS_SPARK: Final = (
    *("spark-submit", "SparkSession.builder", 'session("local', "coalesce demo"),
    *("tests.spark.applications", "tests.spark.connect_client"),
)

launched: list[str] = []  # the commands of processes that start Spark, in order


def starts_spark(command: Sequence[str]) -> bool:
    """Whether a process with this command starts a JVM for Spark."""
    text = " ".join(command)
    return any(sign in text for sign in _STARTS_SPARK)


def watch_processes() -> None:
    """Remember from now on what is launched; an audit hook stays as long as the process."""

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "subprocess.Popen":
            command = arguments[1]
            words = [str(word) for word in command] if isinstance(command, list | tuple) else [str(command)]
            if starts_spark(words):
                launched.append(" ".join(words))

    sys.addaudithook(hook)


def missing_marker(marked: bool, before: int) -> str | None:
    """What is wrong with a test that is not marked and has started Spark since `before` processes had."""
    if marked or len(launched) == before:
        return None
    return f"this test starts Spark and has no marker spark: {launched[before]:.200}"


def needless_marker(marked: bool, before: int) -> str | None:
    """What is wrong with tests of a module that are marked though none has started Spark."""
    if not marked or len(launched) > before:
        return None
    return "no test of this module has started Spark: leave out the marker spark."
