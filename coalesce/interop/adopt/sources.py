"""Which kind of thing is to be adopted: by what lies beside the data, or by what the table was adopted from before."""

import os
from collections.abc import Mapping
from typing import Any, Final

from coalesce.interop.adopt.delta import survey_delta
from coalesce.interop.adopt.hive import survey_directory
from coalesce.interop.adopt.iceberg import survey_iceberg
from coalesce.interop.adopt.ledger import source_of
from coalesce.interop.adopt.run import Look
from coalesce.interop.adopt.survey import DELTA, ICEBERG, PARQUET, Asked, Seen, Survey
from coalesce.model.version import Version
from coalesce.storage.base import Storage

_METADATA: Final = ".metadata.json"


def iceberg_root(location: Any) -> tuple[Any, str | None]:
    """Where a table lies, and the metadata file that was named, if it was one of Iceberg's."""
    text = os.fspath(location) if isinstance(location, str | os.PathLike) else ""
    if not isinstance(text, str) or not text.endswith(_METADATA):
        return location, None
    directory, _, name = text.rpartition("/")
    return directory.rpartition("/")[0] or ("/" if text.startswith("/") else "."), f"metadata/{name}"


def kind_at(storage: Storage) -> str:
    """What lies there."""
    if any(file.path.endswith((".json", ".parquet")) for file in storage.list("_delta_log")):
        return DELTA
    return ICEBERG if any(file.path.endswith(_METADATA) for file in storage.list("metadata")) else PARQUET


def looks_at(storage: Storage, chosen: str | None, options: Mapping[str, str] | None) -> Look:
    """What looks at a place; `chosen` is the metadata file to begin with, if it is an Iceberg table's."""

    def look(asked: Asked, base: Version | None, known: Mapping[str, Seen]) -> Survey:
        kind = (None if base is None else source_of(base)) or (ICEBERG if chosen is not None else kind_at(storage))
        if kind == DELTA:
            return survey_delta(storage, asked, base, known, options)
        if kind == ICEBERG:
            return survey_iceberg(storage, asked, base, known, options, chosen)
        return survey_directory(storage, asked, base, known)

    return look
