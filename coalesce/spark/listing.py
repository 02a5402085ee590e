"""From a plan to what crosses the bridge: its files as one string, and how much of them matches."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coalesce.model.types import AtomicType, Field
from coalesce.plan.plan import Plan
from coalesce.plan.planner import PlannedManifest
from coalesce.spark.constants import values_by_file
from coalesce.spark.wire import END, texts


def list_files(plan: Plan, constants: Sequence[Field]) -> str:
    """The plan's files, as `PlannedFiles.java` reads them.

    First the number of combinations of constant values, then the combinations, then for each file the number of its
    combination, its size and its path.
    """
    parts = [_files_of(planned, constants) for planned in plan.manifests]
    files = pa.concat_tables(parts) if parts else pa.table({"key": pa.array([], pa.string())})
    keys = files.column("key").combine_chunks().dictionary_encode()
    combinations = keys.dictionary.to_pylist()
    lines = [str(len(combinations)), *combinations]
    if files.num_rows:
        numbers = keys.indices.cast(pa.string())
        sizes, paths = (files.column(name).combine_chunks() for name in ("bytes", "path"))
        lines += pc.binary_join_element_wise(numbers, sizes.cast(pa.string()), paths, " ").to_pylist()
    return END.join(lines) + END


def _files_of(planned: PlannedManifest, constants: Sequence[Field]) -> pa.Table:
    """What crosses of one manifest's files; `key` are the constant values of each."""
    chosen = pa.array(planned.files)
    columns = []
    for field in constants:
        values = values_by_file(planned.index, planned.spec, field.id)
        assert values is not None  # it is constant in every file of the version
        encoded = values.take(chosen).dictionary_encode()
        written = texts(cast(AtomicType, field.type), encoded.dictionary)
        columns.append(pc.fill_null(written.take(encoded.indices), "-"))
    key = pc.binary_join_element_wise(*columns, " ") if columns else pa.repeat(pa.scalar(""), len(chosen))
    core = planned.index.entries.core
    path = core.column("path").take(chosen)
    return pa.table({"key": key, "bytes": core.column("bytes").take(chosen), "path": path})


def matching(plan: Plan) -> tuple[int, int]:
    """About how many bytes and rows match: of a shared file only the share of the tuples that are asked for."""
    total_bytes, total_rows = 0.0, 0
    for planned in plan.manifests:
        index = planned.index
        files = index.reference_file[planned.references]
        rows = index.reference_rows[planned.references]
        # A tuple whose count is unknown may be all of its file.
        rows = np.where(rows < 0, index.rows[files], rows)
        share = rows / np.maximum(index.rows[files], 1)
        total_bytes += float((index.bytes[files] * share).sum()) + float(index.bytes[planned.unknown_files].sum())
        total_rows += int(rows.sum()) + int(index.rows[planned.unknown_files].sum())
    return max(1, min(int(total_bytes), plan.bytes)), min(total_rows, plan.rows)
