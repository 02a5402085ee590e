"""Tags name versions, keep them, and stand in nobody's way."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from coalesce.errors import CommitConflict, InvalidArgument, UnsupportedFeature, VersionExpired, VersionNotFound
from coalesce.manifest.paths import VERSIONS, version_path
from coalesce.model import version as model
from coalesce.model.version import RETENTION
from coalesce.table.table import Table, core_of
from tests.table.examples import create, events, ids, opened
from tests.table.maintain.aging import grown, numbers
from tests.table.stores import InterruptedStorage, MemoryStorage


def test_a_tag_names_a_version() -> None:
    """The one that the table is at, or another; it is opened by its name."""
    table = grown(MemoryStorage(), 3)
    assert table.tag("audit-2026").version == 4
    table.tag("first one, größer \U0001f600", version=1)
    assert table.tags() == {"audit-2026": 3, "first one, größer \U0001f600": 1}
    table.truncate()
    assert ids(table.at(version="audit-2026")) == [1, 2, 3]
    assert ids(opened(core_of(table).storage).at(version="first one, größer \U0001f600")) == [1]
    assert table.at(version="audit-2026").version == 3


def test_without_a_number_it_is_the_version_that_was_looked_at() -> None:
    """Not one that another process has committed since."""
    storage = MemoryStorage()
    looked = grown(storage, 2)
    opened(storage).append(events("A", [3]))
    looked.tag("seen")
    assert looked.tags() == {"seen": 2}


@pytest.mark.parametrize(
    "name", ["", "7", "0042", "\u0663", " a", "a ", "a\nb", "\0", "a\x7f", "\ud800", "x" * 256, 7, None, b"a"]
)
def test_names_that_could_be_misread_are_refused(name: str) -> None:
    """Numbers of versions, what cannot be seen, what cannot be written down."""
    table = grown(MemoryStorage(), 1)
    with pytest.raises(InvalidArgument):
        table.tag(name)
    assert table.version == 1


def test_names_of_many_kinds_are_taken() -> None:
    """Any text that is seen as it is."""
    table = grown(MemoryStorage(), 1)
    for name in ["a", "2026-05-17", "v1", "-1", "1.0", "release/7", "日本", "x" * 255, "a b"]:
        table.tag(name)
        assert table.at(version=name).version == table.tags()[name]


def test_a_tag_stays_where_it_is_unless_it_is_to_move() -> None:
    """The same again does nothing, another version is refused, and replace=True moves it."""
    table = grown(MemoryStorage(), 3)
    table.tag("a", version=1)
    again = table.tag("a", version=1)
    assert (again.committed, again.version, table.version) == (False, 4, 4)
    with pytest.raises(InvalidArgument, match=r"the tag 'a' names version 1; replace=True \(--replace\) moves it"):
        table.tag("a", version=2)
    table.tag("a", version=2, replace=True)
    assert table.tags() == {"a": 2}


def test_a_tag_is_taken_away() -> None:
    """And cannot be opened or taken away again."""
    table = grown(MemoryStorage(), 2)
    table.tag("audit")
    table.untag("audit")
    assert table.tags() == {}
    for use in (lambda: table.untag("audit"), lambda: table.at(version="audit")):
        with pytest.raises(VersionNotFound, match=r"the table at memory has no tag 'audit'; it has no tags\."):
            use()
    table.tag("audit")
    with pytest.raises(VersionNotFound, match=r"has no tag 'audit-26'; did you mean 'audit'\?"):
        table.at(version="audit-26")


def test_only_versions_that_there_are_can_be_tagged() -> None:
    """Neither one of the future nor an expired one, though its file is still there."""
    storage = MemoryStorage()
    table = grown(storage, 3)
    kept = storage.files[version_path(1)]
    with pytest.raises(VersionNotFound, match="there is no version 9"):
        table.tag("a", version=9)
    with pytest.raises(InvalidArgument):
        table.tag("a", version=-1)
    table.expire("0s", keep_last=1, force=True)
    storage.put(version_path(1), kept)
    with pytest.raises(VersionExpired, match=r"version 1 of the table at memory has expired"):
        table.tag("a", version=1)
    assert table.tags() == {}


def test_a_table_at_a_version_cannot_be_tagged_but_knows_the_tags() -> None:
    """Those of now: tags belong to the table, not to one of its versions."""
    table = grown(MemoryStorage(), 2)
    table.tag("a")
    old = table.at(version=1)
    assert old.tags() == {"a": 2}
    for change in (lambda: old.tag("b"), lambda: old.untag("a"), old.expire, old.vacuum):
        with pytest.raises(Exception, match="read-only"):
            change()


CHANGES: dict[str, Callable[[Table], object]] = {
    "rollback": lambda t: t.rollback(1),
    "replace_schema": lambda t: t.replace_schema(events("A", []).schema),
    "add_column": lambda t: t.add_column("x", "int64"),
    "set_properties": lambda t: t.set_properties({"a": "b"}),
    "append": lambda t: t.append(events("A", [9])),
    "delete": lambda t: t.delete("id = 2"),
    "truncate": lambda t: t.truncate(),
    "compact": lambda t: t.compact(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_keeps_tags_and_what_is_kept(name: str) -> None:
    """A rollback too: what an older version says of tags is history."""
    table = grown(MemoryStorage(), 4)
    table.tag("a", version=1)
    table.expire("0s", keep_last=2, force=True)
    before = table.state
    assert before.retained_from == 3
    CHANGES[name](table)
    table.refresh()
    assert (dict(table.state.tags), table.state.retained_from) == ({"a": 1}, 3)
    assert RETENTION in table.state.writer_features
    assert numbers(table)[:2] == [1, 3]


def test_a_writer_that_does_not_know_tags_is_kept_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would lose them: the first tag turns on a feature, and before that the table is as it always was."""
    storage = MemoryStorage()
    table = grown(storage, 1)
    assert RETENTION not in table.state.writer_features
    table.tag("a")
    assert RETENTION in table.state.writer_features
    table.untag("a")
    assert RETENTION in table.state.writer_features
    monkeypatch.setattr(model, "WRITER_FEATURES", model.WRITER_FEATURES - {RETENTION})
    old = opened(storage)
    assert ids(old) == [1]
    with pytest.raises(UnsupportedFeature, match="retention"):
        old.append(events("A", [2]))


