"""The logical partitions: the combinations of partition values, whichever files they share."""

import argparse
from collections.abc import Sequence
from itertools import groupby

from coalesce.cli.arguments import add_limit, add_predicate
from coalesce.cli.text import number
from coalesce.cli.values import as_data, shown
from coalesce.cli.verb import Json
from coalesce.model.spec import field_text
from coalesce.model.version import Version
from coalesce.plan.report import human_bytes
from coalesce.table.from_metadata import LogicalPartition
from coalesce.table.grid import cut, grid
from coalesce.table.table import Table

HELP = "the logical partitions, with files, rows and bytes"

_MEASURES = ("files", "rows", "bytes")


def configure(parser: argparse.ArgumentParser) -> None:
    """A predicate, an order and a limit."""
    add_predicate(parser)
    parser.add_argument(
        "--sort", choices=("values", *_MEASURES), default="values", help="by value (the default), or the largest first"
    )
    add_limit(parser, "logical partitions")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """Each logical partition with its values by field name."""
    version = table.state
    return {
        "version": table.version,
        "partitions": [
            {
                "spec_id": p.spec_id,
                "values": as_data(version.spec_by_id(p.spec_id), version.schema, p.values),
                "files": p.files,
                "rows": p.rows,
                "bytes": p.bytes,
            }
            for p in _chosen(table, arguments)
        ],
    }


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A line for each logical partition; those of different specs have different columns."""
    version = table.state
    chosen = sorted(_chosen(table, arguments), key=lambda p: p.spec_id)
    by_spec = [list(members) for _, members in groupby(chosen, key=lambda p: p.spec_id)]
    if len(by_spec) == 1:
        return _listing(by_spec[0], version)
    return "\n\n".join(f"{_title(members[0].spec_id, version)}\n{_listing(members, version)}" for members in by_spec)


def _chosen(table: Table, arguments: argparse.Namespace) -> list[LogicalPartition]:
    found = list(table.partitions(arguments.predicate))
    if arguments.sort != "values":
        found.sort(key=lambda p: getattr(p, arguments.sort) or 0, reverse=True)
    return found[: arguments.limit]


def _listing(members: Sequence[LogicalPartition], version: Version) -> str:
    spec = version.spec_by_id(members[0].spec_id)
    header = (*(f.name for f in spec.fields), *_MEASURES)
    rows = [
        (
            *(cut(text) for text in shown(spec, version.schema, p.values)),
            number(p.files),
            number(p.rows),
            "?" if p.bytes is None else human_bytes(p.bytes),
        )
        for p in members
    ]
    return grid(header, rows, right=_MEASURES)


def _title(spec_id: int, version: Version) -> str:
    fields = version.spec_by_id(spec_id).fields
    return f"by {', '.join(field_text(f, version.schema) for f in fields)}" if fields else "not partitioned"
