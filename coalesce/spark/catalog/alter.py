"""ALTER TABLE on a table of a warehouse: the changes of one statement are one commit, or none."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.sql.types import StructType

from coalesce.errors import InvalidArgument
from coalesce.model.types import Type
from coalesce.model.version import Version
from coalesce.predicate.names import dotted
from coalesce.spark.translate.schema import type_from_spark
from coalesce.table import evolve
from coalesce.table.column_paths import found_at
from coalesce.table.properties import changed
from coalesce.table.table import Table, core_of

Change = Mapping[str, Any]

_INSTEAD = {
    "nullability": "whether a column may be NULL is said when it is made: add another column, and drop this one",
    "default": "rows say all of their values: leave DEFAULT out, or add the column with add_column(…, default=…)",
    "clustering": "change its partition fields with CALL system.evolve(…)",
    "constraint": "a coalesce table has no constraints",
}


def alter(table: Table, changes: Sequence[Change], name: str) -> None:
    """Make all changes, in their order."""
    for change in changes:
        _refuse(change, name)
    core_of(table).change("alter_table", lambda head: reduce(_changed, changes, head))


def _refuse(change: Change, name: str) -> None:
    kind = change["change"]
    if kind in _INSTEAD:
        raise InvalidArgument(f"ALTER TABLE {name} cannot do that: {_INSTEAD[kind]}.")
    if kind == "set" and change["name"] in ("location", "provider", "owner"):
        raise InvalidArgument(
            f"the {change['name']} of {name} is not what ALTER TABLE changes: a table lies in the warehouse, under its "
            "name, and is a coalesce table."
        )


def _changed(head: Version, change: Change) -> Version:
    match change["change"]:
        case "set":
            return _with_property(head, change["name"], change["value"])
        case "unset":
            return _with_property(head, change["name"], None)
    path: list[str] = change["path"]
    name = dotted(tuple(path))
    match change["change"]:
        case "add":
            head = evolve.add_column(
                head,
                name,
                _type(change["type"], name),
                first=change["first"],
                after=change["after"],
                required=not change["nullable"],
            )
            return head if change["comment"] is None else evolve.comment_column(head, name, change["comment"])
        case "drop":
            return evolve.drop_column(head, name)
        case "rename":
            return evolve.rename_column(head, name, change["name"])
        case "type":
            wide = _type(change["type"], name)
            return head if found_at(head.schema.fields, path).type == wide else evolve.widen_column(head, name, wide)
        case "comment":
            return evolve.comment_column(head, name, change["comment"])
        case "move":
            return evolve.move_column(head, name, after=change["after"])
        case other:
            raise InvalidArgument(f"ALTER TABLE cannot do that: {other}.")


def _with_property(head: Version, name: str, value: str | None) -> Version:
    return replace(head, properties=changed(head.properties, {name: value}))


def _type(text: str, column: str) -> Type:
    """A type of Spark's, as JSON, as one of ours."""
    field = {"name": "type", "type": json.loads(text), "nullable": True, "metadata": {}}
    return type_from_spark(StructType.fromJson({"type": "struct", "fields": [field]})[0].dataType, column)
