"""`icebergCompatV3`: a table that Iceberg could take over as it is, file by file. Whoever breaks it is refused.

What the format demands of every table need not be looked at: columns, elements, keys and values have ids, every entry
has its number of rows, and rows have ids. What is looked at is data files.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from coalesce.errors import SchemaError
from coalesce.model.datafile import DataFile
from coalesce.model.schema import all_fields
from coalesce.model.types import ListType, MapType
from coalesce.model.version import (
    COLUMN_MAPPING_USAGE_TRACKING,
    ICEBERG_COMPAT_V3,
    MATERIALIZE_PARTITION_COLUMNS,
    Version,
)
from coalesce.table.maintain.own_files import is_own

_AT_ONCE: Final = 16  # most of it is waiting for the store
_OTHERS: Final = ("icebergCompatV1", "icebergCompatV2")
_NEEDED: Final = (MATERIALIZE_PARTITION_COLUMNS, COLUMN_MAPPING_USAGE_TRACKING)

# What is wrong with a file, as beginnings of sentences that end in its name.
Look = Callable[[DataFile], list[str]]


def check_compatible(version: Version, files: Iterable[DataFile], look: Look, what: str) -> None:
    """Refuse files that a table with `icebergCompatV3` cannot have, and a table that cannot have it: every reason."""
    reasons = [f"the table has {name}, which excludes it." for name in _OTHERS if name in version.writer_features]
    reasons += [
        f'it takes {name}, which the table has not: enable_feature("{name}").'
        for name in _NEEDED
        if name not in version.writer_features
    ]
    found: dict[str, list[str]] = defaultdict(list)
    listed = list(files)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for file, unfit in zip(listed, pool.map(look, listed), strict=True):
            for reason in unfit:
                found[reason].append(file.path)
    for reason, paths in sorted(found.items()):
        more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        reasons.append(f"{reason} {paths[0]}{more}; write it again, such as with overwrite(), without Spark.")
    if reasons:
        raise SchemaError(f"{what}, and nothing was committed:" + "".join(f"\n  - {reason}" for reason in reasons))


def has_to_be_compatible(version: Version) -> bool:
    """Whether writers have to see to it."""
    return ICEBERG_COMPAT_V3 in version.writer_features


def to_look_at(version: Version, files: Iterable[DataFile]) -> list[DataFile]:
    """The files that may not fit: those that the table's own writers did not make, and Spark's, if there are lists or
    maps, whose elements, keys and values Spark gives no ids.
    """
    inner = any(isinstance(f.type, ListType | MapType) for f in all_fields(version.schema.fields))
    return [file for file in files if inner or not is_own(file.path)]
