"""Give a version a name, by which it can be opened, and which keeps it from expiring."""

import argparse

from coalesce.cli.arguments import whole_number
from coalesce.cli.verb import Json
from coalesce.table.table import Table

HELP = "give a version a name that keeps it from expiring"


def configure(parser: argparse.ArgumentParser) -> None:
    """The name, and which version."""
    parser.add_argument("name", metavar="NAME", help="the tag: any text that is not a number")
    parser.add_argument("--at", metavar="N", type=whole_number, help="the version; the newest unless given")
    parser.add_argument("--replace", action="store_true", help="move a tag that names another version")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """The tag, its version, and the version of the table that has it."""
    number = table.version if arguments.at is None else arguments.at
    result = table.tag(arguments.name, number, replace=arguments.replace)
    return {"tag": arguments.name, "names": number, "version": result.version, "committed": result.committed}


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A sentence."""
    done = as_json(table, arguments)
    return f"{done['tag']} names version {done['names']}" + ("" if done["committed"] else ", as it did before")
