"""Entries that do not say that the rows of their files lie in the order of tuples, as those of older releases."""

from collections.abc import Callable
from dataclasses import replace

from coalesce.model.datafile import DataFile
from coalesce.table.table import Table
from tests.support.entries import mend


def forget_order(table: Table, of: Callable[[DataFile], bool] | None = None) -> None:
    """Let the entries of some files, or of all, no longer say it, in a new version; the files stay as they are."""
    mend(table, lambda file: replace(file, ordered=False) if of is None or of(file) else file)
