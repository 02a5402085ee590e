"""What is in a data file, beside what its entry says of it: where the two differ.

An engine reads the file and knows nothing of the entry; here the two are compared, and nothing is read. What an entry
does not say cannot be wrong. Of an entry with dead tuples, the file has those and the live ones, and nothing else; all
else is said of the live rows.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from coalesce.model.datafile import ColumnStatistics, DataFile, DeadTuple, in_places
from coalesce.model.rule import Group, PhysicalKey
from coalesce.model.spec import LogicalTuple, Spec
from coalesce.model.types import AtomicType, Value, is_atomic
from coalesce.model.values import display, order_key
from coalesce.table.layout import one_nan
from coalesce.table.maintain import kinds
from coalesce.table.maintain.columns import ColumnHistory
from coalesce.table.maintain.own_files import is_own

_SHOWN: Final = 3  # of many things, so many are named


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a data file holds, read to its end.

    `tuples` are those of the spec of its entry, in order of first appearance, `tuple_rows` how many rows each has; None
    if the file lacks a column that they are made of. `in_runs` says whether the rows of each lie together, and
    `claims_order` whether the file says so. `exact` has the statistics of its columns as they are, without the rows of
    dead tuples, `statistics` as an entry holds them. `foreign` and `nulls` are sentences about columns that are none of
    the table's, and about required ones that hold NULL. `own_ids` says whether every row has an id of its own in the
    file.
    """

    bytes: int
    rows: int
    tuples: tuple[LogicalTuple, ...] | None
    tuple_rows: tuple[int, ...] | None
    in_runs: bool
    claims_order: bool
    exact: Mapping[int, ColumnStatistics]
    statistics: Mapping[int, ColumnStatistics]
    foreign: tuple[str, ...] = ()
    nulls: tuple[str, ...] = ()
    highest_row_id: int | None = None
    own_ids: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that an entry says and its file does not bear out, as a kind of finding and a sentence."""

    kind: str
    text: str


# Differences that an entry made anew does away with. The others are about rows, or about whose rows they are.
MENDABLE: Final = frozenset(
    {
        *(kinds.WRONG_SIZE, kinds.WRONG_TUPLE, kinds.MISSING_TUPLE, kinds.WRONG_COUNT, kinds.WRONG_KEY),
        *(kinds.WRONG_ORDER, kinds.WRONG_BOUNDS, kinds.WRONG_NULL_COUNT, kinds.WRONG_NAN_COUNT),
    }
)


def as_told(entry: DataFile, found: Contents, spec: Spec) -> Contents:
    """What was found, without tuples if the directories of an adopted file tell a part of them.

    The file may hold a column of that name with other values; as everywhere, those of the directory count.
    """
    directories = {segment.partition("=")[0].lower() for segment in entry.path.split("/")[:-1] if "=" in segment}
    told = any(f.name.lower() in directories and f.source_id not in entry.statistics for f in spec.fields)
    return replace(found, tuples=None, tuple_rows=None) if told and not is_own(entry.path) else found


def differences(entry: DataFile, found: Contents, spec: Spec, columns: ColumnHistory) -> list[Difference]:
    """What the entry says otherwise than its file."""
    if found.rows != entry.physical_rows:
        text = f"the file has {found.rows:,} rows, and its entry says {entry.physical_rows:,}"
        return [Difference(kinds.WRONG_ROWS, text), *_foreign(found)]
    different = [*_foreign(found), *_tuples(entry, found, spec, columns), *_key(entry, found, spec, columns)]
    if found.bytes != entry.bytes:
        text = f"the file has {found.bytes:,} bytes, and its entry says {entry.bytes:,}"
        different.insert(0, Difference(kinds.WRONG_SIZE, text))
    return [*different, *_statistics(entry, found, columns)]


def _foreign(found: Contents) -> Iterator[Difference]:
    if found.foreign:
        yield Difference(kinds.FOREIGN_COLUMNS, _listed(found.foreign))
    if found.nulls:
        yield Difference(kinds.NULL_IN_REQUIRED, _listed(found.nulls))


# --- tuples ------------------------------------------------------------------------------------------------------


def _tuples(entry: DataFile, found: Contents, spec: Spec, columns: ColumnHistory) -> Iterator[Difference]:
    """At most one difference in the tuples: where one is wrong, the counts of others mostly are wrong with it."""
    if entry.tuples is None or found.tuples is None or found.tuple_rows is None:
        return
    truth = dict(zip(found.tuples, found.tuple_rows, strict=True))
    doubt = _dead(entry, truth, found, spec, columns)
    if doubt is not None:
        yield Difference(kinds.WRONG_DEAD, doubt)
        return
    listing = zip(entry.tuples, _counts(entry), strict=True)
    told = in_places(listing, entry.dead, lambda dead: (dead.values, dead.rows))
    listed, counts = [one_nan(t) for t, _ in told], [n for _, n in told]
    known = frozenset(listed)

    def shown(tuples: Sequence[LogicalTuple]) -> str:
        return _listed([tuple_text(t, spec, columns) for t in tuples])

    absent = [t for t, n in zip(listed, counts, strict=True) if t not in truth and n != 0]
    twice = [t for t, n in Counter(listed).items() if n > 1]
    left_out = [t for t in truth if t not in known] if entry.complete else []
    wrong = [(t, n) for t, n in zip(listed, counts, strict=True) if n is not None and n != truth.get(t, 0)]
    if absent:
        more = f"; it has {shown(left_out)} instead" if left_out else ""
        yield Difference(kinds.WRONG_TUPLE, f"the file has no row of {shown(absent)}, which its entry lists{more}")
    elif twice:
        yield Difference(kinds.WRONG_TUPLE, f"its entry lists {shown(twice)} twice")
    elif left_out:
        yield Difference(kinds.MISSING_TUPLE, f"the file has rows of {shown(left_out)}, which its entry does not list")
    elif wrong:
        tuple_, count = wrong[0]
        text = f"the file has {truth.get(tuple_, 0):,} rows of {shown([tuple_])}, and its entry says {count:,}"
        yield Difference(kinds.WRONG_COUNT, text)
    elif (found.claims_order or entry.ordered) and entry.trusted and None not in counts:
        held = [t for t, n in zip(listed, counts, strict=True) if n]
        if not found.in_runs or held != list(found.tuples):
            says = "the file says that its rows lie in the order of its entry's tuples"
            yield Difference(
                kinds.WRONG_ORDER, says if found.claims_order else "its entry says that its rows lie in tuple order"
            )


def _counts(entry: DataFile) -> Sequence[int | None]:
    return entry.tuple_rows if entry.tuple_rows is not None else (None,) * len(entry.tuples or ())


def dead_of(entry: DataFile) -> frozenset[LogicalTuple]:
    """The tuples whose rows lie in the file and are none of the table's."""
    return frozenset(one_nan(dead.values) for dead in entry.dead)


