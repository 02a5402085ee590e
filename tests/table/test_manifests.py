"""The cache of manifests: bounded by bytes, and honest about them."""

import gc
import shutil
import subprocess
import sys
import time
import tracemalloc
import weakref
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import coalesce
from coalesce.errors import CorruptMetadata, StorageError
from coalesce.manifest import manifest_file
from coalesce.manifest.manifest_file import decode_manifest, encode_manifest
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.entries import from_files
from coalesce.model.rule import small
from coalesce.model.types import STRING
from coalesce.plan.index import ManifestIndex
from coalesce.plan.plan import Outline
from coalesce.predicate.expr import InSet
from coalesce.predicate.scalar.nodes import Reference
from coalesce.storage.local import LocalStorage
from coalesce.table.commit.manifests import ManifestCache, Manifests
from coalesce.table.table import Table, core_of
from tests.builders import make_version, told
from tests.table.examples import add_files, create, events

APPS = pa.schema([("app", pa.string()), ("n", pa.int64())])


def make_table(directory: Path, manifests: int) -> Table:
    """A table of so many manifests, of the same size each, with a cache of its own."""
    table = create(LocalStorage(directory))
    for n in range(manifests):
        add_files(table, [f"app-{n:03d}-{i:03d}" for i in range(100)])
    core_of(table).manifests = Manifests(core_of(table).storage, ManifestCache())
    return table


def test_the_cache_never_holds_more_than_its_bound(tmp_path: Path) -> None:
    """Plans over more than fits give the right answer, and what was used last is what is left."""
    table = make_table(tmp_path, 10)
    refs = table.state.manifests
    size = core_of(table).manifests.load(refs[0], table.state).nbytes
    cache = ManifestCache(capacity=size * 4)
    core_of(table).manifests = Manifests(core_of(table).storage, cache)
    for _ in range(2):
        assert table.plan("app LIKE 'app-00%'").file_count == 1000
        assert 0 < cache.total <= cache.capacity
        assert 2 <= len(cache) <= 4
    assert cache.get(core_of(table).manifests.key(refs[-1], table.state)) is not None
    assert cache.get(core_of(table).manifests.key(refs[0], table.state)) is None


def test_a_copy_under_the_same_relative_name_is_read_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`events` is another table after a change of directory: a damaged copy is damaged, whatever was read before."""
    monkeypatch.chdir(tmp_path)
    table = coalesce.create("one/events", APPS, partition_by=["app"])
    table.append(pa.table({"app": ["A", "B"], "n": [1, 2]}))
    shutil.copytree("one", "two")
    monkeypatch.chdir(tmp_path / "one")
    assert coalesce.open("events").count("app = 'A'") == 1
    monkeypatch.chdir(tmp_path / "two")
    (manifest,) = Path("events/_coalesce/manifests").iterdir()
    manifest.write_bytes(manifest.read_bytes()[:-1])
    with pytest.raises(CorruptMetadata, match=manifest.name):
        coalesce.open("events").count("app = 'A'")


def test_manifests_are_read_at_the_same_time(tmp_path: Path) -> None:
    """A plan over many manifests of a slow store waits about as long as for one, and has them in their order."""
    table = make_table(tmp_path, 12)
    waiting, most = 0, 0

    class Slow(LocalStorage):
        """Takes its time for each answer."""

        def read(self, path: str) -> bytes:
            nonlocal waiting, most
            waiting += 1
            most = max(most, waiting)
            time.sleep(0.1)
            waiting -= 1
            return super().read(path)

    core_of(table).manifests = Manifests(Slow(tmp_path), ManifestCache())
    assert [f.path for f in table.plan().files] == [f.path for f in make_reader(table).plan().files]
    assert most > 6
    most = 0
    assert table.plan("app LIKE 'app-00%'").file_count == 1000
    assert most == 0  # all of them are held by now


def test_what_a_process_committed_it_need_not_read(tmp_path: Path) -> None:
    """Neither a plan after an append, nor a removal after another, nor a merge of manifests asks the store again."""
    read: list[str] = []

    class Noted(LocalStorage):
        """Remembers which manifests were read."""

        def read(self, path: str) -> bytes:
            read.extend([path] if "/manifests/" in path else [])
            return super().read(path)

    table = create(Noted(tmp_path), small("app"), **{"remove.by": "mark"})
    core_of(table).manifests = Manifests(core_of(table).storage, ManifestCache())
    for n in range(40):
        table.append(events(["A", "B", f"C{n}"], [n, n, n]))
    assert len(table.state.manifests) < 40  # some were merged
    for app in ("A", "B"):
        table.drop_partition(app=app)
    assert sorted(str(p.values["app"]) for p in table.partitions()) == sorted(f"C{n}" for n in range(40))
    assert read == []
    fresh = make_reader(table)
    assert [told(f) for f in fresh.files()] == [told(f) for f in table.files()]
    assert len(read) == len(table.state.manifests)


def test_a_commit_of_many_manifests_holds_only_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held until the commit is bounded; what is not held afterwards is read when it is asked for."""
    monkeypatch.setattr("coalesce.table.commit.transaction._HELD_BYTES", 40_000)
    table = create(LocalStorage(tmp_path), small("app"), **{"remove.by": "mark"})
    for n in range(6):
        table.append(events(["A", *(f"B{i}" for i in range(500))], list(range(n * 501, n * 501 + 501))))
    cache = core_of(table).manifests.cache = ManifestCache()
    table.drop_partition(app="A")
    assert 1 <= len(cache) < len(table.state.manifests) == 6
    assert table.count() == 3_000
    assert len(cache) == 6


