"""What an entry says of where tuples lie in its file, kept from one scan to the next.

A file that small tenants share has thousands of tuples. To count them through and to sort their values takes longer
than to read the rows of one.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from coalesce.arrow.places import Places, places_of
from coalesce.model.datafile import DataFile
from coalesce.model.schema import Schema
from coalesce.model.spec import PartitionField, field_type
from coalesce.model.types import AtomicType
from coalesce.model.values import column_of
from coalesce.predicate.domains import Domain, Gathered
from coalesce.predicate.tuple_domains import component_domain
from coalesce.recent import Recent

_MOST_BYTES: Final = 16 * 1024 * 1024
_ENTRY_BYTES, _TUPLE_BYTES, _COMPONENT_BYTES = 1_500, 220, 120  # as measured, the entry itself among them
_MANY: Final = 64  # of fewer tuples all is told anew as fast


@dataclass(frozen=True)
class Located:
    """An entry and what follows from it alone, each thing made when it is asked for."""

    entry: DataFile
    _domains: dict[tuple[int, PartitionField, AtomicType], Domain] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes, with the entry."""
        tuples = len(self.entry.tuples or ()) + len(self.entry.dead)
        return _ENTRY_BYTES + tuples * (_TUPLE_BYTES + _COMPONENT_BYTES * len(self._domains))

    @cached_property
    def counted(self) -> bool:
        """Whether every tuple of the file is known, and how many rows each has."""
        counts = self.entry.tuple_rows
        # With every count known, a trusted entry's counts add up to the file's rows.
        return self.entry.trusted and counts is not None and None not in counts

    @cached_property
    def places(self) -> Places:
        """Where the rows of each tuple lie, if they lie in the entry's order and are `counted`."""
        return places_of(self.entry)

    def domain(self, position: int, component: PartitionField, schema: Schema) -> Domain | None:
        """What one component of each of those tuples says of its source column; None if the column is gone."""
        source_type = schema.atomic(component.source_id)
        if source_type is None:
            return None
        key = (position, component, source_type)
        if key not in self._domains:
            values = [t[position] for t in self.places.tuples]
            encoded = column_of(field_type(component, schema), values).dictionary_encode()
            codes = np.asarray(encoded.indices.fill_null(-1)).astype(np.int32)
            self._domains[key] = Gathered(component_domain(component.transform, source_type, encoded.dictionary), codes)
        return self._domains[key]


# By the entry itself, which is the same object in each scan: to compare its tuples would take as long as to count them.
_LOCATED: Final[Recent[int, Located]] = Recent(_MOST_BYTES, lambda located: located.nbytes)


def located(entry: DataFile) -> Located:
    """That of an entry, as it was kept."""
    if len(entry.tuples or ()) < _MANY:
        return Located(entry)
    kept = _LOCATED.get(id(entry))
    if kept is None or kept.entry is not entry:  # an object that is held is the only one with its id
        kept = Located(entry)
        _LOCATED.put(id(entry), kept)
    return kept
