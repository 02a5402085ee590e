"""Types by their names in Spark SQL."""

import re
from typing import Final

from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    DecimalType,
)

TYPES: Final[dict[str, AtomicType]] = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": INT8,
    "BYTE": INT8,
    "SMALLINT": INT16,
    "SHORT": INT16,
    "INT": INT32,
    "INTEGER": INT32,
    "BIGINT": INT64,
    "LONG": INT64,
    "FLOAT": FLOAT,
    "REAL": FLOAT,
    "DOUBLE": DOUBLE,
    "DECIMAL": DecimalType(10, 0),
    "DEC": DecimalType(10, 0),
    "NUMERIC": DecimalType(10, 0),
    "STRING": STRING,
    "BINARY": BINARY,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMP_LTZ": TIMESTAMP,
    "TIMESTAMP_NTZ": TIMESTAMP_NTZ,
}
# The types whose name is also a function that casts: date(ts) is CAST(ts AS DATE).
CAST_FUNCTIONS: Final = frozenset({
    "BIGINT", "BINARY", "BOOLEAN", "DATE", "DOUBLE", "FLOAT", "INT", "SMALLINT", "STRING", "TIMESTAMP", "TINYINT",
})  # fmt: skip
# Types that have numbers in parentheses behind them.
PARAMETRISED: Final = frozenset({"DEC", "DECIMAL", "NUMERIC"})

_DECIMAL = re.compile(r"(?:DECIMAL|DEC|NUMERIC)\s*\(\s*(\d{1,2})\s*(?:,\s*(\d{1,2})\s*)?\)", re.ASCII)


def named_type(text: str) -> AtomicType | None:
    """The type called `text`, or None if it is none that is known here."""
    word = text.upper()
    match = _DECIMAL.fullmatch(word)
    if match is None:
        return TYPES.get(word)
    precision, scale = int(match[1]), int(match[2] or 0)
    return DecimalType(precision, scale) if 1 <= precision <= 38 and scale <= precision else None
