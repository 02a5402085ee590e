"""Mend what can be mended without a doubt, in one commit. The exit code is 1 if something is left."""

import argparse
from dataclasses import asdict

from coalesce.cli.check import paragraphs
from coalesce.cli.progress import Progress
from coalesce.cli.text import number
from coalesce.cli.verb import Json
from coalesce.table.maintain.repair import RepairResult
from coalesce.table.table import Table

HELP = "mend what can be mended"


def configure(parser: argparse.ArgumentParser) -> None:
    """Whether to do it."""
    parser.add_argument("--dry-run", action="store_true", help="only say what would be mended")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """What was mended, and what is left."""
    done = _repaired(table, arguments)
    return {
        "version": done.version,
        "committed": done.committed,
        "dry_run": done.dry_run,
        "mended": [asdict(finding) for finding in done.mended],
        "left": [asdict(finding) for finding in done.left],
    }


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """What is left, then how much was mended."""
    done = _repaired(table, arguments)
    if not done.mended and not done.left:
        return "nothing is wrong"
    verb = "would mend" if done.dry_run else "mended"
    older = "; older versions stay as they are" if done.mended else ""
    count = f"{verb} {number(len(done.mended))}, left {number(len(done.left))}; version {done.version}{older}"
    shown = paragraphs([*(done.mended if done.dry_run else ()), *done.left])
    return f"{shown}\n\n{count}" if shown else count


def _repaired(table: Table, arguments: argparse.Namespace) -> RepairResult:
    with Progress("files read") as progress:
        done = table.repair(dry_run=arguments.dry_run, progress=progress)
    arguments.exit_code = 1 if done.left else 0
    return done
