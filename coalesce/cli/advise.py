"""Say what coalescing would bring to Parquet files, a Delta or an Iceberg table, from metadata alone."""

import argparse
from dataclasses import asdict

import coalesce
from coalesce.cli.verb import Json
from coalesce.interop.advise.advice import told

HELP = "say what coalescing would bring to what is there"


def configure(parser: argparse.ArgumentParser) -> None:
    """How large files are to become."""
    parser.add_argument("--target", metavar="SIZE", help="how large files are to become: 128MB unless given")


def as_json(arguments: argparse.Namespace) -> Json:
    """How the data lies, how it would lie, and by which rule."""
    advice = _advised(arguments)
    return asdict(advice) | {"rule": advice.rule, "is_worth_it": advice.is_worth_it}


def as_text(arguments: argparse.Namespace) -> str:
    """The same for people, and the commands that would do it."""
    advice = _advised(arguments)
    if not advice.is_worth_it:
        return told(advice)
    small = "".join(f" --small {name}" for name in advice.share)
    sizes = f" --below {advice.below} --target {advice.target}" if small else f" --target {advice.target}"
    adopt = [] if advice.source == "coalesce" else [f"  coalesce adopt {arguments.table}{small}{sizes}"]
    return "\n".join([told(advice), "", "To do it:", *adopt, f"  coalesce compact {arguments.table}"])


def _advised(arguments: argparse.Namespace) -> coalesce.Advice:
    return coalesce.advise(arguments.table, target=arguments.target, storage_options=dict(arguments.storage_option))
