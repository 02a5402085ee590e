"""Reads and writes with options, and a model in memory of what has to come of each: which rows, or a refusal.

The same cases go through the native source, in the tests' own session, and through a Spark Connect server, in a process
of its own.
"""

import re
import shutil
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

import coalesce
from coalesce.table.table import core_of
from tests.support.settings import OVERWRITE_MODE, TIME_ZONE, changed

NATIVE, CONNECT = "native", "connect"
MODES = ("append", "overwrite", "errorifexists", "ignore")
TOKYO = {TIME_ZONE: "Asia/Tokyo"}  # where every case runs, as UTC is what one falls back to
DYNAMIC = {OVERWRITE_MODE: "dynamic"}

SCHEMA = pa.schema([("app", pa.string()), ("k", pa.int64()), ("ts", pa.timestamp("us", "UTC"))])
NOON = datetime(2026, 5, 17, 3, tzinfo=UTC)  # in Tokyo
EVENING = datetime(2026, 5, 17, 12, tzinfo=UTC)  # noon in UTC

Rows = list[tuple[str, int, datetime]]

# Row 3 alone was at or after 12:00 in UTC, and rows 2 and 3 were in Tokyo.
FIRST: Rows = [
    ("a", 1, datetime(2026, 5, 16, tzinfo=UTC)),
    ("a", 2, NOON),
    ("b", 3, EVENING),
]
SECOND = [("c", 4, datetime(2026, 5, 18, tzinfo=UTC))]
NEW = [("a", 10, EVENING), ("a", 11, EVENING)]
NEW_ELSEWHERE = [*NEW, ("b", 12, EVENING)]


def numbers(rows: Rows) -> list[int]:
    """The rows by their numbers."""
    return sorted(k for _, k, _ in rows)


def make(location: Path) -> None:
    """The table every case begins with: two appends, the second by the job that has made its writes up to 5."""
    shutil.rmtree(location, ignore_errors=True)
    table = coalesce.create(location, SCHEMA, partition_by=["app"], rule=coalesce.small("app", below="1MB"))
    table.append(_arrow(FIRST))
    table.append(_arrow(SECOND), applies=("job", 5))


def _arrow(rows: Rows) -> pa.Table:
    return pa.table({f.name: [row[i] for row in rows] for i, f in enumerate(SCHEMA)}, schema=SCHEMA)


@dataclass(frozen=True)
class Write:
    """Options of a write, and what they mean: the numbers of the old rows that an overwrite leaves, or a refusal.

    `overwrites` is whether they make sense in mode overwrite alone, `done` whether the write was made before, `late`
    whether nothing is wrong with them as long as nothing is written.
    """

    options: dict[str, str]
    leaves: tuple[int, ...] = ()
    refused: str | None = None
    refused_by: tuple[str, ...] = (NATIVE, CONNECT)
    late: bool = False
    overwrites: bool = False
    done: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    elsewhere: bool = False  # the data has rows of `b`, too

    @property
    def new(self) -> Rows:
        """The rows that are written."""
        return NEW_ELSEWHERE if self.elsewhere else NEW


OTHERS = (3, 4)  # than those of `a`