# --- several at once ---------------------------------------------------------------------------------------------


def interrupted(appends: int = 3) -> tuple[InterruptedStorage, Table]:
    """A table whose commits can be overtaken: before a version file is created, an interruption runs."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}/"))
    return storage, grown(storage, appends)


def test_two_tags_at_once_are_both_there() -> None:
    """The second is made anew on what the first has left."""
    storage, table = interrupted()
    storage.interruptions.append(lambda: opened(storage).tag("other", version=2))
    table.tag("mine", version=1)
    assert table.tags() == {"mine": 1, "other": 2}


def test_of_two_tags_of_one_name_the_second_is_refused() -> None:
    """Unless both name the same version."""
    storage, table = interrupted()
    storage.interruptions.append(lambda: opened(storage).tag("a", version=2))
    with pytest.raises(InvalidArgument, match="names version 2"):
        table.tag("a", version=1)
    storage.interruptions.append(lambda: opened(storage).tag("b", version=2))
    table.tag("b", version=2)
    assert table.tags() == {"a": 2, "b": 2}


def test_appends_and_tags_do_not_disturb_each_other() -> None:
    """Whichever comes first."""
    storage, table = interrupted(1)
    storage.interruptions.append(lambda: opened(storage).append(events("A", [7])))
    table.tag("a", version=1)
    storage.interruptions.append(lambda: opened(storage).tag("b", version=1))
    table.append(events("A", [8]))
    storage.interruptions.append(lambda: opened(storage).untag("b"))
    table.delete("id = 7")
    assert (ids(table), table.tags()) == ([1, 8], {"a": 1})


def test_changes_of_the_schema_and_tags_do_not_disturb_each_other() -> None:
    """Not even the first tag, which turns a feature on."""
    storage, table = interrupted(1)
    storage.interruptions.append(lambda: opened(storage).tag("a", version=1))
    table.add_column("x", "int64")
    storage.interruptions.append(lambda: opened(storage).add_column("y", "int64"))
    table.tag("b", version=1)
    storage.interruptions.append(lambda: opened(storage).expire(timedelta(0), keep_last=1, force=True))
    table.rename_column("y", "z")
    assert table.tags() == {"a": 1, "b": 1}
    assert table.schema.names == ("dt", "app", "id", "x", "z")
    assert RETENTION in table.state.writer_features


def test_a_tag_and_an_expiry_of_a_version_cannot_both_win() -> None:
    """Who is second sees the first: the tag is refused, or the expiry leaves the tagged version."""
    storage, table = interrupted()
    storage.interruptions.append(lambda: opened(storage).expire("0s", keep_last=1, force=True))
    with pytest.raises(VersionExpired):
        table.tag("a", version=1)
    storage, table = interrupted()
    storage.interruptions.append(lambda: opened(storage).tag("a", version=1))
    expired = table.expire("0s", keep_last=1, force=True)
    assert expired.versions == (0, 2)
    assert ids(table.at(version="a")) == [1]


def test_a_rollback_and_an_expiry_cannot_both_win() -> None:
    """A version that has expired while a rollback to it was under way is not made the newest again."""
    storage, table = interrupted()
    storage.interruptions.append(lambda: opened(storage).expire("0s", keep_last=1, force=True))
    with pytest.raises(CommitConflict):
        table.rollback(1)
    with pytest.raises(VersionExpired):
        table.rollback(1)
    storage, table = interrupted()
    storage.interruptions.append(lambda: opened(storage).rollback(1))
    table.expire("0s", keep_last=1, force=True)
    assert (ids(table), table.state.retained_from) == ([1], 3)


def test_tags_in_the_history() -> None:
    """What was tagged is in the version's summary."""
    table = create(MemoryStorage())
    table.tag("a")
    table.untag("a")
    assert [(v.operation, v.summary.get("tag")) for v in table.history(2)] == [("untag", "a"), ("tag", "a")]
