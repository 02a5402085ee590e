"""Making an export although others may be at it: whoever is overtaken looks again at where it stands by then."""

from collections.abc import Callable
from typing import Final

from coalesce.errors import CommitConflict
from coalesce.table.exports import MARKED, ExportOptions, ExportResult, ExportSource

_ATTEMPTS: Final = 10


def until_done(attempt: Callable[[], ExportResult | None], root: str) -> ExportResult:
    """What the first attempt has exported that was not overtaken by another export: that one's answer is None."""
    for _ in range(_ATTEMPTS):
        result = attempt()
        if result is not None:
            return result
    raise CommitConflict(f"{_ATTEMPTS} attempts to export to {root} were each overtaken by another; try again.")


def check_still_kept(source: ExportSource) -> None:
    """Whether the version that was exported is kept: files of one that has expired meanwhile may be gone."""
    number = source.version.number
    if source.newest().has_expired(number):
        raise CommitConflict(f"version {number} has expired while it was exported; export again.")


def dead_rows_in_the_way(source: ExportSource, options: ExportOptions) -> list[str]:
    """Why dead rows keep a version from being exported, if they do."""
    dead = source.version.dead_rows
    return [f"{dead:,} removed rows lie in its files; purge()."] if dead and options.dead_rows != MARKED else []
