"""Delete files of the table's own that no version needs any more, and what writers left that died."""

import argparse
from dataclasses import asdict

from coalesce.cli.arguments import add_cleaning
from coalesce.cli.progress import Progress
from coalesce.cli.text import number
from coalesce.cli.verb import Json
from coalesce.plan.report import human_bytes
from coalesce.table.maintain.vacuum import VacuumResult
from coalesce.table.table import Table

HELP = "delete files that no version needs"


def configure(parser: argparse.ArgumentParser) -> None:
    """How old."""
    add_cleaning(parser, "files")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """Which files went, and which could not be deleted."""
    return asdict(_vacuumed(table, arguments))


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A sentence, the files if nothing was deleted, and a line for each that could not be."""
    done = _vacuumed(table, arguments)
    verb = "would delete" if done.dry_run else "deleted"
    count = f"{verb} {number(done.files)} file{'' if done.files == 1 else 's'}, {human_bytes(done.bytes)}"
    return "\n".join(
        [*(done.paths if done.dry_run else ()), count, *(f"not deleted: {f.reason}" for f in done.failures)]
    )


def _vacuumed(table: Table, arguments: argparse.Namespace) -> VacuumResult:
    with Progress("files deleted") as progress:
        done = table.vacuum(arguments.older_than, dry_run=arguments.dry_run, force=arguments.force, progress=progress)
    arguments.exit_code = 1 if done.failures else 0
    return done
