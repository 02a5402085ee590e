"""Reading JSON with care: every value is checked, and every error says where in the document it is."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from coalesce.errors import CorruptMetadata


def parse(data: bytes) -> Any:
    """The JSON document in `data`, or a ValueError: UTF-8 only, no member twice, and none of the numbers JSON lacks."""
    return json.loads(data.decode(), object_pairs_hook=_members, parse_constant=_no_number)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the member {next(n for n in names if names.count(n) > 1)!r} is there twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a JSON document, together with the file it is in and the path that leads to it."""

    value: Any
    file: str
    where: str = ""

    def wrong(self, reason: str) -> CorruptMetadata:
        """The error that names this place."""
        return CorruptMetadata(self.file, reason, self.where)

    def __getitem__(self, key: str) -> "Node":
        self._must_be(dict, "an object")
        inside = Node(self.value.get(key), self.file, f"{self.where}.{key}" if self.where else key)
        if key not in self.value:
            raise inside.wrong("it is missing.")
        return inside

    def get(self, key: str) -> "Node | None":
        """The member called `key`, or None where it is absent or null."""
        self._must_be(dict, "an object")
        return None if self.value.get(key) is None else self[key]

    def items(self) -> Iterator[tuple[str, "Node"]]:
        """The members of an object."""
        self._must_be(dict, "an object")
        for key in self.value:
            yield key, self[key]

    def __iter__(self) -> Iterator["Node"]:
        self._must_be(list, "a list")
        for i, value in enumerate(self.value):
            yield Node(value, self.file, f"{self.where}[{i}]")

    @property
    def text(self) -> str:
        """A string."""
        self._must_be(str, "a string")
        text = str(self.value)
        try:
            text.encode()
        except UnicodeEncodeError:  # a JSON escape can say what no UTF-8 file can hold
            raise self.wrong("it has half of a surrogate pair.") from None
        return text

    @property
    def flag(self) -> bool:
        """A boolean."""
        self._must_be(bool, "true or false")
        return bool(self.value)

    @property
    def number(self) -> int:
        """An integer."""
        if isinstance(self.value, bool):
            raise self.wrong(f"it should be an integer, not {self.value!r}.")
        self._must_be(int, "an integer")
        return int(self.value)

    @property
    def count(self) -> int:
        """An integer that is not negative."""
        if self.number < 0:
            raise self.wrong(f"it should not be negative, but is {self.value}.")
        return self.number

    def _must_be(self, kind: type, name: str) -> None:
        if not isinstance(self.value, kind):
            raise self.wrong(f"it should be {name}, not {_brief(self.value)}.")


def _brief(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "…"
