"""Values: between the in-memory form that `types.py` describes and what people, JSON and Arrow hold.

Inside the library nothing needs checking; at each of these edges everything is checked, and a value that does
not fit its type exactly is a `SchemaError` that names both. Nothing is rounded but a float on its way into a
32-bit column, which has no other way to be written down.
"""

import base64
import binascii
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation
from typing import Any, Final

import numpy as np
import pyarrow as pa

from coalesce.arguments import shown
from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import arrow_type
from coalesce.model.calendar_text import DAY, check_zone, date_from_text, temporal_text, timestamp_from_text
from coalesce.model.columns import flags, numbers
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    FLOATING,
    INTEGRAL_BITS,
    STRING,
    TEMPORAL,
    TIMESTAMP,
    AtomicType,
    DecimalType,
    Value,
)

PythonValue = Value | date | datetime
JsonValue = bool | int | float | str | None

_EPOCH_DATE: Final = date(1970, 1, 1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_NTZ: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)

# Wide enough for 38 digits whatever the program's own decimal context is, and never rounding.
_EXACT: Final = Context(prec=80, traps=[Inexact, InvalidOperation])

_NUMBER_TEXT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)
_NON_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_ESCAPES: Final = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\0": "\\0"}


def integer_range(type_: AtomicType) -> tuple[int, int]:
    """The least and greatest integer of an integral or temporal type, or unscaled integer of a decimal one."""
    if isinstance(type_, DecimalType):
        limit = 10**type_.precision - 1
        return -limit, limit
    bits = 32 if type_ == DATE else 64 if type_ in TEMPORAL else INTEGRAL_BITS[type_]
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


def unscaled(type_: DecimalType, value: Decimal) -> int:
    """A decimal's digits as an integer: 14.20 as decimal(4,2) is 1420."""
    return int(value.scaleb(type_.scale, _EXACT))


def scaled(type_: DecimalType, digits: int) -> Decimal:
    """The decimal with these digits and exactly the type's scale: the inverse of `unscaled`."""
    return Decimal(digits).scaleb(-type_.scale, _EXACT)


# --- people -----------------------------------------------------------------------------------------------------

# What each component of a logical tuple is called, and its type.
Components = tuple[tuple[str, AtomicType], ...]


class FieldValues(dict[str, PythonValue]):
    """A logical tuple as Python programs hold it: each value under its field's name.

    The spec is known as well: fields of two specs may have one name, and a column may have it too.
    """

    __slots__ = ("spec_id",)

    def __init__(self, spec_id: int, values: Mapping[str, PythonValue]) -> None:
        super().__init__(values)
        self.spec_id = spec_id

    def __reduce__(self) -> tuple[object, ...]:
        """A dict would be made anew without its spec."""
        return FieldValues, (self.spec_id, dict(self))


def named_values(spec_id: int, components: Components, values: Sequence[Value]) -> FieldValues:
    """A logical tuple of a spec, each value under its field's name."""
    named = zip(components, values, strict=True)
    return FieldValues(spec_id, {name: to_python(type_, value) for (name, type_), value in named})


_DATE_UNITS: Final = ("Y", "M", "W", "D")


def to_python(type_: AtomicType, value: Value) -> PythonValue:
    """The value as Python programs hold it: dates and datetimes instead of days and microseconds.

    A timestamp becomes an aware datetime in UTC, a timestamp_ntz a naive one. A date or timestamp outside the
    years 1 to 9999, which Python cannot hold, stays the integer it is.
    """
    if value is None or type_ not in TEMPORAL:
        return value
    assert isinstance(value, int)
    try:
        if type_ == DATE:
            return _EPOCH_DATE + timedelta(days=value)
        return (_EPOCH if type_ == TIMESTAMP else _EPOCH_NTZ) + timedelta(microseconds=value)
    except OverflowError:
        return value


def from_python(type_: AtomicType, value: object) -> Value:
    """The in-memory form of what a program gave for a column of this type.

    Dates and timestamps may be `date`, `datetime`, ISO text, or the integer `to_python` left. A timestamp needs a
    zone or offset and a timestamp_ntz must have none: which instant a bare wall clock means is not ours to guess.
    """
    if value is None:
        return None
    value = plain(value)
    if isinstance(type_, DecimalType):
        return _decimal_from_python(type_, value)
    if type_ in TEMPORAL:
        return _temporal_from_python(type_, value)
    if type_ in INTEGRAL_BITS:
        return _integer(type_, value)
    if type_ in FLOATING:
        return _float_from_python(type_, value)
    if type_ == BOOLEAN and isinstance(value, bool):
        return value
    if type_ == STRING and isinstance(value, str):
        return _text(value)
    if type_ == BINARY and isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise _misfit(type_, value)


