"""Which files of a directory tree are data, and what the names of their directories say, as Spark reads them.

A segment such as `app=a%2Fb` is a column and its value, escaped once. Names that begin with `_` or `.` are none of
those: jobs keep there what they have not finished, and tables of every kind their metadata.
"""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Final

from coalesce.errors import CorruptMetadata, SchemaError, StorageError, UnsupportedFeature
from coalesce.interop.adopt.survey import LeftOut, some
from coalesce.manifest.paths import check_data_path
from coalesce.model.types import DATE, INT32, INT64, STRING, AtomicType, Value
from coalesce.predicate.coercion import cast_value
from coalesce.storage.base import Storage, StoredFile
from coalesce.table.maintain.own_files import is_own

NULL_NAME: Final = "__HIVE_DEFAULT_PARTITION__"

# What is beside the data on purpose, and not worth a word.
_OURS: Final = ("_coalesce", "_delta_log")
_TABLES: Final = {"_coalesce": "a coalesce", "_delta_log": "a Delta"}
_POSITIONS: Final = re.compile(r"metadata/deletes/[0-9a-f]{32}\.parquet")  # as exports call them
_ESCAPE: Final = re.compile("%([0-9A-Fa-f]{2})")
_INTEGER: Final = re.compile(r"-?\d{1,19}", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that is data by its name, with the texts its directories have for the columns; None is NULL."""

    file: StoredFile
    names: tuple[str, ...]
    texts: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The data files of a directory tree, and the files that are none."""

    candidates: Sequence[Candidate]
    left_out: Sequence[LeftOut]
    own: Sequence[StoredFile] = ()  # that are called as the writers of a table of ours call theirs

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the directories have, as the first file's are written."""
        return self.candidates[0].names if self.candidates else ()

    @property
    def own_data(self) -> list[StoredFile]:
        """Those that are data by their names; what lies hidden beside them comes and goes with them."""
        return [file for file in self.own if not any(map(_is_hidden, file.path.split("/")))]

    def only(self, paths: Container[str]) -> "Found":
        """Some of the data files; SchemaError if their directories do not have the same columns."""
        kept = [c for c in self.candidates if c.file.path in paths]
        _check_same_columns(kept)
        return Found(kept, self.left_out, self.own)


def find_files(storage: Storage) -> Found:
    """Every file below the root."""
    candidates, left_out, own = [], [], []
    for file in storage.list(""):
        segments = file.path.split("/")
        if segments[0] in _OURS:
            continue
        if is_own(file.path):
            own.append(file)
            continue
        hidden = next((s for s in segments if _is_hidden(s)), None)
        _check_not_nested(segments, hidden, storage.root)
        if hidden is not None:
            left_out.append(LeftOut(file.path, f"{hidden!r} is a name of files that are no data, or not finished"))
            continue
        _check_path(file.path, storage.root)
        if file.size == 0:
            left_out.append(LeftOut(file.path, "it is empty"))
        elif _POSITIONS.fullmatch(file.path):
            left_out.append(LeftOut(file.path, "an export to Iceberg says there which rows are dead"))
        else:
            candidates.append(_candidate(file, segments[:-1]))
    return Found(candidates, left_out, own)


def _check_not_nested(segments: Sequence[str], hidden: str | None, root: str) -> None:
    """Refuse the metadata of a table below the root: by it, rows of files beside may have been deleted long ago."""
    kind, depth = None, 0
    if hidden is not None:
        kind, depth = _TABLES.get(hidden.lower()), segments.index(hidden)
    elif segments[-1].endswith(".metadata.json") and segments[-2:-1] == ["metadata"]:
        kind, depth = "an Iceberg", len(segments) - 2
    if kind is not None and depth > 0:
        raise UnsupportedFeature(
            f"{'/'.join(segments[:depth])}/ in {root} is {kind} table of its own, which knows better than a directory "
            "which of its rows are alive: adopt or open it by itself, and move it elsewhere to adopt what is around it."
        )


def _check_path(path: str, root: str) -> None:
    try:
        check_data_path(path, root)
    except CorruptMetadata:
        raise StorageError(
            f"a table cannot have a file called {path!r}: no backslash, no scheme and no `~` in front; rename it."
        ) from None


def _is_hidden(segment: str) -> bool:
    """As Spark has it: `_app=a` is a directory of the column `_app`."""
    return segment.startswith(".") or (segment.startswith("_") and "=" not in segment) or segment.endswith("._COPYING_")


def _candidate(file: StoredFile, directories: Sequence[str]) -> Candidate:
    pairs = [segment.partition("=") for segment in directories if "=" in segment[1:]]
    names = tuple(unescaped(name) for name, _, _ in pairs)
    return Candidate(file, names, tuple(None if text == NULL_NAME else unescaped(text) for _, _, text in pairs))


def unescaped(text: str) -> str:
    """The text with each `%2F` as the one character it stands for, once; other percent signs are themselves."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text) if "%" in text else text


def _check_same_columns(candidates: Sequence[Candidate]) -> None:
    by_names: dict[tuple[str, ...], list[str]] = {}
    for candidate in candidates:
        by_names.setdefault(tuple(n.lower() for n in candidate.names), []).append(candidate.file.path)
    for names in by_names:
        if len(set(names)) < len(names):
            raise SchemaError(f"two directories on the way to {by_names[names][0]} have the same column.")
    if len(by_names) > 1:
        kinds = "; ".join(f"{', '.join(names) or 'none'}: {some(paths)}" for names, paths in by_names.items())
        raise SchemaError(
            f"the directories do not all have the same columns, so some files would lack one. The columns are {kinds}. "
            "Adopt the directories below one by one, or move what does not belong there."
        )


# --- types and values --------------------------------------------------------------------------------------------


def inferred_type(texts: set[str | None]) -> AtomicType:
    """The type of a column whose values are texts, as Spark infers it; but what it takes for floats or instants is
    text.

    Directories called 1.1 and 1.10 are two values, and which instant a text means depends on a time zone.
    """
    some_ = [text for text in texts if text is not None]
    for type_, form in ((INT32, _INTEGER), (INT64, _INTEGER), (DATE, _DATE)):
        if some_ and all(form.fullmatch(t) and cast_value(t, STRING, type_, "UTC") is not None for t in some_):
            return type_
    return STRING


def value_of(text: str | None, type_: AtomicType, name: str, path: str, time_zone: str) -> Value:
    """What a directory's text stands for in a column of this type, as Spark casts it."""
    if text is None or type_ == STRING:
        return text
    value = cast_value(text, STRING, type_, time_zone)
    if value is None:
        raise SchemaError(
            f"the directory of {path} says that {name!r} is {text!r}, which is no {type_}; give the column another "
            "type with schema=, or leave it to be inferred."
        )
    return value
