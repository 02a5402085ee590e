r"""Java's regular expressions in RE2's words, those that surely mean the same to both.

A list of what is understood, and None for the rest. Known are: characters, `.`, classes of characters with ranges,
`\d \w \s` and their opposites, groups, alternatives, `* + ?` and counts, `^` at the very beginning and `$` at the
very end. Both look for a match anywhere and only say whether there is one, so that greedy and lazy are the same.

Two things a match in Java depends on are left to the values (see `Expression`).
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_MOST_REPEATED: Final = 50
_SPECIAL: Final = frozenset(r".^$*+?()[]{}|\\")
_SPACES: Final = r" \t\n\x0b\f\r"
_CLASSES: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": _SPACES}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_COUNT = re.compile(r"\{(\d{1,3})(,(\d{1,3})?)?\}", re.ASCII)
_LETTER_OR_DIGIT = re.compile(r"[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Expression:
    r"""As RE2 takes it, and what to look at in the values.

    `knows_lines`: `.` or `$` stands in it, and in Java a line ends in more ways than by \n.
    `repeats_groups`: Java recurses into them.
    """

    written: str
    knows_lines: bool
    repeats_groups: bool


def quoted(text: str) -> str:
    """Text that stands for itself in RE2."""
    return "".join(c if _LETTER_OR_DIGIT.fullmatch(c) or ord(c) > 0x9F else f"\\x{{{ord(c):x}}}" for c in text)


@lru_cache
def translated(pattern: str) -> Expression | None:
    """The same in RE2's words, or None if it is not certain that there is the same."""
    try:
        found = _Reader(pattern).expression()
    except _NotTheSame:
        return None
    return found if compiles(found.written) else None


def compiles(written: str) -> bool:
    """Whether RE2 takes the expression: there is an end to how long one may be."""
    try:
        pc.match_substring_regex(pa.array([""], pa.string()), written)
    except pa.ArrowInvalid:
        return False
    return True


class _NotTheSame(Exception):
    """Java and RE2 may differ in it."""


class _Reader:
    """One pass from left to right, with a call for each group."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.knows_lines = False
        self.repeats_groups = False

    def expression(self) -> Expression:
        begins = self._take("^")
        written, _ = self._alternatives(0)
        ends = self._take("$")
        if self.at < len(self.pattern):
            raise _NotTheSame
        if begins or ends:
            if "|" in self.pattern:
                raise _NotTheSame  # an anchor belongs to one of the alternatives
            written = (r"\A" if begins else "") + written
        if ends:
            self.knows_lines = True
            written += r"\n?\z"
        return Expression(written, self.knows_lines, self.repeats_groups)

    def _take(self, expected: str) -> bool:
        if not self.pattern.startswith(expected, self.at):
            return False
        self.at += len(expected)
        return True

    def _alternatives(self, depth: int) -> tuple[str, bool]:
        """What they are, and whether one matches the empty text."""
        if depth > 20:
            raise _NotTheSame
        written, empty = self._sequence(depth)
        while self._take("|"):
            other, other_empty = self._sequence(depth)
            written, empty = f"{written}|{other}", empty or other_empty
        return written, empty

    def _sequence(self, depth: int) -> tuple[str, bool]:
        pieces: list[str] = []
        empty = True
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)$":
            is_group = self.pattern[self.at] == "("
            piece, may_be_empty = self._atom(depth)
            repeated, optional = self._repetition()
            if repeated:
                if may_be_empty:
                    raise _NotTheSame  # a loop that makes no progress ends in its own ways
                self.repeats_groups |= is_group
            pieces.append(piece + repeated)
            empty = empty and (may_be_empty or optional)
        if not pieces and (depth or "|" in self.pattern):
            raise _NotTheSame
        return "".join(pieces), empty

    def _repetition(self) -> tuple[str, bool]:
        """How often, and whether that may be never."""
        counted = _COUNT.match(self.pattern, self.at)
        if counted is not None:
            self.at = counted.end()
            least, most = int(counted[1]), int(counted[3] or counted[1])
            if not least <= most <= _MOST_REPEATED:
                raise _NotTheSame
            repeated = counted[0]
        elif self.pattern[self.at : self.at + 1] in ("*", "+", "?"):
            repeated, least = self.pattern[self.at], int(self.pattern[self.at] == "+")
            self.at += 1
        else:
            return "", False
        self._take("?")  # lazy
        if self.pattern[self.at : self.at + 1] in ("*", "+", "?", "{"):
            raise _NotTheSame
        return repeated, least == 0

    def _atom(self, depth: int) -> tuple[str, bool]:
        character = self.pattern[self.at]
        self.at += 1
        if character == "(":
            if not self._take("?:") and self.pattern[self.at : self.at + 1] in ("?", "*"):
                raise _NotTheSame
            written, empty = self._alternatives(depth + 1)
            if not self._take(")"):
                raise _NotTheSame
            return f"(?:{written})", empty
        if character == "[":
            return self._class(), False
        if character == ".":
            self.knows_lines = True
            return r"[^\n]", False
        if character == "\\":
            one, several = self._escaped()
            return f"[{several}]" if several else quoted(one), False
        if character in _SPECIAL:
            raise _NotTheSame
        return quoted(character), False

    def _escaped(self) -> tuple[str, str]:
        """What stands after a backslash: one character, or the inside of a class."""
        following = self.pattern[self.at : self.at + 1]
        self.at += 1
        if following in _CONTROLS:
            return _CONTROLS[following], ""
        if following in _CLASSES:
            return "", _CLASSES[following]
        if following.lower() in _CLASSES:
            return "", "^" + _CLASSES[following.lower()]
        if not following or following.isalnum() or ord(following) > 0x7E or ord(following) < 0x20:
            raise _NotTheSame
        return following, ""

    def _class(self) -> str:
        negated = self._take("^")
        items: list[str] = []
        while not self._take("]"):
            items.append(self._item(first=not items))
        if not items:
            raise _NotTheSame
        return f"[{'^' if negated else ''}{''.join(items)}]"

    def _item(self, *, first: bool) -> str:
        low = self._member(first=first)
        if len(low) > 1:
            return low
        if self.pattern[self.at : self.at + 1] != "-" or self.pattern[self.at + 1 : self.at + 2] == "]":
            return quoted(low)
        self.at += 1
        high = self._member(first=False)
        kinds = (str.isdigit, str.isupper, str.islower)
        if len(high) != 1 or low > high or not (low + high).isascii() or not any(k(low) and k(high) for k in kinds):
            raise _NotTheSame
        return f"{low}-{high}"

    def _member(self, *, first: bool) -> str:
        """One character, or the inside of a class such as 0-9."""
        character = self.pattern[self.at : self.at + 1]
        self.at += 1
        if character == "\\":
            one, several = self._escaped()
            if several.startswith("^"):
                raise _NotTheSame
            return one or several
        last = self.pattern[self.at : self.at + 1] == "]"
        if not character or character in "[]^&" or (character == "-" and not (first or last)):
            raise _NotTheSame
        return character
