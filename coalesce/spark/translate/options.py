"""Every option of `format("coalesce")`: what it is called, what it may say, and where; for both sources alike.

An option is honoured or refused. One that is unknown, that belongs elsewhere, or that says what cannot be meant would
otherwise read or write something else than was asked for, in silence: `partitionOverwriteMode` = `dynamc` replaces the
whole table. Names are without regard to case, as all of Spark's are.

Spark puts keys of its own among the options: `path`; `paths`, if `load` was given a list; what `partitionBy` and
`clusterBy` were given; and for a table of the catalog, in every query, all that its CREATE TABLE said.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from enum import Enum
from typing import Final

from coalesce.errors import InvalidArgument
from coalesce.predicate.names import parts_of
from coalesce.predicate.temporal import fixed_offset, instant, timestamp_from_text
from coalesce.spark.translate.other_formats import habit
from coalesce.table.engine import COUNTED, KNOWN
from coalesce.table.maintain.tags import check_tag
from coalesce.table.new_columns import MERGE, OVERWRITE, STRICT

Given = Mapping[str, str | None]

VERSION: Final = "version"
CREATE: Final = "coalesce.create"  # by which `CreateTables.java` says how a table is to be made:
COLUMNS: Final = "columns"  # ... of the columns given, or otherwise in this save mode
AT: Final = "coalesce.version"  # which version Spark has found the SQL to mean, before it asks for the rows
LIKE: Final = "coalesce.like"  # which table a new one is to be like
PROPERTIES: Final = "coalesce.properties"  # those of TBLPROPERTIES that are the table's own, as JSON
PARTITION_COLUMNS: Final = "__partition_columns"  # where Spark puts what partitionBy was given
_CLUSTER_COLUMNS: Final = "__clustering_columns"
_STORAGE: Final = "storage."

_LARGEST: Final = 2**63 - 1
_FAR_EAST: Final = "+14:00"  # what is the same there and in UTC depends on no zone


class Use(Enum):
    """What an option is given to."""

    READ = "spark.read"
    WRITE = "df.write"
    STREAM = "spark.readStream"
    SINK = "df.writeStream"
    TABLE = "a table of the catalog"


class Source(Enum):
    """Which of the two sources was asked."""

    NATIVE = "native"
    PORTABLE = "portable"


@dataclass(frozen=True, slots=True)
class Option:
    """What there is to know of an option. `only` is the source that has it, if the other one does not, and `instead`
    is what to do with the other one.
    """

    name: str
    meaning: str
    uses: frozenset[Use]
    only: Source | None = None
    instead: str = ""


def _option(name: str, meaning: str, *uses: Use, only: Source | None = None, instead: str = "") -> Option:
    return Option(name, meaning, frozenset(uses), only, instead)


_MERGE = 'write with t.append(df, schema_mode="merge").'
_OVERWRITE = 'write with t.overwrite(df, schema_mode="overwrite").'
_MAKE = "make the table with coalesce.create(path, df.schema, partition_by=…, rule=…, spark=spark) first."

_INTO = (Use.WRITE, Use.SINK, Use.TABLE)  # of rows that are written, however

OPTIONS: Final = (
    _option("version", "the number of the version to read, or its tag", Use.READ, Use.TABLE),
    _option("versionAsOf", "the same as version", Use.READ, Use.TABLE),
    _option("asOf", "the moment whose version to read", Use.READ, Use.TABLE),
    _option("timestampAsOf", "the same as asOf", Use.READ, Use.TABLE),
    _option("timeZone", "the zone of times without one, instead of the session's", Use.READ, *_INTO),
    _option("where", "read the rows that match", Use.READ, only=Source.PORTABLE, instead="filter: .where(…)."),
    _option("columns", "read these columns", Use.READ, only=Source.PORTABLE, instead="select: .select(…)."),
    _option("replaceWhere", "overwrite the rows that match", Use.WRITE),
    _option("allowOutside", "true: take rows, too, that do not match replaceWhere themselves", Use.WRITE),
    _option("partitionOverwriteMode", "static: overwrite all; dynamic: what has rows in it", Use.WRITE, Use.TABLE),
    _option("txnAppId", "the writer, of a write that is to be made once", Use.WRITE),
    _option("txnVersion", "the number of such a write", Use.WRITE),
    _option("mergeSchema", "true: add columns of the rows", Use.WRITE, Use.SINK, only=Source.NATIVE, instead=_MERGE),
    _option("overwriteSchema", "true: replace columns, too", Use.WRITE, only=Source.NATIVE, instead=_OVERWRITE),
    _option("layout", "counted or known: how rows of logical partitions are counted", *_INTO),
    _option("smallColumns", "partition fields to share files on", *_INTO, only=Source.NATIVE, instead=_MAKE),
    _option("smallBelow", "what is smaller shares files", *_INTO, only=Source.NATIVE, instead=_MAKE),
    _option("targetFileSize", "how large files become", *_INTO, only=Source.NATIVE, instead=_MAKE),
    _option("checkpointLocation", "where Spark keeps how far a stream has come", Use.SINK),
    _option("readChanges", "true: read what versions added, removed and updated", Use.READ, Use.STREAM,
            only=Source.NATIVE, instead="read them without Spark: t.changes(…)."),
    _option("startingVersion", "begin with what came in with this version, or the latest", Use.READ, Use.STREAM,
            only=Source.NATIVE, instead="read changes without Spark: t.changes(…)."),
    _option("endingVersion", "end with the changes of this version", Use.READ,
            only=Source.NATIVE, instead="read changes without Spark: t.changes(…)."),
    _option("maxFilesPerTrigger", "end a micro-batch before it has more files", Use.STREAM),
    _option("skipChanges", "true: pass over versions that removed or replaced rows", Use.STREAM),
)  # fmt: skip

_KNOWN: Final = {option.name.lower(): option for option in OPTIONS}
_TRAVEL: Final = ("version", "versionAsOf", "asOf", "timestampAsOf")
_VERBATIM: Final = frozenset({"path", "where", "replacewhere", "txnappid"})  # the others may stand among blanks

# What Spark and our own classes say by way of options, and where.
_SPARKS: Final = {
    "path": frozenset(Use),
    PARTITION_COLUMNS: frozenset(_INTO),
    AT: frozenset({Use.TABLE}),
    CREATE: frozenset({Use.TABLE}),
    LIKE: frozenset({Use.TABLE}),
    PROPERTIES: frozenset({Use.TABLE}),
}


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
            raise _refusal(f"the option asOf is a time such as 2026-05-17 12:00:00, not {self.as_of!r}.")
        if zone is None and micros != timestamp_from_text(self.as_of, _FAR_EAST):
            raise _refusal(
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
    options = _checked(given, Use.TABLE if catalog else Use.READ, source)
    if AT in options:  # what VERSION AS OF, or an option of the same meaning, has been understood as
        options = {VERSION: options[AT], **{n: v for n, v in options.items() if n not in map(str.lower, _TRAVEL)}}
    version, as_of = _either(options, "version", "versionAsOf"), _either(options, "asOf", "timestampAsOf")
    if version is not None and as_of is not None:
        raise _refusal("version and asOf are two answers; give one.")
    for name in ("startingVersion", "endingVersion"):
        if name.lower() in options:
            raise _refusal(f"{name} goes with readChanges = true: a read has all rows of one version.")
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
    return _write_options(_checked(given, Use.TABLE if catalog else Use.WRITE, source), source, overwrite, catalog)


def sink_options(given: Given) -> WriteOptions:
    """The options of a stream that is written to a table, checked."""
    # Of a table of the catalog, all those come along that it was created with.
    return _write_options(_checked(given, Use.SINK, Source.NATIVE, catalog=True), Source.NATIVE, False, True)


def _write_options(options: dict[str, str], source: Source, overwrite: bool, catalog: bool) -> WriteOptions:
    for name in _TRAVEL:
        if name.lower() in options or AT in options:
            raise _refusal(_misplaced(_KNOWN[name.lower()], Use.WRITE))
    where, mode = options.get("replacewhere"), _choice(options, "partitionOverwriteMode", ("static", "dynamic"))
    outside = _flag(options, "allowOutside")
    if not overwrite and not catalog:
        for name in ("replaceWhere", "partitionOverwriteMode", "allowOutside", "overwriteSchema"):
            if name.lower() in options:
                raise _refusal(f'{name} says what mode("overwrite") replaces; leave it out, or write in that mode.')
    if where is not None and mode == "dynamic":
        raise _refusal("replaceWhere and partitionOverwriteMode = dynamic are two answers; give one.")
    if where is None and outside is not None:
        raise _refusal("allowOutside goes with replaceWhere; leave it out, or say which rows are to be replaced.")
    replaces = _flag(options, "overwriteSchema") is True
    if replaces and (not overwrite or where is not None or mode == "dynamic" or _flag(options, "mergeSchema")):
        raise _refusal(
            'overwriteSchema goes with mode("overwrite") of all rows: leave out replaceWhere, mergeSchema and '
            "partitionOverwriteMode."
        )
    layout = _choice(options, "layout", (COUNTED, KNOWN))
    if layout == KNOWN and (mode == "dynamic" or source is Source.PORTABLE):
        what = "Spark Connect" if source is Source.PORTABLE else "partitionOverwriteMode = dynamic"
        raise _refusal(f"with {what} rows are counted always: leave out layout = {KNOWN}.")
    columns = options.get("smallcolumns")
    if columns is None and "smallbelow" in options:
        raise _refusal("smallBelow needs smallColumns: the partition fields that may be shared, such as app.")
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
    options = _checked(given, Use.READ, Source.NATIVE)
    _flag(options, "readChanges")
    for name in (*_TRAVEL, "timeZone"):
        if name.lower() in options:
            raise _refusal(f"changes are read from startingVersion to endingVersion: leave out {name}.")
    if "startingversion" not in options:
        raise _refusal("say with which version the changes begin: startingVersion = 7.")
    ending = options.get("endingversion")
    return ChangeOptions(_version(options["startingversion"]), None if ending is None else _version(ending))


def stream_options(given: Given, *, catalog: bool = False) -> StreamOptions:
    """The options of a stream, checked."""
    options = _checked(given, Use.STREAM, Source.NATIVE, catalog=catalog)
    for name in _TRAVEL:
        if name.lower() in options:
            raise _refusal(_misplaced(_KNOWN[name.lower()], Use.STREAM))
    starting = options.get("startingversion")
    first = None
    if starting is not None:
        first = -1 if starting.lower() == "latest" else _number("startingVersion", starting, "7, or latest")
    max_files = _number("maxFilesPerTrigger", options.get("maxfilespertrigger", "1000"), "1000", range(1, 2**31))
    changes, skip = _flag(options, "readChanges") is True, _flag(options, "skipChanges") is True
    if changes and skip:
        raise _refusal("skipChanges is for streams of new rows, and readChanges is all changes; give one.")
    return StreamOptions(first, max_files, skip, changes)


def location(given: Given) -> str:
    """Where the table lies that the options name."""
    options = {name.lower(): value for name, value in given.items()}
    path = options.get("path")
    if path is not None:
        return path
    raise _refusal(
        "say where the table lies, with one path: load(path), save(path) or LOCATION 'path'. Several tables are read "
        "one by one, and put together with union."
    )


# --- names -------------------------------------------------------------------------------------------------------


def _checked(given: Given, use: Use, source: Source, *, catalog: bool = False) -> dict[str, str]:
    """The options by lower-case names, if all of them belong here and have a value."""
    catalog = catalog or use is Use.TABLE
    checked = {}
    for name, value in given.items():
        key = name.lower()
        _check_name(name, key, use, source, catalog)
        if value is None:
            raise _refusal(f"the option {name} has no value: leave it out, or say what it is.")
        checked[key] = value if key in _VERBATIM else value.strip()
    return checked


def _check_name(name: str, key: str, use: Use, source: Source, catalog: bool) -> None:
    allowed = {use, Use.TABLE} if catalog else {use}
    option = _KNOWN.get(key)
    if option is not None:
        if not option.uses & allowed:
            instead = habit(key, writing=use in (Use.WRITE, Use.SINK))
            raise _refusal(_misplaced(option, use) if instead is None else f"there is no option {name}: {instead}")
        if option.only not in (None, source):
            raise _refusal(f"the {source.value} source has no option {option.name}: {option.instead}")
        return
    if _SPARKS.get(key, frozenset()) & allowed:
        return
    if key.startswith(_STORAGE) and source is Source.PORTABLE and use in (Use.READ, Use.WRITE):
        return
    if key == "paths":
        location({})
    if key == _CLUSTER_COLUMNS:
        raise _refusal("rows of a table are kept together by its partition fields and rule: leave out clusterBy.")
    instead = habit(key, writing=use in (Use.WRITE, Use.SINK))
    raise _refusal(
        f"there is no option {name}: {instead}" if instead else f"there is no option {name}{_nearest(key, use)}"
    )


def _misplaced(option: Option, use: Use) -> str:
    if option.name in _TRAVEL:
        if use is Use.STREAM:
            return "a stream goes on with the table: instead of version or asOf, say startingVersion."
        return f"writing to a version of the past is not possible: leave out {option.name}."
    if use is Use.TABLE and Use.WRITE in option.uses:
        return f"the option {option.name} belongs to one write: df.write.option({option.name!r}, …).save(path)."
    places = " and ".join(sorted(place.value for place in option.uses if place is not Use.TABLE))
    return f"the option {option.name} belongs to {places}, not to {use.value}: {option.meaning}."


def _nearest(key: str, use: Use) -> str:
    """The end of a sentence about an unknown name: what may have been meant, or what there is here."""
    close = get_close_matches(key, _KNOWN, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {_KNOWN[close[0]].name}?"
    return f"; {use.value} has {', '.join(option.name for option in OPTIONS if use in option.uses)}."


# --- values ------------------------------------------------------------------------------------------------------


def _refusal(sentence: str) -> InvalidArgument:
    return InvalidArgument(sentence)


def _either(options: Mapping[str, str], name: str, other: str) -> str | None:
    """What an option says that has two spellings."""
    if name.lower() in options and other.lower() in options:
        raise _refusal(f"{name} and {other} are one option; give it once.")
    return options.get(name.lower(), options.get(other.lower()))


def _number(name: str, text: str, example: str = "7", among: range = range(_LARGEST + 1)) -> int:
    number = int(text) if re.fullmatch("[0-9]{1,19}", text) else -1
    if number not in among:
        comma = ";" if "," in example else ","
        raise _refusal(f"the option {name} is a number such as {example}{comma} not {text!r}.")
    return number


def _version(text: str) -> int | str:
    """A number, or a tag, which never is one."""
    if re.fullmatch(r"[+-]?[0-9.]*", text):
        return _number("version", text, "7, or a tag")
    try:
        return check_tag(text)
    except InvalidArgument as error:
        raise _refusal(f"the option version is a number or a tag: {error}") from error


def _flag(options: Mapping[str, str], name: str) -> bool | None:
    value = _choice(options, name, ("true", "false"))
    return None if value is None else value == "true"


def _choice(options: Mapping[str, str], name: str, choices: tuple[str, ...]) -> str | None:
    value = options.get(name.lower())
    if value is None or value.lower() in choices:
        return None if value is None else value.lower()
    close = get_close_matches(value.lower(), choices, n=1)
    meant = f"; did you mean {close[0]}?" if close else "."
    raise _refusal(f"the option {name} is {' or '.join(choices)}, not {value!r}{meant}")


def _zone(options: Mapping[str, str]) -> str | None:
    zone = options.get("timezone")
    if zone is not None and fixed_offset(zone) is None and instant(0, zone) is None:
        raise _refusal(f"the option timeZone is a zone such as Europe/Berlin or +02:00, not {zone!r}.")
    return zone


def _applies(options: Mapping[str, str]) -> tuple[str, int] | None:
    app, number = options.get("txnappid"), options.get("txnversion")
    if app is None and number is None:
        return None
    if not app or number is None:
        raise _refusal("a write that is to be made once needs both txnAppId, a name, and txnVersion, a number.")
    return app, _number("txnVersion", number)


def _columns(options: Mapping[str, str]) -> tuple[str, ...] | None:
    text = options.get("columns")
    names = None if text is None else tuple(_column(part) for part in text.split(","))
    if names is not None and len({name.lower() for name in names}) < len(names):
        raise _refusal(f"the option columns names a column twice: {text!r}.")
    return names


def _column(text: str) -> str:
    parts = parts_of(text.strip())
    if parts is None or len(parts) != 1:
        raise _refusal(f"the option columns is a list of names such as `app, k`; {text.strip()!r} is none.")
    return parts[0]


def _storage(options: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix(_STORAGE): value for key, value in options.items() if key.startswith(_STORAGE)}
