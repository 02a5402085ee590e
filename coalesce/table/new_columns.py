"""Columns that come with rows: what `schema_mode="merge"` makes of a table.

They are added in the commit that adds the rows, so that a write that is refused or fails leaves no column behind.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from coalesce.arguments import check_choice
from coalesce.errors import CommitConflict
from coalesce.model.schema import Schema
from coalesce.model.types import Field, StructType
from coalesce.model.version import Version
from coalesce.predicate.names import dotted
from coalesce.table.evolve import add_column, widen_column, widens

STRICT: Final = "strict"
MERGE: Final = "merge"
OVERWRITE: Final = "overwrite"


def check_schema_mode(schema_mode: object, *modes: str) -> str:
    """Whether `schema_mode=` of a write is one there is: rows fit the table, or may bring columns of their own."""
    return check_choice(schema_mode, "schema_mode=", (STRICT, MERGE, *modes))


def merged(base: Version, given: Schema) -> Version:
    """`base` with the columns of `given` that it lacks, last, and with wider types where those of `given` are wider.

    Whether the rest of `given` fits is seen when the rows are written.
    """
    return _merged(base, base.schema.fields, given.fields, ())


def _merged(head: Version, own: tuple[Field, ...], given: tuple[Field, ...], path: tuple[str, ...]) -> Version:
    known = {field.name.lower(): field for field in own}
    for field in given:
        there, place = known.get(field.name.lower()), (*path, field.name)
        if there is None:
            head = add_column(head, dotted(place), field.type)
        elif isinstance(there.type, StructType) and isinstance(field.type, StructType):
            head = _merged(head, there.type.fields, field.type.fields, place)
        elif widens(there.type, field.type):
            head = widen_column(head, dotted(place), field.type)
    return head


def change_to(merged_: Version, base: Version) -> Callable[[Version], Version]:
    """The change of metadata that gives a table the columns of `merged_`, which was made from `base`.

    The rows are written under these columns' ids, so no other column may have been given one of them since; not even
    one that is gone again.
    """

    def change(head: Version) -> Version:
        if head.max_column_id != base.max_column_id:
            raise CommitConflict(
                f"columns were added since version {base.number}, which these rows were written for; "
                "repeat the operation on the newest version."
            )
        return replace(head, schema=merged_.schema, max_column_id=merged_.max_column_id)

    return change
