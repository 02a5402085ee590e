"""Let other engines read the table: write its newest version down as an Iceberg or Delta table over the same files."""

import argparse
from dataclasses import asdict

from coalesce.cli.text import number
from coalesce.cli.verb import Json
from coalesce.table.exports import DEAD_ROWS, DELTA, FORMATS, ICEBERG, USUAL, ExportResult
from coalesce.table.table import Table

HELP = "write metadata for readers of Iceberg or Delta"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which format, and how."""
    parser.add_argument("--format", choices=FORMATS, required=True, help="what other engines read")
    parser.add_argument("--location", metavar="PLACE", help="where Iceberg's metadata goes, if not into the table")
    parser.add_argument(
        "--feature",
        action="append",
        default=[],
        metavar="NAME",
        help="a writer feature for Delta's protocol; repeatable",
    )
    parser.add_argument(
        "--unpartitioned", action="store_true", help="no partition columns in Delta, only bounds: for Polars"
    )
    usual = ", ".join(f"{how} for {name}" for name, how in USUAL.items())
    parser.add_argument("--dead-rows", choices=DEAD_ROWS, help=f"what becomes of removed rows in files ({usual})")
    parser.add_argument("--drop", action="store_true", help="delete what exports have written instead")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """What was written."""
    if arguments.drop:
        return {"format": arguments.format, "files_deleted": _dropped(table, arguments)}
    return asdict(_exported(table, arguments))


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A sentence, and how the other format prunes."""
    if arguments.drop:
        return f"deleted {number(_dropped(table, arguments))} files of the {arguments.format} export"
    done = _exported(table, arguments)
    if not done.written:
        return f"{done.location}: {done.format} is at version {done.version} already"
    parts = ", ".join(done.partitioned_by) or "nothing"
    return (
        f"{done.location}: {done.format} shows version {done.version} now: {number(done.files)} files, "
        f"{number(done.files_added)} added, {number(done.files_removed)} removed\n"
        f"partitioned by {parts}; other columns are pruned by their bounds"
    )


def _exported(table: Table, arguments: argparse.Namespace) -> ExportResult:
    how = USUAL[arguments.format] if arguments.dead_rows is None else arguments.dead_rows
    if arguments.format == ICEBERG:
        return table.export_iceberg(location=arguments.location, dead_rows=how)
    return table.export_delta(features=tuple(arguments.feature), partitioned=not arguments.unpartitioned, dead_rows=how)


def _dropped(table: Table, arguments: argparse.Namespace) -> int:
    location = None if arguments.format == DELTA else arguments.location
    return table.drop_export(arguments.format, location=location)
