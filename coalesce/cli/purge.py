"""Write files again without the rows that were removed from them: now, and not when compaction finds it worth it."""

import argparse
from dataclasses import asdict

from coalesce.cli.compact import shown, told
from coalesce.cli.verb import Json
from coalesce.table.maintain.compact import CompactResult
from coalesce.table.table import Table

HELP = "write files again without the rows that were removed"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which files."""
    parser.add_argument(
        "--where", metavar="PREDICATE", help="only files of which removed rows may match, such as \"app = 'A'\""
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """What was done, or would be."""
    return asdict(_purged(table, arguments))


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A sentence, and why."""
    return told(_purged(table, arguments))


def _purged(table: Table, arguments: argparse.Namespace) -> CompactResult:
    if arguments.dry_run:
        return table.purge(arguments.where, dry_run=True)
    return shown(table, table.purge_steps(arguments.where))
