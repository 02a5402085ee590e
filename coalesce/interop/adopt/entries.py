"""Entries of files that others wrote: what their directories, their footers and, if asked, their rows tell."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from coalesce.arrow.read import open_file
from coalesce.arrow.statistics import lower_bound, upper_bound
from coalesce.arrow.threads import each
from coalesce.arrow.tuples import tuples_of
from coalesce.interop.adopt.footers import Footer
from coalesce.interop.adopt.survey import UNTOLD
from coalesce.model.datafile import ColumnStatistics, DataFile
from coalesce.model.rule import Group
from coalesce.model.spec import LogicalTuple
from coalesce.model.transforms import Identity
from coalesce.model.types import Value
from coalesce.model.version import Version
from coalesce.storage.base import Storage
from coalesce.table.layout import MAX_TUPLES_PER_FILE, listing, one_nan

_AT_ONCE: Final = 4
_CERTAIN: Final = 64  # a bound as long may have been cut


def entry_of(footer: Footer, told: Mapping[int, Value], version: Version) -> DataFile:
    """The entry of a file of whose columns some, by id, have the values that its directories say."""
    statistics = _by_id(footer, told, version)
    components = [_component(f.source_id, f.transform, told, statistics, footer.rows) for f in version.spec.fields]
    entry = DataFile(
        path=footer.file.path,
        spec_id=version.current_spec_id,
        rows=footer.rows,
        bytes=footer.file.size,
        rule_id=version.current_rule_id,
        physical_key=tuple(components),
        statistics={i: _as_held(s) for i, s in statistics.items()},
    )
    values: list[Value] = [c for c in components if not isinstance(c, Group)]
    return listing(entry, (one_nan(tuple(values)),), (footer.rows,)) if len(values) == len(components) else entry


def _by_id(footer: Footer, told: Mapping[int, Value], version: Version) -> dict[int, ColumnStatistics]:
    """The file's own columns. Of one that directories tell there is nothing to know: where both have it, they count."""
    named = {f.id: footer.statistics.get(f.physical_name.lower()) for f in version.schema if f.id not in told}
    return {i: statistics for i, statistics in named.items() if statistics is not None}


def _component(
    column_id: int,
    transform: object,
    told: Mapping[int, Value],
    statistics: Mapping[int, ColumnStatistics],
    rows: int,
) -> Value | Group:
    """The component that every row has, if that is known."""
    if not isinstance(transform, Identity):
        return Group(UNTOLD)
    if column_id in told:
        value = told[column_id]
        return 0.0 if value == 0 and isinstance(value, float) else value  # tuples know one zero
    known = statistics.get(column_id)
    if known is None or known.null_count is None:
        return Group(UNTOLD)
    if known.null_count == rows:
        return None
    one = known.null_count == 0 and known.lower is not None and known.lower == known.upper
    cut = isinstance(known.lower, str | bytes) and len(known.lower) >= _CERTAIN
    return known.lower if one and not cut and not isinstance(known.lower, float) else Group(UNTOLD)


def _as_held(known: ColumnStatistics) -> ColumnStatistics:
    return replace(known, lower=lower_bound(known.lower), upper=upper_bound(known.upper))


def scanned(storage: Storage, entries: Sequence[DataFile], version: Version) -> list[DataFile]:
    """The entries, with the tuples and counts that their rows tell where nothing else did."""
    sources = {f.source_id for f in version.spec.fields}
    fields = [f for f in version.schema if f.id in sources]

    def read(entry: DataFile) -> DataFile:
        if entry.trusted:
            return entry
        counts: Counter[LogicalTuple] = Counter()
        with open_file(storage, entry, version) as file:
            for group in range(len(file.group_rows)):
                found = tuples_of(file.read(fields, [group]), version.spec, version.schema)
                for tuple_, rows in zip(found.distinct, found.counts, strict=True):
                    counts[one_nan(tuple_)] += rows
        whole = replace(entry, physical_key=next(iter(counts))) if len(counts) == 1 else entry
        return listing(whole, tuple(counts), tuple(counts.values()), MAX_TUPLES_PER_FILE)

    return each(read, entries, _AT_ONCE)


def holds_all(footer: Footer, version: Version) -> bool:
    """Whether the file itself holds every column that its tuples are made of."""
    named = {version.schema.by_id(f.source_id) for f in version.spec.fields}
    return all(f is not None and footer.shape.find(f.physical_name) is not None for f in named)
