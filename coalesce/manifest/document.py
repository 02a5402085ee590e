"""Reading JSON with care: every value is checked, and every error says where in the document it is."""

import json
from collections.abc import Iterator
from typing import Any

from coalesce.errors import CorruptMetadata


def parse(text: str) -> Any:
    """The JSON document in `text`, or a ValueError: no member twice, and none of the numbers JSON lacks."""
    return json.loads(text, object_pairs_hook=_members, parse_constant=_no_number)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the member {next(n for n in names if names.count(n) > 1)!r} is there twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


class Node:
    """A value of a JSON document that knows the file it is in and the way that leads to it.

    A version has thousands of values, each looked at once, so the way is put into words only for an error.
    """

    __slots__ = ("_key", "_parent", "file", "value")

    def __init__(self, value: Any, file: str, parent: "Node | None" = None, key: str | int = "") -> None:
        self.value = value
        self.file = file
        self._parent = parent
        self._key = key

    @property
    def where(self) -> str:
        """The way from the document to this value, such as `manifests[3].bounds[0].lower`."""
        if self._parent is None:
            return ""
        before = self._parent.where
        if isinstance(self._key, int):
            return f"{before}[{self._key}]"
        return f"{before}.{self._key}" if before else self._key

    def wrong(self, reason: str) -> CorruptMetadata:
        """The error that names this place."""
        return CorruptMetadata(self.file, reason, self.where)

    def __getitem__(self, key: str) -> "Node":
        members = self._object
        if key not in members:
            raise Node(None, self.file, self, key).wrong("it is missing.")
        return Node(members[key], self.file, self, key)

    def get(self, key: str) -> "Node | None":
        """The member called `key`, or None where it is absent or null."""
        value = self._object.get(key)
        return None if value is None else Node(value, self.file, self, key)

    def items(self) -> Iterator[tuple[str, "Node"]]:
        """The members of an object."""
        for key, value in self._object.items():
            yield key, Node(value, self.file, self, key)

    def __iter__(self) -> Iterator["Node"]:
        for i in range(len(self.members)):
            yield self.at(i)

    @property
    def members(self) -> list[Any]:
        """The values of a list."""
        if type(self.value) is not list:
            raise self._unlike("a list")
        return self.value

    def at(self, position: int) -> "Node":
        """The member of a list at a position."""
        return Node(self.members[position], self.file, self, position)

    @property
    def text(self) -> str:
        """A string."""
        if type(self.value) is not str:
            raise self._unlike("a string")
        text: str = self.value
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:  # a JSON escape can say what no UTF-8 file can hold
                raise self.wrong("it has half of a surrogate pair.") from None
        return text

    @property
    def flag(self) -> bool:
        """A boolean."""
        if type(self.value) is not bool:
            raise self._unlike("true or false")
        return self.value

    @property
    def number(self) -> int:
        """An integer of up to 64 bits: more would be read as another number by readers that have no larger ones."""
        if type(self.value) is not int:
            raise self._unlike("an integer")
        if not -(2**63) <= self.value < 2**63:
            raise self.wrong(f"it should have up to 64 bits, but is {_brief(self.value)}.")
        return self.value

    @property
    def count(self) -> int:
        """An integer that is not negative."""
        number = self.number
        if number < 0:
            raise self.wrong(f"it should not be negative, but is {number}.")
        return number

    @property
    def counts(self) -> dict[str, int]:
        """An object whose members are integers that are not negative."""
        members = self._object
        if all(type(value) is int and 0 <= value < 2**63 for value in members.values()):
            return dict(members)
        return {key: node.count for key, node in self.items()}  # says which is none

    @property
    def _object(self) -> dict[str, Any]:
        if type(self.value) is not dict:
            raise self._unlike("an object")
        return self.value

    def _unlike(self, expected: str) -> CorruptMetadata:
        return self.wrong(f"it should be {expected}, not {_brief(self.value)}.")


def _brief(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else shown[:37] + "…"
