"""What a version says of its manifests, which are not read for it: the range of each partition field, as domains."""

from collections.abc import Sequence

import numpy as np

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec
from coalesce.model.transforms import result_type
from coalesce.model.types import AtomicType, Value
from coalesce.model.values import column_of, values_of
from coalesce.model.version import MANIFEST_REF_BYTES, FieldBounds, ManifestRef, Version
from coalesce.plan.column_domains import Domains
from coalesce.predicate.domains import Both, KnownWhere
from coalesce.predicate.tuple_domains import bounds_domain
from coalesce.recent import Recent

_Bounds = list[tuple[Spec, tuple[ManifestRef, ...], Domains]]
# A version's bounds never change, but a stream reads them with the columns of a later version, which may be wider.
_BOUNDS: Recent[tuple[str, tuple[AtomicType | None, ...]], _Bounds] = Recent(
    16 * 1024 * 1024, lambda bounds: sum(MANIFEST_REF_BYTES * len(refs) for _, refs, _ in bounds)
)


def bounds_of(version: Version) -> _Bounds:
    """For each spec its manifests, and what their bounds say of the columns."""
    sources = (version.schema.atomic(field.source_id) for spec in version.specs for field in spec.fields)
    key = version.commit_id, tuple(sources)
    found = _BOUNDS.get(key)
    if found is None:
        found = []
        for spec in version.specs:
            refs = tuple(m for m in version.manifests if m.spec_id == spec.spec_id)
            if refs:
                found.append((spec, refs, _manifest_domains(spec, version.schema, refs)))
        _BOUNDS.put(key, found)
    return found


def _manifest_domains(spec: Spec, schema: Schema, refs: Sequence[ManifestRef]) -> Domains:
    domains: Domains = {}
    for field in spec.fields:
        source_type = schema.atomic(field.source_id)
        if source_type is None:
            continue
        bounds = [next((b for b in r.bounds or () if b.field_id == field.field_id), None) for r in refs]
        type_ = result_type(field.transform, source_type)
        lower = [_widened(b, b.lower, type_) if b is not None else None for b in bounds]
        upper = [_widened(b, b.upper, type_) if b is not None else None for b in bounds]
        has_null = np.array([b is not None and b.has_null for b in bounds], np.bool_)
        known = np.array([b is not None for b in bounds], np.bool_)
        here = bounds_domain(field.transform, source_type, lower, upper, has_null)
        if not known.all():
            here = KnownWhere(here, known)
        before = domains.get(field.source_id)
        domains[field.source_id] = here if before is None else Both(before, here)
    return domains


def _widened(bounds: FieldBounds, value: Value, type_: AtomicType) -> Value:
    """A bound as the column's type is now."""
    if bounds.type == type_ or value is None:
        return value
    return values_of(type_, column_of(bounds.type, [value]).cast(arrow_type(type_)))[0]
