"""Which tuples of a manifest's entries die with a commit: by what they are, or because their rows lie elsewhere now.

Both are judged on the newest version's entries. Others may have marked tuples of the same files since the transaction
began, so what was known of an entry then need not be what it says now.
"""

from collections.abc import Mapping

import numpy as np

from coalesce.model.columns import is_null, numbers, whole
from coalesce.model.entries import has_all_counts
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.values import display
from coalesce.model.version import Version
from coalesce.plan.index import ManifestIndex
from coalesce.plan.planner import PlannedManifest
from coalesce.predicate.outcomes import Mask, must_be_true
from coalesce.table.commit.conflicts import FilesGone


def none_of(index: ManifestIndex) -> Mask:
    """None of all tuples that a manifest lists, one entry after the other."""
    return np.zeros(len(whole(index.entries.core.column("tuples")).flatten()), np.bool_)


def matching(planned: PlannedManifest, to_mark: Mask, base: Version) -> Mask:
    """Of all tuples that a manifest lists, those on which the predicate is TRUE by a plan of the files `to_mark`."""
    index = planned.index
    if not (index.trusted & has_all_counts(index.entries.core) & ~planned.in_doubt())[to_mark].all():
        raise FilesGone(
            f"what is said of files has changed since version {base.number}, and no longer decides which of "
            "their rows go; repeat the operation on the newest version."
        )
    dying = none_of(index)
    dying[index.listed(planned.postings[must_be_true(planned.outcomes)])] = True
    return dying


def moved(
    index: ManifestIndex,
    to_move: Mask,
    tuples: Mapping[str, frozenset[LogicalTuple]],
    base: Version,
    head: Version,
) -> Mask:
    """Of all tuples that a manifest lists, those that were moved out of their files; all have to be there still."""
    lists = whole(index.entries.core.column("tuples"))
    ends = np.cumsum(np.where(is_null(lists), 0, np.diff(numbers(lists.offsets))))
    dying = none_of(index)
    positions = np.flatnonzero(to_move)
    for position, file in zip(positions, index.entries.files(positions, columns=()), strict=True):
        wanted, listed = tuples[file.path], file.tuples or ()
        if not wanted.issubset(listed):
            lost = _named(min(wanted.difference(listed), key=repr), head.spec_by_id(file.spec_id), head)
            raise FilesGone(
                f"rows of the logical partition {lost} in {file.path} were removed or replaced since version "
                f"{base.number}; repeat the operation on the newest version."
            )
        places = [place for place, values in enumerate(listed) if values in wanted]
        dying[int(ends[position]) - len(listed) + np.array(places, np.int64)] = True
    return dying


def _named(values: LogicalTuple, spec: Spec, version: Version) -> str:
    shown = zip(spec.fields, spec.types(version.schema), values, strict=True)
    return f"({', '.join(f'{field.name} = {display(type_, value)}' for field, type_, value in shown)})"
