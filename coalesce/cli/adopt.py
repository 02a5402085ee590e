"""Make a table of Parquet files, or of a Delta or Iceberg table, where they lie; or take in what has changed there."""

import argparse
from dataclasses import asdict

import coalesce
from coalesce.cli.text import number
from coalesce.cli.verb import Json

HELP = "make a table of what is there, in place"

_SHOWN = 20


def configure(parser: argparse.ArgumentParser) -> None:
    """What the table is to be like."""
    parser.add_argument(
        "--partition-by", metavar="FIELD", action="append", help="a partition field; may be given several times"
    )
    parser.add_argument(
        "--small",
        metavar="FIELD",
        action="append",
        help="let small logical partitions share files on this field; may be given several times",
    )
    parser.add_argument("--below", metavar="SIZE", default="64MB", help="how large is small: 64MB unless given")
    parser.add_argument("--target", metavar="SIZE", help="how large files become when they are written, such as 128MB")
    parser.add_argument(
        "--scan", action="store_true", help="read rows where nothing else tells the logical partitions of a file"
    )


def as_json(arguments: argparse.Namespace) -> Json:
    """What was found and done."""
    done = _adopted(arguments)
    names = [name for name in type(done).__dataclass_fields__ if name not in ("table", "left_out")]
    return {name: getattr(done, name) for name in names} | {"left_out": [asdict(file) for file in done.left_out]}


def as_text(arguments: argparse.Namespace) -> str:
    """A sentence, and a line for each file that was left out."""
    done = _adopted(arguments)
    what = f"{done.source}{f', {done.state}' if done.state else ''}"
    if not done.committed:
        lines = [f"nothing has changed since version {done.version} ({what})"]
    else:
        came = f"{number(done.files_added)} files with {number(done.rows_added)} rows came in"
        went = f", {number(done.files_removed)} went" if done.files_removed else ""
        lines = [f"version {done.version}: {came}{went} ({what})"]
    if done.unknown:
        lines.append(f"  of {number(done.unknown)} files the logical partitions are not known; --scan reads them")
    if done.passed_over:
        lines.append(f"  {number(done.passed_over)} were in the table before, and are not taken in again")
    if done.ignored_columns:
        lines.append(f"  columns that the table does not have: {', '.join(done.ignored_columns)}")
    lines += [f"  left out: {file.path}: {file.reason}" for file in done.left_out[:_SHOWN]]
    rest = len(done.left_out) - _SHOWN
    return "\n".join([*lines, *([f"  left out: {number(rest)} more"] if rest > 0 else [])])


def _adopted(arguments: argparse.Namespace) -> coalesce.AdoptResult:
    rule = None
    if arguments.small:
        rule = coalesce.small(*arguments.small, below=arguments.below, target=arguments.target)
    properties = {"write.target-file-bytes": arguments.target} if arguments.target and rule is None else None
    return coalesce.adopt(
        arguments.table,
        partition_by=arguments.partition_by,
        rule=rule,
        properties=properties,
        scan=arguments.scan,
        storage_options=dict(arguments.storage_option),
    )
