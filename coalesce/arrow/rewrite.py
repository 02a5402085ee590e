"""Write files again without some of their rows: the others keep their values, their tuples and their row ids."""

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from coalesce.arrow.encode import Target, data_path, encode_file
from coalesce.arrow.read import OpenFile, open_file
from coalesce.arrow.row_filter import asked_fields, is_true
from coalesce.arrow.row_groups import matching_parts
from coalesce.arrow.store import store
from coalesce.arrow.stretches import stretches
from coalesce.manifest.paths import new_write_directory
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.predicate.expr import Bound
from coalesce.table.engine import Rewritten, Snapshot


def rewrite(snapshot: Snapshot, files: Sequence[DataFile], drop: Bound) -> Rewritten:
    """New files with the rows on which `drop` is not TRUE: one for each file, none where nothing is left.

    A file of which nothing goes stays, and its entry with it.

    Each stays under the spec, rule and physical key of its file (or, if a column of that spec is gone, under the
    current one, wherever it lies). Its rows keep their order, and their ids and versions
    in columns of their own: where they stand in the file no longer says.
    """
    directory = new_write_directory()
    makers = [partial(_make, snapshot, directory, number, file, drop) for number, file in enumerate(files)]
    written = store(snapshot.storage, makers)
    stay = {f.path for f in files}
    return Rewritten([f for f in written if f.path not in stay], [f for f in written if f.path in stay])


def _make(
    snapshot: Snapshot, directory: str, number: int, entry: DataFile, drop: Bound
) -> tuple[bytes | None, DataFile] | None:
    version = snapshot.version
    schema = version.schema
    with open_file(snapshot.storage, entry, version) as file:
        if not _has_match(file, drop, schema):
            return None, entry
        rows = file.read(schema.fields, range(len(file.group_rows)))
        lineage = file.lineage()
    keep = ~is_true(drop, rows, schema)
    if not keep.any():
        return None
    kept = pa.array(keep)
    return make_again(
        snapshot, directory, number, entry, rows.filter(kept), None if lineage is None else lineage.filter(kept)
    )


def make_again(
    snapshot: Snapshot, directory: str, number: int, entry: DataFile, rows: pa.Table, lineage: pa.Table | None
) -> tuple[bytes, DataFile]:
    """A file with some rows of another, as `rewrite` makes them; no other file of the write has its `number`."""
    version, schema = snapshot.version, snapshot.version.schema
    spec = version.spec_to_rewrite(entry.spec_id)
    key = entry.physical_key if spec.spec_id == entry.spec_id else None
    target = Target(
        path=data_path(directory, number, spec, schema, key), spec=spec, rule_id=entry.rule_id, physical_key=key
    )
    return encode_file(rows, schema, target, max(entry.bytes / entry.physical_rows, 1.0), lineage)


def _has_match(file: OpenFile, drop: Bound, schema: Schema) -> bool:
    """Whether `drop` is TRUE on some row, found with as few columns as that takes."""
    asked = asked_fields(drop, schema)
    for stretch in stretches(file, matching_parts(file, drop)):
        matching = stretch.matching
        if matching is None:
            matching = is_true(drop, file.read(asked, stretch.groups, stretch.part), schema)
        if matching.any():
            return True
    return False
