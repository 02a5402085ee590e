"""Whether rows fit a table, by names and types alone: what every engine asks before it writes anything.

Columns are matched by name as Spark does by default, without regard to case, at every level of nesting. A column that
is missing holds its default, or NULL if it may be, but a partition column without a default has to be there; a narrower
type is widened; whatever would change a value is refused.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from coalesce.errors import SchemaError
from coalesce.model.schema import did_you_mean
from coalesce.model.types import DOUBLE, FLOAT, INTEGRAL_BITS, DecimalType, Field, Type, is_atomic
from coalesce.predicate.expr import Bound
from coalesce.predicate.render import to_sql

# Decimal digits that hold every integer of so many bits, and integers that a float of each kind holds exactly.
_DIGITS: Final = {8: 3, 16: 5, 32: 10, 64: 19}
_EXACT_BITS: Final[dict[Type, int]] = {FLOAT: 16, DOUBLE: 32}

# How much of a predicate and of a row a message shows.
_SHOWN_VALUES: Final = 5
_SHOWN_LENGTH: Final = 300


def is_widening(source: Type, target: Type) -> bool:
    """Whether every value of `source` is exactly a value of `target`, another atomic type."""
    if isinstance(target, DecimalType):
        whole = target.precision - target.scale
        if isinstance(source, DecimalType):
            return source.scale <= target.scale and source.precision - source.scale <= whole
        return source in INTEGRAL_BITS and _DIGITS[INTEGRAL_BITS[source]] <= whole
    if source in INTEGRAL_BITS:
        limit = INTEGRAL_BITS.get(target, 0) or _EXACT_BITS.get(target, 0)
        return INTEGRAL_BITS[source] <= limit
    return source == FLOAT and target == DOUBLE


def matched(
    fields: Sequence[Field], given: Sequence[str], place: str, partition_columns: Collection[int] = ()
) -> tuple[list[int | None], list[str]]:
    """For each field the position among the given names, or None; and what is wrong with the names.

    `place` is the column whose members these are, or `''`. Rows have to say which logical partition they are of: a
    field whose id is in `partition_columns` may be missing only if it has a default.
    """
    problems = []
    positions: dict[str, int] = {}
    known = {f.name.lower() for f in fields}
    for position, name in enumerate(given):
        if name.lower() in positions:
            problems.append(f"column {inside(place, name)!r} is there twice.")
        elif name.lower() not in known:
            problems.append(
                f"there is no column {inside(place, name)!r} in the table"
                f"{did_you_mean(name, tuple(f.name for f in fields))}"
            )
        positions.setdefault(name.lower(), position)
    found = [positions.get(f.name.lower()) for f in fields]
    problems += [
        f"column {inside(place, field.name)!r} is required and missing."
        for field, position in zip(fields, found, strict=True)
        if position is None and field.default is None and field.required
    ]
    problems += [
        f"partition column {field.name!r} is missing; name a column of the rows so (NULL is a value of it as well)."
        for field, position in zip(fields, found, strict=True)
        if position is None and field.default is None and not field.required and field.id in partition_columns
    ]
    return found, problems


def inside(place: str, name: str) -> str:
    """The name of a member as messages show it."""
    return f"{place}.{name}" if place else name


def misfits(own_type: Callable[[], Type], place: str, field: Field) -> Iterator[str]:
    """The sentence about a type that is none of a table's (`own_type` fails), or does not widen to the field's."""
    try:
        given = own_type()
    except SchemaError as error:
        yield str(error)
        return
    if not is_atomic(given) or (given != field.type and not is_widening(given, field.type)):
        yield f"column {place!r} is {given}, which does not widen to the table's {field.type}; cast it."


def outside(count: int, predicate: Bound, example: Mapping[str, object] | None) -> str:
    """The sentence about rows that an overwrite would add but, when it is repeated, not replace."""
    rows = "1 row does" if count == 1 else f"{count:,} rows do"
    where = to_sql(predicate, longest_list=_SHOWN_VALUES)
    shown = "" if example is None else f", such as {_shown(example)}"
    return (
        f"{rows} not match {where}{shown}. The same overwrite "
        "once more would add them again: leave them out, or allow them (allow_outside=True)."
    )


def _shown(row: Mapping[str, object]) -> str:
    text = ", ".join(f"{name} = {'NULL' if value is None else repr(value)}" for name, value in row.items())
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}…"


def refusal(problems: Sequence[str]) -> SchemaError:
    """The one error that names all that is wrong."""
    listed = "".join(f"\n  - {problem}" for problem in problems)
    return SchemaError(f"the rows do not fit the table, and nothing was written:{listed}")
