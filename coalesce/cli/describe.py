"""What a table is: its columns, how it is partitioned, which rule decides who shares, how much it holds."""

import argparse
import json
from collections.abc import Mapping
from typing import assert_never

from coalesce.cli.text import cut, grid
from coalesce.cli.values import literal
from coalesce.cli.verb import Json
from coalesce.model.rule import BySize, Groups, KeepAll, Rule, UnknownRule
from coalesce.model.spec import field_text
from coalesce.model.types import AtomicType, Value
from coalesce.model.version import Version
from coalesce.plan.report import counted, human_bytes
from coalesce.table.from_metadata import dead_bytes
from coalesce.table.table import Table

HELP = "columns, partition fields, rule and size"

_LONGEST_RULE = 64


def configure(parser: argparse.ArgumentParser) -> None:
    """Nothing of its own."""


def as_json(table: Table, arguments: argparse.Namespace) -> Json:  # noqa: ARG001 - every verb is asked the same way
    """Everything the version says, but its manifests one by one."""
    version = table.state
    return {
        "location": table.location,
        "table_id": version.table_id,
        "version": version.number,
        "committed": version.committed.isoformat(timespec="milliseconds"),
        "operation": version.operation,
        "rows": version.rows,
        "dead_rows": version.dead_rows,
        "files": version.files,
        "bytes": version.bytes,
        "dead_bytes": _dead_bytes(table),
        "manifests": len(version.manifests),
        "columns": [{"id": f.id, "name": f.name, "type": str(f.type), "required": f.required} for f in version.schema],
        "partition_by": _partition_by(version),
        "rule": rule_text(version.rule, version),
        "specs": len(version.specs),
        "rules": len(version.rules),
        "properties": dict(version.properties),
        "reader_features": sorted(version.reader_features),
        "writer_features": sorted(version.writer_features),
    }


def as_text(table: Table, arguments: argparse.Namespace) -> str:  # noqa: ARG001 - likewise
    """A few lines about the table, then its columns."""
    version = table.state
    facts = [
        ("table", table.location),
        ("version", f"{version.number}, {version.operation}, {version.committed:%Y-%m-%d %H:%M:%S} UTC"),
        ("holds", _size(version)),
        *([("removed", _dead(table))] if version.dead_rows else []),
        ("partitioned by", ", ".join(_partition_by(version)) + _earlier(len(version.specs), "spec")),
        ("rule", cut(rule_text(version.rule, version), _LONGEST_RULE) + _earlier(len(version.rules), "rule")),
        *(("property", f"{key} = {value}") for key, value in sorted(version.properties.items())),
    ]
    width = max(len(name) for name, _ in facts)
    header = ("id", "column", "type", "")
    columns = [(str(f.id), f.name, cut(str(f.type), 60), "required" if f.required else "") for f in version.schema]
    about = "\n".join(f"{name:<{width}}  {text or 'nothing'}" for name, text in facts)
    return f"{about}\n\n{grid(header, columns, right=('id',))}"


def rule_text(rule: Rule, version: Version) -> str:
    """The rule as the call that makes it."""
    names = {f.field_id: f.name for f in version.partition_fields}
    match rule:
        case KeepAll():
            return "keep_all()"
        case BySize(_, field_ids, group, below):
            fields = ", ".join(_quoted(names[i]) for i in field_ids)
            return f'small({fields}, below="{_exact_bytes(below)}", group={_quoted(group)})'
        case Groups(_, members, types):
            return " ".join(f"group({_quoted(names[i])}, {_groups(types[i], of)})" for i, of in members.items())
        case UnknownRule(_, kind):
            return f"of kind {_quoted(kind)}, which a newer release wrote"
        case _:
            assert_never(rule)


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _groups(type_: AtomicType, members: Mapping[Value, str]) -> str:
    groups: dict[str, list[str]] = {}
    for value, name in members.items():
        groups.setdefault(name, []).append(literal(type_, value))
    return "{" + ", ".join(f"{_quoted(name)}: [{', '.join(values)}]" for name, values in groups.items()) + "}"


def _exact_bytes(count: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count and count % size == 0:
            return f"{count // size}{unit}"
    return str(count)


def _partition_by(version: Version) -> list[str]:
    return [field_text(f, version.schema) for f in version.spec.fields]


def _size(version: Version) -> str:
    return (
        f"{counted(version.rows, 'row')} in {counted(version.files, 'file')}, {human_bytes(version.bytes)}; "
        f"{counted(len(version.manifests), 'manifest')}"
    )


def _dead(table: Table) -> str:
    rows = counted(table.state.dead_rows, "row")
    return f"{rows} that still lie in files, about {human_bytes(_dead_bytes(table))}; purge writes those files again"


def _dead_bytes(table: Table) -> int:
    return dead_bytes(table.plan()) if table.state.dead_rows else 0  # entries are read only where they have to be


def _earlier(count: int, what: str) -> str:
    return "" if count == 1 else f"  ({counted(count - 1, f'earlier {what}')})"