WRITES = (
    Write({}),
    Write({"partitionOverwriteMode": "static"}, overwrites=True),
    Write({"partitionOverwriteMode": "dynamic"}, OTHERS, overwrites=True),
    Write({"PARTITIONOVERWRITEMODE": "Dynamic"}, OTHERS, overwrites=True),
    Write({"partitionOverwriteMode": "dynamic"}, (4,), overwrites=True, elsewhere=True),
    Write({"partitionOverwriteMode": "dynamc"}, refused=r"static or dynamic, not 'dynamc'; did you mean dynamic\?"),
    Write({"partitionOverwritMode": "dynamic"}, refused="no option partitionoverwritmode; did you mean partitionO"),
    Write({"overwrite-mode": "dynamic"}, refused="say partitionOverwriteMode = dynamic"),
    Write({}, OTHERS, settings=DYNAMIC),
    Write({"partitionOverwriteMode": "static"}, settings=DYNAMIC, overwrites=True),
    Write({"replaceWhere": "app = 'a'"}, OTHERS, overwrites=True),
    Write({"replacewhere": "k = 2"}, refused=r"2 rows do not match k = 2", overwrites=True),
    Write({"replaceWhere": "app = 'a'"}, OTHERS, overwrites=True, settings=DYNAMIC),
    Write({"replaceWhere": "app = 'a'"}, refused="1 row does not match .*app = 'b'", overwrites=True, elsewhere=True),
    Write({"replaceWhere": "app = 'a'", "allowOutside": "true"}, OTHERS, overwrites=True, elsewhere=True),
    Write({"replaceWhere": "app = 'a'", "allowOutside": "yes"}, refused="allowOutside is true or false, not 'yes'"),
    Write({"allowOutside": "true"}, refused="allowOutside (goes with replaceWhere|says what mode)"),
    Write({"replaceWhere": "ap = 'a'"}, refused="ap", overwrites=True),
    Write({"replace-where": "app = 'a'"}, refused="say replaceWhere"),
    Write(
        {"replaceWhere": "ts >= TIMESTAMP '2026-05-17 12:00:00'"}, (1,), overwrites=True
    ),
    Write(
        {"replaceWhere": "ts >= TIMESTAMP '2026-05-17 12:00:00'", "timeZone": "UTC"},
        (1, 2),
        overwrites=True,
    ),
    Write({"replaceWhere": "k = 1", "partitionOverwriteMode": "dynamic"}, refused="two answers|says what mode"),
    Write({"txnAppId": "job", "txnVersion": "6"}),
    Write({"txnAppId": "job", "txnVersion": "5"}, done=True),
    Write({"TXNAPPID": "job", "txnversion": "0"}, done=True),
    Write({"txnAppId": "job", "txnVersion": "5", "partitionOverwriteMode": "dynamic"}, done=True, overwrites=True),
    Write({"txnAppId": "job", "txnVersion": "5", "replaceWhere": "app = 'a'"}, done=True, overwrites=True),
    Write({"txnAppId": "job", "txnVersion": "6", "replaceWhere": "app = 'a'"}, OTHERS, overwrites=True),
    Write({"txnAppId": "job"}, refused="needs both txnAppId"),
    Write({"txnVersion": "6"}, refused="needs both txnAppId"),
    Write({"txnAppId": "job", "txnVersion": "-1"}, refused="txnVersion is a number such as 7, not '-1'"),
    Write({"txnAppId": "job", "txnVersion": str(2**70)}, refused="txnVersion is a number"),
    Write({"layout": "counted"}),
    Write({"layout": "known"}, refused="rows are counted always", refused_by=(CONNECT,)),
    Write({"layout": "zzz"}, refused="layout is counted or known, not 'zzz'"),
    Write({"timeZone": "Nowhere"}, refused="timeZone is a zone such as"),
    Write({"mergeSchema": "true"}, refused="schema_mode=", refused_by=(CONNECT,)),
    Write({"mergeSchema": "perhaps"}, refused="mergeSchema is true or false|schema_mode="),
    Write({"overwriteSchema": "true"}, refused="schema_mode=", refused_by=(CONNECT,), overwrites=True),
    Write({"compression": "gzip"}, refused="compressed by zstd.* no option or setting .* leave it out"),
    Write({"maxRecordsPerFile": "100"}, refused="write.target-file-bytes"),
    Write({"dataChange": "false"}, refused="only move to other files"),
    Write({"userMetadata": "x"}, refused="txnAppId"),
    Write({"fs.s3a.access.key": "x"}, refused="spark.hadoop.fs"),
    Write({"version": "0"}, refused="version of the past is not possible"),
    Write({"versionAsOf": "0"}, refused="version of the past is not possible"),
    Write({"where": "k = 1"}, refused="where belongs to spark.read"),
    Write({"startingVersion": "1"}, refused="startingVersion belongs to spark.read"),
    Write({"smallColumns": "app", "smallBelow": "1MB"}, refused="coalesce.create", refused_by=(CONNECT,)),
    Write({"smallColumns": "app", "smallBelow": "2MB"}, refused="another rule|coalesce.create", late=True),
    Write({"smallBelow": "2MB"}, refused="smallBelow needs smallColumns|coalesce.create"),
    Write({"targetFileSize": "1MB"}, refused="write.target-file-bytes|coalesce.create", late=True),
)  # fmt: skip


