"""Where things lie in a table, and which paths an entry may name."""

import re
from collections.abc import Sequence
from uuid import uuid4

from coalesce.errors import CorruptMetadata
from coalesce.model.rule import Group, PhysicalKey
from coalesce.model.types import AtomicType
from coalesce.model.values import display

METADATA = "_coalesce"
VERSIONS = f"{METADATA}/versions"
MANIFESTS = f"{METADATA}/manifests"
LATEST_HINT = f"{METADATA}/latest"
CLOCK = f"{METADATA}/clock"
ADOPTED = f"{METADATA}/adopted"
DATA = "data"

_VERSION_FILE = re.compile(rf"{VERSIONS}/([0-9]{{20}})\.json")
_MANIFEST_FILE = re.compile(rf"{MANIFESTS}/[0-9A-Za-z][0-9A-Za-z_-]*\.parquet")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
# What Hive and Spark escape in a directory name, and `%` itself. Escaped once, never un-escaped here: no value is
# ever recovered from a path.
_ESCAPED = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^ ]")
_CUT_ESCAPE = re.compile(r"%[0-9A-F]?$")
# Bytes of the field's name and of the value in a directory's name, which has 255 at most everywhere. What is cut off
# is not missed: the name is for people, not for machines.
_MAX_NAME, _MAX_VALUE = 80, 160


def version_path(number: int) -> str:
    """The file whose creation is the commit of version `number`."""
    return f"{VERSIONS}/{number:020d}.json"


def version_number(path: str) -> int | None:
    """The version a file stands for, or None if it is not a version file."""
    match = _VERSION_FILE.fullmatch(path)
    return None if match is None else int(match[1])


def new_manifest_path() -> str:
    """A name no other manifest has."""
    return f"{MANIFESTS}/{uuid4().hex}.parquet"


def is_manifest_path(path: str) -> bool:
    """Whether a version may name `path` as a manifest."""
    return _MANIFEST_FILE.fullmatch(path) is not None


def new_write_directory(below: str = DATA) -> str:
    """The directory that one write owns; `below` that of another, if it is a part of that one."""
    return f"{below}/{uuid4().hex}"


def physical_directory(names: Sequence[str], types: Sequence[AtomicType], key: PhysicalKey) -> str:
    """`_dt=2026-05-17/_app=%5B%23small%5D` for a physical key; empty for a table without partition fields.

    The leading `_` keeps a plain Parquet reader that discovers directories from overwriting the logical column.
    """
    return "/".join(
        f"_{_escape(name, _MAX_NAME)}={_escape(_component(type_, value), _MAX_VALUE)}"
        for name, type_, value in zip(names, types, key, strict=True)
    )


def _component(type_: AtomicType, value: object) -> str:
    if isinstance(value, Group):
        return value.name
    if value is None:
        return "__HIVE_DEFAULT_PARTITION__"
    if isinstance(value, str):
        return value
    return display(type_, value).strip("'")  # type: ignore[arg-type]


def _escape(text: str, limit: int) -> str:
    escaped = _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text[:limit]).encode()
    if len(escaped) <= limit:
        return escaped.decode()
    return _CUT_ESCAPE.sub("", escaped[:limit].decode(errors="ignore"))


def check_data_path(path: str, file: str) -> str:
    """`path` if it names a file inside the table and outside its metadata, else CorruptMetadata for `file`."""
    segments = path.split("/")
    if (
        not path
        or _SCHEME.match(path)
        or path.startswith(("/", "~"))
        or "\\" in path
        or "\0" in path
        or any(s in ("", ".", "..") for s in segments)
        or METADATA in (s.lower() for s in segments)  # in any case: some file systems do not tell
    ):
        raise CorruptMetadata(
            file, f"it names {path!r}, which is not a data file inside this table; the manifest is refused."
        )
    return path
