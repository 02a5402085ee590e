"""The generations of a table's files: those of one spec and one rule each, and how well they prune."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from coalesce.model.spec import field_text
from coalesce.plan.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The files that one spec and one rule have made.

    `fields` are the partition fields as text. `files_per_partition` is in how many of these files one logical partition
    lies, on average: what a query for one of them reads here. None where no file's tuples are known.
    """

    spec_id: int
    rule_id: int | None
    fields: tuple[str, ...]
    current: bool
    files: int
    rows: int
    bytes: int
    files_per_partition: float | None


def generations(plan: Plan) -> list[Generation]:
    """The generations of the plan's files; those that are not current are what `compact()` would move."""
    version = plan.version
    totals: dict[tuple[int, int | None], _Total] = defaultdict(_Total)
    for planned in plan.manifests:
        index = planned.index
        rule_ids = np.asarray(pc.fill_null(index.entries.core.column("rule_id"), -1))
        for rule_id in np.unique(rule_ids[planned.files]):
            inside = np.zeros(len(index.entries), np.bool_)
            inside[planned.files] = True
            inside &= rule_ids == rule_id
            total = totals[planned.spec.spec_id, None if rule_id < 0 else int(rule_id)]
            total.files += int(inside.sum())
            total.rows += int(index.rows[inside].sum())
            total.bytes += int(index.bytes[inside].sum())
            pairs = inside[index.posting_file]
            total.pairs += int(pairs.sum())
            total.tuples += len(np.unique(index.posting_tuple[pairs]))
    return [
        Generation(
            spec_id=spec_id,
            rule_id=rule_id,
            fields=tuple(field_text(f, version.schema) for f in version.spec_by_id(spec_id).fields),
            current=(spec_id, rule_id) == (version.current_spec_id, version.current_rule_id),
            files=total.files,
            rows=total.rows,
            bytes=total.bytes,
            files_per_partition=total.pairs / total.tuples if total.tuples else None,
        )
        for (spec_id, rule_id), total in sorted(totals.items(), key=lambda item: (item[0][0], item[0][1] or -1))
    ]


class _Total:
    """Sums over manifests; a tuple that lies in several manifests counts in each, as its look-up does."""

    def __init__(self) -> None:
        self.files = self.rows = self.bytes = self.pairs = self.tuples = 0
