"""What is said before anything is written is what then happens."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from deltalake import write_deltalake

import coalesce
from coalesce.cli.command import run
from coalesce.errors import SpecError, TableNotFound
from tests.interop.adopt.lakes import digest, lay


def rows(count: int, number: int = 0) -> pa.Table:
    """So many rows of numbers and short texts, other ones for each number."""
    random = np.random.default_rng(number)
    texts = [f"n{i % 17}" for i in range(count)]
    return pa.table({"k": random.integers(0, 1 << 40, count), "amount": random.random(count), "note": texts})


def lake(root: Path, days: int, apps: int, size: Callable[[int], int]) -> Path:
    """A day's apps, of which every fifth has two files."""
    files = {
        f"dt=2026-05-{day + 1:02}/app=app-{app}/part-{part}.parquet": rows(size(app), (day * apps + app) * 2 + part)
        for day in range(days)
        for app in range(apps)
        for part in range(1 + (app % 5 == 0))
    }
    return lay(root, files)


SHAPES: dict[str, tuple[int, int, Callable[[int], int], str]] = {
    "tiny": (3, 60, lambda app: 1 + app % 9, "64KB"),
    "tiny, all in one": (3, 60, lambda app: 1 + app % 9, "128MB"),
    "skewed": (3, 40, lambda app: int(12_000 / (1 + app)) + 1, "1MB"),
    "even": (2, 20, lambda _: 1_500, "256KB"),
    "large already": (2, 3, lambda _: 20_000, "64KB"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_estimate_is_what_compact_makes(tmp_path: Path, shape: str) -> None:
    """Files after within a tenth, by the same arithmetic; nothing is written for it."""
    days, apps, size, target = SHAPES[shape]
    lake(tmp_path, days, apps, size)
    before = digest(tmp_path)
    advice = coalesce.advise(tmp_path, target=target)
    assert digest(tmp_path) == before
    assert not (tmp_path / "_coalesce").exists()
    rule = coalesce.small(*advice.share, below=advice.below, target=advice.target) if advice.share else None
    properties = {"write.target-file-bytes": target}
    table = coalesce.adopt(tmp_path, rule=rule, properties=properties).table
    assert advice.now.files == len(table.files())
    assert advice.partitions == len(table.partitions())
    table.compact()
    after = len(table.files())
    assert abs(advice.after.files - after) <= 0.1 * after
    assert advice.is_worth_it == (after < advice.now.files)
    assert 0.7 < advice.after.bytes / sum(f.bytes for f in table.files()) < 1.4


def test_what_is_chosen_and_why(tmp_path: Path) -> None:
    """As few fields as make files large enough; more, if they would stay small; none, if there is nothing to be won."""
    lake(tmp_path, 2, 30, lambda _: 400)
    small = coalesce.advise(tmp_path, target="64KB")
    assert small.share == ("app",)
    assert small.rule == 'coalesce.small("app", below="32KB", target="64KB")'
    assert any("divided by dt" in reason for reason in small.why)
    large = coalesce.advise(tmp_path)
    assert large.share == ("dt", "app")
    assert large.after.files == 1
    assert (large.small, large.partitions) == (60, 60)
    assert large.sizes["least"] <= large.sizes["half"] <= large.sizes["greatest"]
    assert large.now.directories == 60
    assert large.after.metadata_bytes < large.now.metadata_bytes
    assert large.after.reading_seconds < large.now.reading_seconds
    lay(tmp_path / "one", {"x.parquet": rows(10)})
    one = coalesce.advise(tmp_path / "one")
    assert (one.rule, one.is_worth_it, one.partitions) == (None, False, 1)


def test_of_other_tables(tmp_path: Path) -> None:
    """Delta tables by their logs; our own by their manifests."""
    table = pa.concat_tables([rows(4).append_column("app", pa.array([f"a{i}"] * 4)) for i in range(30)])
    write_deltalake(tmp_path / "delta", table, partition_by=["app"])
    advice = coalesce.advise(tmp_path / "delta")
    assert (advice.source, advice.now.files, advice.after.files, advice.share) == ("delta", 30, 1, ("app",))
    own = coalesce.create(tmp_path / "own", table.schema, partition_by=["app"])
    own.append(table)
    advice = coalesce.advise(tmp_path / "own")
    assert (advice.source, advice.now.files, advice.after.files) == ("coalesce", 30, 1)
    assert own.version == 1


def test_what_cannot_be_advised_on(tmp_path: Path) -> None:
    """A sentence."""
    with pytest.raises(TableNotFound, match="there is nothing to adopt"):
        coalesce.advise(tmp_path)
    with pytest.raises(SpecError, match="is not a size"):
        coalesce.advise(tmp_path, target="large")


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Advise, do what it says, and look again; in JSON for programs."""
    lake(tmp_path / "lake", 2, 10, lambda _: 5)
    place = str(tmp_path / "lake")
    assert run(["advise", place]) == 0
    shown = capsys.readouterr().out
    assert "20 logical partitions" in shown
    commands = [line.split()[1:] for line in shown.splitlines() if line.startswith("  coalesce ")]
    assert [command[0] for command in commands] == ["adopt", "compact"]
    assert run(["advise", place, "--json"]) == 0
    advice = json.loads(capsys.readouterr().out)
    assert advice["after"]["files"] == 1
    for command in commands:
        assert run(command) == 0
    assert "24 files" in capsys.readouterr().out
    assert run(["adopt", place]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("nothing has changed since version 1")
    assert "24 were in the table before" in shown
    (tmp_path / "lake/_SUCCESS").touch()
    assert run(["adopt", place, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_out"][0]["path"] == "_SUCCESS"
    assert len(coalesce.open(place).files()) == advice["after"]["files"]
    assert run(["adopt", str(tmp_path / "nowhere")]) == 1
    assert "there is nothing to adopt" in capsys.readouterr().err
