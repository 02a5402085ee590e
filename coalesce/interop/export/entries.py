"""A version's files as every other format needs them: each once, with what it is partitioned by."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from coalesce.arrow.ranges import Ranges
from coalesce.arrow.read import open_file
from coalesce.model.datafile import DataFile
from coalesce.model.spec import PartitionField
from coalesce.model.transforms import Void
from coalesce.model.types import Value
from coalesce.model.version import ManifestRef, Version
from coalesce.storage.base import Storage
from coalesce.table.exports import ExportSource


def constant_fields(version: Version, *, allowed: Callable[[PartitionField], bool]) -> tuple[PartitionField, ...]:
    """The fields of the current spec of which every file of the version has one value, as its manifests say.

    Only these can be partition values of another format. Whatever is not known is left to the columns' bounds.
    """
    wanted = [f for f in version.spec.fields if not isinstance(f.transform, Void) and allowed(f)]
    return tuple(f for f in wanted if all(_is_constant(ref, f.field_id) for ref in version.manifests))


def _is_constant(ref: ManifestRef, field_id: int) -> bool:
    return any(b.field_id == field_id and b.constant is True for b in ref.bounds or ())


def partition_value(version: Version, file: DataFile, field: PartitionField) -> Value:
    """The value of a constant field in a file, by the spec that the file was written under."""
    ids = [f.field_id for f in version.spec_by_id(file.spec_id).fields]
    assert file.tuples
    return file.tuples[0][ids.index(field.field_id)]


@dataclass(frozen=True, slots=True)
class Held:
    """The files of one manifest."""

    ref: ManifestRef
    files: Sequence[DataFile]


def held_by(source: ExportSource, refs: Sequence[ManifestRef]) -> Iterable[Held]:
    """The files of some manifests, one manifest after the other."""
    columns = [f.id for f in source.version.schema]
    for ref, index in zip(refs, source.load(refs), strict=True):
        yield Held(ref, index.entries.files(columns=columns))


def dead_positions(storage: Storage, version: Version, file: DataFile) -> Ranges:
    """Where in a file the rows lie that the table has no more."""
    with open_file(storage, file, version) as opened:
        live = opened.places_of_live(np.arange(file.rows))
    mask = np.ones(file.physical_rows, np.bool_)
    mask[live] = False
    return Ranges.of(mask)
