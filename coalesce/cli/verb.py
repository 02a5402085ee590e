"""What a verb of the command line is."""

import argparse
from typing import Protocol

from coalesce.table.table import Table

Json = dict[str, object]


class Verb(Protocol):
    """A module with these names.

    The exit code is 0, unless its answer is bad news: then it sets `arguments.exit_code`.
    """

    HELP: str

    def configure(self, parser: argparse.ArgumentParser, /) -> None:
        """Add the verb's own arguments."""

    def as_json(self, table: Table, arguments: argparse.Namespace, /) -> Json:
        """The answer for programs: plain data under keys that stay the same."""

    def as_text(self, table: Table, arguments: argparse.Namespace, /) -> str:
        """The answer for people."""


class PlaceVerb(Protocol):
    """The same of a verb that is about a place, where there may be no table yet."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser, /) -> None:
        """Add the verb's own arguments."""

    def as_json(self, arguments: argparse.Namespace, /) -> Json:
        """The answer for programs."""

    def as_text(self, arguments: argparse.Namespace, /) -> str:
        """The answer for people."""
