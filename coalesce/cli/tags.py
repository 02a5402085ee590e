"""The tags of a table: names of versions, which keep them from expiring."""

import argparse

from coalesce.cli.verb import Json
from coalesce.table.grid import cut, grid
from coalesce.table.table import Table

HELP = "the names of versions"


def configure(parser: argparse.ArgumentParser) -> None:
    """Nothing of its own."""


def as_json(table: Table, arguments: argparse.Namespace) -> Json:  # noqa: ARG001 - as every verb's
    """Each tag with the number of its version."""
    return {"tags": table.tags()}


def as_text(table: Table, arguments: argparse.Namespace) -> str:  # noqa: ARG001 - as every verb's
    """A line for each."""
    found = table.tags()
    rows = [(str(number), cut(name)) for name, number in found.items()]
    return grid(("version", "tag"), rows, right=("version",)) if found else "no version has a tag"