def plain(value: object) -> object:
    """A scalar of NumPy's or pandas' as the Python value it stands for; NaT stands for none, and nothing is rounded."""
    if isinstance(value, np.datetime64) and not np.isnat(value):
        exact = value.astype("M8[us]")
        if exact != value:
            raise SchemaError(f"{value} has a fraction below a microsecond, which is the finest there is.")
        return value.item() if np.datetime_data(value)[0] in _DATE_UNITS else exact.item()
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        return value.item()
    if isinstance(value, np.datetime64) or (isinstance(value, datetime) and value != value):
        raise SchemaError("NaT is not a value; None stands for NULL.")
    if isinstance(value, datetime) and getattr(value, "nanosecond", None):  # pandas' own datetimes have them
        raise SchemaError(f"{value} has a fraction below a microsecond, which is the finest there is.")
    return value


def display(type_: AtomicType, value: Value) -> str:
    """The value as people read it in a plan or a listing; text and binary are written as Spark literals."""
    if value is None:
        return "NULL"
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return "'" + "".join(_escaped(character) for character in value) + "'"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case Decimal():
            return _decimal_text(type_, value)
        case float():
            return str(_json_float(value))
        case int():
            return temporal_text(type_, value) if type_ in TEMPORAL else str(value)


# --- JSON -------------------------------------------------------------------------------------------------------


def to_json(type_: AtomicType, value: Value) -> JsonValue:
    """The value as the version file holds it; `from_json` of the same type reads it back, bit for bit."""
    match value:
        case Decimal():
            return _decimal_text(type_, value)
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case float():
            return _json_float(value)
        case _:
            return value


def from_json(type_: AtomicType, json: object) -> Value:
    """The value a version file holds, or an error if it is not exactly what `to_json` writes for the type."""
    if json is None:
        return None
    if type_ == BOOLEAN and isinstance(json, bool):
        return json
    if type_ in INTEGRAL_BITS or type_ in TEMPORAL:
        return _integer(type_, json)
    if type_ in FLOATING:
        return _float_from_json(type_, json)
    if isinstance(json, str):
        if type_ == STRING:
            return _text(json)
        if type_ == BINARY:
            return _bytes_from_json(json)
        if isinstance(type_, DecimalType):
            value = _decimal_from_python(type_, json)
            if _decimal_text(type_, value) == json:
                return value
    raise _misfit(type_, json)


# --- order ------------------------------------------------------------------------------------------------------


def order_key(type_: AtomicType, value: Value) -> Any:
    """A key that compares with those of the same type as Spark orders the values. `value` is not NULL.

    NaN is one value and above all others, -0.0 is 0.0. Text compares by code point, which is Spark's order too:
    that of the UTF-8 bytes.
    """
    if type_ in FLOATING:
        assert isinstance(value, float)
        return (True, 0.0) if math.isnan(value) else (False, value)
    return value


# --- Arrow ------------------------------------------------------------------------------------------------------


def column_of(type_: AtomicType, values: Sequence[Value]) -> pa.Array:
    """An Arrow array of in-memory values, in the Arrow type of `type_`."""
    target = arrow_type(type_)
    storage = _storage(type_, target)
    try:
        array = pa.array(values, storage, from_pandas=False)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        raise SchemaError(f"the values do not fit {type_}: {error}.") from error
    return array if storage is target else array.view(target)


def values_of(type_: AtomicType, array: pa.Array | pa.ChunkedArray) -> list[Value]:
    """The in-memory values of an Arrow array: the inverse of `column_of`."""
    if isinstance(array, pa.ChunkedArray):
        return [value for chunk in array.chunks for value in values_of(type_, chunk)]
    target = arrow_type(type_)
    if array.type != target:
        array = array.cast(target)
    storage = _storage(type_, target)
    if storage is not target:
        array = array.view(storage)
    values: list[Value]
    if array.null_count or not pa.types.is_primitive(storage):
        values = _decoded(array)
    else:  # several times as fast
        values = (flags(array) if storage == pa.bool_() else numbers(array)).tolist()
    return values


def _decoded(array: pa.Array) -> list[Value]:
    try:
        values: list[Value] = array.to_pylist()
    except UnicodeDecodeError as error:
        raise not_text(error.object) from None
    return values


