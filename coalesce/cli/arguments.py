"""Arguments that several verbs share, and how their texts are read."""

import argparse
from datetime import datetime


def common_arguments() -> argparse.ArgumentParser:
    """The arguments of every verb that looks at a table, as a parent for its parser."""
    parent = argparse.ArgumentParser(add_help=False)
    parent.add_argument("table", metavar="TABLE", help="where the table lies: a path or a URI")
    when = parent.add_mutually_exclusive_group()
    when.add_argument("--version", metavar="N", type=_version, help="the table as it was at version N")
    when.add_argument(
        "--as-of", metavar="TIME", type=_moment, help="the table as it was at a time, such as 2026-05-17T08:30 (UTC)"
    )
    parent.add_argument("--json", action="store_true", help="answer in JSON, for programs")
    parent.add_argument(
        "--storage-option",
        metavar="KEY=VALUE",
        type=_option,
        action="append",
        default=[],
        help="a setting of the object store, such as region=eu-west-1; may be given several times",
    )
    add_debug(parent)
    return parent


def add_debug(parser: argparse.ArgumentParser) -> None:
    """`--debug`, which every verb has."""
    parser.add_argument("--debug", action="store_true", help="show where an error came from")


def add_predicate(parser: argparse.ArgumentParser) -> None:
    """An optional predicate."""
    parser.add_argument(
        "predicate",
        metavar="PREDICATE",
        nargs="?",
        help="a condition in SQL, such as \"app = 'A'\"; all rows without it",
    )


def add_limit(parser: argparse.ArgumentParser, what: str, default: int | None = None) -> None:
    """`--limit N`."""
    shown = f"; {default} unless given" if default is not None else ""
    parser.add_argument("--limit", metavar="N", type=_limit, default=default, help=f"show at most N {what}{shown}")


def _version(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a version; versions are numbered from 0.")
    return int(text)


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of lines; give 1 or more.")
    return int(text)


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time; write it as 2026-05-17, 2026-05-17T08:30 or 2026-05-17T08:30:00+02:00."
        ) from None


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not a setting; write it as KEY=VALUE.")
    return key, value
