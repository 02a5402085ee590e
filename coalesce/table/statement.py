"""What a statement says is to become of single rows, before any engine has looked at it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Star(Enum):
    """`*`: every column of the table, from the column of the source that has its name."""

    ALL = "*"


@dataclass(frozen=True, slots=True)
class Clause:
    """What is done to the rows on which `condition` is TRUE, or to all of them.

    `values` are what columns hold from then on, by name. None: the row goes. A condition or value is SQL text, or
    something that the engine understands.
    """

    condition: object | None
    values: Mapping[str, object] | Star | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A MERGE: of the clauses of a kind, the first whose condition holds is carried out on a row, or none.

    `matched` is for rows of the table that a row of the source matches, `on` being TRUE of the two, `not_matched` for
    rows of the source that match none, `by_source` for rows of the table that none matches. An UPDATE, or a DELETE,
    is one without a source: no row matches.
    """

    source: object | None = None
    on: object | None = None
    matched: tuple[Clause, ...] = ()
    not_matched: tuple[Clause, ...] = ()
    by_source: tuple[Clause, ...] = ()
