"""Entries that say something else of their files, in a new version; the files stay as they are."""

from collections import defaultdict
from collections.abc import Callable

from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.table.table import Table, core_of


def mend(table: Table, changed: Callable[[DataFile], DataFile]) -> None:
    """Put what `changed` makes of an entry in its place; those that stay as they are, stay."""
    by_spec: dict[int, list[DataFile]] = defaultdict(list)
    for file in table.files():
        entry = changed(file)
        if entry is not file:
            by_spec[file.spec_id].append(entry)
    transaction = core_of(table).transaction("forget")
    for spec_id, files in by_spec.items():
        transaction.mend(from_files(files, table.state.spec_by_id(spec_id), table.schema))
    core_of(table).commit(transaction)
