"""Which rows of a plan's files are dead, as it crosses the bridge: by where they lie, or by their tuples.

Either way a file is known by a number of its own, which Spark's reader adds to each of its rows: where rows are told by
their places it is that of the file's first row, all rows of the version's files counted, live and dead.
"""

from collections.abc import Callable, Sequence
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.columns import column_from, is_null, numbers, whole
from coalesce.model.entry_columns import DEAD
from coalesce.model.types import INT32, INT64, AtomicType, Field
from coalesce.model.version import ManifestRef, Version
from coalesce.plan.column_domains import Domains, where_known
from coalesce.plan.index import Positions
from coalesce.plan.plan import Plan
from coalesce.plan.planner import Judge, PlannedManifest
from coalesce.predicate.domains import Both
from coalesce.predicate.expr import Bound
from coalesce.predicate.outcomes import NULL, TRUE, Outcomes
from coalesce.spark.jvm.values import texts
from coalesce.spark.source.constants import Constants

_TRIED: Final = 50_000  # live tuples: to try them takes a tenth of a second


def file_numbers(
    version: Version, constants: Constants, part: int | None
) -> Callable[[PlannedManifest], pa.Array] | None:
    """What makes the texts of the numbers that a manifest's files are known by; None if they have no dead rows."""
    if part is not None and constants.placed(part):
        first = _starts(version, lambda ref: ref.rows + ref.dead_rows)
        return lambda planned: texts(INT64, column_from(_first_rows(planned, first)))
    if part is None or constants.telling(part) is None:
        return None
    start = _starts(version, lambda ref: ref.files)
    return lambda planned: _numbered(start[planned.ref.path] + planned.files)


def list_dead(plan: Plan, constants: Constants, part: int) -> tuple[str, str | None] | None:
    """What tells the dead rows of the plan's files of a part; None without a file.

    By places, as `DeadPlaces.java` takes them: of each file the number of its first row, that of the one behind its
    last, and its bytes; and the numbers of the rows where dead ones begin and end. By tuples, as `DeadTuples.java`
    takes them: the dead ones, and if they are not too many the live ones, in a line each the number of the file and the
    values of the columns that tell its rows. A part without dead rows has no lines.
    """
    chosen = constants.within(plan, part).manifests
    if not chosen:
        return None
    if constants.placed(part):
        first = _starts(plan.version, lambda ref: ref.rows + ref.dead_rows)
        files = np.concatenate([_extents(planned, first) for planned in chosen])
        dead = constants.within(plan, constants.together.get(part, (part,))[-1]).manifests
        edges = [_edges(planned, _first_rows(planned, first)) for planned in dead]
        return _words(files[np.argsort(files[:, 0])].ravel()), _words(_joined(np.concatenate(edges)))
    columns = constants.telling(part)
    if columns is None:
        return "", None
    start = _starts(plan.version, lambda ref: ref.files)
    gone = "".join(_dead_of(m, columns, start[m.ref.path]) for m in chosen)
    few = sum(len(m.index.postings_in(m.files)) for m in chosen) <= _TRIED
    return gone, "".join(_live_of(m, columns, start[m.ref.path]) for m in chosen) if few else None


def _starts(version: Version, count: Callable[[ManifestRef], int]) -> dict[str, int]:
    """The number of the first file, or row, of each manifest: they are counted throughout, whatever a plan keeps."""
    counts = np.cumsum([0, *map(count, version.manifests)])
    return {ref.path: int(start) for ref, start in zip(version.manifests, counts[:-1], strict=True)}


# --- by the query's filters --------------------------------------------------------------------------------------


def asks_for_dead(plan: Plan, predicate: Bound) -> bool:
    """Whether the predicate may be TRUE or NULL on a dead row of the plan's files, as far as its tuple tells.

    NULL is not enough to leave a row out: Spark evaluates what stands behind a condition that is not FALSE.
    """
    judge, asked = Judge(predicate, plan.version.schema), TRUE | NULL
    return any(bool((_dead_outcomes(planned, judge) & asked).any()) for planned in plan.manifests)


