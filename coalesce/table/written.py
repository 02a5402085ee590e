"""Data files that are written already, by workers that have no table to commit to: only the commit is left."""

from dataclasses import dataclass

from coalesce.model.datafile import DataFile
from coalesce.model.version import Version
from coalesce.table.commit.conflicts import check_rows_fit, check_same_table


@dataclass
class WrittenFiles:
    """Entries of files that lie in the table's directory, were written for `version`, and that no version names.

    A table takes them where it takes rows. `taken` says whether it has: not if the write was made before.
    """

    files: list[DataFile]
    version: Version
    taken: bool = False

    def take(self, version: Version) -> list[DataFile]:
        """The entries, to be added to `version`; since the workers began, the table may have become another."""
        check_same_table(self.version, version)
        check_rows_fit(self.version, version)
        self.taken = True
        return self.files
