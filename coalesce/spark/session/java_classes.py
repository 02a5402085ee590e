"""The Java classes of the native source, on the class loader of the driver without a jar to install.

Spark ships a Java compiler, Janino. The classes are compiled once for each driver JVM and packed into a jar of their
own, where Spark finds `format("coalesce")` as it finds any other source. Executors never see them.
"""

import atexit
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Final

from py4j.protocol import Py4JError

from coalesce.errors import SparkUnavailable

SOURCES: Final = Path(__file__).parents[1] / "source" / "java"

_PACKAGE: Final = "coalesce.spark"
_SERVICE: Final = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"


def load_classes(gateway: Any, sources: Path = SOURCES) -> None:
    """Compile the sources and put them on the driver's class loader, unless an earlier Python of this JVM has."""
    jvm = gateway.jvm
    loader = _extensible_loader(jvm)
    try:
        jvm.java.lang.Class.forName(f"{_PACKAGE}.Bridge", True, loader)
    except Py4JError:
        jar = _packed(_compiled(gateway, loader, sorted(sources.glob("*.java"))))
        jvm.java.io.File(jar).deleteOnExit()
        atexit.register(Path(jar).unlink, missing_ok=True)  # Spark may be killed
        loader.addURL(jvm.java.io.File(jar).toURI().toURL())


def _extensible_loader(jvm: Any) -> Any:
    """The class loader that Spark looks for sources in; one that takes more jars, as that of spark-submit does."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    while loader is not None:
        if loader.getClass().getName().endswith("MutableURLClassLoader"):
            return loader
        loader = loader.getParent()
    raise SparkUnavailable(
        "the class loader of Spark's driver takes no more classes; start Spark with coalesce.session() or spark-submit."
    )


def _compiled(gateway: Any, loader: Any, files: list[Path]) -> dict[str, bytes]:
    """The class files of the sources, by path."""
    janino = gateway.jvm.org.codehaus.janino
    resource = gateway.jvm.org.codehaus.commons.compiler.util.resource
    compiled = gateway.jvm.java.util.HashMap()
    compiler = janino.Compiler()
    compiler.setIClassLoader(janino.ClassLoaderIClassLoader(loader))
    compiler.setTargetVersion(8)  # below that, Java has no static methods of interfaces
    compiler.setClassFileCreator(resource.MapResourceCreator(compiled))
    units = gateway.new_array(resource.Resource, len(files))
    for position, source in enumerate(files):
        name = f"{_PACKAGE.replace('.', '/')}/{source.name}"
        units[position] = resource.StringResource(name, source.read_text("utf-8"))
    compiler.compile(units)
    return {name: bytes(compiled[name]) for name in list(compiled)}


def _packed(classes: dict[str, bytes]) -> str:
    """A jar of the classes, in which Spark finds the source by its service entry."""
    with tempfile.NamedTemporaryFile(prefix="coalesce-", suffix=".jar", delete=False) as file:
        with zipfile.ZipFile(file, "w") as jar:
            for name, code in classes.items():
                jar.writestr(name, code)
            jar.writestr(_SERVICE, f"{_PACKAGE}.NativeSource\n")
        return file.name
