"""What a check of a table finds: one thing that is wrong, where, in which versions, and what to do about it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import pyarrow as pa

from coalesce.table.listing import Listing

_TABLE: Final = pa.schema(
    [
        ("kind", pa.string()),
        ("where", pa.string()),
        ("versions", pa.list_(pa.int64())),
        ("message", pa.string()),
        ("mendable", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Finding:
    """One thing that is wrong with a table.

    `kind` is one of a few texts, such as `"missing-file"`. `where` is the path of the file in question, relative to the
    table; `versions` are the numbers of those that name it. `message` says what is wrong and what to do, and `mendable`
    whether `Table.repair` mends it in the newest version.
    """

    kind: str
    where: str
    versions: tuple[int, ...]
    message: str
    mendable: bool = False

    def __repr__(self) -> str:
        return f"<{self.kind} in {ranges(self.versions)}: {self.message}>"


# A `Listing` knows what makes a table of its members; for programs that only go through them, it is a sequence.
Findings = Listing[Finding]


def findings(found: Iterable[Finding]) -> Findings:
    """What was found, in a listing that turns into Arrow and data frames."""
    return Listing(found, _tabulated)


def _tabulated(found: Sequence[Finding]) -> pa.Table:
    rows = [{name: getattr(finding, name) for name in _TABLE.names} for finding in found]
    return pa.Table.from_pylist(rows, _TABLE)


def ranges(versions: Sequence[int]) -> str:
    """Numbers as people write them: `version 7`, `versions 1 to 5 and 7`."""
    if not versions:
        return "no version"
    starts = [versions[0], *(b for a, b in pairwise(versions) if b != a + 1)]
    ends = [*(a for a, b in pairwise(versions) if b != a + 1), versions[-1]]
    parts = [str(a) if a == b else f"{a} to {b}" for a, b in zip(starts, ends, strict=True)]
    text = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"version{'s' if len(versions) > 1 else ''} {text}"
