"""What a table is, from metadata alone: its columns, partition fields and rule, and how much it holds."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from coalesce.model.rule import BySize, Groups, KeepAll, Rule, UnknownRule
from coalesce.model.schema import Schema
from coalesce.model.spec import field_text
from coalesce.model.types import AtomicType, Value
from coalesce.model.values import display
from coalesce.model.version import Version
from coalesce.plan.plan import Plan
from coalesce.plan.report import counted, human_bytes
from coalesce.table.from_metadata import dead_bytes
from coalesce.table.grid import cut, grid

_LONGEST_RULE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What a table is at a version; as text it is what `coalesce describe` shows."""

    location: str
    table_id: str
    version: int
    committed: datetime
    operation: str
    rows: int
    dead_rows: int  # that still lie in files, and the table has no more
    files: int
    bytes: int
    dead_bytes: int  # about how many of these bytes they take
    manifests: int
    schema: Schema
    partition_by: tuple[str, ...]
    rule: str  # as the call that makes it
    specs: int  # that the table ever had
    rules: int
    properties: Mapping[str, str]
    reader_features: frozenset[str]
    writer_features: frozenset[str]

    def __str__(self) -> str:
        """A few lines about the table, then its columns."""
        facts = [
            ("table", self.location),
            ("version", f"{self.version}, {self.operation}, {self.committed:%Y-%m-%d %H:%M:%S} UTC"),
            ("holds", self._size()),
            *([("removed", self._dead())] if self.dead_rows else []),
            ("partitioned by", ", ".join(self.partition_by) + _earlier(self.specs, "spec")),
            ("rule", cut(self.rule, _LONGEST_RULE) + _earlier(self.rules, "rule")),
            *(("property", f"{key} = {value}") for key, value in sorted(self.properties.items())),
        ]
        width = max(len(name) for name, _ in facts)
        header = ("id", "column", "type", "")
        columns = [(str(f.id), f.name, cut(str(f.type), 60), "required" if f.required else "") for f in self.schema]
        about = "\n".join(f"{name:<{width}}  {text or 'nothing'}" for name, text in facts)
        return f"{about}\n\n{grid(header, columns, right=('id',))}"

    def _size(self) -> str:
        return (
            f"{counted(self.rows, 'row')} in {counted(self.files, 'file')}, {human_bytes(self.bytes)}; "
            f"{counted(self.manifests, 'manifest')}"
        )

    def _dead(self) -> str:
        rows, size = counted(self.dead_rows, "row"), human_bytes(self.dead_bytes)
        return f"{rows} that still lie in files, about {size}; purge writes those files again"


def description(location: str, plan: Plan) -> Description:
    """Of the version of a plan that keeps all of its files."""
    version = plan.version
    return Description(
        location=location,
        table_id=version.table_id,
        version=version.number,
        committed=version.committed,
        operation=version.operation,
        rows=version.rows,
        dead_rows=version.dead_rows,
        files=version.files,
        bytes=version.bytes,
        dead_bytes=dead_bytes(plan) if version.dead_rows else 0,  # entries are read only where they have to be
        manifests=len(version.manifests),
        schema=version.schema,
        partition_by=tuple(field_text(f, version.schema) for f in version.spec.fields),
        rule=rule_text(version.rule, version),
        specs=len(version.specs),
        rules=len(version.rules),
        properties=dict(version.properties),
        reader_features=version.reader_features,
        writer_features=version.writer_features,
    )


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
        groups.setdefault(name, []).append(display(type_, value))
    return "{" + ", ".join(f"{_quoted(name)}: [{', '.join(values)}]" for name, values in groups.items()) + "}"


def _exact_bytes(count: int) -> str:
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count and count % size == 0:
            return f"{count // size}{unit}"
    return str(count)


def _earlier(count: int, what: str) -> str:
    return "" if count == 1 else f"  ({counted(count - 1, f'earlier {what}')})"
