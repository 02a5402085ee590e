"""Advice on shapes that nobody tuned it on: what compaction makes is what was said, or within what was said."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import coalesce
from tests.interop.adopt.lakes import lay
from tests.support.examples import examples

Rows = Callable[[int, np.random.Generator], dict[str, object]]
KINDS: dict[str, Rows] = {
    "numbers": lambda n, random: {"k": random.integers(0, 1 << 40, n), "x": random.random(n)},
    "one value": lambda n, _: {"k": np.zeros(n, np.int64), "note": ["same"] * n},
    "texts": lambda n, random: {"t": [f"{v:x}" * int(1 + v % 5) for v in random.integers(0, 1 << 60, n)]},
    "words": lambda n, random: {"t": [f"word {v} of some text that repeats" for v in random.integers(0, 30, n)]},
    "wide": lambda n, random: {f"c{i}": random.integers(0, 1000, n) for i in range(40)},
    "nested": lambda n, random: {"l": [[f"t{v % 7}"] * int(1 + v % 3) for v in random.integers(0, 100, n)]},
}


@settings(max_examples=examples(8), deadline=None)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    codec=st.sampled_from(["snappy", "zstd", "none", "gzip", "lz4"]),
    days=st.integers(1, 3),
    sizes=st.lists(st.sampled_from([1, 3, 20, 100, 700]), min_size=2, max_size=15),
    files=st.integers(1, 3),
    target=st.sampled_from(["8KB", "32KB", "128KB", "128MB"]),
)
def test_what_is_made_is_within_what_was_said(
    kind: str, codec: str, days: int, sizes: list[int], files: int, target: str
) -> None:
    """Where the fewest and the most are the same, within a tenth; else between them."""
    random = np.random.default_rng(len(sizes))
    with tempfile.TemporaryDirectory() as place:
        laid = {
            f"dt=2026-05-0{day + 1}/app=app-{app}/{i}.parquet": pa.table(KINDS[kind](size, random))
            for day in range(days)
            for app, size in enumerate(sizes)
            for i in range(files)
        }
        lay(Path(place), laid, compression=codec)
        advice = coalesce.advise(place, target=target)
        rule = coalesce.small(*advice.share, below=advice.below, target=advice.target) if advice.share else None
        table = coalesce.adopt(place, rule=rule, properties={"write.target-file-bytes": target}).table
        table.compact()
        least, most = advice.files_between
        assert least <= advice.after.files <= most
        assert 0.9 * least <= len(table.files()) <= 1.1 * most
