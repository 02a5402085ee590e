"""The types a column can have, their names in text, and the values they hold in memory.

Values inside the library are plain Python: `bool`, `int`, `float`, `Decimal`, `str`, `bytes`, and `None` for
SQL NULL. A date is an `int` of days and a timestamp an `int` of microseconds since 1970-01-01 UTC: Spark's own
range is wider than Python's `datetime`, and an integer can be compared, hashed and written to JSON as it is.
`to_python` and `from_python` in `values.py` translate at the edge where people look.
"""

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from coalesce.errors import SchemaError

Value = bool | int | float | Decimal | str | bytes | None


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    """A type without parameters; the instances below are all there are."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class DecimalType:
    """An exact number of at most `precision` digits, `scale` of them after the point."""

    precision: int
    scale: int

    def __post_init__(self) -> None:
        if not (1 <= self.precision <= 38 and 0 <= self.scale <= self.precision):
            raise SchemaError(
                f"decimal({self.precision},{self.scale}) is not a type: "
                "the precision is 1 to 38 and the scale 0 to the precision."
            )

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A named, numbered place for values: a column, a struct's member, or a list's element.

    `id` never changes and is never reused; `name` is what users see now; `physical_name` is what the data
    files call it (see `schema.py` on when the two differ). `default` is what rows hold whose file was written
    before the field existed, already in the type's in-memory form. `comment` is what people say of it: fields that
    differ in nothing else are equal, and so are types made of them.
    """

    id: int
    name: str
    type: "Type"
    required: bool = False
    physical_name: str = ""
    default: Value = None
    comment: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not self.physical_name:
            object.__setattr__(self, "physical_name", self.name)


@dataclass(frozen=True, slots=True)
class StructType:
    """Named members, in order."""

    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return "struct<" + ", ".join(f"{f.name}: {f.type}" for f in self.fields) + ">"


@dataclass(frozen=True, slots=True)
class ListType:
    """A list; `element` is a field because the element has an id of its own."""

    element: Field

    def __str__(self) -> str:
        return f"list<{self.element.type}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """A map; `key` and `value` are fields because both have ids of their own."""

    key: Field
    value: Field

    def __str__(self) -> str:
        return f"map<{self.key.type}, {self.value.type}>"


AtomicType = PrimitiveType | DecimalType
NestedType = StructType | ListType | MapType
Type = AtomicType | NestedType

BOOLEAN: Final = PrimitiveType("boolean")
INT8: Final = PrimitiveType("int8")
INT16: Final = PrimitiveType("int16")
INT32: Final = PrimitiveType("int32")
INT64: Final = PrimitiveType("int64")
FLOAT: Final = PrimitiveType("float")
DOUBLE: Final = PrimitiveType("double")
STRING: Final = PrimitiveType("string")
BINARY: Final = PrimitiveType("binary")
DATE: Final = PrimitiveType("date")
TIMESTAMP: Final = PrimitiveType("timestamp")
TIMESTAMP_NTZ: Final = PrimitiveType("timestamp_ntz")

PRIMITIVES: Final[dict[str, PrimitiveType]] = {
    t.name: t
    for t in (
        BOOLEAN, INT8, INT16, INT32, INT64, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ,
    )
}  # fmt: skip

INTEGRAL_BITS: Final[dict[Type, int]] = {INT8: 8, INT16: 16, INT32: 32, INT64: 64}
FLOATING: Final[frozenset[Type]] = frozenset({FLOAT, DOUBLE})
TEMPORAL: Final[frozenset[Type]] = frozenset({DATE, TIMESTAMP, TIMESTAMP_NTZ})

_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")


def atomic_type(text: str) -> AtomicType:
    """The atomic type called `text`, such as `int64` or `decimal(10,2)`."""
    if text in PRIMITIVES:
        return PRIMITIVES[text]
    if match := _DECIMAL.fullmatch(text):
        return DecimalType(int(match[1]), int(match[2]))
    raise SchemaError(f"there is no type {text!r}; the atomic types are {', '.join(PRIMITIVES)} and decimal(p,s).")


def is_atomic(type_: Type) -> bool:
    """Whether values of the type are single values: only such columns have statistics or partition a table."""
    return isinstance(type_, PrimitiveType | DecimalType)
