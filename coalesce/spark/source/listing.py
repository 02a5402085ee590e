"""From a plan to what crosses the bridge: its files as one string, and how much matches."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.types import AtomicType, Field
from coalesce.plan.plan import Plan
from coalesce.plan.planner import PlannedManifest
from coalesce.spark.jvm.values import END, texts
from coalesce.spark.source.constants import Constants, by_file
from coalesce.spark.source.dead import file_numbers


def list_files(plan: Plan, constants: Constants, part: int | None) -> str:
    """The plan's files, of one part or all, as `PlannedFiles.java` reads them.

    First the number of combinations of constant values, then the combinations, then for each file the number of its
    combination, its size and its path. In a part with dead rows what the file is known by is the last of those values.
    """
    columns = constants.everywhere if part is None else constants.of_part(part)
    chosen = plan.manifests if part is None else constants.within(plan, part).manifests
    numbers = file_numbers(plan.version, constants, part)
    found = [_files_of(planned, columns, None if numbers is None else numbers(planned)) for planned in chosen]
    files = pa.concat_tables(found) if found else pa.table({"key": pa.array([], pa.string())})
    keys = files.column("key").combine_chunks().dictionary_encode()
    combinations = keys.dictionary.to_pylist()
    lines = [str(len(combinations)), *combinations]
    if files.num_rows:
        places = keys.indices.cast(pa.string())
        sizes, paths = (files.column(name).combine_chunks() for name in ("bytes", "path"))
        lines += pc.binary_join_element_wise(places, sizes.cast(pa.string()), paths, " ").to_pylist()
    return END.join(lines) + END


def _files_of(planned: PlannedManifest, constants: Sequence[Field], numbers: pa.Array | None) -> pa.Table:
    """What crosses of one manifest's files; `key` are the constant values of each, and its number if they have any."""
    chosen = pa.array(planned.files)
    columns = []
    for field in constants:
        values = by_file(planned.index, planned.spec, field.id).values
        encoded = values.take(chosen).dictionary_encode()
        written = texts(cast(AtomicType, field.type), encoded.dictionary)
        columns.append(pc.fill_null(written.take(encoded.indices), "-"))
    if numbers is not None:
        columns.append(numbers)
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