def decoded(raw: bytes) -> str:
    """The text that UTF-8 bytes are."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise not_text(raw) from None


def not_text(example: bytes | None = None) -> SchemaError:
    """What is wrong with a string that is not UTF-8: Arrow and Spark let it be made of bytes, and do not look."""
    shown = "" if example is None else f" {example!r:.60}"
    return SchemaError(
        f"the string{shown} is not UTF-8, so it cannot be a partition value, nor be compared or shown; decode it, or "
        "keep it in a binary column."
    )


def _storage(type_: AtomicType, target: pa.DataType) -> pa.DataType:
    """The Arrow type whose Python values are the in-memory form: integers where `target` would give datetimes."""
    if type_ in TEMPORAL:
        return pa.int32() if type_ == DATE else pa.int64()
    return target


# --- one type at a time -----------------------------------------------------------------------------------------


def _integer(type_: AtomicType, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _misfit(type_, value)
    least, greatest = integer_range(type_)
    if not least <= value <= greatest:
        raise SchemaError(f"{value} does not fit {type_}, which holds {least} to {greatest}.")
    return value


def _float_from_python(type_: AtomicType, value: object) -> float:
    if isinstance(value, float):
        return value if type_ == DOUBLE else _rounded_to_32_bits(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _misfit(type_, value)
    try:
        number = float(value) if type_ == DOUBLE else _rounded_to_32_bits(float(value))
    except OverflowError:
        raise SchemaError(f"{value} does not fit {type_}.") from None
    if number != value:
        raise SchemaError(f"{value} is not exactly a {type_}; give the float nearest to it, if that will do.")
    return number


def _rounded_to_32_bits(value: float) -> float:
    with np.errstate(over="ignore"):
        number = float(np.float32(value))
    if math.isinf(number) and math.isfinite(value):
        raise SchemaError(f"{value} does not fit {FLOAT}.")
    return number


def _float_from_json(type_: AtomicType, json: object) -> float:
    if isinstance(json, str) and json in _NON_FINITE:
        return _NON_FINITE[json]
    if isinstance(json, str) or (isinstance(json, float) and not math.isfinite(json)):
        raise _misfit(type_, json)
    value = _float_from_python(type_, json)
    if value != json:
        raise SchemaError(f"{json!r} is not exactly a {type_}.")
    return value


def _json_float(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _decimal_from_python(type_: DecimalType, value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, Decimal | int | str):
        raise _misfit(type_, value)
    if isinstance(value, str) and _NUMBER_TEXT.fullmatch(value) is None:
        raise _misfit(type_, value)
    try:
        number = Decimal(value).quantize(scaled(type_, 1), context=_EXACT)
    except DecimalException:
        raise SchemaError(f"{value!s:.60} does not fit {type_} exactly.") from None
    if not number.is_finite() or abs(unscaled(type_, number)) > integer_range(type_)[1]:
        raise SchemaError(f"{value!s:.60} does not fit {type_} exactly.")
    return abs(number) if number == 0 else number  # decimals have no -0


def _decimal_text(type_: AtomicType, value: Decimal) -> str:
    assert isinstance(type_, DecimalType)
    return f"{scaled(type_, unscaled(type_, value)):f}"


def _bytes_from_json(json: str) -> bytes:
    try:
        value = base64.b64decode(json, validate=True)
    except (binascii.Error, ValueError):
        raise _misfit(BINARY, json) from None
    if base64.b64encode(value).decode("ascii") != json:
        raise _misfit(BINARY, json)
    return value


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{value!r:.60} has half of a surrogate pair and cannot be written as UTF-8.") from None
    return str(value)


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    # The other control characters, and the separators that would break a listing's line.
    if ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 or character in "\u2028\u2029":
        return f"\\u{ord(character):04x}"
    return character


def _temporal_from_python(type_: AtomicType, value: object) -> int:
    match value:
        case str():
            return _integer(type_, date_from_text(value) if type_ == DATE else timestamp_from_text(type_, value))
        case datetime() if type_ == DATE:
            if value.tzinfo is not None or value.time() != datetime.min.time():
                raise SchemaError(f"{value.isoformat()} is a time, not a date; give the date you mean.")
            return (value.date() - _EPOCH_DATE).days
        case datetime():
            check_zone(type_, value.isoformat(), value.utcoffset() is not None)
            return (value - (_EPOCH if type_ == TIMESTAMP else _EPOCH_NTZ)) // _MICROSECOND
        case date() if type_ == DATE:
            return (value - _EPOCH_DATE).days
        case date():
            check_zone(type_, value.isoformat(), False)
            return (value - _EPOCH_DATE).days * DAY
        case _:
            return _integer(type_, value)


def _misfit(type_: AtomicType, value: object) -> SchemaError:
    return SchemaError(f"{shown(value)} ({type(value).__name__}) is not a value of type {type_}.")
