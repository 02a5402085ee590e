"""Removing rows by what they are, not by where they lie.

A file all of whose rows match goes by metadata. So do single tuples: where it is known of each tuple in a file whether
its rows match, those that do are marked as dead in the entry, and the file stays as it is. What is not known by tuples,
or not worth keeping, is written again without the rows that match; the others keep their values, tuples and row ids.
Every spec's files are judged alike.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from coalesce.errors import CoalesceError, CommitConflict, SchemaError
from coalesce.model.datafile import DataFile
from coalesce.model.entries import has_all_counts
from coalesce.model.marking import can_be_marked
from coalesce.model.spec import LogicalTuple, PartitionField, Spec, field_type
from coalesce.model.transforms import Identity, Void
from coalesce.model.types import is_atomic
from coalesce.model.values import FieldValues, from_python
from coalesce.model.version import Version
from coalesce.plan.plan import Plan, make_plan
from coalesce.plan.planner import JudgeOpaque, PlannedManifest
from coalesce.predicate.expr import FALSE, TRUE, And, Bound, InSet, IsNull
from coalesce.predicate.outcomes import Mask
from coalesce.predicate.scalar.nodes import Reference
from coalesce.table.commit.transaction import Transaction
from coalesce.table.engine import Rewritten, most_dead
from coalesce.table.tuples import component_in

Rewrite = Callable[[Sequence[DataFile], Bound], Rewritten]


def remove(transaction: Transaction, predicate: Bound, rewrite: Rewrite, opaque: JudgeOpaque | None = None) -> None:
    """Stage the removal of every row on which `predicate` is TRUE; `rewrite` writes shared files without them.

    `opaque` judges, on tuples, what of the predicate only an engine understands.
    """
    base = transaction.base
    transaction.matching, transaction.opaque = predicate, opaque
    plan = make_plan(base, predicate, lambda refs: transaction.manifests.load_all(refs, base), opaque)
    by_tuples = [_to_mark(planned, base) for planned in plan.manifests]
    for planned, mark in zip(plan.manifests, by_tuples, strict=True):
        transaction.mark(planned, mark)
    rest = [planned.only(~mark) for planned, mark in zip(plan.manifests, by_tuples, strict=True)]
    whole, shared = split(replace(plan, manifests=tuple(m for m in rest if len(m.files))))
    written = rewrite(shared, predicate) if shared else Rewritten([], [])
    stay = {f.path for f in written.untouched}
    touched = [f for f in shared if f.path not in stay]
    transaction.remove(whole)
    transaction.remove(touched, copied=True)
    transaction.add(written.added)
    check_copied(touched, written.added, fewer=True)
    transaction.rewritten += sum(f.rows for f in written.added)


def _to_mark(planned: PlannedManifest, version: Version) -> Mask:
    """The files of a manifest in which it is known of each tuple whether it goes, and some do and some do not."""
    index = planned.index
    none = np.zeros(len(index.entries), np.bool_)
    most = most_dead(version.properties)
    if most <= 0 or not can_be_marked(planned.spec, version.schema):
        return none
    counted = has_all_counts(index.entries.core) & index.trusted
    dying = np.bincount(
        index.posting_file[planned.postings], weights=index.posting_rows[planned.postings], minlength=len(none)
    )
    dead = dying + index.entries.dead_rows
    touched = none.copy()
    touched[planned.files] = True
    found: Mask = touched & ~planned.in_doubt() & counted & (dying < index.rows) & (dead <= most * index.physical_rows)
    return found


def check_copied(files: Sequence[DataFile], copies: Sequence[DataFile], *, fewer: bool = False) -> None:
    """Refuse copies that do not have the rows of files, or with `fewer` more than those: removed ones would be back."""
    rows, copied = sum(f.rows for f in files), sum(f.rows for f in copies)
    if copied > rows or (copied < rows and not fewer):
        raise CoalesceError(
            f"{copied:,} rows were written in the place of {rows:,}, so nothing was committed; check(deep=True) says "
            "whether the files are what they should be."
        )


def split(plan: Plan) -> tuple[list[DataFile], list[DataFile]]:
    """The plan's files: those in which every row surely matches, and those that have to be looked into."""
    whole = np.ones(plan.file_count, np.bool_)
    for satisfied in plan.satisfied:
        whole &= satisfied
    matching = [f for f, all_of_it in zip(plan.files, whole, strict=True) if all_of_it]
    return matching, [f for f, all_of_it in zip(plan.files, whole, strict=True) if not all_of_it]


