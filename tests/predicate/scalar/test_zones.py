"""Clocks in a region over columns show what java.time and Python's own zones show for one time."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from coalesce.model.calendar_text import DAY
from coalesce.predicate import temporal
from coalesce.predicate.scalar.zones import zone_of

REGIONS = (
    "America/New_York",
    "Asia/Kolkata",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Africa/Monrovia",
    "Pacific/Apia",
)
HALF_HOURS = np.arange(0, 24_837 * 48, 7) * (DAY // 48) + 123_456


@pytest.mark.parametrize("region", REGIONS)
def test_clocks_show_what_they_show_one_by_one(region: str) -> None:
    """At instants all over the years 1970 to 2037, and so do the instants at which clocks show a time."""
    zone = zone_of(region)
    assert zone is not None
    shown, unsure = zone.wall(HALF_HOURS)
    times = [datetime.fromtimestamp(int(t) // 10**6, UTC).astimezone(ZoneInfo(region)) for t in HALF_HOURS[::50]]
    offsets = [int(time.utcoffset().total_seconds()) for time in times]  # type: ignore[union-attr]  # zones have one
    assert ((shown - HALF_HOURS)[::50] // 10**6).tolist() == offsets
    assert not unsure[200:-200].any()
    instants, _ = zone.instant(HALF_HOURS)
    assert instants[::50].tolist() == [temporal.instant(int(wall), region) for wall in HALF_HOURS[::50]]


def test_a_day_begins_when_clocks_leap_over_midnight() -> None:
    """In Brazil, summer time began at midnight: that day began at one o'clock."""
    zone = zone_of("America/Sao_Paulo")
    assert zone is not None
    day = np.array([17_839], np.int64)  # 2018-11-04
    (start,), (unsure,) = zone.start_of_day(day)
    (shown,), _ = zone.wall(np.array([start]))
    assert not unsure
    assert shown == 17_839 * DAY + DAY // 24
    assert zone.wall(np.array([start - 1]))[0][0] == 17_839 * DAY - 1


@pytest.mark.parametrize("name", ["EST", "Mars/Olympus", "+25:00", "CET", ""])
def test_names_that_mean_different_things_are_not_known(name: str) -> None:
    """Short names are Java's own."""
    assert zone_of(name) is None


def test_years_that_tables_differ_in_are_unsure() -> None:
    """Before 1970 and after 2037, but not in a zone of a fixed offset."""
    times = np.array([-DAY, 24_900 * DAY, 0 + 10 * DAY], np.int64)
    region, fixed = zone_of("Europe/Berlin"), zone_of("+02:00")
    assert region is not None
    assert fixed is not None
    assert region.wall(times)[1].tolist() == [True, True, False]
    assert fixed.wall(times)[1].tolist() == [False, False, False]
