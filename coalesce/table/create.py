"""A new table; or, if one like it is there already, that one."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from uuid import uuid4

from coalesce.arguments import check_flag
from coalesce.errors import SchemaError, TableExists, TableNotFound
from coalesce.model.rule import RuleRequest, keep_all, resolve
from coalesce.model.schema import Schema, children
from coalesce.model.spec import Spec, field_text, parse_partition_fields
from coalesce.model.types import Field
from coalesce.model.version import Version
from coalesce.storage.base import Storage
from coalesce.table.commit.log import Log
from coalesce.table.engine import Engines
from coalesce.table.properties import asked_by, check_properties, same
from coalesce.table.table import Table


def create_table(
    storage: Storage,
    engines: Engines,
    schema: object,
    *,
    partition_by: Sequence[str] = (),
    rule: RuleRequest | None = None,
    properties: Mapping[str, str] | None = None,
    exists_ok: bool = False,
    time_zone: str = "UTC",
    case_sensitive: bool = False,
) -> Table:
    """Create an empty table; TableExists if there is one, or, if that `exists_ok`, if it is another one."""
    check_flag(exists_ok, "exists_ok=")
    columns = schema if isinstance(schema, Schema) else engines.for_data(schema).infer_schema(schema)
    if not columns.fields:
        raise SchemaError("a table needs at least one column.")
    spec = Spec(0, parse_partition_fields(partition_by, columns))
    named = {} if properties is None else check_properties(properties)
    wanted = Version(
        number=0,
        table_id=uuid4().hex,
        commit_id=uuid4().hex,
        parent_commit_id=None,
        timestamp_ms=int(datetime.now(UTC).timestamp() * 1000),
        operation="create",
        schema=columns,
        specs=(spec,),
        current_spec_id=0,
        rules=(resolve(keep_all() if rule is None else rule, 0, spec, columns),),
        current_rule_id=0,
        properties={**asked_by(rule), **named},
        max_column_id=columns.highest_id,
    )
    log = Log(storage)
    version = wanted if _is_free(log) and log.create(wanted) else None
    if version is None:
        if not exists_ok:
            raise TableExists(f"there is a coalesce table at {storage.root} already; open it with coalesce.open().")
        version = log.load(log.newest())
        difference = _difference(version, wanted, rule)
        if difference is not None:
            raise TableExists(f"there is another coalesce table at {storage.root} already: {difference}.")
    return Table(storage, engines, log=log, version=version, time_zone=time_zone, case_sensitive=case_sensitive)


def _is_free(log: Log) -> bool:
    try:
        log.newest()
    except TableNotFound:
        return True
    return False


def _difference(there: Version, wanted: Version, rule: RuleRequest | None) -> str | None:
    """What is another in the table that is there; None if it is as wanted. What was not said is not compared."""
    if [_described(f) for f in there.schema] != [_described(f) for f in wanted.schema]:
        return f"its columns are {_columns(there.schema)}, not {_columns(wanted.schema)}"
    by, asked = (", ".join(field_text(f, v.schema) for f in v.spec.fields) or "nothing" for v in (there, wanted))
    if by.lower() != asked.lower():
        return f"it is partitioned by {by}, not by {asked}"
    if rule is not None and resolve(rule, there.rule.rule_id, there.spec, there.schema) != there.rule:
        return "it has another rule; leave rule= out, or change the table with set_rule()"
    for name, value in wanted.properties.items():
        held = there.properties.get(name)
        if held is None or not same(name, held, value):
            return f"its property {name!r} is {'not set' if held is None else repr(held)}, not {value!r}"
    return None


def _described(field: Field) -> tuple[object, ...]:
    """A column without what it has been through: its name, its type to the bottom, and whether it is required."""
    return field.name, str(field.type), field.required, [_described(inner) for inner in children(field.type)]


def _columns(schema: Schema) -> str:
    return ", ".join(f"{f.name} {f.type}{' not null' if f.required else ''}" for f in schema)
