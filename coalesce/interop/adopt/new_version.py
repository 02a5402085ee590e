"""The first version of an adopted table, and what another adoption makes of the newest one; without manifests."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from coalesce.errors import SchemaError
from coalesce.interop.adopt.survey import Asked
from coalesce.model.rule import keep_all, resolve
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec
from coalesce.model.version import Version
from coalesce.table.properties import asked_by

OPERATION = "adopt"


def first_version(asked: Asked, schema: Schema, specs: Sequence[Spec], *, renamed: bool = False) -> Version:
    """Version 0 of a table of these columns; the last of the specs is the current one."""
    if not schema.fields:
        raise SchemaError("a table needs at least one column, and the files have none.")
    return Version(
        number=0,
        table_id=uuid4().hex,
        commit_id=uuid4().hex,
        parent_commit_id=None,
        timestamp_ms=int(datetime.now(UTC).timestamp() * 1000),
        operation=OPERATION,
        schema=schema,
        specs=tuple(specs),
        current_spec_id=specs[-1].spec_id,
        rules=(resolve(keep_all() if asked.rule is None else asked.rule, 0, specs[-1], schema),),
        current_rule_id=0,
        properties={**asked_by(asked.rule), **asked.properties},
        max_column_id=schema.highest_id,
        has_dropped_or_renamed=renamed,
    )


def with_columns(base: Version, schema: Schema) -> Version:
    """The version with the columns that new files bring."""
    return replace(base, schema=schema, max_column_id=max(base.max_column_id, schema.highest_id))
