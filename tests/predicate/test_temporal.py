"""Dates and times as text, and wall clocks in time zones, with java.time's answers."""

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalesce.predicate import temporal
from tests.support.java import answer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("zone", "text", "utc"),
    [
        ("UTC", "2026-05-17 12:00:00", "2026-05-17 12:00:00"),
        ("+05:30", "2026-05-17 12:00:00", "2026-05-17 06:30:00"),
        ("GMT-03:00", "1850-05-17 12:00:00", "1850-05-17 15:00:00"),
        ("Europe/Berlin", "2026-05-17 12:00:00", "2026-05-17 10:00:00"),
        ("Europe/Berlin", "2026-01-17 12:00:00", "2026-01-17 11:00:00"),
        ("Europe/Berlin", "2026-03-29 02:30:00", "2026-03-29 01:30:00"),  # skipped: as far after the gap
        ("Europe/Berlin", "2026-10-25 02:30:00", "2026-10-25 00:30:00"),  # twice: the earlier
        ("Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25 02:30:00"),
        ("Europe/Berlin", "1969-05-17 12:00:00", None),
        ("Europe/Berlin", "2038-05-17 12:00:00", None),
        ("Mars/Olympus", "2026-05-17 12:00:00", None),
        ("PST", "2026-05-17 12:00:00", None),
        ("../etc/passwd", "2026-05-17 12:00:00", None),
        ("UTC", "2026-02-30 12:00:00", None),
        ("UTC", "2026-05-17 24:00:00", None),
        ("UTC", "0000-01-01 00:00:00", None),
    ],
)
def test_instants(zone: str, text: str, utc: str | None) -> None:
    """Text means the instant that java.time gives it; None where that is not certain."""
    assert temporal.timestamp_from_text(text, zone) == (None if utc is None else temporal.wall_clock_from_text(utc))


@given(st.datetimes(), st.sampled_from([" ", "T"]), st.integers(-18 * 60, 18 * 60))
def test_canonical_text(moment: datetime, separator: str, minutes: int) -> None:
    """What Python writes of any time in the years 1 to 9999 is read as that time, with an offset or without."""
    micros = (moment - _EPOCH) // _MICROSECOND
    assert temporal.wall_clock_from_text(moment.isoformat(separator)) == micros
    assert temporal.date_from_text(moment.date().isoformat()) == micros // temporal.MICROS_PER_DAY
    offset = timezone(timedelta(minutes=minutes))
    zoned = moment.replace(tzinfo=offset).isoformat(separator)
    assert temporal.timestamp_from_text(zoned, "Europe/Berlin") == micros - minutes * 60 * temporal.MICROS
    assert temporal.wall_clock_from_text(zoned) is None
    sign, hours = "-" if minutes < 0 else "+", f"{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    assert temporal.fixed_offset(sign + hours) == minutes * 60 * temporal.MICROS


@given(st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2037, 12, 30)))
def test_a_clock_shows_its_instant(moment: datetime) -> None:
    """The instant that a wall clock stands for is one at which the clock shows that, unless it skips it."""
    from zoneinfo import ZoneInfo

    for name in ("Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Casablanca"):
        wall_clock = (moment - _EPOCH) // _MICROSECOND
        found = temporal.instant(wall_clock, name)
        assert found is not None
        shown = (_EPOCH + timedelta(microseconds=found)).replace(tzinfo=UTC).astimezone(ZoneInfo(name))
        if shown.replace(tzinfo=None) != moment:  # skipped: the clock is put forward by what is missing
            assert timedelta(0) < shown.replace(tzinfo=None) - moment <= timedelta(hours=2)


# Every zone there is, at clocks around some of its changes from 1970 to 2037: zone, clock, instant, start of the day.
_CHANGES = """
java.time.ZoneOffset utc = java.time.ZoneOffset.UTC;
java.util.Random random = new java.util.Random(20260517L);
long[] around = {-1800000000L, -1L, 0L, 1L, 900000000L, 1800000000L, 3599999999L, 3600000000L, 7200000000L};
StringBuilder out = new StringBuilder();
java.util.Iterator names = new java.util.TreeSet(java.time.ZoneId.getAvailableZoneIds()).iterator();
while (names.hasNext()) {
  String name = (String) names.next();
  java.time.ZoneId zone = java.time.ZoneId.of(name);
  java.time.Instant last = java.time.Instant.parse("2037-12-30T00:00:00Z");
  java.time.zone.ZoneOffsetTransition change =
    zone.getRules().nextTransition(java.time.Instant.parse("1970-01-03T00:00:00Z"));
  boolean first = true;
  while (change == null ? first : change.getInstant().isBefore(last)) {
    if (first || random.nextInt(8) == 0) {
      java.time.LocalDateTime at =
        change == null ? java.time.LocalDateTime.parse("2026-05-17T00:00:00") : change.getDateTimeBefore();
      for (int i = 0; i < around.length; i++) {
        java.time.LocalDateTime clock = at.plusNanos(around[i] * 1000L);
        long micros = clock.toEpochSecond(utc) * 1000000L + clock.getNano() / 1000;
        java.time.Instant instant = clock.atZone(zone).toInstant();
        java.time.Instant midnight = clock.toLocalDate().atStartOfDay(zone).toInstant();
        out.append(name).append(' ').append(micros)
           .append(' ').append(java.time.temporal.ChronoUnit.MICROS.between(java.time.Instant.EPOCH, instant))
           .append(' ').append(java.time.temporal.ChronoUnit.MICROS.between(java.time.Instant.EPOCH, midnight))
           .append('\\n');
      }
    }
    first = false;
    if (change != null) change = zone.getRules().nextTransition(change.getInstant());
  }
}
return out.toString();
"""


def test_java_time_agrees_on_every_zone(spark: "SparkSession") -> None:
    """Around changes of every zone that Java knows, a clock means the same instant here, or nothing is said."""
    wrong: list[str] = []
    answered = 0
    for line in answer(spark, _CHANGES).splitlines():
        zone, clock, instant, midnight = line.split(" ")
        ours = temporal.instant(int(clock), zone)
        day = temporal.start_of_day(int(clock) // temporal.MICROS_PER_DAY, zone)
        answered += ours is not None
        if ours not in (None, int(instant)) or day not in (None, int(midnight)):
            wrong.append(f"{line}: {ours}, {day}")
    assert wrong == []
    assert answered > 20_000
