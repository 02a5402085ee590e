"""From a plan to what crosses the bridge: its files as one string, which of their rows are dead, how much matches."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.columns import column_from, numbers, whole
from coalesce.model.entries import DEAD
from coalesce.model.types import INT32, AtomicType, Field
from coalesce.model.version import Version
from coalesce.plan.plan import Plan
from coalesce.plan.planner import PlannedManifest
from coalesce.spark.jvm.values import END, texts
from coalesce.spark.source.constants import Constants, by_file

_TRIED: Final = 50_000  # live tuples: to try them takes a tenth of a second


def list_files(plan: Plan, constants: Constants, part: int | None) -> str:
    """The plan's files, of one part or all, as `PlannedFiles.java` reads them.

    First the number of combinations of constant values, then the combinations, then for each file the number of its
    combination, its size and its path. In a part with dead rows the number of the file is the last of those values.
    """
    columns = constants.everywhere if part is None else constants.of_part(part)
    chosen = plan.manifests if part is None else in_part(plan, constants, part).manifests
    numbered = _starts(plan.version) if part is not None and constants.telling(part) is not None else {}
    found = [_files_of(planned, columns, numbered.get(planned.ref.path)) for planned in chosen]
    files = pa.concat_tables(found) if found else pa.table({"key": pa.array([], pa.string())})
    keys = files.column("key").combine_chunks().dictionary_encode()
    combinations = keys.dictionary.to_pylist()
    lines = [str(len(combinations)), *combinations]
    if files.num_rows:
        numbers = keys.indices.cast(pa.string())
        sizes, paths = (files.column(name).combine_chunks() for name in ("bytes", "path"))
        lines += pc.binary_join_element_wise(numbers, sizes.cast(pa.string()), paths, " ").to_pylist()
    return END.join(lines) + END


def list_dead(plan: Plan, constants: Constants, part: int) -> tuple[str, str | None] | None:
    """The dead tuples, and if they are not too many the live ones, of the plan's files of a part; None without a file.

    A line each, as `DeadRows.java` takes them: the number of the file and the values of the columns that tell its rows.
    A part without dead rows has no lines.
    """
    chosen = in_part(plan, constants, part).manifests
    if not chosen:
        return None
    columns = constants.telling(part)
    if columns is None:
        return "", None
    starts = _starts(plan.version)
    dead = "".join(_dead_of(m, columns, starts[m.ref.path]) for m in chosen)
    few = sum(len(m.index.postings_in(m.files)) for m in chosen) <= _TRIED
    return dead, "".join(_live_of(m, columns, starts[m.ref.path]) for m in chosen) if few else None


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


def _starts(version: Version) -> dict[str, int]:
    """The number of the first file of each manifest: files are numbered throughout a version, whatever a plan keeps."""
    counts = np.cumsum([0, *(ref.files for ref in version.manifests)])
    return {ref.path: int(start) for ref, start in zip(version.manifests, counts[:-1], strict=True)}


def in_part(plan: Plan, constants: Constants, part: int) -> Plan:
    """The plan for the files of a part alone."""
    chosen = []
    for planned in plan.manifests:
        wanted = np.zeros(len(planned.index.entries), np.bool_)
        wanted[planned.files] = constants.in_part(planned.index, planned.spec, planned.files, part)
        chosen.append(planned.only(wanted))
    return replace(plan, manifests=tuple(m for m in chosen if len(m.files)))


def _files_of(planned: PlannedManifest, constants: Sequence[Field], start: int | None) -> pa.Table:
    """What crosses of one manifest's files; `key` are the constant values of each.

    The number of its first file, if there is a `start`, makes the numbers of all.
    """
    chosen = pa.array(planned.files)
    columns = []
    for field in constants:
        values = by_file(planned.index, planned.spec, field.id).values
        encoded = values.take(chosen).dictionary_encode()
        written = texts(cast(AtomicType, field.type), encoded.dictionary)
        columns.append(pc.fill_null(written.take(encoded.indices), "-"))
    if start is not None:
        columns.append(_numbered(start + planned.files))
    key = pc.binary_join_element_wise(*columns, " ") if columns else pa.repeat(pa.scalar(""), len(chosen))
    core = planned.index.entries.core
    path = core.column("path").take(chosen)
    return pa.table({"key": key, "bytes": core.column("bytes").take(chosen), "path": path})


def matching(plan: Plan) -> tuple[int, int]:
    """About how many bytes and rows match: of a shared file only the share of the tuples that are asked for."""
    total_bytes, total_rows = 0.0, 0
    for planned in plan.manifests:
        index = planned.index
        files = index.posting_file[planned.postings]
        rows = index.posting_rows[planned.postings]
        # A tuple whose count is unknown may be all of its file.
        rows = np.where(rows < 0, index.rows[files], rows)
        share = rows / np.maximum(index.physical_rows[files], 1)
        total_bytes += float((index.bytes[files] * share).sum()) + float(index.bytes[planned.unknown_files].sum())
        total_rows += int(rows.sum()) + int(index.rows[planned.unknown_files].sum())
    return max(1, min(int(total_bytes), plan.bytes)), min(total_rows, plan.rows)
