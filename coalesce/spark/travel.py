"""The options that choose a version, for both sources."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from coalesce.errors import CoalesceError
from coalesce.predicate.temporal import timestamp_from_text

VERSION: Final = "version"
AS_OF: Final = "asof"  # Spark hands options over in lower case


def wanted_version(options: Mapping[str, str], time_zone: str) -> tuple[int | None, datetime | None]:
    """The number or the moment that the options name; neither for the newest version."""
    number, moment = options.get(VERSION), options.get(AS_OF)
    if number is not None and moment is not None:
        raise CoalesceError("say either version or asOf, not both.")
    if number is not None:
        if not number.strip().isdigit():
            raise CoalesceError(f"the option version is a number such as 7, not {number!r}.")
        return int(number), None
    if moment is None:
        return None, None
    micros = timestamp_from_text(moment.strip(), time_zone)
    if micros is None:
        raise CoalesceError(f"the option asOf is a time such as 2026-05-17 12:00:00, not {moment!r}.")
    return None, datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)


def check_newest(options: Mapping[str, str], what: str) -> None:
    """Refuse to write to an older version."""
    if any(name.lower() in (VERSION, AS_OF) for name in options):
        raise CoalesceError(f"{what} a version of the past is not possible: leave out version and asOf.")
