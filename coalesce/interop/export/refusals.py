"""Why a table cannot be written down in another format: every reason at once, and what to do about each."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NoReturn

import pyarrow as pa

from coalesce.arrow.read import constants_of
from coalesce.errors import ExportRefused, SchemaError
from coalesce.interop.export.footers import Footer
from coalesce.model.arrow_schema import type_from_arrow
from coalesce.model.datafile import DataFile
from coalesce.model.schema import children
from coalesce.model.types import Field, Type, is_atomic
from coalesce.model.version import Version

# Whether readers of a format find values of the first type where the schema says the second.
Widens = Callable[[Type, Type], bool]
# Whether they read what is stored as a type of Arrow's at all.
Reads = Callable[[pa.DataType], bool]

_AGAIN = "write them again, such as with overwrite() (without Spark, where that is the reason)"


def refuse(format_: str, root: str, reasons: Sequence[str]) -> NoReturn:
    """Refuse an export with its reasons."""
    listed = "".join(f"\n  - {reason}" for reason in reasons)
    raise ExportRefused(f"the table at {root} cannot be exported to {format_}, and nothing was written:{listed}")


def unreadable_columns(
    version: Version,
    files: Sequence[DataFile],
    footers: Sequence[Footer],
    told: Collection[int],
    widens: Widens,
    reads: Reads = lambda _: True,
    *,
    by_ids: bool,
) -> list[str]:
    """What readers of another format would get wrong of files' columns. Those `told` come from partition values.

    Readers that go `by_ids` need them for elements, keys and values, too.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for file, footer in zip(files, footers, strict=True):
        constants = constants_of(file, version.spec_by_id(file.spec_id))
        for field in version.schema:
            if field.id in footer.misnamed:
                found[f"column {field.name!r} has a name in other letters, and no id, in"].append(file.path)
            elif field.id not in footer.types:
                if field.id in told:
                    continue
                if field.id in constants:
                    found[f"column {field.name!r} is not in, but only told by the entries of,"].append(file.path)
                elif field.default is not None:
                    found[_lacks(field.name, field)].append(file.path)
            else:
                if by_ids and field.id in footer.unnumbered:
                    found[
                        f"column {field.name!r} has elements, keys or values without ids, as Spark writes them, in"
                    ].append(file.path)
                if field.id in footer.contradicted and (by_ids or field.id not in told):
                    found[f"column {field.name!r} has other values in its rows than its directory tells in"].append(
                        file.path
                    )
                for reason in _misread(field, field.name, footer, widens, reads):
                    found[reason].append(file.path)
    return sentences((reason, path) for reason, paths in found.items() for path in paths)


def sentences(found: Iterable[tuple[str, str]]) -> list[str]:
    """Sentences about files: beginnings that the files' names end."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for reason, path in found:
        by_reason[reason].append(path)
    return [f"{reason} {_shown(paths)}; {_AGAIN}." for reason, paths in by_reason.items()]


def _misread(field: Field, name: str, footer: Footer, widens: Widens, reads: Reads) -> Iterator[str]:
    """What is wrong with a column that is there, and with what is inside of it."""
    stored = footer.types[field.id]
    if is_atomic(field.type):
        if not (reads(stored) and _is_read(stored, field.type, footer, widens)):
            yield f"column {name!r} is {field.type} and stored as {stored} in"
        return
    for member in children(field.type):
        inner = f"{name}.{member.name}"
        if member.id in footer.types:
            yield from _misread(member, inner, footer, widens, reads)
        elif member.default is not None:
            yield _lacks(inner, member)


def _is_read(stored: pa.DataType, wanted: Type, footer: Footer, widens: Widens) -> bool:
    if pa.types.is_timestamp(stored) and stored.unit == "ns":
        return bool(footer.int96)
    try:
        found = type_from_arrow(stored)
    except SchemaError:
        return False
    return found == wanted or widens(found, wanted)


def _lacks(name: str, field: Field) -> str:
    return f"column {name!r} has the default {field.default!r}, which other readers do not know, for the rows of"


def _shown(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{len(paths):,} files, such as {paths[0]}"
