"""What a table is: its columns, how it is partitioned, which rule decides who shares, how much it holds."""

import argparse
from dataclasses import fields

from coalesce.cli.verb import Json
from coalesce.table.description import Description
from coalesce.table.table import Table

HELP = "columns, partition fields, rule and size"


def configure(parser: argparse.ArgumentParser) -> None:
    """Nothing of its own."""


def as_json(table: Table, arguments: argparse.Namespace) -> Json:  # noqa: ARG001 - every verb is asked the same way
    """Everything the version says, but its manifests one by one."""
    described = table.describe()
    columns = [{"id": f.id, "name": f.name, "type": str(f.type), "required": f.required} for f in described.schema]
    special: Json = {
        "committed": described.committed.isoformat(timespec="milliseconds"),
        "partition_by": list(described.partition_by),
        "reader_features": sorted(described.reader_features),
        "writer_features": sorted(described.writer_features),
    }
    answer: Json = {}
    for field in fields(Description):
        if field.name == "schema":
            answer["columns"] = columns
        else:
            answer[field.name] = special.get(field.name, getattr(described, field.name))
    return answer


def as_text(table: Table, arguments: argparse.Namespace) -> str:  # noqa: ARG001 - likewise
    """A few lines about the table, then its columns."""
    return str(table.describe())
