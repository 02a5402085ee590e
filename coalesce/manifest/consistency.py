"""What must fit together in a version: ids that are used exist, and each stands for one thing.

A version file that breaks one of these rules was written by a broken program, since its digest is right. Reading it
all the same could give rows twice or under the wrong spec, so it is refused, and the error names the place.
"""

from collections.abc import Mapping, Sequence

from coalesce.errors import CoalesceError
from coalesce.manifest.document import Node
from coalesce.model.transforms import Transform, result_type
from coalesce.model.version import DEAD_TUPLES, ManifestRef, Version


def check_consistency(version: Version, document: Node) -> None:
    """Refuse a version whose parts do not fit together."""
    specs = {s.spec_id: s for s in version.specs}
    _check_distinct(document["specs"], "spec_id", [s.spec_id for s in version.specs])
    _check_distinct(document["rules"], "rule_id", [r.rule_id for r in version.rules])
    _check_distinct(document["manifests"], "path", [m.path for m in version.manifests])
    if version.current_spec_id not in specs:
        raise document["current_spec_id"].wrong(f"there is no spec {version.current_spec_id}.")
    if version.current_rule_id not in {r.rule_id for r in version.rules}:
        raise document["current_rule_id"].wrong(f"there is no rule {version.current_rule_id}.")
    if version.schema.highest_id > version.max_column_id:
        raise document["max_column_id"].wrong(f"there is a column {version.schema.highest_id}.")
    _check_retention(version, document)
    if (version.dead_rows > 0) > (DEAD_TUPLES in version.reader_features):
        raise document["reader_features"].wrong(f"there are dead rows, and {DEAD_TUPLES} is not among them.")
    _check_partition_fields(version, document["specs"])
    fields = {spec_id: {f.field_id for f in spec.fields} for spec_id, spec in specs.items()}
    for position, ref in enumerate(version.manifests):
        if not _fits(ref, fields, version):
            _check_manifest(ref, fields, version, document["manifests"].at(position))


def _check_retention(version: Version, document: Node) -> None:
    """The newest version never expires, and a tag names a version that there was."""
    if version.retained_from > version.number:
        raise document["retained_from"].wrong(f"version {version.number} itself would have expired.")
    for name, number in version.tags.items():
        if number > version.number:
            raise document["tags"].wrong(f"the tag {name!r} names version {number}, which is yet to come.")


def _fits(ref: ManifestRef, fields: Mapping[int, set[int]], version: Version) -> bool:
    """Whether nothing is wrong with a manifest; most of a version are manifests with which nothing is."""
    if ref.added_version > version.number or ref.first_row_id > version.next_row_id or ref.spec_id not in fields:
        return False
    bounded = {b.field_id for b in ref.bounds or ()}
    return len(bounded) == len(ref.bounds or ()) and bounded <= fields[ref.spec_id]


def _check_manifest(ref: ManifestRef, fields: Mapping[int, set[int]], version: Version, node: Node) -> None:
    """Say what is wrong."""
    if ref.spec_id not in fields:
        raise node["spec_id"].wrong(f"there is no spec {ref.spec_id}.")
    if ref.added_version > version.number:
        raise node["added_version"].wrong(f"version {ref.added_version} is yet to come.")
    if ref.first_row_id > version.next_row_id:
        raise node["first_row_id"].wrong(f"row ids have been given out up to {version.next_row_id} only.")
    _check_distinct(node["bounds"], "field_id", [b.field_id for b in ref.bounds or ()])
    raise node["bounds"].wrong(f"they are of other fields than those of spec {ref.spec_id}.")


def _check_partition_fields(version: Version, specs: Node) -> None:
    """One field id is one column and transform in every spec, and the transform can be applied to the column."""
    meanings: dict[int, tuple[int, Transform]] = {}
    for spec, spec_node in zip(version.specs, specs, strict=True):
        for field, node in zip(spec.fields, spec_node["fields"], strict=True):
            meaning = (field.source_id, field.transform)
            if meanings.setdefault(field.field_id, meaning) != meaning:
                raise node["field_id"].wrong(f"{field.field_id} stands for another column or transform elsewhere.")
            source = version.schema.atomic(field.source_id)
            if source is not None:
                try:
                    result_type(field.transform, source)
                except CoalesceError as error:
                    raise node["transform"].wrong(str(error)) from error


def _check_distinct(nodes: Node, member: str, values: Sequence[object]) -> None:
    if len(set(values)) == len(values):
        return
    seen: set[object] = set()
    for node, value in zip(nodes, values, strict=True):
        if value in seen:
            raise node[member].wrong(f"{value!r} is there twice.")
        seen.add(value)
