"""Arguments that several verbs share, and how their texts are read."""

import argparse
from datetime import datetime


def common_arguments(*, reads: bool = True, what: str = "TABLE") -> argparse.ArgumentParser:
    """The arguments of every verb, as a parent for its parser; one that only `reads` can look at older versions."""
    parent = argparse.ArgumentParser(add_help=False)
    where = "where the table lies" if what == "TABLE" else "where the data lies"
    parent.add_argument("table", metavar=what, help=f"{where}: a path or a URI")
    parent.set_defaults(version=None, as_of=None)
    if reads:
        when = parent.add_mutually_exclusive_group()
        when.add_argument("--version", metavar="N", type=_version, help="the table as it was at version N, or at a tag")
        when.add_argument(
            "--as-of",
            metavar="TIME",
            type=_moment,
            help="the table as it was at a time, such as 2026-05-17T08:30 (UTC)",
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


def add_cleaning(parser: argparse.ArgumentParser, what: str) -> None:
    """What a verb needs to know that lets old things go."""
    parser.add_argument(
        "--older-than",
        metavar="AGE",
        default="7d",
        help=f"only {what} older than this: 7d (unless given), 36h, 90m or 30s, by the store's clock",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")
    parser.add_argument(
        "--force", action="store_true", help="take an age of less than a day, though others may be at work"
    )


def whole_number(text: str) -> int:
    """A number, such as that of a version."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more.")
    return int(text)


def _version(text: str) -> int | str:
    """The number of a version, or a tag, which is never all digits; `1.0` and `-1` are names as good as any."""
    if text.isascii() and text.isdigit():
        return int(text)
    if not text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a version; versions are numbered from 0, or have a tag.")
    return text


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
