"""What was staged for a run, as engines see it: plain files, and the values that queries and changes are about.

It needs nothing but Python, since some engines live in an environment of their own.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.workload import Query

STAGED: Final = "staged.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A logical partition that is to be changed."""

    day: str
    app: str

    @property
    def where(self) -> str:
        """As a condition."""
        return f"dt = DATE '{self.day}' AND app = '{self.app}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Staged:
    """Rows, and what is asked of them; see `staging.py`."""

    directory: Path
    rows: int
    partitions: int
    columns: tuple[str, ...]
    below: str
    values: Mapping[str, str]
    others: tuple[Mapping[str, str], ...]  # other days and tenants that are as well asked for, of about the same size
    changes: Mapping[str, tuple[Target, ...]]
    appends: int

    @property
    def source(self) -> Path:
        """The directory of the rows."""
        return self.directory / "rows"

    @property
    def warm(self) -> Path:
        """A few rows to warm up with."""
        return self.directory / "warm"

    @property
    def days(self) -> Path:
        """The small table to join with."""
        return self.directory / "days"

    def asks(self, query: Query) -> list[Query]:
        """A query for the rows that were chosen first, then, where it names a day or a tenant, for others."""
        return list(dict.fromkeys(query.filled(values) for values in (self.values, *self.others)))

    def change(self, kind: str, number: int) -> Path:
        """The rows of one change: what replaces a logical partition, or what is merged."""
        return self.directory / f"{kind}-{number}"

    def append(self, number: int) -> Path:
        """The rows of one append."""
        return self.directory / f"append-{number:04d}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rows": self.rows,
            "partitions": self.partitions,
            "columns": list(self.columns),
            "below": self.below,
            "values": dict(self.values),
            "others": [dict(values) for values in self.others],
            "changes": {kind: [[t.day, t.app] for t in targets] for kind, targets in self.changes.items()},
            "appends": self.appends,
        }

    @classmethod
    def load(cls, directory: Path) -> "Staged":
        """From what `staging.stage` left in a directory."""
        text = json.loads((directory / STAGED).read_text())
        return cls(
            directory=directory,
            rows=text["rows"],
            partitions=text["partitions"],
            columns=tuple(text["columns"]),
            below=text["below"],
            values=text["values"],
            others=tuple(text["others"]),
            changes={
                kind: tuple(Target(day=day, app=app) for day, app in targets)
                for kind, targets in text["changes"].items()
            },
            appends=text["appends"],
        )