def test_a_manifest_that_cannot_be_stored_leaves_none_behind(tmp_path: Path) -> None:
    """Those of one commit are stored at the same time; when one fails, the others go, too."""

    class Full(LocalStorage):
        """Has room for five more manifests."""

        room = 1_000

        def put_if_absent(self, path: str, data: bytes) -> bool:
            if "/manifests/" in path:
                Full.room -= 1
                if Full.room < 0:
                    raise StorageError("no space is left on the device.")
            return super().put_if_absent(path, data)

    table = create(Full(tmp_path), small("app"), **{"remove.by": "mark"})
    for n in range(12):
        table.append(events(["A", f"B{n}"], [2 * n, 2 * n + 1]))
    manifests = tmp_path / "_coalesce/manifests"
    before = sorted(path.name for path in manifests.iterdir())
    Full.room = 5
    with pytest.raises(StorageError, match="no space"):
        table.drop_partition(app="A")
    assert sorted(path.name for path in manifests.iterdir()) == before
    assert table.refresh().count("app = 'A'") == 12
    Full.room = 1_000
    table.drop_partition(app="A")
    assert table.count() == 12


def make_reader(table: Table) -> Table:
    """Another one of the same table, that reads one manifest after the other."""
    other = Table(core_of(table).storage, core_of(table).engines, version=table.state)
    core_of(other).manifests = Manifests(core_of(table).storage, ManifestCache())
    for ref in table.state.manifests:
        core_of(other).manifests.load(ref, table.state)
    return other