def asked(source: str) -> list[tuple[Write, str]]:
    """The cases with the modes they are tried in: what is refused for itself in the one that would do most harm."""
    cases = [(case, mode) for case in WRITES for mode in _modes(case, source)]
    plain, once = WRITES[0], next(case for case in WRITES if case.done)
    others = [(case, mode) for case in (plain, once) for mode in MODES[2:]]
    return cases + (others if source == NATIVE else others[:2])


def _modes(case: Write, source: str) -> tuple[str, ...]:
    # Through Connect a write takes a second: that an option is for overwriting alone is the native cases' to find.
    if case.refused is not None or (source == CONNECT and case.overwrites):
        return ("overwrite",)
    return MODES[:2]


@dataclass(frozen=True)
class Expected:
    """What has to come of a case: the numbers of the rows and whether there is a new version, or a refusal."""

    rows: list[int]
    committed: bool = False
    refused: str | None = None


def expected_write(case: Write, mode: str, source: str) -> Expected:
    """What the model says a write does to the table."""
    unchanged = numbers(FIRST + SECOND)
    if source == CONNECT and mode in ("errorifexists", "ignore"):
        return Expected(unchanged, refused="(?i)not supported|cannot be written")  # by Spark, for sources in Python
    if case.overwrites and mode != "overwrite":
        return Expected(unchanged, refused='says what mode."overwrite". replaces')
    if case.refused is not None and source in case.refused_by and (mode in ("append", "overwrite") or not case.late):
        return Expected(unchanged, refused=case.refused)
    if mode == "errorifexists":
        return Expected(unchanged, refused="already")
    if mode == "ignore" or case.done:
        return Expected(unchanged)
    if mode == "append":
        return Expected(sorted(unchanged + numbers(case.new)), committed=True)
    return Expected(sorted([*case.leaves, *numbers(case.new)]), committed=True)


def write(spark: Any, location: Path, case: Write, mode: str) -> dict[str, Any]:
    """Write as the case says, and tell what came of it."""
    make(location)
    files = everything(location)
    frame = spark.createDataFrame(case.new, "app STRING, k BIGINT, ts TIMESTAMP")
    writer = frame.write.format("coalesce").mode(mode).options(**case.options)
    error = None
    with changed(spark, TOKYO | case.settings):
        try:
            writer.save(str(location))
        except Exception as raised:  # noqa: BLE001 - whatever a user gets to see
            error = str(raised)
    table = coalesce.open(location)
    return {
        "rows": sorted(table.scan().to_arrow().column("k").to_pylist()),
        "version": table.version,
        "left behind": sorted(everything(location) - files) if error else [],
        "unmanaged": sorted({f.path for f in core_of(table).storage.list("data")} - _managed(location)),
        "error": error,
    }


def everything(location: Path) -> set[str]:
    """Every file of a table."""
    return {str(path.relative_to(location)) for path in location.rglob("*") if path.is_file()}


def _managed(location: Path) -> set[str]:
    return {
        file.path
        for version in coalesce.open(location).history()
        for file in coalesce.open(location, version=version.number).files()
    }


# --- reading -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Read:
    """Options of a read, and the numbers of the rows it finds through each source, or a refusal."""

    options: dict[str, str]
    native: list[int] | str
    connect: list[int] | str
    schema: str | None = None
    paths: int = 1

    def expected(self, source: str) -> list[int] | str:
        """The numbers of the rows, or a pattern that the refusal has."""
        return self.native if source == NATIVE else self.connect


