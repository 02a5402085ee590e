"""Entries that do not say that the rows of their files lie in the order of tuples, as those of older releases."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.table.table import Table, core_of


def forget_order(table: Table, of: Callable[[DataFile], bool] | None = None) -> None:
    """Let the entries of some files, or of all, no longer say it, in a new version; the files stay as they are."""
    by_spec: dict[int, list[DataFile]] = defaultdict(list)
    for file in table.files():
        if of is None or of(file):
            by_spec[file.spec_id].append(replace(file, ordered=False))
    transaction = core_of(table).transaction("forget")
    for spec_id, files in by_spec.items():
        transaction.mend(from_files(files, table.state.spec_by_id(spec_id), table.schema))
    core_of(table).commit(transaction)
