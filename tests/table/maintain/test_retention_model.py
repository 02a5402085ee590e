"""Whatever is done to a table in whatever order, every version that is kept has the rows it always had."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from coalesce.errors import CorruptMetadata, VersionExpired
from coalesce.manifest.paths import LATEST_HINT, VERSIONS, version_number
from coalesce.storage import open_storage
from coalesce.table.commit.manifests import ManifestCache, Manifests
from coalesce.table.table import Table, core_of
from tests.support.examples import examples
from tests.table.examples import create, events, ids, opened
from tests.table.maintain.aging import age_on_disk

NAMES = st.sampled_from(["a", "b", "c"])
IDS = st.integers(1, 12)
KEPT = st.integers(1, 4)


class Retention(RuleBasedStateMachine):
    """A table on disk, and beside it what each version held, which versions are kept, and which have tags."""

    @initialize()
    def begin(self) -> None:
        """A new table, and two handles that somebody holds all the while."""
        self.directory = tempfile.TemporaryDirectory()
        self.root = Path(self.directory.name)
        self.table = create(open_storage(self.root))
        self.asleep = opened(open_storage(self.root))
        self.rows: dict[int, list[int]] = {0: []}
        self.real = [0]
        self.tags: dict[str, int] = {}
        self.kept_from = 0
        self.next = 0

    def teardown(self) -> None:
        """Leave nothing behind."""
        if hasattr(self, "directory"):
            self.directory.cleanup()

    def _committed(self, rows: list[int], *, real: bool = True) -> None:
        self.table.refresh()
        number = max(self.rows) + 1
        assert self.table.version == number
        self.rows[number] = sorted(rows)
        if real:
            self.real.append(number)

    @property
    def _newest(self) -> list[int]:
        return self.rows[max(self.rows)]

    def _kept(self, number: int) -> bool:
        return number >= self.kept_from or number in self.tags.values()

    @rule(count=st.integers(1, 3), app=st.sampled_from(["A", "B"]), asleep=st.booleans())
    def append(self, count: int, app: str, asleep: bool) -> None:
        """Some rows, by somebody who was here a moment ago or a long time ago."""
        new = list(range(self.next + 1, self.next + count + 1))
        self.next += count
        (self.asleep if asleep else self.table).append(events(app, new))
        self._committed([*self._newest, *new])

    @rule(least=IDS)
    def delete(self, least: int) -> None:
        """Rows that share files with others."""
        self.table.delete(f"id <= {least}")
        self._committed([i for i in self._newest if i > least])

    @rule()
    def truncate(self) -> None:
        """All rows."""
        self.table.truncate()
        self._committed([])

    @rule(back=st.integers(1, 8))
    def rollback(self, back: int) -> None:
        """To a version that is kept, or not."""
        number = max(self.rows) - back
        if number < 0:
            return
        if self._kept(number):
            self.table.rollback(number)
            self._committed(self.rows[number])
        else:
            self._refused(lambda: self.table.rollback(number))

    @rule(name=NAMES, back=st.integers(0, 8))
    def tag(self, name: str, back: int) -> None:
        """A version that is kept, or not; a tag that there is moves."""
        number = max(self.rows) - back
        if number < 0:
            return
        if not self._kept(number):
            self._refused(lambda: self.table.tag(name, number, replace=True))
        elif self.table.tag(name, number, replace=True).committed:
            self.tags[name] = number
            self._committed(self._newest, real=False)

    @precondition(lambda self: self.tags)
    @rule(data=st.data())
    def untag(self, data: st.DataObject) -> None:
        """A version may expire by it."""
        name = data.draw(st.sampled_from(sorted(self.tags)))
        self.table.untag(name)
        del self.tags[name]
        self._committed(self._newest, real=False)

    @rule(keep_last=KEPT, young=st.integers(0, 5))
    def expire(self, keep_last: int, young: int) -> None:
        """Versions that are old, but not the last ones, nor the one before the first that is young."""
        newest, now = max(self.rows), time.time()
        for path in (self.root / VERSIONS).iterdir():
            number = version_number(path.relative_to(self.root).as_posix())
            then = now - 8 * 86_400 if number is not None and number <= newest - young else now
            os.utime(path, (then, then))
        result = self.table.expire(keep_last=keep_last)
        last = [number for number in self.real if number >= self.kept_from][-keep_last:]
        by_count = last[0] if len(last) == keep_last else self.kept_from
        assert result.retained_from == max(self.kept_from, min(newest - young, by_count))
        self.kept_from = result.retained_from
        if result.version > newest:
            self._committed(self._newest, real=False)

    @rule(older_than=st.sampled_from(["7d", "1d"]))
    def vacuum(self, older_than: str) -> None:
        """Everything is old: what stays, stays because it is named. A hint ahead of all versions stops it."""
        age_on_disk(self.root)
        if int((self.root / LATEST_HINT).read_text()) > max(self.rows):
            with pytest.raises(CorruptMetadata, match="is missing although"):
                self.table.vacuum(older_than)
        else:
            self.table.vacuum(older_than)

    @rule(number=st.integers(0, 40))
    def lose_the_hint(self, number: int) -> None:
        """It may be stale, or a lie."""
        (self.root / LATEST_HINT).write_text(str(number))

    def _refused(self, change: Callable[[], object]) -> None:
        with pytest.raises(VersionExpired):
            change()

    @invariant()
    def every_kept_version_has_its_rows(self) -> None:
        """Read from the files, by somebody who remembers nothing; and no other version is there."""
        if not hasattr(self, "rows"):
            return
        reader: Table = opened(open_storage(self.root))
        core_of(reader).manifests = Manifests(core_of(reader).storage, ManifestCache())
        assert reader.version == max(self.rows)
        assert reader.tags() == self.tags
        kept = [number for number in self.rows if self._kept(number)]
        assert [version.number for version in reader.history()] == kept[::-1]
        for number in kept:
            assert ids(reader.at(version=number)) == self.rows[number]


TestRetention = Retention.TestCase
TestRetention.settings = settings(max_examples=examples(6), stateful_step_count=25, deadline=None)
