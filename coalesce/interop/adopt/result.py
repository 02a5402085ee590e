"""What an adoption found and did."""

from dataclasses import dataclass, field

from coalesce.interop.adopt.survey import LeftOut
from coalesce.table.table import Table


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AdoptResult:
    """What an adoption made of what was there.

    `table` is the table, open, and `source` what it was made of: `"parquet"`, `"delta"` or `"iceberg"`; `state` is what
    a Delta or Iceberg table calls the version that was looked at. In `version`, `files_added` files with `rows_added`
    rows came in, and the `files_removed` that are there no more went. `committed` is False if nothing had changed since
    the last time. `left_out` are files that are no data, or must not come in, each with its `path` and a `reason`;
    `passed_over` counts those that the table has had before and let go of since; `ignored_columns` are in files and not
    in the table. `unknown` counts the files whose logical partitions are not known: queries read all of them.
    """

    table: Table = field(compare=False)
    source: str
    version: int
    files_added: int = 0
    files_removed: int = 0
    rows_added: int = 0
    rows_removed: int = 0
    bytes_added: int = 0
    unknown: int = 0
    left_out: tuple[LeftOut, ...] = ()
    passed_over: int = 0
    ignored_columns: tuple[str, ...] = ()
    state: str | None = None
    committed: bool = True
    seconds: float = 0.0

    def __repr__(self) -> str:
        if not self.committed:
            return f"<adopt: nothing has changed; version {self.version}>"
        gone = f", -{self.files_removed:,} files" if self.files_removed else ""
        left = f", {len(self.left_out):,} left out" if self.left_out else ""
        came = f"+{self.files_added:,} files, +{self.rows_added:,} rows"
        return f"<adopt: version {self.version}, {came}{gone}{left}, {self.seconds:.2f} s>"
