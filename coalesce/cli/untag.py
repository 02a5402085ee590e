"""Take a version's name away. Unless it is among those that are kept, it has expired thereby."""

import argparse

from coalesce.cli.verb import Json
from coalesce.table.table import Table

HELP = "take a version's name away"


def configure(parser: argparse.ArgumentParser) -> None:
    """The name."""
    parser.add_argument("name", metavar="NAME", help="the tag")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """The tag, and the version of the table that is without it."""
    return {"tag": arguments.name, "version": table.untag(arguments.name).version}


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A sentence."""
    done = as_json(table, arguments)
    return f"{done['tag']} is gone, since version {done['version']}"
