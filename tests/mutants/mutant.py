"""One planted bug, as data."""

from dataclasses import dataclass
from pathlib import Path


class Stale(Exception):
    """The text a mutant changes is not there any more, or not only once: the code has moved on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A bug that somebody could make.

    `old` stands exactly once in `file` and becomes `new`. `tests` are paths or node ids: the part of the ordinary tests
    that ought to notice. `seen` is what a user would see if nobody did.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    seen: str

    def applied(self, root: Path) -> str:
        """The text of the file below `root` with the bug in it; `Stale` if it cannot be planted."""
        text = (root / self.file).read_text()
        found = text.count(self.old)
        if found != 1 or self.old == self.new:
            raise Stale(f"{self.name}: its old text stands {found} times in {self.file}, not once.")
        return text.replace(self.old, self.new)
