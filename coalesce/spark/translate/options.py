"""Every option of `format("coalesce")`: what it is called, what it may say, and where; for both sources alike.

An option is honoured or refused. One that is unknown, that belongs elsewhere, or that says what cannot be meant would
otherwise read or write something else than was asked for, in silence: `partitionOverwriteMode` = `dynamc` replaces the
whole table. Which names there are, `option_names.py` says.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Final

from coalesce.errors import InvalidArgument
from coalesce.predicate.names import parts_of
from coalesce.predicate.temporal import fixed_offset, instant, timestamp_from_text
from coalesce.spark.translate.option_names import (
    AT,
    LIKE,
    PARTITION_COLUMNS,
    PROPERTIES,
    STORAGE,
    TRAVEL,
    VERSION,
    Given,
    Source,
    Use,
    checked,
    misplaced,
    refusal,
)
from coalesce.table.engine import COUNTED, KNOWN
from coalesce.table.maintain.tags import check_tag
from coalesce.table.new_columns import MERGE, OVERWRITE, STRICT

_LARGEST: Final = 2**63 - 1
_FAR_EAST: Final = "+14:00"  # what is the same there and in UTC depends on no zone


# --- what the options say ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Which version to read and, for the portable source, what of it."""

    version: int | str | None = None
    as_of: str | None = None
    time_zone: str | None = None
    where: str | None = None
    columns: tuple[str, ...] | None = None
    storage: Mapping[str, str] = field(default_factory=dict)

    @property
    def follows(self) -> bool:
        """Whether the newest version is to be read, whichever that is."""
        return self.version is None and self.as_of is None

    def moment(self, session_zone: str | None) -> datetime | None:
        """The moment that `asOf` names. A session's zone may be unknown, which matters to a text without one."""
        if self.as_of is None:
            return None
        zone = self.time_zone if self.time_zone is not None else session_zone
        micros = timestamp_from_text(self.as_of, "UTC" if zone is None else zone)
        if micros is None:
            raise refusal(f"the option asOf is a time such as 2026-05-17 12:00:00, not {self.as_of!r}.")
        if zone is None and micros != timestamp_from_text(self.as_of, _FAR_EAST):
            raise refusal(
                f"{self.as_of!r} is another moment in each time zone, and a source in Python cannot see the session's: "
                "write it with an offset, as in 2026-05-17 12:00:00+02:00, or give the option timeZone."
            )
        return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a write replaces, whether it is made once, and what a table is like that it creates."""

    replace_where: str | None = None
    allow_outside: bool = False
    dynamic: bool | None = None  # None: as the session says
    applies: tuple[str, int] | None = None
    layout: str | None = None
    schema_mode: str = STRICT
    time_zone: str | None = None
    partition_by: tuple[str, ...] | None = None
    small_columns: tuple[str, ...] | None = None
    small_below: str | None = None
    target_file_size: str | None = None
    like: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, str] = field(default_factory=dict)

    def replaces_partitions(self, session_mode: str | None) -> bool:
        """Whether an overwrite replaces the logical partitions in the data. `replaceWhere` counts for more than what
        the session says, and the option for more than both.
        """
        if self.dynamic is not None or self.replace_where is not None:
            return self.dynamic is True
        return (session_mode or "static").lower() == "dynamic"


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How a stream is read. `starting` is None to begin with all rows, and -1 for the latest version."""

    starting: int | None
    max_files: int
    skip_changes: bool
    changes: bool = False


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """The first and the last version whose changes are read, each by number or tag."""

    starting: int | str
    ending: int | str | None


