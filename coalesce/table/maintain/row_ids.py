"""Row ids that two files of one version would both give to rows of theirs.

An entry gives its file a range of ids, as many as there are rows in it, dead ones too, and no range is ever given out
twice. Rows that were moved keep their ids in a column of the new file: then nobody has an id of the file's own range,
and it is no matter if another file has the same one. Only the file tells, so it is asked, but only about ranges that
overlap.
"""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from coalesce.model.spec import Spec
from coalesce.table.maintain import kinds
from coalesce.table.maintain.spans import common
from coalesce.table.maintain.survey import Draft, Survey

_MOST: Final = 1_000  # pairs of files: if there are more, what is wrong is clear

# Whether every row of a file, given by its number and spec, has an id of its own.
HasOwnIds = Callable[[int, Spec], bool]


def overlaps(survey: Survey, has_own_ids: HasOwnIds) -> Iterator[Draft]:
    """Each pair of files of one version whose ranges overlap, and files whose range was not given out yet."""
    yield from _beyond(survey)
    numbers = [np.full(len(m.files), n) for n, m in enumerate(survey.manifests)]
    if not numbers:
        return
    manifest = np.concatenate(numbers)
    columns = [(m.first_row_id, m.first_row_id + m.rows, m.files) for m in survey.manifests]
    first, end, file = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    order = np.lexsort((file, end, first))
    order = order[end[order] > first[order]]
    first, end, file, manifest = first[order], end[order], file[order], manifest[order]
    if not len(first):
        return
    # The same entry in other manifests is next to it.
    begins = np.concatenate(([True], (np.diff(first) != 0) | (np.diff(end) != 0) | (np.diff(file) != 0)))
    starts = np.append(np.flatnonzero(begins), len(first))
    single = starts[:-1]
    if not (first[single][1:] < np.maximum.accumulate(end[single])[:-1]).any():
        return
    seen = 0
    active: list[int] = []
    for i in range(len(single)):
        at = single[i]
        active = [j for j in active if end[single[j]] > first[at]]
        for j in active:
            if file[single[j]] == file[at]:
                continue
            one_in, other_in = (survey.naming(manifest[starts[k] : starts[k + 1]].tolist()) for k in (j, i))
            both = common(one_in, other_in)
            pair = int(file[single[j]]), int(file[at])
            specs = [survey.manifests[int(manifest[single[k]])].spec for k in (j, i)]
            if both and not any(map(has_own_ids, pair, specs)):
                seen += 1
                one, other = (survey.paths[f] for f in pair)
                ids = f"{first[at]:,} to {min(end[at], end[single[j]]) - 1:,}"
                yield Draft(
                    kinds.ROW_ID_OVERLAP,
                    other,
                    both,
                    f"rows of the file have the ids {ids}, which rows of {one} have too",
                )
        if seen >= _MOST:
            return
        active.append(i)


def _beyond(survey: Survey) -> Iterator[Draft]:
    for number, manifest in enumerate(survey.manifests):
        end = manifest.first_row_id + manifest.rows
        wrong = np.flatnonzero((end > manifest.next_row_id) | (manifest.first_row_id < 0))
        for at in wrong.tolist():
            path, text = survey.paths[int(manifest.files[at])], beyond(int(end[at]) - 1, manifest.next_row_id)
            yield Draft(kinds.ROW_ID_BEYOND, path, survey.naming([number]), text)


def beyond(highest: int, next_row_id: int) -> str:
    """What is wrong with ids that were not given out."""
    return f"its rows have ids up to {highest:,}, and ids were given out up to {next_row_id - 1:,} only"
