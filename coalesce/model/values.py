"""Values: between the in-memory form that `types.py` describes and what people, JSON and Arrow hold.

Inside the library nothing needs checking; at each of these edges everything is checked, and a value that does
not fit its type exactly is a `SchemaError` that names both. Nothing is rounded but a float on its way into a
32-bit column, which has no other way to be written down.
"""

import base64
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from coalesce.errors import SchemaError
from coalesce.model.arrow_schema import arrow_type
from coalesce.model.calendar_text import temporal_text
from coalesce.model.columns import flags, numbers
from coalesce.model.conversions import (
    EPOCH,
    EPOCH_DATE,
    EPOCH_NTZ,
    bytes_from_json,
    checked_integer,
    checked_text,
    decimal_from_python,
    decimal_text,
    escaped,
    float_from_json,
    float_from_python,
    json_float,
    misfit,
    temporal_from_python,
)
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
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
            return EPOCH_DATE + timedelta(days=value)
        return (EPOCH if type_ == TIMESTAMP else EPOCH_NTZ) + timedelta(microseconds=value)
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
        return decimal_from_python(type_, value)
    if type_ in TEMPORAL:
        return temporal_from_python(type_, value)
    if type_ in INTEGRAL_BITS:
        return checked_integer(type_, value)
    if type_ in FLOATING:
        return float_from_python(type_, value)
    if type_ == BOOLEAN and isinstance(value, bool):
        return value
    if type_ == STRING and isinstance(value, str):
        return checked_text(value)
    if type_ == BINARY and isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise misfit(type_, value)


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
            return "'" + "".join(escaped(character) for character in value) + "'"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case Decimal():
            return decimal_text(type_, value)
        case float():
            return str(json_float(value))
        case int():
            return temporal_text(type_, value) if type_ in TEMPORAL else str(value)


# --- JSON -------------------------------------------------------------------------------------------------------


def to_json(type_: AtomicType, value: Value) -> JsonValue:
    """The value as the version file holds it; `from_json` of the same type reads it back, bit for bit."""
    match value:
        case Decimal():
            return decimal_text(type_, value)
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case float():
            return json_float(value)
        case _:
            return value


def from_json(type_: AtomicType, json: object) -> Value:
    """The value a version file holds, or an error if it is not exactly what `to_json` writes for the type."""
    if json is None:
        return None
    if type_ == BOOLEAN and isinstance(json, bool):
        return json
    if type_ in INTEGRAL_BITS or type_ in TEMPORAL:
        return checked_integer(type_, json)
    if type_ in FLOATING:
        return float_from_json(type_, json)
    if isinstance(json, str):
        if type_ == STRING:
            return checked_text(json)
        if type_ == BINARY:
            return bytes_from_json(json)
        if isinstance(type_, DecimalType):
            value = decimal_from_python(type_, json)
            if decimal_text(type_, value) == json:
                return value
    raise misfit(type_, json)


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
