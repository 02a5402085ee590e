"""What to do about what was found: each finding is a sentence about what is wrong, and one about what helps."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Final

from coalesce.table.maintain import kinds
from coalesce.table.maintain.findings import Finding, Findings, findings
from coalesce.table.maintain.spans import Spans, each, merged
from coalesce.table.maintain.survey import Draft, Survey

# A file is gone or is not what it was: a copy of it would help.
_LOST: Final = frozenset(
    {
        *(kinds.MISSING_MANIFEST, kinds.DAMAGED_MANIFEST, kinds.MISSING_FILE, kinds.UNREADABLE_FILE),
        *(kinds.WRONG_SIZE, kinds.WRONG_ROWS, kinds.FOREIGN_COLUMNS, kinds.NULL_IN_REQUIRED),
    }
)
_VERSION_FILES: Final = frozenset({kinds.MISSING_VERSION, kinds.DAMAGED_VERSION})
_HARMLESS: Final = frozenset({kinds.WRONG_HINT, kinds.WRONG_RANGE, kinds.BROKEN_HISTORY})


def advised(survey: Survey, drafts: Iterable[Draft]) -> Findings:
    """The findings, each with its advice, in the order they came."""
    # While the newest version cannot be read, none can be made after it.
    can_mend = survey.is_readable
    kept = [draft if can_mend else replace(draft, mendable=False) for draft in drafts]
    wrong = set(each(merged(span for draft in kept if draft.kind not in _HARMLESS for span in draft.versions)))
    numbers = list(range(max(survey.versions, default=0) + 1))  # that all findings share
    whole = max((n for n in survey.versions if n not in wrong), default=None)
    back = "" if whole is None else _way_back(survey, whole)
    listed = {spans: _listed(spans, numbers) for spans in {draft.versions for draft in kept}}
    return findings(
        Finding(
            kind=draft.kind,
            where=draft.where,
            versions=listed[draft.versions],
            message=f"{draft.where}: {draft.text}. {_advice(survey, draft, back)}",
            mendable=draft.mendable,
        )
        for draft in kept
    )


def _listed(spans: Spans, numbers: list[int]) -> tuple[int, ...]:
    return tuple(chain.from_iterable(numbers[first : last + 1] for first, last in spans))


def _advice(survey: Survey, draft: Draft, back: str) -> str:
    if draft.mendable:
        return "repair() makes it anew."
    if draft.kind in _VERSION_FILES:
        return "Restore the file from a backup."
    if draft.kind == kinds.SWAPPED_FILES:
        return "Put each in the place of the other."
    if draft.kind == kinds.BROKEN_HISTORY:
        return "Version files were replaced; restore them from a backup."
    if not survey.is_newest(draft.versions):
        return "The newest version is not concerned, and older ones stay as they are until they expire."
    backup = "restore the file from a backup" if draft.kind in _LOST else ""
    ways = " or ".join(way for way in (backup, back) if way) or "read the rows and write them to a new table"
    if draft.kind == kinds.UNREADABLE_FILE:  # which a disk or a network may be to blame for
        return f"Check again, and if it stays so, {ways}."
    return f"{ways[0].upper()}{ways[1:]}."


def _way_back(survey: Survey, whole: int) -> str:
    return f"go back, with rollback({whole}), to the newest version that is whole, with {survey.rows_of(whole):,} rows"
