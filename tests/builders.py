"""Builds what tests start from."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from uuid import uuid4

import pyarrow as pa

from coalesce.manifest.manifest_file import encode_manifest
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.datafile import DataFile
from coalesce.model.entries import from_files
from coalesce.model.rule import RuleRequest, keep_all, resolve
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec, parse_partition_fields
from coalesce.model.version import Version
from coalesce.plan.index import ManifestIndex
from coalesce.plan.plan import Plan, make_plan
from coalesce.predicate.bind import bind
from coalesce.predicate.expr import TRUE, Bound
from coalesce.predicate.normalize import normalize
from coalesce.predicate.sql.parse import parse
from coalesce.storage.local import LocalStorage
from coalesce.table.engine import Snapshot


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


def told(file: DataFile) -> str:
    """All that an entry says, as text, in which NaN is NaN and 0.0 is not -0.0; `repr` is a line for people."""
    return str({f.name: getattr(file, f.name) for f in fields(file) if f.compare})


def make_snapshot(directory: Path, version: Version) -> Snapshot:
    """A snapshot of a version whose data files lie on the local disk."""
    return Snapshot(storage=LocalStorage(directory), version=version)


def bound(version: Version, where: str) -> Bound:
    """A predicate bound to a version's columns."""
    return normalize(bind(parse(where), version.schema, text=where))


def make_plan_over(version: Version, files: Sequence[DataFile], where: str | Bound = TRUE) -> Plan:
    """A plan over files that no commit has named yet, as if they were all of the version's."""
    loaded: dict[str, ManifestIndex] = {}
    refs = []
    for spec in version.specs:
        of_spec = [f for f in files if f.spec_id == spec.spec_id]
        if of_spec:
            entries = from_files(of_spec, spec, version.schema)
            ref = encode_manifest(entries).ref(f"spec-{spec.spec_id}", version.number, 0)
            loaded[ref.path] = ManifestIndex(entries)
            refs.append(ref)
    version = replace(version, manifests=tuple(refs), commit_id=uuid4().hex)
    predicate = bound(version, where) if isinstance(where, str) else where
    return make_plan(version, predicate, lambda refs: [loaded[ref.path] for ref in refs])
