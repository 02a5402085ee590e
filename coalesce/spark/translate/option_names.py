"""The options of `format("coalesce")` by name: what each is for, where it belongs, what is said of one that does not.

Names are without regard to case, as all of Spark's are. Spark puts keys of its own among the options: `path`; `paths`,
if `load` was given a list; what `partitionBy` and `clusterBy` were given; and for a table of the catalog, in every
query, all that its CREATE TABLE said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import Enum
from typing import Final

from coalesce.errors import InvalidArgument
from coalesce.spark.translate.other_formats import habit

Given = Mapping[str, str | None]

VERSION: Final = "version"
CREATE: Final = "coalesce.create"  # by which `CreateTables.java` says how a table is to be made:
COLUMNS: Final = "columns"  # ... of the columns given, or otherwise in this save mode
AT: Final = "coalesce.version"  # which version Spark has found the SQL to mean, before it asks for the rows
LIKE: Final = "coalesce.like"  # which table a new one is to be like
PROPERTIES: Final = "coalesce.properties"  # those of TBLPROPERTIES that are the table's own, as JSON
PARTITION_COLUMNS: Final = "__partition_columns"  # where Spark puts what partitionBy was given
_CLUSTER_COLUMNS: Final = "__clustering_columns"
STORAGE: Final = "storage."


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
TRAVEL: Final = ("version", "versionAsOf", "asOf", "timestampAsOf")
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


def checked(given: Given, use: Use, source: Source, *, catalog: bool = False) -> dict[str, str]:
    """The options by lower-case names, if all of them belong here and have a value."""
    catalog = catalog or use is Use.TABLE
    checked = {}
    for name, value in given.items():
        key = name.lower()
        _check_name(name, key, use, source, catalog)
        if value is None:
            raise refusal(f"the option {name} has no value: leave it out, or say what it is.")
        checked[key] = value if key in _VERBATIM else value.strip()
    return checked


def _check_name(name: str, key: str, use: Use, source: Source, catalog: bool) -> None:
    allowed = {use, Use.TABLE} if catalog else {use}
    option = _KNOWN.get(key)
    if option is not None:
        if not option.uses & allowed:
            instead = habit(key, writing=use in (Use.WRITE, Use.SINK))
            raise refusal(misplaced(name, use) if instead is None else f"there is no option {name}: {instead}")
        if option.only not in (None, source):
            raise refusal(f"the {source.value} source has no option {option.name}: {option.instead}")
        return
    if _SPARKS.get(key, frozenset()) & allowed:
        return
    if key.startswith(STORAGE) and source is Source.PORTABLE and use in (Use.READ, Use.WRITE):
        return
    if key == "paths":
        location({})
    if key == _CLUSTER_COLUMNS:
        raise refusal("rows of a table are kept together by its partition fields and rule: leave out clusterBy.")
    instead = habit(key, writing=use in (Use.WRITE, Use.SINK))
    raise refusal(
        f"there is no option {name}: {instead}" if instead else f"there is no option {name}{_nearest(key, use)}"
    )


def misplaced(name: str, use: Use) -> str:
    """What is said of an option that there is, but not for this use."""
    option = _KNOWN[name.lower()]
    if option.name in TRAVEL:
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


def location(given: Given) -> str:
    """Where the table lies that the options name."""
    options = {name.lower(): value for name, value in given.items()}
    path = options.get("path")
    if path is not None:
        return path
    raise refusal(
        "say where the table lies, with one path: load(path), save(path) or LOCATION 'path'. Several tables are read "
        "one by one, and put together with union."
    )


def refusal(sentence: str) -> InvalidArgument:
    """The error that says what is wrong with an option."""
    return InvalidArgument(sentence)
