"""A warehouse: a directory whose directories are namespaces, and whose coalesce tables are tables.

A name of the catalog is the name of a directory, letter for letter: `lake.db.events` lies in `db/events`. A directory
with `_coalesce` in it is a table, and what is inside of it is the table's own; any other directory is a namespace.
Files and links are neither: what a link leads to is not the catalog's to show, and never its to delete. Names that
begin with `_` or `.` are not shown and not made.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from coalesce.arguments import shown
from coalesce.errors import CoalesceError, InvalidArgument, StorageError
from coalesce.manifest.paths import METADATA
from coalesce.predicate.names import dotted
from coalesce.spark.catalog.directories import Kind, delete, kind_of, objection, prune, survey

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


class NotThere(Exception):
    """There is no table, or no namespace, of that name."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind.value)
        self.kind = kind


class Taken(Exception):
    """There is one of that name."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind.value)
        self.kind = kind


class NotEmpty(Exception):
    """A namespace has something in it."""


def answered(answer: Callable[[], dict[str, object]]) -> str:
    """An answer as JSON. That something is missing, taken or not empty is an answer as well."""
    try:
        return json.dumps(answer())
    except NotThere as missing:
        return json.dumps({"missing": missing.kind.value})
    except Taken as taken:
        return json.dumps({"taken": taken.kind.value})
    except NotEmpty:
        return json.dumps({"notEmpty": True})


@dataclass(frozen=True, slots=True)
class Warehouse:
    """The warehouse of a catalog; `root` is absolute, and no link."""

    catalog: str
    root: str

    def named(self, parts: Sequence[str]) -> str:
        """A name as SQL has it, for people."""
        return dotted((self.catalog, *parts))

    # --- what there is -------------------------------------------------------------------------------------------

    def find(self, parts: Sequence[str]) -> tuple[str, Kind] | None:
        """Where what is called so lies, and what it is; None if there is nothing, or the name cannot be one."""
        place = self.root
        kind: Kind | None = Kind.NAMESPACE
        for part in parts:
            if kind is not Kind.NAMESPACE or objection(part) is not None:
                return None
            place = os.path.join(place, part)
            kind = kind_of(place)
        return None if kind is None else (place, kind)

    def table(self, parts: Sequence[str]) -> str:
        """Where a table lies; NotThere if there is none."""
        found = self.find(parts)
        if found is None or found[1] is not Kind.TABLE:
            raise NotThere(Kind.TABLE)
        return found[0]

    def namespace(self, parts: Sequence[str]) -> str:
        """Where a namespace lies; NotThere if there is none."""
        found = self.find(parts)
        if found is None or found[1] is not Kind.NAMESPACE:
            raise NotThere(Kind.NAMESPACE)
        return found[0]

    def inside(self, parts: Sequence[str], kind: Kind) -> list[str]:
        """The names of the tables, or of the namespaces, in a namespace."""
        place = self.namespace(parts)
        try:
            names = sorted(os.listdir(place))
        except FileNotFoundError:
            raise NotThere(Kind.NAMESPACE) from None
        return [name for name in names if objection(name) is None and kind_of(os.path.join(place, name)) is kind]

    # --- what is made --------------------------------------------------------------------------------------------

    @contextmanager
    def claimed(self, parts: Sequence[str]) -> Iterator[str]:
        """A new directory for a table; if it does not become one, it goes again."""
        place = self._made(parts)
        try:
            yield place
        except BaseException:
            prune(place)
            raise

    def create_namespace(self, parts: Sequence[str]) -> None:
        """An empty directory, in a namespace that is there."""
        self._made(parts)

    def check_free(self, parts: Sequence[str]) -> None:
        """Whether a table could be made there, or is there."""
        place = self._place(parts)
        if kind_of(place) is Kind.NAMESPACE:
            raise Taken(Kind.NAMESPACE)

    def _place(self, parts: Sequence[str]) -> str:
        """Where something new is to lie; the namespace that it is to be in has to be there."""
        for part in parts:
            why = objection(part)
            if why is not None:
                raise InvalidArgument(f"{shown(part)} cannot be a name in the catalog {self.catalog}: {why}.")
        if not parts:
            raise Taken(Kind.NAMESPACE)
        return os.path.join(self.namespace(parts[:-1]), parts[-1])

    def _made(self, parts: Sequence[str]) -> str:
        """A directory that was not there before; Taken if something else has the name."""
        place = self._place(parts)
        try:
            os.mkdir(place)
        except FileExistsError:
            kind = kind_of(place)
            if kind is None:
                raise InvalidArgument(
                    f"{self.named(parts)} would lie at {place}, and a file or a link has that name; choose another one."
                ) from None
            raise Taken(kind) from None
        except FileNotFoundError:
            raise NotThere(Kind.NAMESPACE) from None
        except OSError as error:
            raise StorageError(f"could not create {place}: {error.strerror or error}.") from error
        return place

    # --- what is removed -----------------------------------------------------------------------------------------

    def drop_table(self, parts: Sequence[str]) -> bool:
        """Delete a table with its directory; False if there is none.

        It is moved aside first, so that it is gone at once and as a whole, whatever happens while its files go.
        """
        found = self.find(parts)
        if found is None or found[1] is not Kind.TABLE:
            return False
        return delete(found[0], self.named(parts))

    def drop_namespace(self, parts: Sequence[str], *, cascade: bool) -> bool:
        """Delete a namespace, with `cascade` with all tables and namespaces in it; False if there is none.

        Nothing is deleted if there is anything else in it.
        """
        found = self.find(parts)
        if found is None or found[1] is not Kind.NAMESPACE:
            return False
        if not parts:
            raise InvalidArgument(f"the catalog {self.catalog} itself is no namespace that could be dropped.")
        namespaces, tables = survey(found[0], self.named(parts))
        if (len(namespaces) > 1 or tables) and not cascade:
            raise NotEmpty
        for table in tables:
            delete(table, table)
        for namespace in reversed(namespaces):
            try:
                os.rmdir(namespace)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise CoalesceError(
                    f"{self.named(parts)} is not empty: something was put into {namespace} meanwhile "
                    f"({error.strerror or error}). Drop it again."
                ) from error
        return True


def directory_of(location: object) -> str:
    """Where a warehouse lies, as an absolute path without links."""
    text = os.fspath(location) if isinstance(location, str | os.PathLike) else None
    if not isinstance(text, str) or not text:
        raise InvalidArgument(f"the warehouse of a catalog is a directory, such as /data/lake, not {shown(location)}.")
    if not text.startswith("file:///") and _URI.match(text):
        raise InvalidArgument(
            f"the warehouse of a catalog is a directory on this machine, and {text} is none. Tables that lie elsewhere "
            "are named one by one: CREATE TABLE events USING coalesce LOCATION 's3://…'."
        )
    root = os.path.realpath(unquote(text.removeprefix("file://")) if text.startswith("file:///") else text)
    above = root
    while not os.path.lexists(os.path.join(above, METADATA)):
        if above == os.path.dirname(above):
            return root
        above = os.path.dirname(above)
    raise InvalidArgument(
        f"{text} cannot be the warehouse of a catalog: there is a coalesce table at {above}. Name a directory that has "
        "tables in it, and lies in none."
    )


def made_directory(root: str) -> str:
    """The directory of a warehouse, which is made if it is not there."""
    try:
        os.makedirs(root, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(
            f"{root} cannot be the warehouse of a catalog: {error.strerror or error}; name a directory."
        ) from error
    return root
