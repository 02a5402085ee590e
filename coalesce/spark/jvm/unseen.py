"""What the library does in Spark without its user seeing anything of it.

PySpark writes down at every operation on a column which line of Python asks for it, for its messages: several calls to
the JVM and a walk over the stack, thirty times as long as the operation itself takes. Of columns that no user has
written it tells nobody anything, and a table may have hundreds of them. What users write, they have written before.

And it makes the session active in which a frame is made of rows. Sessions of ours are not for anyone else.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

from pyspark import SparkContext
from pyspark.errors import utils
from pyspark.sql import SparkSession

# Where PySpark keeps the setting `spark.python.sql.dataFrameDebugging.enabled` once it has asked for it.
_SWITCH: Final = "_enable_debugging_cache"
_switching = Lock()
_inside: list[Any] = []  # for each that is inside, in any thread, what the switch was before the first of them


@contextmanager
def without_call_sites() -> Iterator[None]:
    """Within it, PySpark looks no lines up, for other threads neither: their messages may lack one."""
    switches = vars(utils)
    if _SWITCH not in switches:  # another PySpark, which does it in another way or not at all
        yield
        return
    with _switching:
        _inside.append(_inside[0] if _inside else switches[_SWITCH])
        switches[_SWITCH] = False
    try:
        yield
    finally:
        with _switching:
            before = _inside.pop()
            if not _inside:
                switches[_SWITCH] = before


@contextmanager
def unseen() -> Iterator[None]:
    """The same, and after it the session is active, in this thread, that was so before."""
    context = SparkContext._active_spark_context
    assert context is not None  # whoever works in Spark has started it
    java: Any = context._jvm
    sessions = getattr(java, "org.apache.spark.sql.classic.SparkSession")  # by word it would be a call for each
    active, in_python = sessions.getActiveSession(), SparkSession._activeSession
    try:
        with without_call_sites():
            yield
    finally:
        sessions.setActiveSession(active.get()) if active.isDefined() else sessions.clearActiveSession()
        SparkSession._activeSession = in_python
