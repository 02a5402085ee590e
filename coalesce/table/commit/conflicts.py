"""When a commit that came in between stands in the way, and when it does not.

Files that were written for one schema conflict with a change of it in which their rows would lose values, or be NULL
where that may not be; otherwise an append never conflicts. A transaction that removes files conflicts if one of them is
gone, or if rows were added that its predicate may match: judged by their tuples and statistics, like any plan, not by
directory. A change of metadata conflicts with another change of metadata. What does not conflict is simply carried
over to the newer version.
"""

from collections.abc import Collection, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.errors import CommitConflict
from coalesce.model.marking import can_be_marked
from coalesce.model.schema import children
from coalesce.model.types import Field, is_atomic
from coalesce.model.version import DEAD_TUPLES, RETENTION, Version
from coalesce.plan.planner import Judge, plan_manifest
from coalesce.predicate.expr import TRUE, Bound
from coalesce.predicate.render import to_sql
from coalesce.table.commit.changes import Dead, dead_in, lost_rows, only_in
from coalesce.table.commit.manifests import Manifests
from coalesce.table.evolve import widens
from coalesce.table.match import inside


class FilesGone(CommitConflict):
    """Files that a removal went by lie elsewhere now, or have fewer rows: done anew, it may well succeed."""


class RowsAdded(CommitConflict):
    """Rows came in that the operation would have looked at: done anew, it takes them into account."""


def check_same_table(base: Version, head: Version) -> None:
    """Refuse to carry work over to another table that took this one's place."""
    if base.table_id != head.table_id:
        raise CommitConflict(
            f"the table was dropped and created again since version {base.number} was read; open it again."
        )


def check_metadata_unchanged(base: Version, head: Version) -> None:
    """Refuse to change metadata that another writer has changed."""
    if _metadata(base) != _metadata(head):
        raise CommitConflict(
            f"the schema, specs, rules or properties were changed in version {head.number} or shortly before; "
            "open the table again and repeat the change."
        )


def check_rows_fit(base: Version, head: Version) -> None:
    """Refuse files that were written for `base` under a schema that shows less of their rows, or asks more of them.

    Columns that were added meanwhile are no obstacle: the rows hold their default, as all rows do that were written
    before. Other names, another order and wider types only change how the same values are read; specs and rules are
    each file's own.
    """
    wrong = next(_misfits(base.schema.fields, head.schema.fields, base.max_column_id, ""), None)
    if wrong is not None:
        raise CommitConflict(
            f"the schema was changed since version {base.number}, which these rows were written for: {wrong}; "
            "repeat the operation on the newest version."
        )


def _misfits(old: tuple[Field, ...], new: tuple[Field, ...], max_column_id: int, place: str) -> Iterator[str]:
    """Where files written for the fields `old` would be read wrongly under `new`."""
    after = {field.id: field for field in new}
    before = {field.id for field in old}
    for field in old:
        name = inside(place, field.name)
        now = after.get(field.id)
        if now is None:
            yield f"column {name!r} is gone"
        elif now.required and not field.required:
            yield f"column {name!r} is required now"
        elif is_atomic(field.type) or is_atomic(now.type):
            if field.type != now.type and not widens(field.type, now.type):
                yield f"column {name!r} is {now.type} now"
        else:
            yield from _misfits(children(field.type), children(now.type), max_column_id, name)
    for field in new:
        if field.id not in before:
            # Had files had it before, the rewritten ones would lose its values.
            if field.id <= max_column_id:
                yield f"column {inside(place, field.name)!r} is there again"
            elif field.required and field.default is None:
                yield f"column {inside(place, field.name)!r} is new and required"


