"""The versions of a table, newest first: when each was committed, and what it changed."""

import argparse

from coalesce.cli.arguments import add_limit
from coalesce.cli.layout import cut, grid, moment, number
from coalesce.cli.verb import Json
from coalesce.model.version import Version
from coalesce.table.table import Table

HELP = "the versions, newest first"

_MANY = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """A limit, without which a table with ten thousand versions would take a while."""
    add_limit(parser, "versions", _MANY)


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """What each version says of itself."""
    return {"versions": [_as_data(v) for v in _versions(table, arguments.limit)]}


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A line for each version."""
    header = ("version", "committed (UTC)", "operation", "files", "rows", "changed files", "changed rows")
    rows = [
        (
            str(v.number),
            f"{moment(v.timestamp_ms):%Y-%m-%d %H:%M:%S}",
            cut(v.operation),
            number(v.files),
            number(v.rows),
            _change(v, "files"),
            _change(v, "rows"),
        )
        for v in _versions(table, arguments.limit)
    ]
    return grid(header, rows, right=("version", *header[3:]))


def _versions(table: Table, limit: int) -> list[Version]:
    """Those up to the version that was asked for."""
    numbers = [n for n in table.log.numbers() if n <= table.version]
    return [table.log.load(n) for n in numbers[::-1][:limit]]


def _change(version: Version, what: str) -> str:
    changes = [(sign, version.summary.get(f"{what}_{verb}", 0)) for sign, verb in (("+", "added"), ("-", "removed"))]
    return " ".join(f"{sign}{count:,}" for sign, count in changes if isinstance(count, int) and count)


def _as_data(version: Version) -> Json:
    return {
        "version": version.number,
        "committed": moment(version.timestamp_ms).isoformat(timespec="milliseconds"),
        "operation": version.operation,
        "files": version.files,
        "rows": version.rows,
        "bytes": version.bytes,
        "summary": dict(version.summary),
    }
