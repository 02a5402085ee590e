"""Two processes share the tests (`tests/support/turns.py`): none is left out, none is run twice."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.turns import Turns


@dataclass(frozen=True)
class Item:
    """Of a test what a process goes by."""

    path: Path
    number: int
    markers: frozenset[str] = frozenset()

    def get_closest_marker(self, name: str) -> str | None:
        """The marker of that name."""
        return name if name in self.markers else None


def _items() -> list[Any]:
    """Twelve files of three tests, not one file after the other; some share the session, some start Spark."""
    markers = {0: {"spark", "shared"}, 1: {"spark"}, 2: {"spark", "shared"}}
    return [
        Item(Path(f"tests/test_{file}.py"), number, frozenset(markers.get(file % 4, ())))
        for number in range(3)
        for file in range(12)
    ]


def test_each_test_is_taken_once(tmp_path: Path) -> None:
    """However the two take turns; and those that share the session are all in one process."""
    for fast in (1, 2, 5):
        directory = tmp_path / str(fast)
        directory.mkdir()
        items = _items()
        ours, others = Turns(directory, True).taken(items), Turns(directory, False).taken(items)
        first: list[Any] = []
        second: list[Any] = []
        running = True
        while running:
            before = len(first) + len(second)
            first += [item for _ in range(fast) if (item := next(ours, None)) is not None]
            second += [item for item in [next(others, None)] if item is not None]
            running = len(first) + len(second) > before
        assert sorted(first + second, key=lambda i: (i.path, i.number)) == sorted(
            items, key=lambda i: (i.path, i.number)
        )
        assert not any("shared" in item.markers for item in second)
        assert {item.path for item in first}.isdisjoint({item.path for item in second})


def test_what_takes_long_comes_first(tmp_path: Path) -> None:
    """The session's own tests in one process, in the other those that start Spark themselves."""
    (tmp_path / "other").mkdir()
    first: list[Any] = list(Turns(tmp_path, True).taken(_items()))
    second: list[Any] = list(Turns(tmp_path / "other", False).taken(_items()))
    assert all("shared" in item.markers for item in first[:18])
    assert all(item.markers == {"spark"} for item in second[:9])
