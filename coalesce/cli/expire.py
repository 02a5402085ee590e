"""Let old versions go. The newest stays, and those that have a tag; `vacuum` then deletes the files nobody needs."""

import argparse
from dataclasses import asdict

from coalesce.cli.arguments import add_cleaning, whole_number
from coalesce.cli.progress import Progress
from coalesce.cli.text import number
from coalesce.cli.verb import Json
from coalesce.table.maintain.expire import ExpireResult
from coalesce.table.table import Table

HELP = "let old versions go"


def configure(parser: argparse.ArgumentParser) -> None:
    """How old, and how many stay all the same."""
    add_cleaning(parser, "versions")
    parser.add_argument(
        "--keep-last",
        metavar="N",
        type=whole_number,
        default=10,
        help="keep the last N versions whatever their age; 10 unless given",
    )


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """What went, and what could not be deleted."""
    return asdict(_expired(table, arguments))


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A sentence, and a line for each file that could not be deleted."""
    done = _expired(table, arguments)
    count = f"{number(len(done.versions))} version{'' if len(done.versions) == 1 else 's'}"
    span = f", {done.versions[0]} to {done.versions[-1]}" if len(done.versions) > 1 else ""
    verb = "would expire" if done.dry_run else "expired"
    kept = f"kept: from version {done.retained_from} on, and those with a tag"
    return "\n".join([f"{verb}: {count}{span}; {kept}", *(f"not deleted: {f.reason}" for f in done.failures)])


def _expired(table: Table, arguments: argparse.Namespace) -> ExpireResult:
    with Progress("version files deleted") as progress:
        done = table.expire(
            arguments.older_than,
            keep_last=arguments.keep_last,
            dry_run=arguments.dry_run,
            force=arguments.force,
            progress=progress,
        )
    arguments.exit_code = 1 if done.failures else 0
    return done
