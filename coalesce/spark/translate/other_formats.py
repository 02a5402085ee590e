"""Options of other formats that people will try on a table, and what to do here instead."""

from typing import Final

_FILES = "the table's manifests say which files there are; choose rows with .where(…)."
_SIZES = (
    "the property write.target-file-bytes of the table says how large files become; targetFileSize for a new table."
)
_PARQUET = (
    "how the Parquet files of a table are written is fixed, as every engine writes the same: compressed by zstd, with "
    "bounds of every column, dates as they are; no option or setting of the session changes it; leave it out."
)
_CHANGES = "say readChanges = true, startingVersion = 7 and, if it is to end, endingVersion = 9."
_CONFLICTS = "whatever another writer changed that this one relied on is a conflict, always; leave it out."
_LAYOUT = "the partition fields and the rule of the table say which rows make which file; leave it out."
_ONLY_MOVED = "a stream does not see rows that only move to other files (t.compact()); leave it out."
_SKIP = "say skipChanges = true, to pass over versions that removed or replaced rows."

_READING: Final = {
    "mergeschema": "all files of a version are read with that version's columns; leave it out.",
    "snapshot-id": "say which version: version = 7; or when: asOf = 2026-05-17 12:00:00.",
    "as-of-timestamp": "say when: asOf = 2026-05-17 12:00:00; or which version: version = 7.",
    "as.of.instant": "say when: asOf = 2026-05-17 12:00:00; or which version: version = 7.",
    "branch": "a table has one line of versions; say which: version = 7.",
    "tag": "a table has one line of versions; say which: version = 7.",
}

_WRITING: Final = {
    "branch": "a table has one line of versions; leave it out.",
}

_ANYWHERE: Final = {
    "overwrite-mode": "say partitionOverwriteMode = dynamic, or replaceWhere.",
    "overwritemode": "say partitionOverwriteMode = dynamic, or replaceWhere.",
    "replace-where": "say replaceWhere.",
    "partitionby": "name partition fields with .partitionBy(…), or PARTITIONED BY.",
    "datachange": _ONLY_MOVED,
    "usermetadata": "a commit carries no words of yours; to know a write again, give it txnAppId and txnVersion.",
    "recursivefilelookup": _FILES,
    "pathglobfilter": _FILES,
    "basepath": _FILES,
    "modifiedbefore": _FILES,
    "modifiedafter": _FILES,
    "ignoremissingfiles": _FILES,
    "ignorecorruptfiles": _FILES,
    "maxrecordsperfile": _SIZES,
    "target-file-size-bytes": _SIZES,
    "optimizewrite": _LAYOUT,
    "autocompact": _LAYOUT,
    "distribution-mode": _LAYOUT,
    "fanout-enabled": _LAYOUT,
    "clusterby": _LAYOUT,
    "compression": _PARQUET,
    "datetimerebasemode": _PARQUET,
    "int96rebasemode": _PARQUET,
    "write-format": "data files are Parquet; leave it out.",
    "isolation-level": _CONFLICTS,
    "validate-from-snapshot-id": _CONFLICTS,
    "start-snapshot-id": _CHANGES,
    "end-snapshot-id": _CHANGES,
    "readchangefeed": _CHANGES,
    "readchangedata": _CHANGES,
    "startingtimestamp": "say the version: startingVersion = 7.",
    "stream-from-timestamp": "say the version: startingVersion = 7.",
    "maxbytespertrigger": "say maxFilesPerTrigger.",
    "ignorechanges": _SKIP,
    "ignoredeletes": _SKIP,
    "skipchangecommits": _SKIP,
    "streaming-skip-overwrite-snapshots": _SKIP,
    "streaming-skip-delete-snapshots": _SKIP,
}

_BY_PREFIX: Final = {
    "snapshot-property.": _ANYWHERE["usermetadata"],
    "parquet.": _PARQUET,
    "hoodie.": "tables of this format have no such settings; leave it out.",
    "write.": "properties of a table are set with t.set_properties(…), or coalesce.create(…, properties=…).",
    "delta.": "tables of this format have no such properties; leave it out.",
    "fs.": "settings of a file system belong to the session: spark.hadoop.fs.…",
    "hadoop.": "settings of a file system belong to the session: spark.hadoop.fs.…",
    "spark.": "settings belong to the session: spark.conf.set(…).",
    "storage.": "this source reaches files as Spark does: set spark.hadoop.fs.… in the session.",
}


def habit(name: str, *, writing: bool) -> str | None:
    """What to do instead of giving an option of another format, by its name in lower case."""
    found = (_WRITING if writing else _READING).get(name, _ANYWHERE.get(name))
    if found is not None:
        return found
    return next((instead for prefix, instead in _BY_PREFIX.items() if name.startswith(prefix)), None)
