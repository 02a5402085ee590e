"""What a write did: one type for everything that commits a version."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WriteResult:
    """What a write did to a table.

    `version` is the number of the version that holds the change, and `operation` what it is called in `history()`.
    Rows that were only moved to another file count as neither added nor removed, unlike the files themselves, and
    neither do those that were updated. A rollback counts by how much the two versions differ. `committed` is False if
    nothing was done, because `applies=` names a write that was made before; `version` is then the newest one.
    """

    version: int
    operation: str
    rows_added: int = 0
    rows_removed: int = 0
    rows_updated: int = 0
    files_added: int = 0
    files_removed: int = 0
    seconds: float = 0.0
    committed: bool = True

    def __repr__(self) -> str:
        if not self.committed:
            return f"<{self.operation}: was made before; version {self.version}>"
        counts = [
            f"{sign}{count:,} {noun if count == 1 else noun + 's'}"
            for sign, noun, count in (
                ("+", "row", self.rows_added),
                ("-", "row", self.rows_removed),
                ("~", "row", self.rows_updated),
                ("+", "file", self.files_added),
                ("-", "file", self.files_removed),
            )
            if count
        ]
        return f"<{', '.join([f'{self.operation}: version {self.version}', *counts, f'{self.seconds:.2f} s'])}>"
