"""Files that nobody could tell from a table's own: a clean-up goes by names, so these are not adopted."""

from collections.abc import Container, Iterable, Sequence
from typing import Final

from coalesce.errors import CommitConflict, CorruptMetadata, UnsupportedFeature, VersionExpired
from coalesce.interop.adopt.survey import LeftOut, some
from coalesce.model.version import Version
from coalesce.storage.base import StoredFile
from coalesce.table.commit.log import Log
from coalesce.table.core import Core
from coalesce.table.maintain.own_files import is_own
from coalesce.table.maintain.reachable import unused

_NOBODYS: Final = (
    "it is called as a file of the table's own, and no version names it: a writer is at work, or has died; or somebody "
    "else has put it there, who had better move it, for a vacuum would delete it"
)
_UNKNOWN: Final = "it is called as a file of the table's own, and whether it is one cannot be told; check() says why"


def check_names(root: str, paths: Iterable[str]) -> None:
    """Refuse files that are called as the table's own writers call theirs."""
    ours = [path for path in paths if is_own(path)]
    if ours:
        raise UnsupportedFeature(
            f"files at {root} cannot be adopted where they lie: by their names they are files of a coalesce table, "
            "whose metadata may be gone, and a later vacuum would take them for the adopted table's own. They are "
            f"{some(ours)}. Restore that table's _coalesce/, or move the files to directories of other names first."
        )


def left_by_nobody(core: Core, head: Version, files: Sequence[StoredFile], held: Container[str]) -> list[LeftOut]:
    """Those of some files with names of the table's own that no version has; `held` are those of the newest."""
    others = [file for file in files if file.path not in held]
    if not others:
        return []
    try:
        found, reason = unused(core.storage, Log(core.storage), head, others), _NOBODYS
    except VersionExpired as error:
        raise CommitConflict("versions have expired while the table was adopted again; try again.") from error
    except CorruptMetadata:
        found, reason = others, _UNKNOWN
    return [LeftOut(file.path, reason) for file in found]
