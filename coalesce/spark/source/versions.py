"""The versions that queries of this process read, and the storages they lie in.

A query is analysed, optimized and run at different times and on different threads; what ties the three together is a
key: the id of the commit it reads, and where the table lies. The id alone is not enough: a copy of a table has the
same commits. A version that has been put away here to make room is read again when it is asked for.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

import numpy as np
from pyspark.sql import SparkSession

from coalesce.arrow.engine import ArrowEngine
from coalesce.errors import VersionNotFound
from coalesce.model.version import ManifestRef, Version, held_bytes
from coalesce.plan.index import ManifestIndex
from coalesce.plan.plan import Plan, make_plan
from coalesce.plan.planner import JudgeOpaque
from coalesce.predicate.expr import Bound
from coalesce.predicate.outcomes import Mask
from coalesce.recent import Recent
from coalesce.spark.jvm.hadoop import Hadoop
from coalesce.spark.jvm.values import END
from coalesce.spark.source.constants import Constants
from coalesce.storage import open_storage
from coalesce.storage.base import Storage
from coalesce.storage.resolve import is_relative
from coalesce.table.commit.manifests import Manifests
from coalesce.table.engine import Engines
from coalesce.table.table import Table


@dataclass(frozen=True)
class QueriedVersion:
    """One version of a table, as queries read it; or, for a stream, what came into it after version `since`."""

    key: str
    storage: Storage
    version: Version
    since: int | None = None

    def load(self, refs: Sequence[ManifestRef]) -> Iterator[ManifestIndex]:
        """Some of its manifests."""
        return Manifests(self.storage).load_all(refs, self.version)

    def plan(self, predicate: Bound, opaque: JudgeOpaque | None = None) -> Plan:
        """Which of its files a query has to read."""
        plan = make_plan(self.version, predicate, self.load, opaque)
        return plan if self.since is None else plan.only(self._came_in)

    def _came_in(self, index: ManifestIndex) -> Mask:
        later: Mask = np.asarray(index.entries.core.column("added_version")) > self.since
        return later

    @cached_property
    def constants(self) -> Constants:
        """The columns that have one value in each file."""
        return Constants(self.version, self.load)


_storages: Recent[str, Storage] = Recent(256)
_versions: Recent[str, QueriedVersion] = Recent(32 * 1024 * 1024, lambda found: held_bytes(found.version))
_newest: Recent[tuple[str, str], Version] = Recent(8 * 1024 * 1024, held_bytes)  # by place and id


def remember(storage: Storage, version: Version) -> QueriedVersion:
    """Let queries read a version, through the storage it was opened with and that storage's settings.

    A relative path has none, and is another place after a change of directory: it is not remembered.
    """
    if not is_relative(storage.root):
        _storages.put(storage.root, storage)
    key = f"{version.commit_id}{END}{storage.uri('')}"
    found = _versions.get(key)
    if found is None:
        found = QueriedVersion(key, storage, version)
        _versions.put(key, found)
        _move_on(storage, version)
    return found


def _move_on(storage: Storage, version: Version) -> None:
    """Let go of manifests that the newest version of a table had, if this is a newer one without them."""
    place = storage.uri(""), version.table_id
    before = _newest.get(place)
    if before is None or before.number < version.number:
        _newest.put(place, version)
        if before is not None:
            Manifests(storage).superseded(before, version)


def storage_at(location: str, spark: SparkSession | None) -> Storage:
    """The storage of a table: the one it was opened with in this process, if it was."""
    storage = _storages.get(location)
    if storage is not None:
        return storage
    return open_storage(location, hadoop=None if spark is None else Hadoop(spark))


def resolve(
    location: str, spark: SparkSession | None, version: int | str | None = None, as_of: datetime | None = None
) -> QueriedVersion:
    """The version a query asks for: by number or tag, by time, or the newest.

    The table's log is read afresh: another table may lie at the location by now.
    """
    storage = storage_at(location, spark)
    table = Table(storage, Engines(ArrowEngine()))
    if version is not None or as_of is not None:
        table = table.at(version=version, as_of=as_of)
    return remember(storage, table.state)


def came_in(until: QueriedVersion, since: int, columns: QueriedVersion) -> QueriedVersion:
    """What came in after version `since` and is in `until`, with the columns of another version.

    Columns are known by their ids, so files of any version can be read with the columns of a later one.
    """
    key = f"{until.key}{END}{since}{END}{columns.version.number}"
    found = QueriedVersion(key, until.storage, replace(until.version, schema=columns.version.schema), since)
    _versions.put(key, found)
    return found


def place_of(key: str) -> str:
    """Where the table lies that a key is of."""
    return key.split(END)[1]


def forget_where(goes: Callable[[str], bool]) -> None:
    """Let go of versions with such keys: if one is asked for again, it is looked for."""
    _versions.forget_where(goes)


def held(key: str | None) -> QueriedVersion | None:
    """What was found under `key`, if it is still here."""
    return None if key is None else _versions.get(key)


def recall(key: str, location: str, version: int) -> QueriedVersion:
    """What was found under `key`, of that version, earlier."""
    found = _versions.get(key)
    if found is not None:
        return found
    commit_id, _, *streamed = key.split(END)
    found = resolve(location, None, version=version)
    if found.version.commit_id != commit_id:
        raise VersionNotFound(f"version {version} of the table at {location} is another one now: read it again.")
    if streamed:
        since, columns = map(int, streamed)
        found = came_in(found, since, resolve(location, None, version=columns))
    return found
