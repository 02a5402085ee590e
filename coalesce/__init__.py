"""Small logical partitions share a physical one, and lose nothing.

import coalesce

t = coalesce.create("events", schema, partition_by=["dt", "app"], rule=coalesce.small("app"))
t.append(rows)
t.scan("dt = DATE '2026-05-17' AND app = 'A'").to_arrow()
"""

__distribution__ = "coalesce-tables"  # before the imports: `distribution.py` tells by it whose file this is
__version__ = "0.1.0"

import importlib as _importlib
import typing as _typing

from coalesce.errors import (
    AmbiguousMatch,
    BrokenInstallation,
    CoalesceError,
    CommitConflict,
    CommitUncertain,
    CorruptMetadata,
    ExportRefused,
    FileMissing,
    InvalidArgument,
    NeedsSpark,
    NotAFile,
    NothingWritten,
    NotInstalled,
    PredicateError,
    SchemaError,
    SparkUnavailable,
    SpecError,
    StorageError,
    TableExists,
    TableNotFound,
    UnsupportedFeature,
    VersionExpired,
    VersionNotFound,
)

__all__ = [
    "AdoptResult",
    "Advice",
    "AmbiguousMatch",
    "BrokenInstallation",
    "CoalesceError",
    "CommitConflict",
    "CommitUncertain",
    "CompactResult",
    "CorruptMetadata",
    "DataFile",
    "Description",
    "ExpireResult",
    "ExportRefused",
    "ExportResult",
    "FileMissing",
    "Finding",
    "Generation",
    "InvalidArgument",
    "Listing",
    "LogicalPartition",
    "Merge",
    "NeedsSpark",
    "NotAFile",
    "NotInstalled",
    "NothingWritten",
    "Plan",
    "PredicateError",
    "RepairResult",
    "Report",
    "Scan",
    "Schema",
    "SchemaError",
    "SparkUnavailable",
    "SpecError",
    "Step",
    "StorageError",
    "Table",
    "TableExists",
    "TableNotFound",
    "UnsupportedFeature",
    "VacuumResult",
    "Version",
    "VersionExpired",
    "VersionNotFound",
    "WriteResult",
    "__version__",
    "adopt",
    "advise",
    "attach",
    "col",
    "create",
    "each_batch",
    "group",
    "keep_all",
    "open",
    "session",
    "small",
]

_HOME = {
    "AdoptResult": "coalesce.interop.adopt.result",
    "Advice": "coalesce.interop.advise.advice",
    "CompactResult": "coalesce.table.maintain.compact",
    "DataFile": "coalesce.model.datafile",
    "ExpireResult": "coalesce.table.maintain.expire",
    "ExportResult": "coalesce.table.exports",
    "Finding": "coalesce.table.maintain.findings",
    "Description": "coalesce.table.description",
    "Generation": "coalesce.table.generations",
    "Listing": "coalesce.table.listing",
    "LogicalPartition": "coalesce.table.from_metadata",
    "Merge": "coalesce.table.revising",
    "Plan": "coalesce.plan.plan",
    "RepairResult": "coalesce.table.maintain.repair",
    "Report": "coalesce.plan.report",
    "Scan": "coalesce.table.engine",
    "Schema": "coalesce.model.schema",
    "Step": "coalesce.table.maintain.compact",
    "Table": "coalesce.table.table",
    "VacuumResult": "coalesce.table.maintain.vacuum",
    "Version": "coalesce.model.version",
    "WriteResult": "coalesce.table.result",
    "adopt": "coalesce.api",
    "advise": "coalesce.api",
    "attach": "coalesce.spark.session.attach",
    "col": "coalesce.predicate.builder",
    "create": "coalesce.api",
    "each_batch": "coalesce.spark.commands.each_batch",
    "group": "coalesce.model.rule",
    "keep_all": "coalesce.model.rule",
    "open": "coalesce.api",
    "session": "coalesce.spark.session.start",
    "small": "coalesce.model.rule",
}

if _typing.TYPE_CHECKING:
    from coalesce.api import adopt, advise, create, open
    from coalesce.interop.adopt.result import AdoptResult
    from coalesce.interop.advise.advice import Advice
    from coalesce.model.datafile import DataFile
    from coalesce.model.rule import group, keep_all, small
    from coalesce.model.schema import Schema
    from coalesce.model.version import Version
    from coalesce.plan.plan import Plan
    from coalesce.plan.report import Report
    from coalesce.predicate.builder import col
    from coalesce.spark.commands.each_batch import each_batch
    from coalesce.spark.session.attach import attach
    from coalesce.spark.session.start import session
    from coalesce.table.description import Description
    from coalesce.table.engine import Scan
    from coalesce.table.exports import ExportResult
    from coalesce.table.from_metadata import LogicalPartition
    from coalesce.table.generations import Generation
    from coalesce.table.listing import Listing
    from coalesce.table.maintain.compact import CompactResult, Step
    from coalesce.table.maintain.expire import ExpireResult
    from coalesce.table.maintain.findings import Finding
    from coalesce.table.maintain.repair import RepairResult
    from coalesce.table.maintain.vacuum import VacuumResult
    from coalesce.table.result import WriteResult
    from coalesce.table.revising import Merge
    from coalesce.table.table import Table
else:  # where types are checked, a misspelt name is to be found out

    def __getattr__(name: str) -> object:
        """A name is imported when it is first asked for.

        What needs PySpark must not keep the rest from working without it, and the command can answer Ctrl-C, or a
        wrong command line, before half a second of imports.
        """
        home = _HOME.get(name)
        if home is None:
            raise AttributeError(f"module 'coalesce' has no attribute {name!r}")
        found = globals()[name] = getattr(_importlib.import_module(home), name)
        return found


def __dir__() -> list[str]:
    """The public names, imported or not, and no others."""
    return sorted(__all__)
