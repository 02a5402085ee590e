"""Write files again that had better lie otherwise: small ones, those of an older layout, and so on."""

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict

from coalesce.cli.arguments import add_predicate
from coalesce.cli.progress import Progress
from coalesce.cli.text import number
from coalesce.cli.verb import Json
from coalesce.plan.report import human_bytes
from coalesce.table.maintain.compact import CompactResult, Step, summary
from coalesce.table.table import Table

HELP = "merge small files, and move those of an older layout"

_MB = 1024 * 1024


def configure(parser: argparse.ArgumentParser) -> None:
    """Which files, how large they become, and how much is written again."""
    add_predicate(parser)
    parser.add_argument("--target", metavar="SIZE", help="how large files become, such as 64MB")
    parser.add_argument("--max-bytes", metavar="SIZE", help="how much is written again at the most, such as 10GB")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """What was done, or would be."""
    return asdict(_compacted(table, arguments))


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A sentence, and a line for each reason."""
    return told(_compacted(table, arguments))


def told(done: CompactResult) -> str:
    """What was done, for people."""
    if not done.files_before:
        return "nothing to do" + _rest(done)
    verb = "would become about" if done.dry_run else "became"
    after = "" if done.dry_run else f" ({human_bytes(done.bytes_written)})"
    files = f"{number(done.files_before)} file{'' if done.files_before == 1 else 's'}"
    before = f"{files} ({human_bytes(done.bytes_moved)})"
    head = f"{before} {verb} {number(done.files_after)}{after}"
    commits = "" if done.dry_run else f" in {number(done.steps)} commit{'' if done.steps == 1 else 's'}"
    reasons = [f"  {number(count)} {reason}" for reason, count in sorted(done.reasons.items())]
    return "\n".join([head + commits + _rest(done), *reasons])


def _rest(done: CompactResult) -> str:
    left = f"; {human_bytes(done.bytes_left)} left" if done.bytes_left else ""
    return left + (f"; {number(len(done.skipped))} files left to those who removed them" if done.skipped else "")


def _compacted(table: Table, arguments: argparse.Namespace) -> CompactResult:
    asked = {"where": arguments.predicate, "target": arguments.target, "max_bytes": arguments.max_bytes}
    if arguments.dry_run:
        return table.compact(**asked, dry_run=True)
    return shown(table, table.compact_steps(**asked))


def shown(table: Table, under_way: Iterator[Step]) -> CompactResult:
    """Take every step, and show meanwhile how far it is."""
    began, steps, moved = time.perf_counter(), list[Step](), 0
    with Progress("MB written again") as progress:
        for step in under_way:
            steps.append(step)
            moved += step.bytes_moved
            progress(-(-moved // _MB), -(-(moved + step.bytes_left) // _MB))
    return summary(table.version, steps, time.perf_counter() - began)
