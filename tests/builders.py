"""Builds what tests start from."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.rule import RuleRequest, keep_all, resolve
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec, parse_partition_fields
from coalesce.model.version import Version
from coalesce.storage.local import LocalStorage
from coalesce.table.engine import Place


def make_version(
    schema: Schema | pa.Schema,
    partition_by: Sequence[str] = (),
    rule: RuleRequest | None = None,
    properties: Mapping[str, str] | None = None,
) -> Version:
    """An empty version 0 with this schema, spec and rule."""
    if isinstance(schema, pa.Schema):
        schema = schema_from_arrow(schema)
    spec = Spec(0, parse_partition_fields(partition_by, schema))
    return Version(
        number=0,
        table_id="table",
        commit_id="commit",
        parent_commit_id=None,
        timestamp_ms=0,
        operation="create",
        schema=schema,
        specs=(spec,),
        current_spec_id=0,
        rules=(resolve(keep_all() if rule is None else rule, 0, spec, schema),),
        current_rule_id=0,
        properties=properties or {},
        max_column_id=schema.highest_id,
    )


def make_place(directory: Path, version: Version) -> Place:
    """A place for a version's data files on the local disk."""
    return Place(storage=LocalStorage(directory), version=version)
