"""Time zones over columns: what a clock shows at an instant, and when it shows it, with java.time's answers.

A zone of a fixed offset is exact. Of a region the years 1970 to 2037 count, as in `temporal.py`: elsewhere it is
*unsure*. Its changes are found once and kept as arrays.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from coalesce.model.calendar_text import DAY, SECOND
from coalesce.model.columns import Mask
from coalesce.predicate import temporal

Micros = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]

WHY: Final = "the clocks of this time zone are known for the years 1970 to 2037 only"

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_END: Final = 24_837 * DAY  # 2038-01-01
_FIRST_PROBE: Final = -10  # days
_LAST_PROBE: Final = 24_850
_NEVER: Final = 2**63 - 1
_GREATEST: Final = 2**63 - 1 - 2 * DAY  # no offset leads out of 64 bits from here


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """`offsets[i]` holds from `changes[i - 1]` up to `changes[i]`; a fixed offset is one without changes."""

    changes: Micros
    offsets: Micros

    @property
    def is_fixed(self) -> bool:
        """Whether the offset never changes, in any year."""
        return not len(self.changes)

    def wall(self, instants: Micros) -> tuple[Micros, Mask]:
        """What a clock shows, and where that is unsure."""
        shown = instants + self._offset_at(instants)
        return shown, self._outside(shown, instants)

    def instant(self, wall: Micros) -> tuple[Micros, Mask]:
        """When a clock shows this: the earlier of two, and a time that is skipped as if the clock had not been set."""
        return wall - self.offsets[self._period(wall)], self._outside(wall, wall)

    def start_of_day(self, days: npt.NDArray[np.int64]) -> tuple[Micros, Mask]:
        """When a day begins; where midnight is skipped, with the first instant after that."""
        far = np.abs(days) > _GREATEST // DAY
        wall = np.where(far, 0, days) * DAY
        period = self._period(wall)
        found = wall - self.offsets[period]
        at = self._around_changes(wall, period)
        at = at[self._skips(period[at])]
        found[at] = self.changes[period[at]]
        return found, self._outside(wall, wall) | far

    def moved(self, instants: Micros, wall: Micros) -> tuple[Micros, Mask]:
        """When a clock shows `wall`, moved there from `instants`: of two instants, that with the offset it had."""
        period = self._period(wall)
        found = wall - self.offsets[period]
        at = self._around_changes(wall, period)
        at = at[~self._skips(period[at]) & (self._offset_at(instants[at]) == self.offsets[period[at] + 1])]
        found[at] = wall[at] - self.offsets[period[at] + 1]
        return found, self._outside(wall, wall)

    def is_shown_twice(self, wall: Micros) -> Mask:
        """Where a clock shows this at two instants."""
        period = self._period(wall)
        at = self._around_changes(wall, period)
        twice = np.zeros(len(wall), np.bool_)
        twice[at[~self._skips(period[at])]] = True
        return twice

    def _offset_at(self, instants: Micros) -> Micros:
        return self.offsets[np.searchsorted(self.changes, instants, side="right")]

    def _period(self, wall: Micros) -> Places:
        """The period whose offset counts: at a change, the one before it."""
        ends = self.changes + np.maximum(self.offsets[:-1], self.offsets[1:])
        return np.searchsorted(ends, wall, side="right")

    def _around_changes(self, wall: Micros, period: Places) -> Places:
        """The places at which a clock shows this twice or not at all, by the change that ends the period."""
        begins = self.changes + np.minimum(self.offsets[:-1], self.offsets[1:])
        return np.flatnonzero(wall >= np.append(begins, _NEVER)[period])

    def _skips(self, period: Places) -> Mask:
        """Whether clocks are set forward at the end of the period, so that times are skipped."""
        return self.offsets[period + 1] > self.offsets[period]

    def _outside(self, wall: Micros, given: Micros) -> Mask:
        if self.is_fixed:
            return (given > _GREATEST) | (given < -_GREATEST)
        return (wall < 0) | (wall >= _END)


@lru_cache
def zone_of(time_zone: str) -> Zone | None:
    """The zone of this name, or None where names mean different things to different machines."""
    offset = temporal.fixed_offset(time_zone)
    if offset is not None:
        return Zone(np.zeros(0, np.int64), np.array([offset], np.int64))
    region = temporal.region(time_zone)
    return None if region is None else _probed(region)


UTC_ZONE: Final = Zone(np.zeros(0, np.int64), np.zeros(1, np.int64))


def _probed(region: tzinfo) -> Zone:
    """The changes of a region, found day by day and then to the second."""
    changes: list[int] = []
    offsets = [_offset(region, _FIRST_PROBE * 86_400)]
    for day in range(_FIRST_PROBE, _LAST_PROBE):
        low, high = day * 86_400, (day + 1) * 86_400
        after = _offset(region, high)
        if after == offsets[-1]:
            continue
        while high - low > 1:
            middle = (low + high) // 2
            if _offset(region, middle) == offsets[-1]:
                low = middle
            else:
                high = middle
        changes.append(high * SECOND)
        offsets.append(after)
    if not changes:  # a region, so still not certain outside of the years
        changes, offsets = [_END + 30 * DAY], [offsets[0], offsets[0]]
    return Zone(np.array(changes, np.int64), np.array(offsets, np.int64))


def _offset(region: tzinfo, second: int) -> int:
    offset = (_EPOCH + timedelta(seconds=second)).astimezone(region).utcoffset()
    assert offset is not None  # zones have one
    return offset // timedelta(microseconds=1)
