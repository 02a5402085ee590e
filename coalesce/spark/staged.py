"""Files that workers have written, handed to a table on the driver as if they were rows: only the commit is left."""

from dataclasses import dataclass

from coalesce.arrow.engine import ArrowEngine
from coalesce.model.datafile import DataFile
from coalesce.table.engine import Place


@dataclass(frozen=True)
class StagedFiles:
    """Entries of files that are in the table's directory and that no version names."""

    files: list[DataFile]


class StagedEngine(ArrowEngine):
    """The Arrow engine, which also takes files that are written already."""

    def accepts(self, data: object) -> bool:
        """Whether `data` is staged files, or something Arrow takes."""
        return isinstance(data, StagedFiles) or super().accepts(data)

    def write(self, place: Place, data: object) -> list[DataFile]:
        """Nothing more to write."""
        return data.files if isinstance(data, StagedFiles) else super().write(place, data)
