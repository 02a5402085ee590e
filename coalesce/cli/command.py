"""The command `coalesce`: a verb and a table, data on stdout, messages on stderr.

A verb is a module here with three functions: `configure` adds its arguments, `as_json` answers programs and `as_text`
answers people. Everything around that (opening the table, errors, what is wrong with a terminal) is done once. Verbs
that change a table stand apart: they are given the newest version only, and Ctrl-C lets them clean up. So do those that
are about a place, where there may be no table yet. No verb but `demo` starts Spark or needs a Java.
"""

import argparse
import io
import json
import signal
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

import coalesce
from coalesce.cli import (
    adopt,
    advise,
    check,
    compact,
    count,
    demo,
    describe,
    expire,
    export,
    files,
    history,
    output,
    partitions,
    plan,
    purge,
    repair,
    tag,
    tags,
    untag,
    vacuum,
)
from coalesce.cli.arguments import common_arguments
from coalesce.cli.verb import PlaceVerb, Verb
from coalesce.errors import CoalesceError, CorruptMetadata
from coalesce.table.table import Table

VERBS: dict[str, Verb] = {
    "describe": describe,
    "plan": plan,
    "history": history,
    "partitions": partitions,
    "files": files,
    "count": count,
    "tags": tags,
    "check": check,
}
WRITING_VERBS: dict[str, Verb] = {
    "tag": tag,
    "untag": untag,
    "compact": compact,
    "purge": purge,
    "expire": expire,
    "vacuum": vacuum,
    "repair": repair,
    "export": export,
}
PLACE_VERBS: dict[str, PlaceVerb] = {
    "advise": advise,
    "adopt": adopt,
}

SUCCESS, FAILURE, WRONG_COMMAND, INTERRUPTED = 0, 1, 2, 130


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    output.prepare()
    parser = _parser()
    debug = False
    try:
        arguments = _parsed(parser, argv)
        if arguments.verb is None:
            output.complain(parser.format_help())
            return WRONG_COMMAND
        debug = arguments.debug
        _run(arguments)
        return int(getattr(arguments, "exit_code", SUCCESS))
    except output.ReaderGone:
        return SUCCESS
    except KeyboardInterrupt:
        return INTERRUPTED
    except CoalesceError as error:
        output.complain(traceback.format_exc() if debug else f"coalesce: {error}")
        return FAILURE


def _run(arguments: argparse.Namespace) -> None:
    if arguments.verb not in VERBS and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # it has files, or a Spark, to clean up
    if arguments.verb == "demo":
        demo.run(arguments)
        return
    if arguments.verb in PLACE_VERBS:
        about = PLACE_VERBS[arguments.verb]
        output.tell(_as_json(about.as_json(arguments)) if arguments.json else about.as_text(arguments))
        return
    verb = (VERBS | WRITING_VERBS)[arguments.verb]
    table = _opened(arguments)
    output.tell(_as_json(verb.as_json(table, arguments)) if arguments.json else verb.as_text(table, arguments))


def _opened(arguments: argparse.Namespace) -> Table:
    try:
        return coalesce.open(
            arguments.table,
            version=arguments.version,
            as_of=arguments.as_of,
            storage_options=dict(arguments.storage_option),
        )
    except CorruptMetadata:
        if arguments.verb != "check":
            raise
        return check.any_version(arguments)


def _as_json(answer: dict[str, object]) -> str:
    """Letters as they are if they can be shown, else as JSON escapes them."""
    text = json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False)
    return text if output.shows(text) else json.dumps(answer, indent=2, allow_nan=False)


def _parsed(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments. Help that was asked for is an answer like any other, which argparse would let get lost."""
    answer = io.StringIO()
    try:
        with redirect_stdout(answer):
            return parser.parse_args(argv)
    except SystemExit as done:
        if not done.code:  # of a wrong command line it prints the usage here, if there is no standard error
            output.tell(answer.getvalue(), end="")
        raise


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="coalesce",
        allow_abbrev=False,
        description="Look into tables whose small logical partitions share files, and keep them in shape.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=28),
        epilog="`coalesce VERB --help` says more about each. TABLE is a path, or a URI such as s3://bucket/events.",
    )
    parser.add_argument("--version", action="version", version=f"coalesce {coalesce.__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for name, verb in VERBS.items():
        verb.configure(_added(verbs, name, verb, [common_arguments()]))
    for name, about in PLACE_VERBS.items():
        about.configure(_added(verbs, name, about, [common_arguments(reads=False, what="PATH")]))
    for name, verb in WRITING_VERBS.items():
        verb.configure(_added(verbs, name, verb, [common_arguments(reads=False)]))
    demo.configure(_added(verbs, "demo", demo, []))
    return parser


def _added(verbs: Any, name: str, verb: Any, parents: list[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """A verb's own parser. Half an option is none: what it would be taken for may be another one tomorrow."""
    found: argparse.ArgumentParser = verbs.add_parser(
        name, help=verb.HELP, description=verb.__doc__, parents=parents, allow_abbrev=False
    )
    return found
