"""What a commit leaves behind: nothing that no version names, and everything that one does."""

import itertools

import pytest

from coalesce.errors import CommitConflict, InvalidArgument, NothingWritten, SchemaError, StorageError
from coalesce.manifest.paths import LATEST_HINT, MANIFESTS, VERSIONS, version_path
from coalesce.model.rule import group
from coalesce.storage.base import Storage
from coalesce.table.table import Table, core_of
from tests.table.examples import create, events, ids, opened
from tests.table.stores import InterruptedStorage, LosingStorage, MemoryStorage


def orphans(storage: Storage) -> set[str]:
    """The files that no version of the table names."""
    table = opened(storage)
    named = {LATEST_HINT}
    for version in table.history():
        named |= {version_path(version.number), *(ref.path for ref in version.manifests)}
        named |= {file.path for file in table.at(version=version.number).files()}
    return {file.path for file in storage.list("")} - named


def of_two_specs(storage: Storage) -> Table:
    """A table whose app A shares a file in each of two specs, so that a delete of it writes several manifests."""
    table = create(storage, group("app", {"[#small]": ["A", "B"]}))
    table.append(events(["A", "B", "C"], [1, 2, 3]))
    table.evolve(add="bucket(2, id)")
    table.append(events(["A", "B", "C"], [4, 5, 6]))
    return table


def test_a_manifest_whose_answer_is_lost_is_taken_back() -> None:
    """Whichever manifest of a removal in two specs it is: its data files and the manifests before it go as well."""
    sent: list[str] = []
    for number in itertools.count(1):
        sent.clear()

        def loses(path: str, number: int = number) -> bool:
            sent.extend([path] if path.startswith(MANIFESTS) else [])
            return len(sent) == number

        storage = LosingStorage(lambda _: False, error=True)
        table = of_two_specs(storage)
        storage.loses = loses
        try:
            table.delete("app = 'A'")
        except StorageError:
            assert not orphans(storage)
            assert ids(opened(storage)) == [1, 2, 3, 4, 5, 6]
        else:
            break
    assert len(sent) >= 3


def test_manifests_that_an_overtaken_attempt_wrote_go_when_the_next_one_lands() -> None:
    """The first attempt merged sixteen manifests; the other writer did too, and the second attempt needs neither."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    one = create(storage)
    for i in range(16):
        one.append(events(f"app {i}", [i]))
    other = opened(storage)
    storage.interruptions = [lambda: other.append(events("other", [16]))]
    one.append(events("one", [17]))
    assert not orphans(storage)
    assert ids(opened(storage)) == list(range(18))


def test_a_change_of_metadata_that_conflicts_leaves_no_merged_manifests() -> None:
    """Every commit merges manifests when enough have gathered, one that adds no rows too."""
    storage = InterruptedStorage(lambda request: request.startswith(f"put_if_absent {VERSIONS}"))
    one = create(storage)
    for i in range(16):
        one.append(events(f"app {i}", [i]))
    other = opened(storage)
    storage.interruptions = [lambda: other.set_properties({"owner": "somebody"})]
    with pytest.raises(CommitConflict):
        one.set_properties({"owner": "me"})
    assert not orphans(storage)


def test_a_version_that_cannot_be_written_down_leaves_nothing() -> None:
    """It was never sent off, so the files it would have named can go."""
    storage = MemoryStorage()
    table = create(storage)
    begun = core_of(table).transaction("append")
    begun.add(core_of(table).engines.rows.write(core_of(table).snapshot(), events("A", [1])))
    begun.summary["by"] = "\ud800"
    with pytest.raises(SchemaError, match="cannot be committed"):
        core_of(table).commit(begun)
    begun.abandon()
    assert not orphans(storage)


def test_an_application_is_called_by_a_name_that_can_be_written_down() -> None:
    """Half of a surrogate pair is refused at the door."""
    storage = MemoryStorage()
    table = create(storage)
    with pytest.raises(InvalidArgument, match="a name and a number"):
        table.append(events("A", [1]), applies=("\ud800", 1))
    assert not orphans(storage)


def test_a_transaction_is_committed_once() -> None:
    """Committed again it would name its files twice, and every row would be there twice."""
    table = create(MemoryStorage())
    begun = core_of(table).transaction("append")
    begun.add(core_of(table).engines.rows.write(core_of(table).snapshot(), events("A", [1])))
    core_of(table).commit(begun)
    with pytest.raises(InvalidArgument, match=f"may have been, as commit_id {begun.commit_id}"):
        core_of(table).commit(begun)
    begun.abandon()
    assert ids(table.refresh()) == [1]


def test_a_version_that_found_no_room_leaves_nothing() -> None:
    """The store says that nothing was written: then nobody waits for files that only this version would have named."""
    storage = _Full()
    table = create(storage)
    storage.full = True
    with pytest.raises(NothingWritten, match="no space"):
        table.append(events("A", [1]))
    assert not orphans(storage)
    storage.full = False
    table.append(events("A", [2]))
    assert ids(opened(storage)) == [2]


class _Full(MemoryStorage):
    """Has no room for version files, if it is `full`."""

    full = False

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """See `Storage`."""
        if self.full and path.startswith(VERSIONS):
            raise NothingWritten("no space left.")
        return super().put_if_absent(path, data)
