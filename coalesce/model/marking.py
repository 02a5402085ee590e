"""Rows leave a table without leaving its files: live tuples of entries become dead ones.

No data file is looked at. An entry goes on saying what is in its file, now in two lists: `tuples` has what the table
still has, `dead` what it has no more. Everything else of the entry is said of the live rows alone.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coalesce.model.columns import Mask, column_from, is_null, numbers, whole
from coalesce.model.entries import Entries, from_table
from coalesce.model.entry_columns import DEAD, dead_type
from coalesce.model.schema import Schema
from coalesce.model.spec import Spec
from coalesce.model.transforms import Identity, Void
from coalesce.model.types import FLOATING

Places = npt.NDArray[np.int64]


def can_be_marked(spec: Spec, schema: Schema) -> bool:
    """Whether every engine can tell the dead rows of files written under a spec, by the columns that it is made of."""
    sources = [(f.transform, schema.atomic(f.source_id)) for f in spec.fields]
    return all(
        isinstance(transform, Identity | Void) and type_ is not None and type_ not in FLOATING
        for transform, type_ in sources
    )


def marked(entries: Entries, dying: Mask, since: int) -> Entries:
    """The entries with some tuples dead since a moment, in milliseconds; the others stay as they are.

    `dying` has a flag for each tuple that is listed, one entry after the other; the counts of those are known. An entry
    none of whose tuples is left has no rows.
    """
    table = entries.table().combine_chunks()
    lists = whole(table.column("tuples"))
    tuples = lists.flatten()
    lengths = np.where(is_null(lists), 0, np.diff(numbers(lists.offsets).astype(np.int64)))
    file = np.repeat(np.arange(len(lengths)), lengths)
    rows = np.where(dying, numbers(tuples.field("rows"), null=0), 0)
    before = numbers(table.column("rows"))
    after = before - np.bincount(file, weights=rows, minlength=len(lengths)).astype(np.int64)
    live = tuples.filter(column_from(~dying))
    missing = column_from(is_null(lists)) if lists.null_count else None
    columns = dict(zip(table.column_names, table.columns, strict=True))
    columns["tuples"] = pa.ListArray.from_arrays(_offsets(file[~dying], len(lengths)), live, mask=missing)
    columns["rows"] = column_from(after)
    columns[DEAD] = _dead_lists(entries, table, tuples, dying, file, since)
    for name, column in columns.items():
        if name.startswith(("null_count_", "nan_count_")):
            columns[name] = _count_of_live(column, before, after)
    return from_table(entries.spec_id, entries.field_ids, pa.table(columns))


def _dead_lists(
    entries: Entries, table: pa.Table, tuples: pa.StructArray, dying: Mask, file: Places, since: int
) -> pa.ListArray:
    """The dead tuples of each entry, those before and the new ones, in the order in which their rows lie."""
    components = {i: entries.tuple_type(i) for i in entries.field_ids}
    type_ = dead_type(components)
    places = _places(table, file)
    members = [tuples.field(f"f{i}").filter(column_from(dying)) for i in components]
    count = int(dying.sum())
    counted = tuples.field("rows").filter(column_from(dying))
    told = [counted, column_from(places[dying].astype(np.int32)), column_from(np.full(count, since, np.int64))]
    new = pa.StructArray.from_arrays([*members, *told], fields=list(type_.value_type))
    owner = file[dying]
    if DEAD in table.column_names:
        lists = whole(table.column(DEAD))
        old = lists.flatten().cast(type_.value_type)
        owner = np.concatenate([np.repeat(np.arange(len(lists)), np.diff(numbers(lists.offsets))), owner])
        new = pa.concat_arrays([old, new])
    order = np.lexsort((numbers(new.field("place")), owner))
    return pa.ListArray.from_arrays(_offsets(owner[order], table.num_rows), new.take(column_from(order)), type=type_)


def _places(table: pa.Table, file: Places) -> Places:
    """The place of each live tuple among all tuples of its file: dead ones keep theirs, live ones fill the rest."""
    starts = np.searchsorted(file, np.arange(table.num_rows))
    places = np.arange(len(file)) - starts[file]
    if DEAD not in table.column_names:
        return places
    lists = whole(table.column(DEAD))
    offsets, taken = numbers(lists.offsets), numbers(lists.values.field("place"))
    lengths = np.bincount(file, minlength=table.num_rows)
    for number in np.flatnonzero(np.diff(offsets)):
        dead = taken[offsets[number] : offsets[number + 1]]
        free = np.ones(lengths[number] + len(dead), np.bool_)
        free[dead] = False
        places[starts[number] : starts[number] + lengths[number]] = np.flatnonzero(free)
    return places


def _offsets(file: Places, files: int) -> pa.Array:
    """Where the members of each of `files` lists begin, and where the last ends; `file` is in order."""
    counts = np.bincount(file, minlength=files)
    return column_from(np.concatenate(([0], np.cumsum(counts))).astype(np.int32))


def _count_of_live(column: pa.ChunkedArray, before: Places, after: Places) -> pa.Array:
    """A count of NULLs or NaNs, now that fewer rows are left: of none and of all it is known how many are."""
    found = numbers(column, null=-1)
    all_of_it = (found == before) & (found >= 0)
    kept = np.where(all_of_it, after, found)
    unknown = is_null(column) | ((found != 0) & ~all_of_it & (after < before))
    return column_from(kept, nulls=unknown)
