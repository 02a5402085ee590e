"""Files that workers have written, handed to a table on the driver as if they were rows: only the commit is left."""

from dataclasses import dataclass

from coalesce.arrow.engine import ArrowEngine
from coalesce.model.datafile import DataFile
from coalesce.model.version import Version
from coalesce.table.commit.conflicts import check_rows_fit, check_same_table
from coalesce.table.engine import Place


@dataclass(frozen=True)
class StagedFiles:
    """Entries of files that are in the table's directory, written for `version`, and that no version names."""

    files: list[DataFile]
    version: Version


class StagedEngine(ArrowEngine):
    """The Arrow engine, which also takes files that are written already; `taken` says whether it has."""

    def __init__(self) -> None:
        self.taken = False

    def accepts(self, data: object) -> bool:
        """Whether `data` is staged files, or something Arrow takes."""
        return isinstance(data, StagedFiles) or super().accepts(data)

    def write(self, place: Place, data: object) -> list[DataFile]:
        """Nothing more to write; but since the workers began, the table may have become another."""
        if not isinstance(data, StagedFiles):
            return super().write(place, data)
        check_same_table(data.version, place.version)
        check_rows_fit(data.version, place.version)
        self.taken = True
        return data.files