def equals(version: Version, listed: Mapping[str, object], named: Mapping[str, object]) -> Bound:
    """The predicate that columns, or partition fields such as `ts_day`, have exactly these values; None is NULL.

    What was `listed`, as a `FieldValues`, is of the fields of its spec; names that people give are looked up.
    """
    names = Counter(name.lower() for name in (*listed, *named))
    twice = next((name for name in (*listed, *named) if names[name.lower()] > 1), None)
    if twice is not None:
        raise SchemaError(f"{twice!r} is given twice; say once which value it has in the logical partition.")
    fields = _fields_of(version, listed)
    given = {} if fields else listed
    parts = [_component(version, field, listed[field.name]) for field in fields]
    parts += [_equal(version, name, value) for name, value in {**given, **named}.items()]
    if not parts:
        raise SchemaError("say which logical partition: drop_partition(dt=…, app=…).")
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _fields_of(version: Version, listed: Mapping[str, object]) -> tuple[PartitionField, ...]:
    """The fields that listed values are of; none if they are not of this table, or its fields were renamed since."""
    if not isinstance(listed, FieldValues):
        return ()
    spec = next((s for s in version.specs if s.spec_id == listed.spec_id), None)
    return () if spec is None or [f.name for f in spec.fields] != list(listed) else spec.fields


def _equal(version: Version, name: str, value: object) -> Bound:
    field, made = version.schema.find(name), _made(version, name)
    meanings = {(f.source_id, f.transform) for f in made} | (set() if field is None else {(field.id, Identity())})
    if len(meanings) > 1:
        kinds = ["a column"] * (field is not None) + ["a partition field", "another partition field"]
        raise SchemaError(
            f"{name!r} is the name of {' and of '.join(kinds[: len(meanings)])}; give the values of a logical "
            "partition as partitions() lists them, drop_partition(listed.values), or delete() by a condition."
        )
    if field is None and made:
        return _component(version, made[0], value)
    field = version.schema.field(name)
    if not is_atomic(field.type):
        raise SchemaError(f"column {field.name!r} is {field.type} and cannot be compared with a value.")
    column = Reference(field.id, field.name, field.type)  # type: ignore[arg-type]
    return IsNull(column) if value is None else InSet(column, (from_python(column.type, value),))


def _made(version: Version, name: str) -> list[PartitionField]:
    """The partition fields of this name: the current one, and those that there still are files of."""
    specs = {version.current_spec_id, *(ref.spec_id for ref in version.manifests)}
    return [f for i in sorted(specs) for f in version.spec_by_id(i).fields if f.name.lower() == name.lower()]


def _component(version: Version, field: PartitionField, value: object) -> Bound:
    if isinstance(field.transform, Void):
        return TRUE if value is None else FALSE  # it is NULL whatever the column holds
    if version.schema.atomic(field.source_id) is None:
        raise SchemaError(
            f"partition field {field.name!r} is made from a column that the table no longer has, so no row can be told "
            "by it; delete() by a condition on columns that there are."
        )
    type_ = field_type(field, version.schema)
    return component_in(field, [None if value is None else from_python(type_, value)], version.schema)


def tuples_in(files: Sequence[DataFile], spec: Spec) -> set[LogicalTuple]:
    """The logical tuples that files of a spec hold rows of."""
    found: set[LogicalTuple] = set()
    for file in files:
        if file.spec_id != spec.spec_id:
            raise CommitConflict(
                "the partition fields were changed while the rows were written; repeat the operation on the newest "
                "version."
            )
        if file.tuples is None or not file.complete:
            raise CoalesceError(
                f"it is not known which logical partitions {file.path} has rows of; overwrite by a predicate instead."
            )
        found.update(file.tuples)
    return found


def rolled_back(head: Version, old: Version) -> Version:
    """`head` with the schema, specs, rules and properties of `old`; what only grows stays grown."""
    return replace(
        head,
        schema=old.schema,
        current_spec_id=old.current_spec_id,
        current_rule_id=old.current_rule_id,
        properties=old.properties,
        has_dropped_or_renamed=head.has_dropped_or_renamed or old.schema != head.schema,
    )
