"""Directories of a warehouse: what each of them is, what it may be called, and how one is deleted.

Links are never followed: what one leads to is not the warehouse's.
"""

import os
import shutil
import stat
from contextlib import suppress
from enum import Enum
from typing import Final
from uuid import uuid4

from coalesce.errors import CoalesceError, StorageError
from coalesce.manifest.paths import METADATA
from coalesce.spark.source import queries
from coalesce.storage.local import LocalStorage
from coalesce.table.commit.manifests import SHARED_CACHE

_HIDDEN: Final = ("_", ".")
_ASIDE: Final = ".coalesce-dropped-"
_LONGEST: Final = 255  # bytes, which is the most that a directory's name has


class Kind(Enum):
    """What a directory of the warehouse is."""

    TABLE = "table"
    NAMESPACE = "namespace"


def kind_of(place: str) -> Kind | None:
    """What lies at a path: a table, a namespace, or nothing of a catalog's."""
    if not _is_directory(place):
        return None
    return Kind.TABLE if _is_directory(os.path.join(place, METADATA)) else Kind.NAMESPACE


def _is_directory(place: str) -> bool:
    """Whether a directory lies there itself, and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(place).st_mode)
    except (OSError, ValueError):  # it is not there, cannot be looked at, or has a name that no file can have
        return False


def objection(name: str) -> str | None:
    """Why a directory of the warehouse cannot be called so; None if it can."""
    if not name:
        return "it is empty"
    if name.startswith(_HIDDEN):
        return "it begins with _ or ., as names do that are not shown"
    if "/" in name or any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        return "it has a slash or a control character"
    try:
        long = len(name.encode()) > _LONGEST
    except UnicodeEncodeError:
        return "it is no text that could be written down"
    return f"it is longer than {_LONGEST} bytes" if long else None


def survey(place: str, name: str) -> tuple[list[str], list[str]]:
    """The namespaces, outermost first, and the tables below a directory; refused if anything else lies there."""
    namespaces, tables = [place], list[str]()
    for namespace in namespaces:
        with suppress(FileNotFoundError):
            for entry in sorted(os.listdir(namespace)):
                inside = os.path.join(namespace, entry)
                kind = kind_of(inside)
                if entry.startswith(_ASIDE) and kind is not None:  # left by a drop that was cut short
                    shutil.rmtree(inside, ignore_errors=True)
                elif kind is None or objection(entry) is not None:
                    raise CoalesceError(
                        f"{name} cannot be dropped: {inside} is neither a table nor a namespace; move it away first."
                    )
                else:
                    (tables if kind is Kind.TABLE else namespaces).append(inside)
    return namespaces, tables


def delete(place: str, name: str) -> bool:
    """Delete the directory of a table; False if it went meanwhile."""
    for directory, below, _ in os.walk(place):
        if directory != place and METADATA in below:
            raise CoalesceError(
                f"{name} cannot be dropped: there is another coalesce table inside of it, at {directory}; move that "
                "elsewhere first."
            )
    aside = os.path.join(os.path.dirname(place), f"{_ASIDE}{uuid4().hex}")
    try:
        os.rename(place, aside)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageError(f"could not drop {name}: {error.strerror or error}.") from error
    uri = LocalStorage(place).uri("")
    SHARED_CACHE.forget_table(uri)
    queries.forget_table(uri)
    try:
        shutil.rmtree(aside)
    except OSError as error:
        raise StorageError(
            f"{name} is dropped, but not all of its files could be deleted ({error.strerror or error}); delete {aside}."
        ) from error
    return True


def prune(place: str) -> None:
    """Delete directories below a path, and itself, as far as there is no file in them."""
    for directory, _, _ in os.walk(place, topdown=False):
        with suppress(OSError):
            os.rmdir(directory)
