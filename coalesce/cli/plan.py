"""Which files a query has to read, and what each stage of pruning took away."""

import argparse

from coalesce.cli.files import listing
from coalesce.cli.verb import Json
from coalesce.table.table import Table

HELP = "which files a query has to read, and why"


def configure(parser: argparse.ArgumentParser) -> None:
    """The predicate is not optional: a plan of everything tells nothing."""
    parser.add_argument("predicate", metavar="PREDICATE", help="a condition in SQL, such as \"app = 'A'\"")
    parser.add_argument("--files", action="store_true", help="list the files too")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """The report; with `--files` also the files."""
    plan = table.plan(arguments.predicate)
    return plan.to_dict() if arguments.files else plan.report.to_dict()


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """The report as a small table; with `--files` also the files."""
    plan = table.plan(arguments.predicate)
    if not arguments.files:
        return plan.explain()
    return f"{plan.explain()}\n\n{listing(plan.files, table.state)}"
