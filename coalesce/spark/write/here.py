"""What the driver does itself, because it is done sooner than a Spark job would begin."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """How much of each kind of work the driver does itself, in bytes. Nothing at all is a negative number.

    * `write`: rows, as they are in memory, that it collects and writes.
    * `rewrite`: data files that it writes again.
    * `read`: partition columns, as they are in files, that it reads back from what a job has written.
    """

    write: int = 128 * 1024 * 1024
    rewrite: int = 64 * 1024 * 1024
    read: int = 32 * 1024 * 1024


HERE: Final = Here()
