"""Which features of Delta an export needs, and what its metadata says: as few as possible, unless more are asked for.

A feature of readers locks some of them out, so one is only there if the table cannot be read rightly without it. The
features of the proposals are for writers alone, and there on request.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self
from uuid import UUID, uuid5

from coalesce.arrow.encode import ROW_ID, ROW_VERSION
from coalesce.errors import CoalesceError, CorruptMetadata
from coalesce.interop.export.delta import columns
from coalesce.interop.export.delta.actions import Action
from coalesce.interop.export.delta.columns import Narrow
from coalesce.interop.export.delta.log import FEATURE, LOG, TABLE_ID, State
from coalesce.model.version import (
    COLUMN_MAPPING_USAGE_TRACKING,
    ICEBERG_COMPAT_V3,
    MATERIALIZE_PARTITION_COLUMNS,
    Version,
)

COLUMN_MAPPING: Final = "columnMapping"
DELETION_VECTORS: Final = "deletionVectors"
ROW_TRACKING: Final = "rowTracking"
TIMESTAMP_NTZ: Final = "timestampNtz"
TYPE_WIDENING: Final = "typeWidening"
DOMAIN_METADATA: Final = "domainMetadata"
INVARIANTS: Final = "invariants"
ASKED: Final = (MATERIALIZE_PARTITION_COLUMNS, COLUMN_MAPPING_USAGE_TRACKING, ROW_TRACKING, ICEBERG_COMPAT_V3)

# What each of them demands to be there as well.
_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    ICEBERG_COMPAT_V3: (COLUMN_MAPPING, ROW_TRACKING, DOMAIN_METADATA),
    ROW_TRACKING: (DOMAIN_METADATA,),
    COLUMN_MAPPING_USAGE_TRACKING: (COLUMN_MAPPING,),
}
_OF_READERS: Final = frozenset({COLUMN_MAPPING, DELETION_VECTORS, TIMESTAMP_NTZ, TYPE_WIDENING})
_NAMESPACE: Final = UUID("0e5b7c5e-6b0c-4f0e-a5a0-6f3a37a1f0c3")  # to make an id of a table id that is none


def check_features(version: Version, asked: Sequence[str]) -> list[str]:
    """Why features that were asked for cannot be had."""
    reasons = [
        f"there is no feature {name!r} for exports; there are {', '.join(ASKED)}."
        for name in asked
        if name not in ASKED
    ]
    own = (MATERIALIZE_PARTITION_COLUMNS, COLUMN_MAPPING_USAGE_TRACKING, ICEBERG_COMPAT_V3)
    reasons += [
        f'{name} can only be promised if the table has it itself: enable_feature("{name}").'
        for name in asked
        if name in own and name not in version.writer_features
    ]
    return reasons


@dataclass(frozen=True, slots=True)
class Before:
    """What the log says already. Features stay: older versions of the log need them."""

    features: frozenset[str] = frozenset()
    partition_columns: tuple[str, ...] | None = None
    schema: str | None = None
    row_tracking: bool = False


def terms_of(state: State) -> Before:
    """The features, partition columns (by the names in files) and columns of the last export."""
    if state.protocol is None or state.metadata is None:
        return Before()
    try:
        return _terms(state.protocol, state.metadata)
    except (KeyError, TypeError, ValueError, AttributeError, CoalesceError) as error:
        raise CorruptMetadata(
            LOG, "what the log says of its columns cannot be read; drop_export('delta'), and export again."
        ) from error


def _terms(protocol: Action, metadata: Action) -> Before:
    fields = json.loads(metadata["schemaString"])["fields"]
    columns.types_before(metadata["schemaString"])
    physical = {f["name"]: f["metadata"].get("delta.columnMapping.physicalName", f["name"]) for f in fields}
    return Before(
        frozenset(protocol.get("writerFeatures") or ()) - {FEATURE},
        tuple(physical[name] for name in metadata["partitionColumns"]),
        metadata["schemaString"],
        (metadata.get("configuration") or {}).get("delta.enableRowTracking") == "true",
    )


@dataclass(frozen=True, slots=True)
class Terms:
    """What the log is to say of the table itself."""

    features: frozenset[str]
    schema: str
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]

    @classmethod
    def of(
        cls, version: Version, partitions: Sequence[str], asked: Sequence[str], narrow: Narrow, before: Before
    ) -> Self:
        """The least that is right, with what was asked for and what is there already."""
        known = narrowed(narrow, columns.narrow_before(before.schema, version.schema))
        wanted = {*asked, *before.features}
        wanted |= {needed for name in tuple(wanted) for needed in _NEEDS.get(name, ())}
        there = {
            COLUMN_MAPPING: columns.needs_mapping(version),
            DELETION_VECTORS: version.dead_rows > 0,
            TIMESTAMP_NTZ: columns.has_timestamps_without_zone(version.schema),
            TYPE_WIDENING: bool(known),
            INVARIANTS: columns.has_required(version.schema),
        }
        features = frozenset(wanted | {name for name, needed in there.items() if needed})
        mapped = COLUMN_MAPPING in features
        names = {f.physical_name: f.name for f in version.schema}
        return cls(
            features,
            columns.schema_text(version.schema, mapped=mapped, narrow=known, nested_ids=ICEBERG_COMPAT_V3 in features),
            tuple(names[physical] for physical in partitions),
            _configuration(version, features),
        )

    @property
    def row_tracking(self) -> bool:
        """Whether rows have ids in Delta, too."""
        return ROW_TRACKING in self.features

    @property
    def protocol(self) -> Action:
        """Who may read and write. Every reader may that knows the features of readers; writers, nobody."""
        readers = sorted(self.features & _OF_READERS)
        writers = sorted(self.features | {FEATURE})
        if not readers:
            return {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": writers}
        if readers == [COLUMN_MAPPING]:
            return {"minReaderVersion": 2, "minWriterVersion": 7, "writerFeatures": writers}
        return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": readers, "writerFeatures": writers}

    def metadata_says(self, metadata: Action | None) -> bool:
        """Whether the log says all this already."""
        return metadata is not None and (
            metadata["schemaString"],
            tuple(metadata["partitionColumns"]),
            metadata.get("configuration"),
        ) == (self.schema, self.partition_columns, self.configuration)

    def metadata(self, version: Version, before: Action | None) -> Action:
        """What the log says of the table."""
        return {
            "id": str(_uuid(version.table_id)),
            "format": {"provider": "parquet", "options": {}},
            "schemaString": self.schema,
            "partitionColumns": list(self.partition_columns),
            "configuration": dict(self.configuration),
            "createdTime": version.timestamp_ms if before is None else before.get("createdTime"),
        }


def high_water_mark(row_id: int) -> Action:
    """The action that says up to which number row ids were given out."""
    told = json.dumps({"rowIdHighWaterMark": row_id}, separators=(",", ":"))
    return {"domain": "delta.rowTracking", "configuration": told, "removed": False}


def _configuration(version: Version, features: frozenset[str]) -> dict[str, str]:
    found = {TABLE_ID: version.table_id, "delta.dataSkippingNumIndexedCols": "-1"}
    if COLUMN_MAPPING in features:
        found |= {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": str(version.max_column_id)}
    if COLUMN_MAPPING_USAGE_TRACKING in features:
        found["delta.columnMapping.hasDroppedOrRenamed"] = "true" if version.has_dropped_or_renamed else "false"
    if ROW_TRACKING in features:
        found["delta.enableRowTracking"] = "true"
        found["delta.rowTracking.materializedRowIdColumnName"] = ROW_ID
        found["delta.rowTracking.materializedRowCommitVersionColumnName"] = ROW_VERSION
    if TYPE_WIDENING in features:
        found["delta.enableTypeWidening"] = "true"
    if ICEBERG_COMPAT_V3 in features:
        found["delta.enableIcebergCompatV3"] = "true"
    return found


def narrowed(one: Narrow, other: Narrow) -> Narrow:
    """The narrower type of each column that is in one of them, or in both."""
    found = {**one, **other}
    for column_id in one.keys() & other.keys():
        if columns.widens(one[column_id], other[column_id]):
            found[column_id] = one[column_id]
    return found


def _uuid(table_id: str) -> UUID:
    try:
        return UUID(hex=table_id)
    except ValueError:
        return uuid5(_NAMESPACE, table_id)