def _dead(
    entry: DataFile, truth: Mapping[LogicalTuple, int], found: Contents, spec: Spec, columns: ColumnHistory
) -> str | None:
    """Why it cannot be told which rows of the file were removed; None if that is clear, or none was."""
    dead = [one_nan(d.values) for d in entry.dead if d.rows]
    live = {one_nan(t) for t in entry.tuples or ()}
    both = [t for t in dead if t in live]
    twice = [t for t, n in Counter(dead).items() if n > 1]
    absent = [t for t in dead if t not in truth]
    shown = _listed([tuple_text(t, spec, columns) for t in both or twice or absent])
    if both:
        return f"its entry says of {shown} that its rows were removed, and lists it with those that were not"
    if twice:
        return f"its entry says of {shown} twice that its rows were removed"
    if absent:
        return f"the file has no row of {shown}, whose rows its entry says were removed"
    if dead and found.claims_order and not found.in_runs:
        return "the file says that its rows lie in the order of their tuples, by which those that were removed are told"
    return None


def _key(entry: DataFile, found: Contents, spec: Spec, columns: ColumnHistory) -> Iterator[Difference]:
    key = entry.physical_key
    if key is None or found.tuples is None:
        return
    same = one_nan(tuple(None if isinstance(part, Group) else part for part in key))
    for position, (part, field) in enumerate(zip(key, spec.fields, strict=True)):
        other = [t for t in found.tuples if t[position] != same[position] and t[position] is not same[position]]
        if not isinstance(part, Group) and other:
            type_ = columns.component(field)
            texts = [display(type_, v) for v in (same[position], other[0][position])]
            yield Difference(
                kinds.WRONG_KEY,
                f"its entry says that {field.name} is {texts[0]} in every row, and in one it is {texts[1]}",
            )
            return


def tuple_text(tuple_: LogicalTuple, spec: Spec, columns: ColumnHistory) -> str:
    """A tuple for people: `(dt = 2026-05-17, app = 'A')`."""
    parts = [f"{f.name} = {_value_text(columns.component(f), v)}" for f, v in zip(spec.fields, tuple_, strict=True)]
    return f"({', '.join(parts)})"


def _value_text(type_: AtomicType, value: Value) -> str:
    try:
        return display(type_, value)
    except (TypeError, ValueError, AttributeError, ArithmeticError):  # not a value of the type, which is what is wrong
        return repr(value)


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _SHOWN
    shown = ", ".join(texts[:_SHOWN])
    return f"{shown} and {more:,} more" if more > 0 else shown


# --- statistics --------------------------------------------------------------------------------------------------