def _dead_outcomes(planned: PlannedManifest, judge: Judge) -> Outcomes:
    """The possible outcomes on the dead tuples of the plan's files. Statistics are of live rows and say nothing."""
    core = planned.index.entries.core
    if DEAD not in core.column_names:
        return np.empty(0, np.uint8)
    tuples = whole(core.column(DEAD)).take(column_from(planned.files)).flatten()
    domains: Domains = {}
    for field in planned.spec.fields:
        source_type = judge.schema.atomic(field.source_id)
        if source_type is None or field.source_id not in judge.columns:
            continue
        here = where_known(field, source_type, tuples.field(f"f{field.field_id}"), np.ones(len(tuples), np.bool_))
        before = domains.get(field.source_id)
        domains[field.source_id] = here if before is None else Both(before, here)
    return judge.outcomes(domains, len(tuples))


# --- by places ---------------------------------------------------------------------------------------------------


def _first_rows(planned: PlannedManifest, starts: dict[str, int]) -> Positions:
    """The number of the first row of each file that the plan keeps."""
    rows = planned.index.physical_rows
    found: Positions = (starts[planned.ref.path] + np.cumsum(rows) - rows)[planned.files]
    return found


def _extents(planned: PlannedManifest, starts: dict[str, int]) -> Positions:
    """The number of the first row of each file, the one behind its last, and its bytes."""
    first = _first_rows(planned, starts)
    size = numbers(whole(planned.index.entries.core.column("bytes")))
    return np.stack([first, first + planned.index.physical_rows[planned.files], size[planned.files]], axis=1)


def _edges(planned: PlannedManifest, first_rows: Positions) -> Positions:
    """Where the rows of each dead tuple begin and end, in pairs: the counts of all tuples tell, in their order."""
    core = planned.index.entries.core
    lists = [whole(core.column(name)).take(column_from(planned.files)) for name in ("tuples", DEAD)]
    live, dead = (lists_.flatten() for lists_ in lists)
    lengths = [np.where(is_null(lists_), 0, np.diff(numbers(lists_.offsets))) for lists_ in lists]
    begins = np.cumsum(lengths[0] + lengths[1]) - lengths[0] - lengths[1]  # of each file, among the tuples of all
    places = np.repeat(begins, lengths[1]) + numbers(dead.field("place"))
    is_dead = np.zeros(len(live) + len(dead), np.bool_)
    is_dead[places] = True
    counts = np.empty(len(is_dead), np.int64)
    counts[places] = numbers(dead.field("rows"))
    counts[~is_dead] = numbers(live.field("rows"))
    ends = np.cumsum(counts)
    shift = np.repeat(first_rows - (ends - counts)[begins], lengths[0] + lengths[1])
    return np.stack([(ends - counts + shift)[is_dead], (ends + shift)[is_dead]], axis=1)


def _joined(edges: Positions) -> Positions:
    """The edges in order, without those where one range of rows ends and the next begins, or that have none between."""
    values, counts = np.unique(edges, return_counts=True)
    found: Positions = values[counts % 2 == 1]
    return found


def _words(values: Positions) -> str:
    return " ".join(map(str, values.tolist()))


# --- by tuples ---------------------------------------------------------------------------------------------------


def _dead_of(planned: PlannedManifest, columns: Sequence[Field], start: int) -> str:
    lists = whole(planned.index.entries.core.column(DEAD)).take(column_from(planned.files))
    tuples = lists.flatten()
    file = np.repeat(planned.files, np.diff(numbers(lists.offsets)))
    ids = [planned.spec.fields[_position(planned, c)].field_id for c in columns]
    values = [texts(cast(AtomicType, c.type), tuples.field(f"f{i}")) for c, i in zip(columns, ids, strict=True)]
    return _lines(start + file, values)


def _live_of(planned: PlannedManifest, columns: Sequence[Field], start: int) -> str:
    index = planned.index
    postings = index.postings_in(planned.files)
    values = []
    for column in columns:
        component = index.component(_position(planned, column))
        with_null = pa.concat_arrays([pa.nulls(1, component.values.type), component.values])
        codes = component.codes[index.posting_tuple[postings]] + 1
        values.append(texts(cast(AtomicType, column.type), with_null).take(column_from(codes)))
    return _lines(start + index.posting_file[postings], values)


def _position(planned: PlannedManifest, column: Field) -> int:
    position = planned.spec.identity_position(column.id)
    assert position is not None  # what tells dead rows is part of their tuples
    return position


def _lines(files: npt.NDArray[np.integer], values: Sequence[pa.Array]) -> str:
    written = pc.binary_join_element_wise(_numbered(files), *values, " ")
    return "".join(line + "\n" for line in written.to_pylist())


def _numbered(files: npt.NDArray[np.integer]) -> pa.Array:
    return texts(INT32, column_from(files.astype(np.int32)))
