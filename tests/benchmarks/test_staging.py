from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from benchmarks.staged import Staged
from benchmarks.staging import stage
from benchmarks.workload import Query, Refused, Workload, parse


def small(**changes: Any) -> Workload:
    """Two days of thirty tenants."""
    size = {"rows": 4_000, "days": 2, "tenants": 60, "repeats": 1, "appends": 3, "append_rows": 10, **changes}
    return parse("small", {"purpose": "a few rows", "seed": 7, "sizes": {"tiny": size}, "queries": [{"name": "all"}]})


def rows(directory: Path) -> list[dict[str, Any]]:
    """What lies in a directory."""
    return sorted(ds.dataset(directory).to_table().to_pylist(), key=lambda row: row["id"])


def test_the_same_seed_makes_the_same_rows(tmp_path: Path) -> None:
    """Every engine, and every run, sees the same."""
    one, other = stage(small(), None, tmp_path / "one"), stage(small(), None, tmp_path / "other")
    assert rows(one.source) == rows(other.source)
    assert one.values == other.values
    assert len(rows(one.source)) == one.rows == 4_000
    assert len({row["id"] for row in rows(one.source)}) == 4_000


def test_what_was_staged_is_used_again_until_the_workload_changes(tmp_path: Path) -> None:
    """A second run makes nothing; another number of rows begins anew."""
    first = stage(small(), None, tmp_path / "staged")
    (first.source / "kept").touch()
    assert stage(small(), None, tmp_path / "staged") == first == Staged.load(tmp_path / "staged")
    assert (first.source / "kept").exists()
    (first.source / "kept").unlink()
    assert stage(small(rows=400), None, tmp_path / "staged").rows == 400
    assert len(rows(tmp_path / "staged" / "rows")) == 400


def test_tenants_are_chosen_by_counting(tmp_path: Path) -> None:
    """The large one has the most rows of its day, the small one about as many as the one in the middle."""
    staged = stage(small(), None, tmp_path / "staged")
    day = staged.values["day"].removeprefix("DATE ").strip("'")
    counts = Counter(row["app"] for row in rows(staged.source) if str(row["dt"]) == day)
    assert f"'{counts.most_common(1)[0][0]}'" == staged.values["large"]
    ordered = sorted(counts.values(), reverse=True)
    assert counts[staged.values["small"].strip("'")] == ordered[len(ordered) // 2]
    assert staged.partitions == len({(row["dt"], row["app"]) for row in rows(staged.source)})


def test_every_round_asks_what_was_not_asked_before(tmp_path: Path) -> None:
    """Other days, and small tenants that have rows then and are not changed; what names neither is asked as it is."""
    staged = stage(small(tenants=600, rows=20_000), None, tmp_path / "staged")
    forms = staged.asks(Query(name="q", where="dt = {day} AND app = {small}"))
    assert len(forms) == len(staged.others) + 1 == 72
    there = {(str(row["dt"]), row["app"]) for row in rows(staged.source)}
    changed = {target.app for targets in staged.changes.values() for target in targets}
    for form in forms:
        day, app = [part.partition(" = ")[2] for part in str(form.where).split(" AND ")]
        assert (day.removeprefix("DATE ").strip("'"), app.strip("'")) in there
        assert app.strip("'") not in changed
    assert len(staged.asks(Query(name="one day", where="dt = {day}"))) == 2
    assert len(staged.asks(Query(name="everything"))) == 1


def test_nobody_is_changed_twice(tmp_path: Path) -> None:
    """So the answer after one change does not depend on whether an engine could make another."""
    staged = stage(small(), None, tmp_path / "staged")
    apps = [target.app for targets in staged.changes.values() for target in targets]
    assert len(apps) == len({*apps, staged.values["small"].strip("'")}) - 1
    assert all(len(targets) == 2 for targets in staged.changes.values())


def test_rows_to_merge_are_half_there(tmp_path: Path) -> None:
    """A thousand rows of one logical partition: those that it has, up to half, and new ones."""
    staged = stage(small(), None, tmp_path / "staged")
    target, merged = staged.changes["merge"][0], rows(staged.change("merge", 0))
    known = {row["id"] for row in rows(staged.source) if (str(row["dt"]), row["app"]) == (target.day, target.app)}
    assert len(merged) == 1_000
    assert {(str(row["dt"]), row["app"]) for row in merged} == {(target.day, target.app)}
    assert known
    assert len({row["id"] for row in merged} & known) == len(known)


def test_rows_to_merge_into_a_day_are_of_those_that_nobody_changes(tmp_path: Path) -> None:
    """A thousand rows of many tenants, up to half of which are there; other ones each time."""
    staged = stage(small(), None, tmp_path / "staged")
    changed = {target.app for targets in staged.changes.values() for target in targets}
    there, merged = {row["id"] for row in rows(staged.source)}, [rows(staged.change("merge-day", n)) for n in (0, 1)]
    for some in merged:
        assert len(some) == 1_000
        assert len({row["dt"] for row in some}) == 1
        assert len({row["app"] for row in some}) > 5
        assert not {row["app"] for row in some} & {*changed, staged.values["small"].strip("'")}
        assert 100 < len({row["id"] for row in some} & there) <= 500
    assert not {row["id"] for row in merged[0]} & {row["id"] for row in merged[1]}


def test_an_append_is_of_one_day(tmp_path: Path) -> None:
    """As data of a day arrives; the last is of the last day."""
    staged = stage(small(), None, tmp_path / "staged")
    days = [{row["dt"] for row in rows(staged.append(number))} for number in range(3)]
    assert [len(day) for day in days] == [1, 1, 1]
    assert max(days[2]) > max(days[0])


def test_what_was_left_half_made_is_made_again(tmp_path: Path) -> None:
    """Interrupted before its end, the directory has all rows, perhaps, and half of what says which they are."""
    directory = tmp_path / "staged"
    stage(small(), None, directory)
    said = (directory / "staged.json").read_text()
    (directory / "staged.json").rename(directory / "staged.half")
    (directory / "staged.half").write_text(said[: len(said) // 2])
    (directory / "rows" / "leftover.parquet").write_bytes(b"")
    stage(small(), None, directory)
    assert (directory / "staged.json").read_text() == said
    assert not (directory / "staged.half").exists()
    assert not (directory / "rows" / "leftover.parquet").exists()


def test_too_few_tenants_are_refused(tmp_path: Path) -> None:
    """Where there would be nobody left to change."""
    with pytest.raises(Refused, match="too few tenants"):
        stage(small(tenants=4), None, tmp_path / "staged")