def _statistics(entry: DataFile, found: Contents, columns: ColumnHistory) -> Iterator[Difference]:
    """One difference of each kind, of the first column that has it."""
    seen: set[str] = set()
    for column_id, said in entry.statistics.items():
        exact, field = found.exact.get(column_id), columns.schema.by_id(column_id)
        if exact is None or field is None or not is_atomic(field.type):
            continue
        for kind, text in _of_column(said, exact, field.type):  # type: ignore[arg-type]
            if kind not in seen:
                seen.add(kind)
                yield Difference(kind, f"of the column {columns.name(column_id)!r}, {text}")


def _of_column(said: ColumnStatistics, exact: ColumnStatistics, type_: AtomicType) -> Iterator[tuple[str, str]]:
    for word, bound, truth, outside in (
        ("least", said.lower, exact.lower, 1),
        ("greatest", said.upper, exact.upper, -1),
    ):
        if bound is not None and truth is not None and _is_inside(type_, bound, truth, outside):
            texts = [_value_text(type_, v) for v in (truth, bound)]
            yield kinds.WRONG_BOUNDS, f"the {word} value is {texts[0]}, and its entry says {texts[1]}"
    for kind, word, count, true_count in (
        (kinds.WRONG_NULL_COUNT, "NULL", said.null_count, exact.null_count),
        (kinds.WRONG_NAN_COUNT, "NaN", said.nan_count, exact.nan_count),
    ):
        if count is not None and count != true_count:
            yield kind, f"{true_count or 0:,} values are {word}, and its entry says {count:,}"


def _is_inside(type_: AtomicType, bound: Value, truth: Value, outside: int) -> bool:
    """Whether a bound leaves out the value that it is to be the bound of; one that is NaN says nothing."""
    if bound != bound:
        return False
    try:
        low, high = (truth, bound) if outside > 0 else (bound, truth)
        return bool(order_key(type_, low) < order_key(type_, high))
    except (TypeError, AssertionError):
        return True  # not even a value of the type


# --- made anew ---------------------------------------------------------------------------------------------------


def mended(entry: DataFile, found: Contents, most_tuples: int) -> DataFile | None:
    """The entry with all that its file tells; its path, rule, row ids and version stay as they are.

    What cannot be known is unknown. So are the counts of a file that promises an order that its rows do not have: with
    them, readers would believe it. What is dead stays dead: the entry is None if it cannot be told any more what is.
    """
    if entry.dead:
        return _mended_with_dead(entry, found, most_tuples)
    if found.tuples is None or len(found.tuples) > most_tuples:
        unknown = replace(entry, bytes=found.bytes, statistics=found.statistics, ordered=False)
        return unknown if found.tuples is None else replace(unknown, tuples=None, tuple_rows=None, complete=False)
    orderly = found.in_runs or not found.claims_order
    return replace(
        entry,
        bytes=found.bytes,
        tuples=found.tuples,
        tuple_rows=found.tuple_rows if orderly else None,
        complete=True,
        ordered=found.in_runs,
        physical_key=_true_key(entry.physical_key, found.tuples),
        statistics=found.statistics,
    )


def _mended_with_dead(entry: DataFile, found: Contents, most_tuples: int) -> DataFile | None:
    since = {one_nan(dead.values): dead.since for dead in entry.dead}
    if found.tuples is None or found.tuple_rows is None or len(found.tuples) > most_tuples:
        return None
    told = list(zip(found.tuples, found.tuple_rows, strict=True))
    live = [(t, n) for t, n in told if t not in since]
    there = {one_nan(dead.values) for dead in entry.dead if dead.rows} <= set(found.tuples)
    if not live or not there or (found.claims_order and not found.in_runs):
        return None
    return replace(
        entry,
        bytes=found.bytes,
        rows=sum(n for _, n in live),
        tuples=tuple(t for t, _ in live),
        tuple_rows=tuple(n for _, n in live),
        complete=True,
        dead=tuple(
            DeadTuple(values=t, rows=n, place=place, since=since[t]) for place, (t, n) in enumerate(told) if t in since
        ),
        ordered=found.in_runs,
        physical_key=_true_key(entry.physical_key, found.tuples),
        statistics=found.statistics,
    )


def _true_key(key: PhysicalKey | None, tuples: Sequence[LogicalTuple]) -> PhysicalKey | None:
    """The key with the values that all rows have; None if they do not agree where it has a value."""
    if key is None or not tuples:
        return key
    if any(t[i] != tuples[0][i] and t[i] is not tuples[0][i] for t in tuples for i in _valued(key)):
        return None
    return tuple(part if isinstance(part, Group) else tuples[0][i] for i, part in enumerate(key))


def _valued(key: PhysicalKey) -> list[int]:
    return [i for i, part in enumerate(key) if not isinstance(part, Group)]