def test_a_manifest_that_is_used_stays(tmp_path: Path) -> None:
    """Least recently used means used, not loaded."""
    table = make_table(tmp_path, 4)
    first, *others = table.state.manifests
    size = core_of(table).manifests.load(first, table.state).nbytes
    cache = ManifestCache(capacity=size * 5 // 2)
    manifests = Manifests(core_of(table).storage, cache)
    held = manifests.load(first, table.state)
    for ref in others:
        manifests.load(ref, table.state)
        assert manifests.load(first, table.state) is held


def test_what_an_index_grows_by_counts(tmp_path: Path) -> None:
    """Values and statistics that plans ask for are counted when the manifest is next used, and others make room."""
    table = make_table(tmp_path, 3)
    cache = ManifestCache()
    core_of(table).manifests = Manifests(core_of(table).storage, cache)
    table.plan("dt = DATE '2026-05-17'")
    before = cache.total
    table.plan("app = 'app-001-001' AND id > 5")
    table.plan("app = 'app-001-001' AND id > 5")
    held = [cache.get(core_of(table).manifests.key(r, table.state)) for r in table.state.manifests]
    assert cache.total == sum(index.nbytes for index in held if index is not None) > before
    cache.capacity = cache.total - 1
    assert cache.get(core_of(table).manifests.key(table.state.manifests[-1], table.state)) is not None
    assert len(cache) == 2
    cache.clear()
    assert (len(cache), cache.total) == (0, 0)


def test_a_writer_holds_the_manifests_of_its_version_and_no_others(tmp_path: Path) -> None:
    """Those that were merged or rewritten go with the commit that did it, however many commits there are."""
    table = make_table(tmp_path, 0)
    cache = core_of(table).manifests.cache
    for n in range(60):
        add_files(table, [f"app-{n:03d}"])
        table.plan("app LIKE 'app-0%'")
        assert len(cache) == len(table.state.manifests)
        if n % 3 == 0:
            table.delete(f"app = 'app-{n // 2:03d}'")
            table.plan()
            assert len(cache) == len(table.state.manifests)


def test_a_reader_that_follows_a_table_holds_the_manifests_of_its_version(tmp_path: Path) -> None:
    """What another process has merged is let go of by a refresh; a table that stays at a version reads it again."""
    table = make_table(tmp_path, 3)
    reader = make_reader(table)
    cache = core_of(reader).manifests.cache
    old = reader.at(version=3)
    for n in range(40):
        add_files(table, [f"more-{n:03d}"])
        reader.refresh().plan()
        assert len(cache) == len(reader.state.manifests)
    assert old.plan().file_count == 300


def test_a_plan_that_is_kept_holds_no_index(tmp_path: Path) -> None:
    """It has the same files and the same report when it is wanted again, from manifests that are read once more."""
    table = make_table(tmp_path, 5)
    cache = core_of(table).manifests.cache
    plan = table.plan("app LIKE 'app-00%' AND id > 5")
    outline = Outline.of(plan)
    files, report, index = plan.files, plan.report, weakref.ref(plan.manifests[0].index)
    del plan
    cache.clear()
    gc.collect()
    assert index() is None
    again = outline.plan()
    assert (again.files, again.report) == (files, report)
    assert 0 < outline.nbytes < 1_000_000


def test_statistics_are_read_together_and_the_file_is_opened_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four statistics of a column cost one read; that the decoded footer was let go of only costs opening it again."""
    table = make_table(tmp_path, 0)
    table.append(events("A", range(100)))
    index = next(core_of(table).manifests.load_all(table.state.manifests, table.state))
    manifest_file._OPENED.clear()
    opened: list[object] = []
    parquet = pq.ParquetFile

    def counting(source: object) -> object:
        opened.append(source)
        return parquet(source)

    monkeypatch.setattr(pq, "ParquetFile", counting)
    before = index.nbytes
    assert index.entries.statistic("lower_3").to_pylist() == [0]  # type: ignore[union-attr]
    for name in ("upper_3", "null_count_3", "nan_count_3", "lower_3"):
        index.entries.statistic(name)
    index.entries.statistic("lower_1")
    assert len(opened) == 1
    assert index.nbytes > before
    assert index.entries.file(0).statistics[3].upper == 99


def test_one_manifest_stays_however_large(tmp_path: Path) -> None:
    """A bound that nothing fits into must not make each plan load the same manifest again and again."""
    table = make_table(tmp_path, 2)
    cache = ManifestCache(capacity=1)
    core_of(table).manifests = Manifests(core_of(table).storage, cache)
    assert table.plan().file_count == 200
    assert len(cache) == 1


def test_a_plan_needs_no_pandas(tmp_path: Path) -> None:
    """Arrow would import it at the first chance, which costs a fresh process more than the plan does."""
    make_table(tmp_path, 2)
    program = f"""
import sys
import coalesce
table = coalesce.open({str(tmp_path)!r})
plan = table.plan("dt = DATE '2026-05-17' AND (app = 'app-001-001' OR id > 5)")
assert plan.file_count == 200, plan.file_count
assert plan.rows and plan.bytes and list(plan.paths()) and plan.explain()
assert len(plan.files) == 200
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("copies", [1, 5], ids=["each tuple once", "each tuple in five files"])
@pytest.mark.parametrize("per_file", [1, 20], ids=["a tuple a file", "twenty tuples a file"])
@pytest.mark.parametrize("everything", [False, True], ids=["a point is asked", "everything is asked"])
def test_the_estimate_of_memory_is_honest(copies: int, per_file: int, everything: bool) -> None:
    """Within a factor of two of what Arrow, NumPy and Python hold for it, whatever plans have asked for."""
    version = make_version(APPS, ["app"])
    postings = 40_000
    names = [f"application-{n // copies:06d}" for n in range(postings)]
    files = [
        DataFile(
            path=f"data/0123456789abcdef/_app=%5B%23small%5D/{n:08d}.parquet",
            spec_id=0,
            rows=per_file,
            bytes=1,
            tuples=tuple((names[(n * per_file + i) * 7919 % postings],) for i in range(per_file)),
            tuple_rows=(1,) * per_file,
            complete=True,
            statistics={2: ColumnStatistics(lower=n, upper=n + 1, null_count=0)},
        )
        for n in range(postings // per_file)
    ]
    encoded = encode_manifest(from_files(files, version.spec, version.schema))
    del files, names

    def load() -> ManifestIndex:
        data = bytes(bytearray(encoded.data))  # a copy, as if it had just been read
        index = ManifestIndex(decode_manifest(data, encoded.ref("manifest", 1, 0), version.spec))
        domain = index.values_domain(0, version.spec.fields[0], STRING)
        domain.outcomes(InSet(Reference(1, "app", STRING), ("application-000001",)))
        index.component(0).tuples(np.array([0]))
        if everything:
            index.postings_in(np.array([0]))
            index.statistics_domain(2, version.schema.atomic(2))  # type: ignore[arg-type]
            assert len(index.posting_tuple) == postings
        return index

    load()  # what the first use of a function keeps for itself is not the manifest's
    gc.collect()
    arrow = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        index = load()
        gc.collect()
        real = pa.total_allocated_bytes() - arrow + tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert real / 2 < index.nbytes < real * 2
