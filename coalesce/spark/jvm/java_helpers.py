"""Small Java classes of this package's own, each of which answers one call where many would cross the bridge.

They are compiled in the driver by the compiler that Spark ships, Janino, for whichever class loader there is.
"""

from pathlib import Path
from threading import Lock
from typing import Any, Final

_SOURCES: Final = Path(__file__).with_name("java")

_helpers: dict[str, tuple[Any, Any]] = {}  # by name: the gateway to the JVM it was compiled in, and the object
_compiling = Lock()


def helper(gateway: Any, name: str) -> Any:
    """An object of a class in `jvm/java/`, compiled once for each JVM."""
    with _compiling:
        if name not in _helpers or _helpers[name][0] is not gateway:
            _helpers[name] = gateway, _new_helper(gateway.jvm, name)
        return _helpers[name][1]


def _new_helper(jvm: Any, name: str) -> Any:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setTargetVersion(8)  # below that, Java has no static methods of interfaces
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook((_SOURCES / f"{name}.java").read_text("utf-8"))
    found = compiler.getClassLoader().loadClass(f"coalesce.spark.jvm.{name}")
    return found.getDeclaredConstructor(None).newInstance(None)
