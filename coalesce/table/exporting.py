"""Letting other engines read a table: its metadata in their words, over the same data files."""

import os
from collections.abc import Sequence
from typing import Any

from coalesce.arguments import check_choice, check_flag, check_text, check_texts, shown
from coalesce.errors import InvalidArgument
from coalesce.storage.base import Storage
from coalesce.storage.resolve import open_storage
from coalesce.table.exports import (
    DEAD_ROWS,
    DELTA,
    FORMATS,
    ICEBERG,
    MARKED,
    PURGED,
    ExportOptions,
    ExportResult,
    export,
    exporter,
)
from coalesce.table.keeping import TableKeeper
from coalesce.table.maintain.exported import record_of, release


class TableExporter(TableKeeper):
    """A table that other engines can read."""

    def export_iceberg(
        self,
        *,
        location: str | os.PathLike[str] | None = None,
        catalog: Any = None,
        identifier: str | None = None,
        dead_rows: str = MARKED,
    ) -> ExportResult:
        """Write the newest version down as an Iceberg table (format version 2) over the same data files.

        Engines that read Iceberg open it by its path. Only what changed since the last export is written, in one
        atomic step, and no data file is copied. Foreign writers must not write to it: the next export refuses then.

        * `location`: another directory for the metadata, if it is not to lie in the table's own.
        * `catalog`, `identifier`: a PyIceberg catalog, and the name of the table in it that follows: `"db.events"`.
        * `dead_rows`: what becomes of rows that were removed and still lie in shared files. `"mark"` writes them down
          as position deletes, which every reader of version 2 leaves out; `"purge"` writes those files again before;
          `"refuse"` raises.

        Raises `ExportRefused` with every reason if readers would see something else than the table, or if another table
        is there already, `NotInstalled` without PyIceberg, and `CommitConflict` if other exports were faster.

        >>> table.export_iceberg().partitioned_by
        ('dt',)
        >>> from pyiceberg.table import StaticTable
        >>> StaticTable.from_metadata("events").scan("app = 'web'").to_arrow().num_rows
        3
        """
        check_choice(dead_rows, "dead_rows=", DEAD_ROWS)
        if (catalog is None) != (identifier is None):
            raise InvalidArgument(
                "catalog= and identifier= go together: a PyIceberg catalog, and the table's name in it."
            )
        if catalog is not None and not hasattr(catalog, "commit_table"):
            raise InvalidArgument(
                f"catalog= is a catalog of PyIceberg, such as of load_catalog(…), not {shown(catalog)}."
            )
        named = None if identifier is None else check_text(identifier, "identifier=")
        place = None if location is None else _storage(location)
        return self._export(
            ICEBERG, ExportOptions(dead_rows=dead_rows, location=place, catalog=catalog, identifier=named)
        )

    def export_delta(
        self, *, features: Sequence[str] = (), partitioned: bool = True, dead_rows: str = PURGED
    ) -> ExportResult:
        """Write the newest version down as a Delta table over the same data files: a log in `_delta_log`.

        Only what changed since the last export is written, in one atomic step, and no data file is copied. A writer
        feature of our own in its protocol keeps other writers, and VACUUM, away.

        * `features`: writer features that are to be in the protocol, by their names: `materializePartitionColumns`,
          `columnMappingUsageTracking`, `rowTracking`, `icebergCompatV3`. Without them, more readers can read it.
        * `partitioned`: False writes no partition columns, only bounds: for readers that look for partition values in
          the names of directories, as Polars does.
        * `dead_rows`: as for `export_iceberg`, but the usual is `"purge"`. `"mark"` writes deletion vectors: some
          readers refuse these, and Polars 2.1 **shows the rows** where the name of a directory has to be escaped.

        Raises `ExportRefused` with every reason if readers would see something else than the table, or if another table
        is there already, and `CommitConflict` if other exports were faster.

        >>> table.export_delta().partitioned_by
        ('dt',)
        >>> from deltalake import DeltaTable
        >>> DeltaTable("events").to_pyarrow_table().num_rows
        4
        """
        check_choice(dead_rows, "dead_rows=", DEAD_ROWS)
        wanted = check_texts(features, "the features of Delta", "features={}")
        parted = check_flag(partitioned, "partitioned=")
        return self._export(DELTA, ExportOptions(dead_rows=dead_rows, features=wanted, partitioned=parted))

    def drop_export(self, format: str, *, location: str | os.PathLike[str] | None = None) -> int:  # noqa: A002 - the word for it
        """Delete the metadata that exports have written, and let `vacuum` delete the files that only they needed.

        * `format`: `"iceberg"` or `"delta"`.
        * `location`: where the export was made, if not in the table itself.

        Raises `ExportRefused` if what is there is no export of this table. It returns how many files were deleted.

        >>> _ = table.export_delta()
        >>> table.drop_export("delta")
        1
        """
        check_choice(format, "the format of an export", FORMATS)
        self._core.check_follows()
        storage = self._core.storage
        place = None if location is None else _storage(location)
        deleted = exporter(format).drop(storage if place is None else place, self._core.version.table_id)
        release(storage, record_of(format, None if place is None else place.uri("")))
        return deleted

    def _export(self, format_: str, options: ExportOptions) -> ExportResult:
        self._core.check_follows()
        self._core.refresh()
        return export(format_, self._core.export_source, options)


def _storage(location: object) -> Storage:
    if isinstance(location, bytes) or not isinstance(location, str | os.PathLike):
        raise InvalidArgument(f"location= is a path or a URI, not {shown(location)}.")
    if any("\ud800" <= character <= "\udfff" for character in os.fspath(location)):
        raise InvalidArgument(
            f"location= has bytes that are no text, and other formats name their files by text: {shown(location)}."
        )
    return open_storage(location)
