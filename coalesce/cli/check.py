"""Look whether a table is sound, in all versions that have not expired. The exit code is 1 if something is wrong."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict

from coalesce.arrow.engine import ArrowEngine
from coalesce.cli.progress import Progress
from coalesce.cli.text import number
from coalesce.cli.verb import Json
from coalesce.storage import open_storage
from coalesce.table.commit.log import Log
from coalesce.table.engine import Engines
from coalesce.table.maintain.findings import Finding, Findings, ranges
from coalesce.table.table import Table

HELP = "is the table sound?"


def configure(parser: argparse.ArgumentParser) -> None:
    """How closely to look."""
    parser.add_argument("--deep", action="store_true", help="read every data file, too, and compare it with its entry")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """Every finding."""
    found = _found(table, arguments)
    return {"version": table.version, "deep": arguments.deep, "findings": [asdict(finding) for finding in found]}


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A paragraph for each finding, and how many there are."""
    found = _found(table, arguments)
    if not found:
        return "nothing is wrong" if arguments.deep else "nothing is wrong; --deep looks into the data files, too"
    mendable = sum(finding.mendable for finding in found)
    repair = f"; coalesce repair mends {number(mendable)}" if mendable else ""
    return f"{paragraphs(found)}\n\n{_count(len(found))}{repair}"


def paragraphs(found: Sequence[Finding]) -> str:
    """Findings one below the other."""
    return "\n\n".join(f"{finding.kind}, {ranges(finding.versions)}\n{finding.message}" for finding in found)


def _found(table: Table, arguments: argparse.Namespace) -> Findings:
    with Progress("files read") as progress:
        found = table.check(arguments.deep, progress=progress)
    arguments.exit_code = 1 if found else 0
    return found


def _count(findings: int) -> str:
    return f"{number(findings)} finding{'' if findings == 1 else 's'}"


def any_version(arguments: argparse.Namespace) -> Table:
    """The table at a version that can be read, if the newest cannot: the check says what is wrong with it."""
    storage = open_storage(arguments.table, options=dict(arguments.storage_option))
    log = Log(storage)
    return Table(storage, Engines(ArrowEngine()), log=log, version=log.any(), pinned=True)
