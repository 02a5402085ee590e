"""How many rows match: from metadata where that is exact, from the rows of the files in doubt otherwise."""

import argparse

from coalesce.cli.arguments import add_predicate
from coalesce.cli.verb import Json
from coalesce.predicate.render import to_sql
from coalesce.table.table import Table

HELP = "how many rows match"


def configure(parser: argparse.ArgumentParser) -> None:
    """A predicate."""
    add_predicate(parser)


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """The number, and what was counted."""
    where = arguments.predicate
    return {"version": table.version, "predicate": to_sql(table.plan(where).predicate), "rows": table.count(where)}


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """The bare number, which a script can read too."""
    return str(table.count(arguments.predicate))
