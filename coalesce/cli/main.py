"""The command `coalesce`: a verb and a table, data on stdout, messages on stderr.

A verb is a module here with three functions: `configure` adds its arguments, `as_json` answers programs and `as_text`
answers people. Everything around that (opening the table, errors, broken pipes) is done once, in this module. No verb
but `demo` starts Spark or needs a Java.
"""

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.metadata import version as release

import coalesce
from coalesce.cli import count, demo, describe, files, history, partitions, plan
from coalesce.cli.arguments import common_arguments
from coalesce.cli.verb import Verb
from coalesce.errors import CoalesceError

VERBS: dict[str, Verb] = {
    "describe": describe,
    "plan": plan,
    "history": history,
    "partitions": partitions,
    "files": files,
    "count": count,
}

SUCCESS, FAILURE, INTERRUPTED = 0, 1, 130  # 2, for a wrong command line, is argparse's


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 1 if it failed, 2 if the command line is wrong."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.verb is None:
        parser.print_help(sys.stderr)
        return 2
    try:
        _run(arguments)
        sys.stdout.flush()  # here, where a reader that has gone away is expected
    except BrokenPipeError:
        # `coalesce partitions events | head`: the reader has what it wanted. Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return INTERRUPTED
    except CoalesceError as error:
        if arguments.debug:
            traceback.print_exc()
        else:
            print(f"coalesce: {error}", file=sys.stderr)
        return FAILURE
    return SUCCESS


def _run(arguments: argparse.Namespace) -> None:
    if arguments.verb == "demo":
        demo.run(arguments)
        return
    verb = VERBS[arguments.verb]
    table = coalesce.open(
        arguments.table,
        version=arguments.version,
        as_of=arguments.as_of,
        storage_options=dict(arguments.storage_option),
    )
    if arguments.json:
        print(json.dumps(verb.as_json(table, arguments), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print(verb.as_text(table, arguments))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="coalesce",
        description="Look into tables whose small logical partitions share files.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=28),
        epilog="`coalesce VERB --help` says more about each. TABLE is a path, or a URI such as s3://bucket/events.",
    )
    parser.add_argument("--version", action="version", version=f"coalesce {release('coalesce')}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for name, verb in VERBS.items():
        verb.configure(verbs.add_parser(name, help=verb.HELP, description=verb.__doc__, parents=[common_arguments()]))
    demo.configure(verbs.add_parser("demo", help=demo.HELP, description=demo.__doc__))
    return parser
