"""Entries as actions of Delta's log: paths, partition values and statistics as its readers expect them."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote

from coalesce.interop.export.bounds import safe_bounds, safe_null_count
from coalesce.interop.export.delta.vectors import deletion_vector
from coalesce.interop.export.entries import dead_positions, partition_value
from coalesce.model.datafile import DataFile
from coalesce.model.spec import PartitionField
from coalesce.model.types import BINARY, BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ, AtomicType, DecimalType, Value
from coalesce.model.version import Version
from coalesce.storage.base import Storage

Action = dict[str, Any]

_MILLISECOND: Final = 1000
_DAYS: Final = range(-719_162, 2_932_897)  # of the years 1 to 9999
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Words:
    """What turns entries of a version into actions: the fields it is partitioned by, and whether rows have ids."""

    version: Version
    fields: tuple[PartitionField, ...]
    storage: Storage
    row_tracking: bool

    def add(self, file: DataFile, *, data_change: bool) -> Action:
        """The action that adds a file, with the vector of its dead rows."""
        found: Action = {
            "path": encoded_path(file.path),
            "partitionValues": self._partition_values(file),
            "size": file.bytes,
            "modificationTime": self.version.timestamp_ms,
            "dataChange": data_change,
            "stats": self._statistics(file),
        }
        if file.dead_rows:
            found["deletionVector"] = self.vector(file)
        if self.row_tracking:
            found["baseRowId"] = file.first_row_id
            found["defaultRowCommitVersion"] = file.added_version
        return found

    def vector(self, file: DataFile) -> Action:
        """What leaves out the dead rows of a file."""
        return deletion_vector(dead_positions(self.storage, self.version, file))

    def _partition_values(self, file: DataFile) -> dict[str, str | None]:
        schema = self.version.schema
        found = {}
        for field in self.fields:
            column, type_ = schema.by_id(field.source_id), schema.atomic(field.source_id)
            assert column is not None
            assert type_ is not None
            found[column.physical_name] = _partition_text(type_, partition_value(self.version, file, field))
        return found

    def _statistics(self, file: DataFile) -> str:
        """Counts and bounds, as a text inside of the action. Bounds may be wider than the rows: they are not tight."""
        partitions = {f.source_id for f in self.fields}
        lower, upper, nulls = {}, {}, {}
        for column in self.version.schema:
            type_ = self.version.schema.atomic(column.id)
            known = file.statistics.get(column.id)
            if type_ is None or known is None or column.id in partitions:
                continue
            count = safe_null_count(known, file.rows)
            if count is not None and not (file.dead_rows and count):  # of dead rows it is not known how many are NULL
                nulls[column.physical_name] = str(count)
            least, greatest = safe_bounds(type_, known)
            if (text := _json_bound(type_, least, is_upper=False)) is not None:
                lower[column.physical_name] = text
            if (text := _json_bound(type_, greatest, is_upper=True)) is not None:
                upper[column.physical_name] = text
        parts = [f'"numRecords":{file.physical_rows}', '"tightBounds":false']
        for name, values in (("minValues", lower), ("maxValues", upper), ("nullCount", nulls)):
            parts.append(f'"{name}":{_object(values)}')
        return "{" + ",".join(parts) + "}"


def encoded_path(path: str) -> str:
    """A path as Delta writes it: relative to the table, every character but the plainest escaped once."""
    return quote(path, safe="/=-._~")


def remove(path: str, add: Mapping[str, Any], timestamp_ms: int, *, data_change: bool) -> Action:
    """The action that removes what an earlier one added; with its vector, for that is part of its name."""
    found: Action = {"path": path, "deletionTimestamp": timestamp_ms, "dataChange": data_change}
    if add.get("partitionValues") is not None:
        found |= {"extendedFileMetadata": True, "partitionValues": add["partitionValues"], "size": add["size"]}
    for name in ("deletionVector", "baseRowId", "defaultRowCommitVersion"):
        if add.get(name) is not None:
            found[name] = add[name]
    return found


def _object(members: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in members.items()) + "}"


def _partition_text(type_: AtomicType, value: Value) -> str | None:
    if value is None:
        return None
    if type_ == DATE:
        assert isinstance(value, int)
        return _date(value)
    if type_ == BOOLEAN:
        return "true" if value else "false"
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def can_be_text(type_: AtomicType, value: Value) -> bool:
    """Whether a partition value can be told by a text: an empty one is NULL to Delta."""
    if type_ == DATE:
        return value is None or value in _DAYS
    return value != ""


def _json_bound(type_: AtomicType, value: Value, *, is_upper: bool) -> str | None:
    """A bound as JSON; None if there is none, or no reader would understand it."""
    if value is None or type_ in (BINARY, BOOLEAN):
        return None
    if type_ == DATE:
        return f'"{_date(value)}"' if isinstance(value, int) and value in _DAYS else None
    if type_ in (TIMESTAMP, TIMESTAMP_NTZ):
        assert isinstance(value, int)
        return _moment(value, type_, is_upper)
    if isinstance(type_, DecimalType):
        assert isinstance(value, Decimal)
        return format(value, "f")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return json.dumps(value, ensure_ascii=False)


def _date(days: int) -> str:
    return (_EPOCH + timedelta(days=days)).date().isoformat()


def _moment(micros: int, type_: AtomicType, is_upper: bool) -> str | None:
    """Whole milliseconds, which is all that some readers look at, rounded away from the rows."""
    millis = -(-micros // _MILLISECOND) if is_upper else micros // _MILLISECOND
    if millis // 86_400_000 not in _DAYS:
        return None
    text = (_EPOCH + timedelta(milliseconds=millis)).isoformat(timespec="milliseconds").removesuffix("+00:00")
    return f'"{text}Z"' if type_ == TIMESTAMP else f'"{text}"'
