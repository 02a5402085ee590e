"""What a table was adopted from: files of others, which a clean-up leaves alone whatever they are called."""

import hashlib

import pyarrow as pa
import pyarrow.parquet as pq

from coalesce.errors import CorruptMetadata, FileMissing
from coalesce.model.version import Version
from coalesce.storage.base import Storage
from coalesce.table.properties import ADOPTED_FILES

SEPARATOR = " sha256:"  # between the path of a list of adopted files and its digest


def adopted_files(storage: Storage, version: Version) -> pa.Table:
    """The list of adopted files that a version names, as it is stored; its digest is checked."""
    path, _, digest = version.properties[ADOPTED_FILES].partition(SEPARATOR)
    try:
        data = storage.read(path)
    except FileMissing as error:
        raise CorruptMetadata(path, "the list of adopted files is missing; restore it from a backup.") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise CorruptMetadata(path, "the list of adopted files is damaged; restore it from a backup.")
    return pq.read_table(pa.BufferReader(data))
