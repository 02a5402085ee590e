"""A manifest that lists many tuples is as small as trying makes it, and says the same."""

import random
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coalesce.manifest import manifest_file
from coalesce.manifest.encodings import better_than_dictionaries
from coalesce.manifest.manifest_file import EncodedManifest, decode_manifest, encode_manifest
from coalesce.model.arrow_schema import schema_from_arrow
from coalesce.model.datafile import DataFile
from coalesce.model.entries import Entries, from_files
from coalesce.model.spec import Spec, parse_partition_fields
from coalesce.model.values import values_of
from tests.support.examples import examples

COUNTED = pa.array([f"app-{i:06}" for i in range(3000)])
RANDOM = pa.array(sorted(f"{random.Random(i).getrandbits(128):032x}" for i in range(400)) * 8)
PATH = "tuples.list.element."


def entries_of(columns: dict[str, pa.Array], files: int = 3) -> tuple[Entries, Spec]:
    """Entries of files that have every tuple there is, one row of the first, two of the second and so on."""
    schema = schema_from_arrow(pa.table(columns).schema)
    spec = Spec(0, parse_partition_fields(list(columns), schema))
    types = spec.types(schema)
    tuples = tuple(zip(*(values_of(t, c) for t, c in zip(types, columns.values(), strict=True)), strict=True))
    counts = tuple(range(1, len(tuples) + 1))
    made = [
        DataFile(
            path=f"data/{i}.parquet",
            spec_id=0,
            rows=sum(counts),
            bytes=1,
            tuples=tuples,
            tuple_rows=counts,
            complete=True,
        )
        for i in range(files)
    ]
    return from_files(made, spec, schema), spec


def encodings_in(manifest: EncodedManifest) -> dict[str, tuple[str, ...]]:
    """The encodings of what tuples are made of."""
    group = pq.ParquetFile(pa.BufferReader(manifest.data)).metadata.row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    return {c.path_in_schema: c.encodings for c in columns if c.path_in_schema.startswith(PATH)}


def with_dictionaries(entries: Entries) -> EncodedManifest:
    """The manifest as it would be if nothing were tried."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_file, "better_than_dictionaries", lambda _: {})
        return encode_manifest(entries)


def test_names_that_are_counted_up() -> None:
    """They say how each differs from the one before; so many take a tenth of what a dictionary takes."""
    entries, _ = entries_of({"app": COUNTED}, files=1)
    small = encode_manifest(entries)
    assert "DELTA_BYTE_ARRAY" in encodings_in(small)[f"{PATH}f1000"]
    assert "RLE_DICTIONARY" not in encodings_in(small)[f"{PATH}rows"]
    assert len(small.data) < len(with_dictionaries(entries).data) / 3


def test_names_of_random_digits() -> None:
    """Those that stand in several entries stay in a dictionary."""
    assert better_than_dictionaries({"app": RANDOM}) == {}


def test_few_tuples_are_not_tried() -> None:
    """What they take is little, and a commit of a few rows is not to wait for it."""
    assert better_than_dictionaries({"app": COUNTED.slice(0, 255)}) == {}
    assert better_than_dictionaries({"app": COUNTED.slice(0, 256)}) == {"app": "DELTA_BYTE_ARRAY"}
    assert better_than_dictionaries({}) == {}


_COLUMNS: dict[str, Any] = {
    "counted": lambda n: pa.array([f"app-{i:05}" for i in range(n)]),
    "repeated": lambda n: pa.array([f"region {i % 7}" for i in range(n)]),
    "nulls": lambda n: pa.array([None if i % 5 == 0 else f"{i}" for i in range(n)]),
    "bytes": lambda n: pa.array([bytes([i % 256, i // 256]) for i in range(n)]),
    "int": lambda n: pa.array(np.arange(n) * 7_919 - 10**6),
    "int8": lambda n: pa.array((np.arange(n) % 100).astype(np.int8)),
    "date": lambda n: pa.array([date(2026, 1 + i % 12, 1) for i in range(n)]),
    "moment": lambda n: pa.array(np.arange(n) * 10**9, pa.timestamp("us", "UTC")),
    "flag": lambda n: pa.array([i % 2 == 0 for i in range(n)]),
    "float": lambda n: pa.array(np.arange(n) / 3),
    "decimal": lambda n: pa.array([Decimal(i).scaleb(-2) for i in range(n)], pa.decimal128(30, 2)),
}


@given(st.lists(st.sampled_from(sorted(_COLUMNS)), min_size=1, max_size=3, unique=True), st.integers(250, 700))
@settings(max_examples=examples(20), deadline=None)
def test_what_was_written_is_read(names: list[str], count: int) -> None:
    """Whatever tuples are made of, and it is never larger than with dictionaries."""
    entries, spec = entries_of({name: _COLUMNS[name](count) for name in names})
    small, before = encode_manifest(entries), with_dictionaries(entries)
    read = [decode_manifest(m.data, m.ref("_coalesce/manifests/m.parquet", 1, 0), spec) for m in (small, before)]
    assert read[0].core.equals(read[1].core)
    assert read[0].core.column("tuples").combine_chunks() == entries.core.column("tuples").combine_chunks()
    assert len(small.data) <= len(before.data) + 200