def check_in_base(removed: Iterable[str], base: Version, manifests: Manifests) -> None:
    """Refuse to remove files that `base` does not have: their rows are somewhere else by now, or gone."""
    wanted = pa.array(sorted(removed), pa.string())
    found = [
        index.entries.core.column("path").filter(pc.is_in(index.entries.core.column("path"), wanted))
        for index in manifests.load_all(base.manifests, base)
    ]
    missing = set(wanted.to_pylist()).difference(*(paths.to_pylist() for paths in found))
    if missing:
        raise CommitConflict(
            f"{len(missing)} of the files this transaction replaces, such as {min(missing)}, are not in version "
            f"{base.number}, which it builds on; repeat the operation on the newest version."
        )


def check_files_there(
    removed: Iterable[str], copied: Collection[str], base: Version, head: Version, manifests: Manifests
) -> None:
    """Refuse to remove files that another writer has removed or rewritten, or brought rows of back, which would go too.

    Rows of those that are `copied` are in new files, or their entries made anew: of these no row may be gone, for it
    would be back.
    """
    before, lost = only_in(base, head, manifests), lost_rows(base, head, manifests)
    wanted = {
        path
        for path in lost.keys() & set(removed)
        if (dead := lost[path]) is None or path in copied or not before[path] <= dead
    }
    if wanted:
        raise FilesGone(
            f"{len(wanted)} of the files this transaction replaces, such as {min(wanted)}, were removed or rewritten "
            f"by another commit since version {base.number}; repeat the operation on the newest version."
        )


def check_no_matching_rows(predicate: Bound, base: Version, head: Version, manifests: Manifests) -> None:
    """Refuse if rows were added since `base` that `predicate` may match."""
    known = {m.path for m in base.manifests}
    before: Dead | None = None
    judge = Judge(predicate, head.schema)
    if any(base.schema.atomic(c) != head.schema.atomic(c) for c in judge.columns):
        judge = Judge(TRUE, head.schema)  # its values are of the types that the columns had
    for ref in head.manifests:
        if ref.path in known:
            continue
        index = manifests.load(ref, head)
        planned = plan_manifest(judge, ref, head.spec_by_id(ref.spec_id), index)
        if not len(planned.files):
            continue
        new = np.asarray(index.entries.core.column("added_version"))[planned.files] > base.number
        added = set(index.paths(planned.files[new]))
        if not added:
            # Added before: moved here by a merge, or brought back by a rollback, as rows of a file or with it.
            if before is None:
                before = only_in(base, head, manifests)
            now = dead_in(index.entries)
            added = {p for p in index.paths(planned.files) if p not in before or not before[p] <= now[p]}
        if added:
            raise RowsAdded(
                f"rows that may match {to_sql(predicate)} were added since version {base.number}, in {min(added)}; "
                "repeat the operation on the newest version."
            )


def check_told(predicate: Bound, base: Version, head: Version) -> None:
    """Refuse to mark tuples if columns that tell them are not what they were: those of the predicate, and of specs."""
    asked = any(base.schema.atomic(c) != head.schema.atomic(c) for c in Judge(predicate, base.schema).columns)
    if asked or any(can_be_marked(s, base.schema) and not can_be_marked(s, head.schema) for s in base.specs):
        raise CommitConflict(
            f"a column by which rows are removed has changed since version {base.number}; "
            "repeat the operation on the newest version."
        )


def check_same_tuples(base: Version, head: Version) -> None:
    """Refuse to carry over which tuples were moved if a column that they are made of is not what it was."""
    sources = {field.source_id for spec in base.specs for field in spec.fields}
    if any(base.schema.atomic(source) != head.schema.atomic(source) for source in sources):
        raise CommitConflict(
            f"a partition column has changed since version {base.number}; repeat the operation on the newest version."
        )


def _metadata(version: Version) -> tuple[object, ...]:
    return (
        version.schema,
        version.specs,
        version.current_spec_id,
        version.rules,
        version.current_rule_id,
        version.properties,
        version.reader_features - {DEAD_TUPLES},  # which a removal turns on, as a tag does the other, and are in
        version.writer_features - {RETENTION, DEAD_TUPLES},  # nobody's way
    )
