"""Moving files of older specs and rules to the current ones, step by step.

Each step rewrites some files and commits; a process that stops between two steps, or dies within one, leaves a table
that is whole, with less left to do. Rows keep their ids.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

from coalesce.model.datafile import DataFile
from coalesce.model.version import Version
from coalesce.plan.plan import Plan

STEP_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one step of `compact()` did, and what is left."""

    version: int
    files_before: int
    files_after: int
    bytes_moved: int
    bytes_left: int


def not_current(plan: Plan) -> list[DataFile]:
    """The files of a plan that another spec or rule than the current one has made, in manifest order."""
    version: Version = plan.version
    current = (version.current_spec_id, version.current_rule_id)
    return [f for f in plan.files if (f.spec_id, f.rule_id) != current]


def first_step(files: Sequence[DataFile], step_bytes: int) -> list[DataFile]:
    """The first of the files, up to `step_bytes` but at least one; neighbours, for they hold neighbouring tuples."""
    ends = accumulate(file.bytes for file in files)
    fitting = sum(1 for _ in takewhile(lambda end: end <= step_bytes, ends))
    return list(files[: max(fitting, 1)])
