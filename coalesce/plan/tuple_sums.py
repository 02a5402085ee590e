"""The logical tuples of a planned manifest, each once, and how much its files hold of it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coalesce.model.spec import LogicalTuple
from coalesce.model.values import values_of
from coalesce.plan.index import Positions
from coalesce.plan.planner import PlannedManifest
from coalesce.predicate.outcomes import Mask


@dataclass(frozen=True, slots=True)
class TupleSums:
    """The `tuples` of the planned postings; each array has an element for each of them.

    `rows` and `bytes` are what the files hold of a tuple, its bytes by its share of their rows. Postings whose rows are
    unknown count for nothing; `known` says where there are none of those.
    """

    tuples: list[LogicalTuple]
    files: npt.NDArray[np.integer]
    rows: npt.NDArray[np.float64]
    bytes: npt.NDArray[np.float64]
    known: Mask
    _place: Positions  # of each posting: its tuple's
    _file: npt.NDArray[np.int32]

    def some(self, files: Mask) -> Mask:
        """Of which tuples some file is among `files`, a mask of the manifest's."""
        found: Mask = np.bincount(self._place, weights=files[self._file], minlength=len(self.tuples)) > 0
        return found


def tuple_sums(planned: PlannedManifest) -> TupleSums:
    """The sums over the postings that a plan keeps of a manifest."""
    index, postings = planned.index, planned.postings
    found, place = np.unique(index.posting_tuple[postings], return_inverse=True)
    file = index.posting_file[postings]
    unknown = index.posting_rows[postings] < 0
    rows = np.maximum(index.posting_rows[postings], 0)
    share = index.bytes[file] * rows / np.maximum(index.physical_rows[file], 1)

    def total(weights: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
        return np.bincount(place, weights=weights, minlength=len(found)).astype(np.float64)

    columns = []
    for position, field in enumerate(planned.spec.fields):
        component = index.component(position)
        values = [*values_of(index.entries.tuple_type(field.field_id), component.values), None]
        columns.append([values[code] for code in component.codes[found]])
    return TupleSums(
        tuples=list(zip(*columns, strict=True)) if columns else [()] * len(found),
        files=np.bincount(place, minlength=len(found)),
        rows=total(rows),
        bytes=total(share),
        known=total(unknown) == 0,
        _place=place,
        _file=file,
    )
