"""The data files that may hold matching rows."""

import argparse
from collections.abc import Sequence

from coalesce.cli.arguments import add_limit, add_predicate
from coalesce.cli.text import cut_middle, number
from coalesce.cli.values import key_as_data, physical_key
from coalesce.cli.verb import Json
from coalesce.manifest.paths import DATA
from coalesce.model.datafile import DataFile
from coalesce.model.version import Version
from coalesce.plan.report import human_bytes
from coalesce.table.grid import cut, grid
from coalesce.table.table import Table

HELP = "the data files, with what they hold"

_LONGEST_KEY, _LONGEST_NAME, _LONGEST_PATH = 40, 14, 24


def configure(parser: argparse.ArgumentParser) -> None:
    """A predicate, a limit, and paths alone for `xargs`."""
    add_predicate(parser)
    add_limit(parser, "files")
    parser.add_argument("--paths", action="store_true", help="only the paths, one a line, relative to the table")


def as_json(table: Table, arguments: argparse.Namespace) -> Json:
    """Each file's entry, without its statistics and tuples."""
    version = table.state
    return {
        "version": table.version,
        "files": [_as_data(f, version) for f in table.files(arguments.predicate)[: arguments.limit]],
    }


def as_text(table: Table, arguments: argparse.Namespace) -> str:
    """A line for each file."""
    if arguments.paths:
        return "\n".join([*table.plan(arguments.predicate).paths()][: arguments.limit])
    return listing(table.files(arguments.predicate)[: arguments.limit], table.state)


def listing(files: Sequence[DataFile], version: Version) -> str:
    """Files as a table. Of a path it shows what the physical partition does not say: which write, which file.

    How many rows are dead is only shown where some are.
    """
    some_dead = any(f.dead_rows for f in files)
    header = ("rows", *(["dead rows"] if some_dead else []), "bytes", "tuples", "version", "physical partition", "file")
    rows = [
        (
            number(f.rows),
            *([number(f.dead_rows)] if some_dead else []),
            human_bytes(f.bytes),
            number(len(f.tuples) if f.trusted and f.tuples is not None else None),
            number(f.added_version),
            cut(physical_key(version.spec_by_id(f.spec_id), version.schema, f.physical_key), _LONGEST_KEY),
            _short(f.path),
        )
        for f in files
    ]
    return grid(header, rows, right=header[:-2])


def _short(path: str) -> str:
    top, _, rest = path.partition("/")
    write_id, _, below = rest.partition("/")
    if top != DATA or not below:
        return cut_middle(path, _LONGEST_PATH)
    return f"{cut(write_id, 9)}/{cut(below.rpartition('/')[2], _LONGEST_NAME)}"


def _as_data(file: DataFile, version: Version) -> Json:
    return {
        "path": file.path,
        "spec_id": file.spec_id,
        "rule_id": file.rule_id,
        "physical_key": key_as_data(version.spec_by_id(file.spec_id), version.schema, file.physical_key),
        "tuples": len(file.tuples) if file.trusted and file.tuples is not None else None,
        "rows": file.rows,
        "dead_rows": file.dead_rows,
        "bytes": file.bytes,
        "added_version": file.added_version,
    }
