"""The versions of a table, newest first: when each was committed, and what it changed. Or its files by generation."""

import argparse
from dataclasses import asdict

from coalesce.cli.arguments import add_limit
from coalesce.cli.text import number
from coalesce.cli.verb import Json
from coalesce.model.version import Version
from coalesce.plan.report import human_bytes
from coalesce.table.grid import cut, grid
from coalesce.table.table import Table

HELP = "the versions, newest first"

_MANY = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """A limit, without which a table with ten thousand versions would take a while."""
    add_limit(parser, "versions", _MANY)
    parser.add_argument("--specs", action="store_true", help="which files are in which spec and rule instead")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """What each version says of itself; with `--specs`, the generations of the files."""
    if arguments.specs:
        return {"generations": [asdict(generation) for generation in table.describe_evolution()]}
    return {"versions": [_as_data(v) for v in table.history(arguments.limit)]}


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A line for each version, or for each generation."""
    if arguments.specs:
        return _generations(table)
    versions = table.history(arguments.limit)
    some_dead = any(v.dead_rows for v in versions)  # a column that says nothing of most tables
    dead = ["dead rows"] if some_dead else []
    header = ("version", "committed (UTC)", "operation", "files", "rows", *dead, "changed files", "changed rows")
    rows = [
        (
            str(v.number),
            f"{v.committed:%Y-%m-%d %H:%M:%S}",
            cut(v.operation),
            number(v.files),
            number(v.rows),
            *([number(v.dead_rows)] if some_dead else []),
            _change(v, "files"),
            _change(v, "rows"),
        )
        for v in versions
    ]
    return grid(header, rows, right=("version", *header[3:]))


def _generations(table: Table) -> str:
    """A line for each spec and rule that files were written under, and what compact() would move."""
    found = table.describe_evolution()
    header = ("spec", "rule", "partitioned by", "files", "rows", "bytes", "files a partition", "")
    rows = [
        (
            str(generation.spec_id),
            number(generation.rule_id),
            cut(", ".join(generation.fields) or "nothing"),
            number(generation.files),
            number(generation.rows),
            human_bytes(generation.bytes),
            "?" if generation.files_per_partition is None else f"{generation.files_per_partition:.1f}",
            "current" if generation.current else "",
        )
        for generation in found
    ]
    moved = human_bytes(sum(generation.bytes for generation in found if not generation.current))
    return grid(header, rows, right=("spec", "rule", *header[3:7])) + f"\n\ncompact() would move {moved}"


def _change(version: Version, what: str) -> str:
    changes = [(sign, version.summary.get(f"{what}_{verb}", 0)) for sign, verb in (("+", "added"), ("-", "removed"))]
    return " ".join(f"{sign}{count:,}" for sign, count in changes if isinstance(count, int) and count)


def _as_data(version: Version) -> Json:
    return {
        "version": version.number,
        "committed": version.committed.isoformat(timespec="milliseconds"),
        "operation": version.operation,
        "files": version.files,
        "rows": version.rows,
        "dead_rows": version.dead_rows,
        "bytes": version.bytes,
        "summary": dict(version.summary),
    }
