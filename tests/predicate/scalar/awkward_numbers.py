"""A table of numbers that are hard to compute with, of every type, and texts that are nearly numbers."""

import math
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.conversions import scaled
from coalesce.model.schema import Schema
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    AtomicType,
    DecimalType,
    Field,
    Value,
)
from coalesce.model.values import column_of

_INT64 = (
    0, 1, -1, 2, 5, -5, 10, 128, -129, 32768, 2**31, -(2**31) - 1, 3_037_000_500, -3_037_000_500, 2**53 + 1, 2**62,
    -(2**62), 10**18, 2**63 - 1, -(2**63), -(2**63) + 1,
)  # fmt: skip
_FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 0.1, 127.5, 128.0, -129.0, 1e7, 9999999.0, 123456.79, 0.001,
    0.0009765625, 2147483648.0, 9.223372036854775807e18, 1e-10, 1e15, 1e20, 3.4028234663852886e38,
    1.401298464324817e-45, math.nan, math.inf, -math.inf,
)  # fmt: skip
_DOUBLES = (
    *_FLOATS, 0.30000000000000004, 2.675, 1.005, -0.285, 2147483647.9, -2147483648.9, 9.2233720368547748e18, 1e22, 1e23,
    2e23, 12345678.9, 1e38, 1e39, 1e308, 1.7976931348623157e308, 5e-324, 0.49999999999999994, 4503599627370497.5,
    99999.995,
)  # fmt: skip
_TEXTS = (
    "", " ", "5", "-5", "+5", " 5 ", "\t5\n", "5\x00", "\x7f5", "05", "5.", ".5", ".", "1.5", "-1.50", "2.5", "1e3",
    "1E-3", "1e", "e1", "1e400", "-1e400", "1e-400", "NaN", "nan", "-NaN", "+NaN", "NAN", "Infinity", "-infinity",
    "inf", " +INF ", "Inf", "1d", "1.5f", "1L", "0x10", "0x1p3", "-0X1p3", "max", "1.5x", "1_000", "1,000", "--5",
    "+-5", "127", "128", "-128", "-129", "32768", "2147483647", "2147483648", "-2147483648", "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "9" * 38, "9" * 39, "0." + "9" * 39, "1" + "0" * 60,
    "0" * 60 + "7", "0E50", "1E37", "1E38", "1E39", "123456789012345678901234567890.123456789", "0.1", "16777217",
    "3.4028236E38", "3.4028235677973366e38", "1.4e-45", "7e-46", "true", "TRUE", " t ", "f", "No", "yes", "y", "n",
    "1", "0", "tru", "٥", "5\u00a0", "\u20035", "é", "1e+5", "1e5.5", "9999999.995", "0.005", "-0", "-0.0",
    "0.000000001", "1." + "0" * 33 + "5",
)  # fmt: skip


def _decimals(type_: DecimalType) -> tuple[Decimal, ...]:
    limit = 10**type_.precision - 1
    one = 10**type_.scale
    digits = [0, 1, -1, 5, -5, one, -one, 3 * one, -7 * one, one // 2, 3 * one // 2, 5 * one // 2, 5 * one - 1]
    digits += [limit, -limit, limit // 2, limit // 3, -(limit // 7)]
    digits += [127 * one, 128 * one, 2**31 * one, 2**63 * one, (2**63 - 1) * one + one // 2]
    return tuple(dict.fromkeys(scaled(type_, d) for d in digits if abs(d) <= limit))


DECIMALS = (
    DecimalType(1, 0), DecimalType(3, 3), DecimalType(9, 2), DecimalType(18, 0), DecimalType(18, 9), DecimalType(19, 4),
    DecimalType(20, 18), DecimalType(38, 0), DecimalType(38, 10), DecimalType(38, 37), DecimalType(38, 38),
)  # fmt: skip

NUMBERS: dict[str, tuple[AtomicType, Sequence[Value]]] = {
    "bo": (BOOLEAN, (True, False)),
    "i8": (INT8, (0, 1, -1, 2, 5, -5, 10, 64, 127, -127, -128)),
    "i16": (INT16, (0, 1, -1, 3, 5, 128, -129, 182, 32767, -32768)),
    "i32": (INT32, (0, 1, -1, 5, -5, 7, 128, 32768, 46341, 16777217, 2147483647, -2147483648)),
    "i64": (INT64, _INT64),
    "fl": (FLOAT, tuple(float(pa.scalar(f, pa.float32()).as_py()) for f in _FLOATS)),
    "db": (DOUBLE, _DOUBLES),
    **{f"m{d.precision}_{d.scale}": (d, _decimals(d)) for d in DECIMALS},
}
OTHERS: dict[str, tuple[AtomicType, Sequence[Value]]] = {
    "st": (STRING, _TEXTS),
    "by": (BINARY, (b"", b"5", b"a", "é".encode(), b"\xff", b"\x80\x00", b"a\xc3")),
}
COLUMNS = {**NUMBERS, **OTHERS}


def table() -> tuple[Schema, pa.Table]:
    """Every value of every column, NULL among them; the other columns cycle beside it, so that values meet."""
    rows = 211  # a prime
    fields = tuple(Field(id=i, name=name, type=type_) for i, (name, (type_, _)) in enumerate(COLUMNS.items(), 1))
    arrays = []
    for place, (type_, values) in enumerate(COLUMNS.values()):
        cycle = [*values, None]
        step = 1 + place
        while math.gcd(step, len(cycle)) != 1:
            step += 1
        arrays.append(column_of(type_, [cycle[row * step % len(cycle)] for row in range(rows)]))
    names = pa.schema([(name, arrow_type(type_)) for name, (type_, _) in COLUMNS.items()])
    return Schema(fields), pa.table(arrays, schema=names)
