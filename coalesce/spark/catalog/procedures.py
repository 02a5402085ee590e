"""CALL lake.system.…: the methods of a table that keep it in shape, with the same names and meanings.

Every procedure takes `table`, the table's name in the catalog, and answers with rows that say what was done.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession

from coalesce.errors import InvalidArgument
from coalesce.model.rule import RuleRequest, keep_all, small
from coalesce.predicate.names import parts_of
from coalesce.spark.catalog.directories import Kind
from coalesce.spark.catalog.metadata_tables import hand_over
from coalesce.spark.catalog.warehouse import Warehouse
from coalesce.spark.commands.save import opened
from coalesce.spark.translate.options import WriteOptions
from coalesce.table.maintain.compact import CompactResult
from coalesce.table.maintain.deleting import NotDeleted
from coalesce.table.result import WriteResult
from coalesce.table.table import Table

Arguments = Mapping[str, Any]

_COUNTS: Final = ("rows_added", "rows_removed", "files_added", "files_removed")
_WRITTEN: Final = pa.schema(
    [
        ("version", pa.int64()),
        ("operation", pa.string()),
        *((name, pa.int64()) for name in _COUNTS),
        ("committed", pa.bool_()),
    ]
)
_MOVED: Final = ("steps", "files_before", "files_after", "bytes_moved", "bytes_written", "bytes_left", "rows")
_COMPACTED: Final = pa.schema(
    [
        ("version", pa.int64()),
        *((name, pa.int64()) for name in _MOVED),
        ("reasons", pa.map_(pa.string(), pa.int64())),
        ("skipped", pa.list_(pa.string())),
        ("dry_run", pa.bool_()),
    ]
)
_DELETED: Final = [("bytes", pa.int64()), ("failures", pa.list_(pa.string())), ("dry_run", pa.bool_())]
_EXPIRED: Final = pa.schema(
    [("version", pa.int64()), ("retained_from", pa.int64()), ("versions", pa.list_(pa.int64())), *_DELETED]
)
_VACUUMED: Final = pa.schema([("files", pa.int64()), ("paths", pa.list_(pa.string())), *_DELETED])


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its type and, unless it has to be given, its default, both in Spark's SQL."""

    name: str
    type: str
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Procedure:
    """What a procedure takes besides the table, and what it does."""

    parameters: tuple[Parameter, ...]
    run: Callable[[Table, Arguments], pa.Table]
    description: str


def described() -> dict[str, object]:
    """All procedures, as `TableProcedure.java` takes them."""
    table = Parameter("table", "STRING")
    return {
        name: {
            "description": procedure.description,
            "parameters": [
                {"name": p.name, "type": p.type, "default": p.default} for p in (table, *procedure.parameters)
            ],
        }
        for name, procedure in PROCEDURES.items()
    }


def call(question: Mapping[str, Any], spark: SparkSession, taker: Any) -> str:
    """Run a procedure and hand over what it says."""
    warehouse = Warehouse(question["catalog"], question["warehouse"])
    arguments = {name: value for name, value in question["arguments"].items() if value is not None}
    procedure = PROCEDURES[question["procedure"]]
    for needed in ("table", *(p.name for p in procedure.parameters if p.default is None)):
        if needed not in arguments:
            raise InvalidArgument(f"{question['procedure']} needs {needed}, which cannot be NULL.")
    table = _table(arguments.pop("table"), warehouse, spark)
    hand_over(procedure.run(table, arguments), spark, taker)
    return ""


def _table(name: str, warehouse: Warehouse, spark: SparkSession) -> Table:
    """The table of a name, with the catalog's in front or without."""
    parts = parts_of(name) or ()
    for candidate in (parts, parts[1:] if parts[:1] == (warehouse.catalog,) else ()):
        found = warehouse.find(candidate) if candidate else None
        if found is not None and found[1] is Kind.TABLE:
            return opened(spark, found[0], WriteOptions())
    raise InvalidArgument(
        f"there is no table {name!r} in the catalog {warehouse.catalog}; write its name as in table => 'db.events', "
        "with names that have dots or blanks in `back-quotes`."
    )


# --- what they do ------------------------------------------------------------------------------------------------


def _compact(table: Table, given: Arguments) -> pa.Table:
    return _compacted(table.compact(**given))


def _purge(table: Table, given: Arguments) -> pa.Table:
    return _compacted(table.purge(**given))


