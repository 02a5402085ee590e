"""Tags: names of versions, which keep them from expiring.

They are a part of the newest version, so that to tag a version and to let it expire are two commits, of which the
second sees the first.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from coalesce.arguments import check_text, shown, suggestion
from coalesce.errors import InvalidArgument, VersionNotFound
from coalesce.model.version import RETENTION, Version
from coalesce.table.commit.log import expired

TAG: Final = "tag"
UNTAG: Final = "untag"

_LONGEST: Final = 255


def check_tag(name: object) -> str:
    """`name`, if a version can be called so: never what could be meant as a number, or cannot be seen."""
    text = check_text(name, "the name of a tag")
    if not text or len(text) > _LONGEST:
        raise InvalidArgument(f"the name of a tag has 1 to {_LONGEST} characters, not {len(text)}.")
    if text.isdigit():
        raise InvalidArgument(f"{shown(text)} is no name of a tag: it is a number, and so are versions.")
    # Control characters, and halves of surrogate pairs, which no file can hold.
    if text != text.strip() or any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in text):
        raise InvalidArgument(
            f"{shown(text)} is no name of a tag: it has a control character, or a space at its beginning or end."
        )
    return text


def tagged(head: Version, name: str, number: int, *, move: bool, root: str) -> Version:
    """`head` with a tag for version `number`; one that there is may be moved to another version, or not."""
    if number > head.number:
        raise VersionNotFound(f"there is no version {number} of the table at {root} to be tagged.")
    if head.has_expired(number):
        raise expired(root, number, head)
    known = head.tags.get(name)
    if known not in (None, number) and not move:
        raise InvalidArgument(f"the tag {name!r} names version {known}; replace=True (--replace) moves it.")
    return _with_tags(head, {**head.tags, name: number})


def untagged(head: Version, name: str, *, root: str) -> Version:
    """`head` without a tag."""
    if name not in head.tags:
        raise no_tag(name, head.tags, root)
    return _with_tags(head, {other: number for other, number in head.tags.items() if other != name})


def _with_tags(head: Version, tags: Mapping[str, int]) -> Version:
    return replace(head, tags=tags, writer_features=head.writer_features | {RETENTION})


def no_tag(name: str, tags: Mapping[str, int], root: str) -> VersionNotFound:
    """The error for a tag that is not there."""
    there = suggestion(name, sorted(tags), "its tags") if tags else "; it has no tags."
    return VersionNotFound(f"the table at {root} has no tag {name!r}{there}")
