"""Rows of awkward texts, dates and times, for values that Spark and we compute from them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import TYPE_CHECKING

import pyarrow as pa

from coalesce.model.arrow_schema import arrow_type
from coalesce.model.calendar_text import DAY
from coalesce.model.schema import Schema
from coalesce.model.types import (
    BINARY,
    BOOLEAN,
    DATE,
    INT8,
    INT32,
    INT64,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    AtomicType,
    Field,
    Value,
)
from coalesce.model.values import column_of
from tests.predicate.scalar.against_spark import Rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TEXTS = (
    "", " ", "a", "A", "ab", "aB", "abc", "ABC", "aXbXc", "  pad  ", "\tx\t", "b", "S_N", "S%N", "SoN", "a%b",
    "a_b", "a\\b", "a'b", "é", "e\u0301", "É", "ß", "STRASSE", "straße", "İ", "ı", "I", "i", "ŒUVRE", "Σ", "ΟΔΟΣ",
    "ΣΑΣ", "ΑΣ.", "ὀδυσσεύς", "Привет", "ǅ", "ŉ", "ﬁ", "🙂", "a🙂b", "👩‍👩‍👧", "漢字", "한국어", "\0", "a\0b",
    "\n", "a\nb", "a\n", "a\r\n", "x\u2028y", "\u00a0x\u00a0", "[#small]", "true", "5", " 5 ", "-12", "1.5",
    "abcabcabc", "aaaaaaa", "aa", "ba", "x" * 40, "\uffff", "ᲀ", "Ⴀ", "ა", "Ω", "K", "foo.bar", "user@x.org",
)  # fmt: skip
SEARCHED = ("", "a", "b", "ab", " ", "B", "é", "\u0301", "🙂", "X", "aa", "abcd", "\n", "%", "ß", "c")
POSITIONS = (0, 1, 2, 3, -1, -2, -5, 7, 40, -40, 2**31 - 1, -(2**31))


def _instants(*clocks: str) -> tuple[int, ...]:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    found = (datetime.fromisoformat(clock).replace(tzinfo=UTC) - epoch for clock in clocks)
    return tuple((f.days * 86_400 + f.seconds) * 1_000_000 + f.microseconds for f in found)


# Days on which something can go wrong: ends of months and years, leap days, 1582, summer time in many places.
DAYS = tuple(
    instant // DAY
    for instant in _instants(
        "1970-01-01", "1969-12-31", "1970-01-02", "2026-05-17", "2000-02-29", "2024-02-29", "1900-02-28",
        "2023-01-31", "2023-12-31", "2024-12-30", "2021-01-03", "2020-12-31", "2016-01-01", "0001-01-01",
        "9999-12-31", "1582-10-04", "1582-10-15", "0004-02-29", "2018-11-04", "2018-11-03", "2018-02-17",
        "2018-02-18", "2026-03-08", "2026-11-01", "2037-12-31", "2038-01-01", "1972-03-31",
    )
)  # fmt: skip
INSTANTS = (
    *_instants(
        "1970-01-01T00:00:00", "1969-12-31T23:59:59.999999", "2026-05-17T08:30:00.125", "2026-05-17T00:00:00",
        "2000-02-29T12:00:00", "2026-03-08T06:59:59.999999", "2026-03-08T07:00:00", "2026-03-08T07:30:00",
        "2026-11-01T05:30:00", "2026-11-01T06:30:00", "2026-11-01T05:59:59", "2026-11-01T06:00:00",
        "2018-11-04T02:59:59", "2018-11-04T03:00:00", "2018-11-04T03:30:00", "2018-02-18T01:30:00",
        "2018-02-18T02:30:00", "2018-02-18T02:00:00", "1972-01-01T00:00:00", "1985-12-31T18:30:00",
        "2026-03-08T02:30:00", "2018-11-04T00:00:00", "2026-11-01T01:30:00", "2026-11-01T00:00:00",
        "2026-10-31T04:00:00", "2037-12-31T23:59:59", "2038-01-01T00:00:00", "2100-07-01T12:00:00",
        "1900-01-01T00:00:00", "1582-10-10T01:02:03.456", "0001-01-01T00:00:00", "9999-12-31T23:59:59.999999",
        "1965-07-04T11:22:33", "2026-01-31T23:59:59.9", "2024-12-30T05:29:59", "2026-02-28T18:30:00",
        "2026-04-01T03:59:59.000001", "2026-07-01T00:00:00.000010", "1970-01-01T05:00:00",
    ),
)  # fmt: skip
DATE_TEXTS = (
    "2026-05-17", "2026-5-1", "2026", "2026-05", " 2026-05-17 ", "2026-05-17 08:30:00", "2026-05-17T08:30:00.125",
    "2026-02-30", "x", "", "2026-05-17 12", "2026-05-17 1:2:3", "2026-05-17 08:30:00Z", "2026-05-17 08:30:00+02:00",
    "2026-05-17 08:30:00 -05:30", "2026-05-17 08:30:00.1234567", "2026-05-17T", "2026-05-17T08", "12:30", "T12:30",
    "+2026-05-17", "-0044-03-15", "0000-01-01", "10000-01-01", "+10000-01-01", "9999999-01-01", "2026-13-01",
    "26-05-17", "2026-05-17 24:00:00", "2026-05-17 23:59:60", "0001-01-01", "2026-03-08 02:30:00",
    "2026-11-01 01:30:00", "2018-11-04", "2018-11-04 00:00:00", "2018-02-17 23:30:00", "1969-12-31 23:59:59.999999",
    "2026-05-17 08:30:00.", "2026-05-17 08:30:00.5Z", "2026-05-17 08:30:00 UTC",
    "2026-05-17 08:30:00 Europe/Berlin", "2026-05-17 abc", "2026-05-17 08:30:00+2:00", "2026-05-17 08:30:00+02",
    "2026-05-17 08:30:00+19:00", "2026-05-17 08:30:00 +0200", "\t2026-05-17\n", "2026-05-17 08:30Z",
    "2026-5-17T8:3:0", "1582-10-10", "20260517", "2026-05-17\u00a0", "2026-0-1", "2026-05-177", "epoch", "now",
    "2026-05-17 08:30:00GMT+1", "2026-05-17 08:30:00 GMT+01:00", "2026-05-17  08:30:00", "2026-05-17 08:30:00 z",
    "2026-05-17 08: 30:00", "294247-01-10 04:00:54.775807", "294247-01-10 04:00:54.775808", "999999-01-01",
    "-290308-12-21 19:59:05.224192", "2026--5-1", "2026-",
)  # fmt: skip
COUNTS = (0, 1, -1, 5, 30, 31, 365, -366, 12, 40_000, 2**31 - 1, -(2**31))
BIG_COUNTS = (
    0,
    1,
    -1,
    1_779_000_000,
    1_779_000_000_123,
    2**40,
    -(2**40),
    9_223_372_036_854,
    -9_223_372_036_855,
    2**63 - 1,
    -(2**63),
)

TEXT_COLUMNS: dict[str, tuple[AtomicType, Sequence[Value]]] = {
    "st": (STRING, TEXTS),
    "sb": (STRING, SEARCHED),
    "sc": (STRING, ("", "x", "yz", "🙂", None, "a", "é")),
    "po": (INT32, POSITIONS),
    "ln": (INT32, (0, 1, 2, 3, 7, 30, -1, -7)),
    "nz": (INT32, (1, 2, -1, 3, -3, 40)),
    "i8": (INT8, (0, 1, 2, -3, 127)),
    "i64": (INT64, (1, 2, -1, 0, 5)),
    "by": (BINARY, (b"", b"a", b"ab\xff", b"\0")),
    "bo": (BOOLEAN, (True, False)),
    "da": (DATE, DAYS),
    "dt": (STRING, DATE_TEXTS),
}
DATE_COLUMNS: dict[str, tuple[AtomicType, Sequence[Value]]] = {
    "da": (DATE, DAYS),
    "db": (DATE, (*DAYS[7:], *DAYS[:5])),
    "dx": (DATE, (2**31 - 1, -(2**31), 106_751_991, 106_751_992, -106_751_992, -719_163, 2_932_897, 0)),
    "ts": (TIMESTAMP, INSTANTS),
    "tx": (TIMESTAMP, (2**63 - 1, -(2**63), 2**62, 0, -719_163 * DAY, 2_932_897 * DAY, 10**15 + 1)),
    "tn": (TIMESTAMP_NTZ, (*INSTANTS[3:], *INSTANTS[:3])),
    "tm": (TIMESTAMP_NTZ, (2**63 - 1, -(2**63), 0, -719_163 * DAY)),
    "dt": (STRING, DATE_TEXTS),
    "nu": (INT32, COUNTS),
    "i8": (INT8, (0, 1, 2, -3, 127, -128)),
    "i64": (INT64, BIG_COUNTS),
    "yr": (INT32, (2026, 2024, 1, 0, -44, 9999, 10_000, 1900, 2**31 - 1)),
    "mo": (INT32, (1, 2, 12, 13, 0, 4)),
    "dd": (INT32, (1, 28, 29, 30, 31, 32, 0)),
}


def rows(spark: "SparkSession", columns: dict[str, tuple[AtomicType, Sequence[Value]]]) -> Rows:
    """Each column's values over and over, NULL among them; the length is a prime, so that many combinations meet."""
    fields = tuple(Field(id=i, name=name, type=type_) for i, (name, (type_, _)) in enumerate(columns.items(), 1))
    arrays = [column_of(type_, list(islice(cycle([*values, None]), 211))) for type_, values in columns.values()]
    names = pa.schema([(name, arrow_type(type_)) for name, (type_, _) in columns.items()])
    return Rows.of(spark, Schema(fields), pa.table(arrays, schema=names))