def _expire(table: Table, given: Arguments) -> pa.Table:
    result = table.expire(**given)
    row = {
        "version": result.version,
        "retained_from": result.retained_from,
        "versions": list(result.versions),
        **_deleted(result.bytes, result.failures, result.dry_run),
    }
    return pa.Table.from_pylist([row], _EXPIRED)


def _vacuum(table: Table, given: Arguments) -> pa.Table:
    result = table.vacuum(**given)
    row = {
        "files": len(result.paths),
        "paths": list(result.paths),
        **_deleted(result.bytes, result.failures, result.dry_run),
    }
    return pa.Table.from_pylist([row], _VACUUMED)


def _check(table: Table, given: Arguments) -> pa.Table:
    return table.check(**given).to_arrow()


def _set_rule(table: Table, given: Arguments) -> pa.Table:
    return _written(table.set_rule(_rule(dict(given))))


def _rule(given: dict[str, Any]) -> RuleRequest:
    keeps, columns = given.pop("keep_all", False), given.pop("small", None)
    if keeps == (columns is not None) or (keeps and given):
        raise InvalidArgument(
            "set_rule takes small => array('app'), with below and target if you like, or keep_all => true. Groups by "
            "name are set with coalesce.open(…).set_rule(coalesce.group(…))."
        )
    return keep_all() if keeps else small(*columns, **given)


def _written(result: WriteResult) -> pa.Table:
    return pa.Table.from_pylist([{name: getattr(result, name) for name in _WRITTEN.names}], _WRITTEN)


def _compacted(result: CompactResult) -> pa.Table:
    row = {
        "version": result.version,
        **{name: getattr(result, name) for name in _MOVED},
        "reasons": list(result.reasons.items()),
        "skipped": list(result.skipped),
        "dry_run": result.dry_run,
    }
    return pa.Table.from_pylist([row], _COMPACTED)


def _deleted(bytes_: int, failures: Sequence[NotDeleted], dry_run: bool) -> dict[str, object]:
    return {"bytes": bytes_, "failures": [f"{f.path}: {f.reason}" for f in failures], "dry_run": dry_run}


_WHERE: Final = Parameter("where", "STRING", "NULL")
_DRY_RUN: Final = Parameter("dry_run", "BOOLEAN", "false")
_OLDER_THAN: Final = Parameter("older_than", "STRING", "'7d'")
_FORCE: Final = Parameter("force", "BOOLEAN", "false")
_SIZES: Final = (Parameter("target", "STRING", "NULL"), Parameter("max_bytes", "STRING", "NULL"))

PROCEDURES: Final = {
    "compact": Procedure((_WHERE, *_SIZES, _DRY_RUN), _compact, "write files again that had better lie otherwise"),
    "purge": Procedure((_WHERE, _DRY_RUN), _purge, "write files again without the rows that were removed"),
    "expire": Procedure(
        (_OLDER_THAN, Parameter("keep_last", "INT", "10"), _DRY_RUN, _FORCE), _expire, "let old versions go"
    ),
    "vacuum": Procedure((_OLDER_THAN, _DRY_RUN, _FORCE), _vacuum, "delete files that no version needs"),
    "check": Procedure((Parameter("deep", "BOOLEAN", "false"),), _check, "look whether the table is sound"),
    "rollback": Procedure(
        (Parameter("version", "BIGINT"),),
        lambda table, given: _written(table.rollback(**given)),
        "make an older version's state the newest",
    ),
    "set_rule": Procedure(
        (
            Parameter("small", "ARRAY<STRING>", "NULL"),
            Parameter("below", "STRING", "NULL"),
            Parameter("target", "STRING", "NULL"),
            Parameter("keep_all", "BOOLEAN", "false"),
        ),
        _set_rule,
        "route new rows by another rule",
    ),
    "evolve": Procedure(
        (
            Parameter("add", "ARRAY<STRING>", "NULL"),
            Parameter("drop", "ARRAY<STRING>", "NULL"),
            Parameter("replace", "MAP<STRING, STRING>", "NULL"),
        ),
        lambda table, given: _written(table.evolve(**given)),
        "partition new rows otherwise",
    ),
    "tag": Procedure(
        (Parameter("name", "STRING"), Parameter("version", "BIGINT", "NULL"), Parameter("replace", "BOOLEAN", "false")),
        lambda table, given: _written(table.tag(**given)),
        "give a version a name",
    ),
    "untag": Procedure(
        (Parameter("name", "STRING"),),
        lambda table, given: _written(table.untag(**given)),
        "take a version's name away",
    ),
}
