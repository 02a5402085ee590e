"""What tests leave behind in the Spark session that they share: nothing, or the next test would find it.

Temporary views are dropped, and catalogs that were attached are taken away. Tables, databases and other settings fail
the test that leaves them, and are put back, so that no other test fails because of it.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OWN_DATABASE = "default"
_CATALOG = "spark.sql.catalog."


@dataclass(frozen=True)
class State:
    """The names and settings a session has. `text` is all of it, cheap to get and to compare."""

    text: tuple[str, ...]
    views: frozenset[str] = field(compare=False)
    tables: frozenset[str] = field(compare=False)
    databases: frozenset[str] = field(compare=False)
    settings: dict[str, str] = field(compare=False)


class Watch:
    """A session, and what is in it; `first` is what was there when the watch began."""

    def __init__(self, spark: "SparkSession") -> None:
        state: Any = spark._jsparkSession.sessionState()
        self._spark = spark
        self._catalog = state.catalog()
        self._settings = state.conf().settings()
        self.first = self._last = self._read(self._text())

    def state(self) -> State:
        """What is there now; three short calls to the JVM if nothing has changed since the last time."""
        text = self._text()
        if text != self._last.text:
            self._last = self._read(text)
        return self._last

    def put_back(self, before: State) -> str | None:
        """Make the session what it was, and name what a test should have put back itself."""
        now = self.state()
        if now == before:
            return None
        for view in now.views - before.views:
            self._spark.catalog.dropTempView(view)
        left = []
        for table in sorted(now.tables - before.tables):
            left.append(f"the table {table}")
            self._spark.sql(f"DROP TABLE IF EXISTS {table}")
        for database in sorted(now.databases - before.databases):
            left.append(f"the database {database}")
            self._spark.sql(f"DROP DATABASE IF EXISTS `{database}` CASCADE")
        for name in sorted(now.settings.keys() | before.settings.keys()):
            old, new = before.settings.get(name), now.settings.get(name)
            if old != new and (old is not None or not name.startswith(_CATALOG)):
                left.append(f"the setting {name} = {new} (before: {old})")
            if old != new:
                self._spark.conf.unset(name) if old is None else self._spark.conf.set(name, old)
        return f"left in the shared session: {', '.join(left)}" if left else None

    def _text(self) -> tuple[str, ...]:
        return (
            self._catalog.listTables(_OWN_DATABASE, "*", True).toString(),
            self._catalog.listDatabases().toString(),
            self._settings.toString(),
        )

    def _read(self, text: tuple[str, ...]) -> State:
        listed = self._catalog.listTables(_OWN_DATABASE, "*", True)
        names = [listed.apply(i) for i in range(listed.size())]
        databases = self._catalog.listDatabases()
        return State(
            text,
            views=frozenset(name.table() for name in names if name.database().isEmpty()),
            tables=frozenset(name.quotedString() for name in names if name.database().isDefined()),
            databases=frozenset(databases.apply(i) for i in range(databases.size())),
            settings=dict(self._settings),
        )