def read_options(given: Given, source: Source = Source.NATIVE, *, catalog: bool = False) -> ReadOptions:
    """The options of a read, checked; from the `catalog` those come along that a table was created with."""
    options = checked(given, Use.TABLE if catalog else Use.READ, source)
    if AT in options:  # what VERSION AS OF, or an option of the same meaning, has been understood as
        options = {VERSION: options[AT], **{n: v for n, v in options.items() if n not in map(str.lower, TRAVEL)}}
    version, as_of = _either(options, "version", "versionAsOf"), _either(options, "asOf", "timestampAsOf")
    if version is not None and as_of is not None:
        raise refusal("version and asOf are two answers; give one.")
    for name in ("startingVersion", "endingVersion"):
        if name.lower() in options:
            raise refusal(f"{name} goes with readChanges = true: a read has all rows of one version.")
    _flag(options, "readChanges")
    columns = _columns(options)
    return ReadOptions(
        version=None if version is None else _version(version),
        as_of=as_of,
        time_zone=_zone(options),
        where=options.get("where"),
        columns=columns,
        storage=_storage(options),
    )


def write_options(
    given: Given, source: Source = Source.NATIVE, *, overwrite: bool, catalog: bool = False
) -> WriteOptions:
    """The options of a write, checked; `overwrite` is its mode."""
    return _write_options(checked(given, Use.TABLE if catalog else Use.WRITE, source), source, overwrite, catalog)


def sink_options(given: Given) -> WriteOptions:
    """The options of a stream that is written to a table, checked."""
    # Of a table of the catalog, all those come along that it was created with.
    return _write_options(checked(given, Use.SINK, Source.NATIVE, catalog=True), Source.NATIVE, False, True)


def _write_options(options: dict[str, str], source: Source, overwrite: bool, catalog: bool) -> WriteOptions:
    for name in TRAVEL:
        if name.lower() in options or AT in options:
            raise refusal(misplaced(name, Use.WRITE))
    where, mode = options.get("replacewhere"), _choice(options, "partitionOverwriteMode", ("static", "dynamic"))
    outside = _flag(options, "allowOutside")
    if not overwrite and not catalog:
        for name in ("replaceWhere", "partitionOverwriteMode", "allowOutside", "overwriteSchema"):
            if name.lower() in options:
                raise refusal(f'{name} says what mode("overwrite") replaces; leave it out, or write in that mode.')
    if where is not None and mode == "dynamic":
        raise refusal("replaceWhere and partitionOverwriteMode = dynamic are two answers; give one.")
    if where is None and outside is not None:
        raise refusal("allowOutside goes with replaceWhere; leave it out, or say which rows are to be replaced.")
    replaces = _flag(options, "overwriteSchema") is True
    if replaces and (not overwrite or where is not None or mode == "dynamic" or _flag(options, "mergeSchema")):
        raise refusal(
            'overwriteSchema goes with mode("overwrite") of all rows: leave out replaceWhere, mergeSchema and '
            "partitionOverwriteMode."
        )
    layout = _choice(options, "layout", (COUNTED, KNOWN))
    if layout == KNOWN and (mode == "dynamic" or source is Source.PORTABLE):
        what = "Spark Connect" if source is Source.PORTABLE else "partitionOverwriteMode = dynamic"
        raise refusal(f"with {what} rows are counted always: leave out layout = {KNOWN}.")
    columns = options.get("smallcolumns")
    if columns is None and "smallbelow" in options:
        raise refusal("smallBelow needs smallColumns: the partition fields that may be shared, such as app.")
    partition_by = options.get(PARTITION_COLUMNS)
    return WriteOptions(
        replace_where=where,
        allow_outside=outside is True,
        dynamic=None if mode is None else mode == "dynamic",
        applies=_applies(options),
        layout=layout,
        schema_mode=OVERWRITE if replaces else MERGE if _flag(options, "mergeSchema") else STRICT,
        time_zone=_zone(options),
        partition_by=None if partition_by is None else tuple(str(name) for name in json.loads(partition_by)),
        small_columns=None if columns is None else tuple(n.strip() for n in columns.split(",") if n.strip()),
        small_below=options.get("smallbelow"),
        target_file_size=options.get("targetfilesize"),
        like=options.get(LIKE),
        properties=json.loads(options.get(PROPERTIES, "{}")),
        storage=_storage(options),
    )


