"""Files that nobody could tell from a table's own: a clean-up goes by names, so these are not adopted."""

from collections.abc import Iterable

from coalesce.errors import UnsupportedFeature
from coalesce.interop.adopt.survey import some
from coalesce.table.maintain.own_files import is_own


def check_names(root: str, paths: Iterable[str]) -> None:
    """Refuse files that are called as the table's own writers call theirs."""
    ours = [path for path in paths if is_own(path)]
    if ours:
        raise UnsupportedFeature(
            f"files at {root} cannot be adopted where they lie: by their names they are files of a coalesce table, "
            "whose metadata may be gone, and a later vacuum would take them for the adopted table's own. They are "
            f"{some(ours)}. Restore that table's _coalesce/, or move the files to directories of other names first."
        )