def reads(location: Path) -> list[Read]:
    """The cases of reading a table that `make` has made there."""
    first, both = numbers(FIRST), numbers(FIRST + SECOND)
    then = datetime.fromtimestamp(0, UTC).timestamp() + coalesce.open(location, version=1).state.timestamp_ms / 1000
    utc = datetime.fromtimestamp(then, UTC)
    zoned, in_utc = f"{utc:%Y-%m-%d %H:%M:%S.%f}Z", f"{utc:%Y-%m-%d %H:%M:%S.%f}"
    in_tokyo = f"{datetime.fromtimestamp(then + 9 * 3600, UTC):%Y-%m-%d %H:%M:%S.%f}"
    later = "ts >= TIMESTAMP '2026-05-17 12:00:00'"

    def same(options: dict[str, str], answer: list[int] | str, schema: str | None = None, paths: int = 1) -> Read:
        return Read(options, answer, answer, schema, paths)

    return [
        same({}, both),
        same({"version": "1"}, first),
        same({"VERSION": " 1 "}, first),
        same({"versionAsOf": "1"}, first),
        same({"version": "1", "versionAsOf": "1"}, "one option; give it once"),
        same({"version": "1", "timestampAsOf": zoned}, "two answers"),
        same({"version": "one"}, "has no tag 'one'; it has no tags"),
        same({"version": "-1"}, "version is a number"),
        same({"version": "²"}, "version is a number"),
        same({"version": "9"}, "no version 9"),
        same({"asOf": zoned}, first),
        same({"timestampAsOf": zoned}, first),
        Read({"asOf": in_tokyo}, first, "another moment in each time zone"),
        same({"asOf": in_tokyo, "timeZone": "Asia/Tokyo"}, first),
        same({"asOf": in_utc, "timeZone": "UTC"}, first),
        same({"asOf": "yesterday"}, "asOf is a time such as"),
        same({"timeZone": "Nowhere"}, "timeZone is a zone"),
        same({"vesion": "1"}, r"no option vesion; did you mean version\?"),
        same({"snapshot-id": "1"}, "say which version"),
        same({"as-of-timestamp": "1"}, "say when: asOf"),
        same({"mergeSchema": "true"}, "that version's columns"),
        same({"pathGlobFilter": "*.parquet"}, "the table's manifests say which files"),
        same({"replaceWhere": "k = 1"}, "replaceWhere belongs to df.write"),
        same({"txnAppId": "x"}, "txnAppId belongs to df.write"),
        same({"smallColumns": "app"}, "smallColumns belongs to df.write"),
        Read({"startingVersion": "1"}, "startingVersion goes with readChanges", "read changes without Spark"),
        Read({"readChanges": "true"}, "say with which version", "read them without Spark"),
        Read({"storage.endpoint": "x"}, "set spark.hadoop.fs", both),
        Read({"where": "app = 'a'"}, r"filter: \.where", [1, 2]),
        Read({"WHERE": later}, r"filter: \.where", [2, 3, 4]),
        Read({"where": later, "timeZone": "UTC"}, r"filter: \.where", [3, 4]),
        Read({"columns": "k"}, r"select: \.select", both),
        Read({"columns": "k, nope"}, r"select: \.select", "nope"),
        same({}, both, schema="app STRING, k BIGINT, ts TIMESTAMP"),
        same({}, "columns of its own", schema="k BIGINT"),
        same({}, "columns of its own", schema="app STRING, k INT, ts TIMESTAMP"),
        same({}, "with one path", paths=2),
    ]


def read(spark: Any, location: Path, case: Read) -> dict[str, Any]:
    """Read as the case says, and tell what came of it."""
    reader = spark.read.format("coalesce").options(**case.options)
    if case.schema is not None:
        reader = reader.schema(case.schema)
    path = str(location)
    with changed(spark, TOKYO):
        try:
            rows = reader.load(path if case.paths == 1 else [path] * case.paths).select("k").collect()
        except Exception as raised:  # noqa: BLE001 - whatever a user gets to see
            return {"error": str(raised)}
    return {"rows": sorted(row.k for row in rows)}


# --- what came of it -----------------------------------------------------------------------------------------------


def check_write(case: Write, mode: str, source: str, found: dict[str, Any]) -> None:
    """Compare what came of a write with what the model says."""
    wanted = expected_write(case, mode, source)
    what = f"{case} in mode {mode}, {source}"
    if wanted.refused is None:
        assert found["error"] is None, what
    else:
        assert found["error"] is not None, what
        assert re.search(wanted.refused, found["error"], re.DOTALL), f"{what}: {found['error']}"
    assert found["rows"] == wanted.rows, what
    assert found["version"] == (3 if wanted.committed else 2), what
    assert found["left behind"] == [], what
    assert found["unmanaged"] == [], what


def check_read(location: Path, number: int, source: str, found: dict[str, Any]) -> None:
    """Compare what a read found with what the case says."""
    case = reads(location)[number]
    wanted = case.expected(source)
    if isinstance(wanted, str):
        assert re.search(wanted, found.get("error", ""), re.DOTALL), f"{case}, {source}: {found}"
    else:
        assert found.get("rows") == wanted, f"{case}, {source}: {found}"
