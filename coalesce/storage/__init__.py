"""Bytes and put-if-absent, wherever a table lies."""

from coalesce.storage.base import Storage, StoredFile
from coalesce.storage.resolve import open_storage

__all__ = ["Storage", "StoredFile", "open_storage"]
