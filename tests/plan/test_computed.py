"""Conditions with functions prune files by bounds and tuples, and never a file that has a matching row."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import coalesce
from coalesce.arrow.row_filter import is_true
from coalesce.errors import PredicateError
from coalesce.model.values import column_of, order_key
from coalesce.predicate.normalize import normalize
from coalesce.table.table import core_of
from tests.predicate.scalar.generated import Generator
from tests.predicate.spark_predicates import COLUMNS
from tests.support.examples import examples

COUNT = examples(60)
ROWS, FILES = 120, 12
CHOSEN = {
    "integer": ("i8", "i32", "i64"),
    "decimal": ("m9",),
    "double": ("db",),
    "text": ("st",),
    "date": ("da",),
    "timestamp": ("ts",),
    "clock": ("tn",),
}
NAMES = [name for names in CHOSEN.values() for name in names]


def _rows() -> pa.Table:
    """Values that are near each other lie in the same file, so that bounds tell something."""
    random = np.random.default_rng(26)
    columns = {}
    for name in NAMES:
        type_, values = COLUMNS[name]
        ordered = sorted((v for v in values if v == v), key=lambda v: order_key(type_, v))
        if name == "db":
            ordered.append(float("nan"))
        places = np.sort(random.integers(0, len(ordered), ROWS))
        chosen = [None if random.random() < 0.04 else ordered[place] for place in places]
        shift = int(random.integers(0, FILES)) * (ROWS // FILES)
        columns[name] = column_of(type_, [*chosen[shift:], *chosen[:shift]])
    return pa.table({**columns, "id": pa.array(range(ROWS), pa.int64())})


@pytest.mark.parametrize("partition_by", [[], ["st", "day(ts)", "truncate(10, i32)", "i8"]])
def test_pruned_rows_are_those_that_brute_force_leaves_out(
    tmp_path: Path, partition_by: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """By statistics, by tuples of identities and transforms, by the bounds of manifests: the same rows are found."""
    rows = _rows()
    rule = coalesce.small("st") if partition_by else None
    table = coalesce.create(tmp_path / "t", rows.schema, partition_by=partition_by, rule=rule)
    for start in range(0, ROWS, ROWS // FILES):
        table.append(rows.slice(start, ROWS // FILES))
    whole = table.scan().to_arrow()
    core = core_of(table)
    wrong: list[str] = []
    asked = pruned = 0
    for text in Generator(f"bounds {partition_by}", CHOSEN).predicates(COUNT):
        bound = normalize(core.bound(text))
        try:
            expected = set(whole["id"].filter(pa.array(is_true(bound, whole, table.schema))).to_pylist())
        except PredicateError:
            continue  # not every row can be answered
        asked += 1
        files = table.plan(text).file_count
        pruned += files < len(table.files())
        if set(table.scan(text, columns=["id"]).to_arrow()["id"].to_pylist()) != expected:
            wrong.append(text)
    with capsys.disabled():
        print(f"\n{asked} of {COUNT} conditions answered, {pruned} leave out files", end=" ")  # noqa: T201 - worth seeing
    assert not wrong, f"{len(wrong)}, such as\n" + "\n".join(wrong[:5])
    assert pruned > 0.2 * asked
    assert asked > 0.5 * COUNT