def change_options(given: Given) -> ChangeOptions:
    """The options of a read of changes, checked."""
    options = checked(given, Use.READ, Source.NATIVE)
    _flag(options, "readChanges")
    for name in (*TRAVEL, "timeZone"):
        if name.lower() in options:
            raise refusal(f"changes are read from startingVersion to endingVersion: leave out {name}.")
    if "startingversion" not in options:
        raise refusal("say with which version the changes begin: startingVersion = 7.")
    ending = options.get("endingversion")
    return ChangeOptions(_version(options["startingversion"]), None if ending is None else _version(ending))


def stream_options(given: Given, *, catalog: bool = False) -> StreamOptions:
    """The options of a stream, checked."""
    options = checked(given, Use.STREAM, Source.NATIVE, catalog=catalog)
    for name in TRAVEL:
        if name.lower() in options:
            raise refusal(misplaced(name, Use.STREAM))
    starting = options.get("startingversion")
    first = None
    if starting is not None:
        first = -1 if starting.lower() == "latest" else _number("startingVersion", starting, "7, or latest")
    max_files = _number("maxFilesPerTrigger", options.get("maxfilespertrigger", "1000"), "1000", range(1, 2**31))
    changes, skip = _flag(options, "readChanges") is True, _flag(options, "skipChanges") is True
    if changes and skip:
        raise refusal("skipChanges is for streams of new rows, and readChanges is all changes; give one.")
    return StreamOptions(first, max_files, skip, changes)


# --- values ------------------------------------------------------------------------------------------------------


def _either(options: Mapping[str, str], name: str, other: str) -> str | None:
    """What an option says that has two spellings."""
    if name.lower() in options and other.lower() in options:
        raise refusal(f"{name} and {other} are one option; give it once.")
    return options.get(name.lower(), options.get(other.lower()))


def _number(name: str, text: str, example: str = "7", among: range = range(_LARGEST + 1)) -> int:
    number = int(text) if re.fullmatch("[0-9]{1,19}", text) else -1
    if number not in among:
        comma = ";" if "," in example else ","
        raise refusal(f"the option {name} is a number such as {example}{comma} not {text!r}.")
    return number


def _version(text: str) -> int | str:
    """A number, or a tag, which never is one."""
    if re.fullmatch(r"[+-]?[0-9.]*", text):
        return _number("version", text, "7, or a tag")
    try:
        return check_tag(text)
    except InvalidArgument as error:
        raise refusal(f"the option version is a number or a tag: {error}") from error


def _flag(options: Mapping[str, str], name: str) -> bool | None:
    value = _choice(options, name, ("true", "false"))
    return None if value is None else value == "true"


def _choice(options: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str | None:
    value = options.get(name.lower())
    if value is None or value.lower() in choices:
        return None if value is None else value.lower()
    close = get_close_matches(value.lower(), choices, n=1)
    meant = f"; did you mean {close[0]}?" if close else "."
    raise refusal(f"the option {name} is {' or '.join(choices)}, not {value!r}{meant}")


def _zone(options: Mapping[str, str]) -> str | None:
    zone = options.get("timezone")
    if zone is not None and fixed_offset(zone) is None and instant(0, zone) is None:
        raise refusal(f"the option timeZone is a zone such as Europe/Berlin or +02:00, not {zone!r}.")
    return zone


def _applies(options: Mapping[str, str]) -> tuple[str, int] | None:
    app, number = options.get("txnappid"), options.get("txnversion")
    if app is None and number is None:
        return None
    if not app or number is None:
        raise refusal("a write that is to be made once needs both txnAppId, a name, and txnVersion, a number.")
    return app, _number("txnVersion", number)


def _columns(options: Mapping[str, str]) -> tuple[str, ...] | None:
    text = options.get("columns")
    names = None if text is None else tuple(_column(part) for part in text.split(","))
    if names is not None and len({name.lower() for name in names}) < len(names):
        raise refusal(f"the option columns names a column twice: {text!r}.")
    return names


def _column(text: str) -> str:
    parts = parts_of(text.strip())
    if parts is None or len(parts) != 1:
        raise refusal(f"the option columns is a list of names such as `app, k`; {text.strip()!r} is none.")
    return parts[0]


def _storage(options: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix(STORAGE): value for key, value in options.items() if key.startswith(STORAGE)}
