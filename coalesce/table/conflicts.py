"""When a commit that came in between stands in the way, and when it does not.

Appends never conflict. A transaction that removes files conflicts if one of them is gone, or if rows were added that
its predicate may match: judged by their tuples and statistics, like any plan, not by directory. A change of metadata
conflicts with another change of metadata. What does not conflict is simply carried over to the newer version.
"""

from collections.abc import Iterable

import numpy as np

from coalesce.errors import CommitConflict
from coalesce.model.version import Version
from coalesce.plan.planner import Judge, plan_manifest
from coalesce.predicate.expr import Bound
from coalesce.predicate.render import to_sql
from coalesce.table.changes import lost_files, paths_only_in
from coalesce.table.manifests import Manifests


def check_same_table(base: Version, head: Version) -> None:
    """Refuse to carry work over to another table that took this one's place."""
    if base.table_id != head.table_id:
        raise CommitConflict(
            f"the table was dropped and created again since version {base.number} was read; open it again."
        )


def check_metadata_unchanged(base: Version, head: Version) -> None:
    """Refuse to change metadata that somebody else has changed."""
    if _metadata(base) != _metadata(head):
        raise CommitConflict(
            f"the schema, specs, rules or properties were changed in version {head.number} or shortly before; "
            "open the table again and repeat the change."
        )


def check_files_there(removed: Iterable[str], base: Version, head: Version, manifests: Manifests) -> None:
    """Refuse to remove files that somebody else has removed or rewritten."""
    wanted = lost_files(base, head, manifests).intersection(removed)
    if wanted:
        raise CommitConflict(
            f"{len(wanted)} of the files this transaction replaces, such as {min(wanted)}, were removed or rewritten "
            f"by another commit since version {base.number}; repeat the operation on the newest version."
        )


def check_no_matching_rows(predicate: Bound, base: Version, head: Version, manifests: Manifests) -> None:
    """Refuse if rows were added since `base` that `predicate` may match."""
    known = {m.path for m in base.manifests}
    before: set[str] | None = None
    judge = Judge(predicate, head.schema)
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
            # Added before: moved here by a merge, or brought back by a rollback.
            if before is None:
                before = paths_only_in(base, head, manifests)
            added = set(index.paths(planned.files)) - before
        if added:
            raise CommitConflict(
                f"rows that may match {to_sql(predicate)} were added since version {base.number}, in {min(added)}; "
                "repeat the operation on the newest version."
            )


def _metadata(version: Version) -> tuple[object, ...]:
    return (
        version.schema,
        version.specs,
        version.current_spec_id,
        version.rules,
        version.current_rule_id,
        version.properties,
        version.reader_features,
        version.writer_features,
    )
