"""Deletion vectors: what is written is what Delta's own format says, whichever way the rows lie."""

from base64 import b85decode
from struct import unpack_from

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coalesce.arrow.ranges import Ranges
from coalesce.interop.export.delta.vectors import deletion_vector, serialized
from tests.support.examples import examples

PYTHONS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def rows_of(data: bytes) -> list[int]:
    """The rows in a bitmap of 64 bits, read as the format is described, and by nothing of ours."""
    (bitmaps,), at, found = unpack_from("<Q", data), 8, []
    for _ in range(bitmaps):
        high, cookie = unpack_from("<II", data, at)
        begin, at = at + 4, at + 8
        assert cookie & 0xFFFF == 12347
        count = (cookie >> 16) + 1
        flags = data[at : at + (count + 7) // 8]
        at += len(flags)
        heads = [unpack_from("<HH", data, at + 4 * i) for i in range(count)]
        at += 4 * count
        offsets = [unpack_from("<I", data, at + 4 * i)[0] for i in range(count)] if count >= 4 else []
        at += 4 * len(offsets)
        for i, (key, less) in enumerate(heads):
            assert not offsets or begin + offsets[i] == at
            if flags[i // 8] >> i % 8 & 1:
                (runs,), at = unpack_from("<H", data, at), at + 2
                pairs = [unpack_from("<HH", data, at + 4 * r) for r in range(runs)]
                values = [v for start, length in pairs for v in range(start, start + length + 1)]
                at += 4 * runs
            elif less + 1 > 4096:
                values = np.flatnonzero(
                    np.unpackbits(np.frombuffer(data, np.uint8, 8192, at), bitorder="little")
                ).tolist()
                at += 8192
            else:
                values = list(unpack_from(f"<{less + 1}H", data, at))
                at += 2 * (less + 1)
            assert len(values) == less + 1
            found += [(high << 32) + (key << 16) + v for v in values]
    assert at == len(data)
    return found


def ranges(edges: list[int], total: int) -> Ranges:
    """Rows from each even edge to the next odd one."""
    return Ranges(np.array(edges[::2], np.int64), np.array(edges[1::2], np.int64), total)


@pytest.mark.parametrize(
    ("edges", "total"),
    [
        ([0, 1], 1),
        ([5, 8, 65_530, 65_540, 200_000, 400_000], 500_000),
        ([i for k in range(3000) for i in (4 * k, 4 * k + 1)], 12_000),
        ([i for k in range(20_000) for i in (3 * k, 3 * k + 1)], 60_001),
        ([2**32 - 3, 2**32 + 4, 5 * 2**32, 5 * 2**32 + 1], 2**36),
    ],
)
def test_rows_come_back(edges: list[int], total: int) -> None:
    """Runs, single rows, many of them, and rows beyond the first four billion."""
    rows = ranges(edges, total)
    expected = [r for start, stop in zip(edges[::2], edges[1::2], strict=True) for r in range(start, stop)]
    assert rows_of(serialized(rows)) == expected


@settings(max_examples=examples(30))
@given(st.sets(st.integers(0, 200_000), min_size=2, max_size=60))
def test_any_rows_come_back(edges: set[int]) -> None:
    """Whatever the rows, the vector says these and says how many."""
    listed = sorted(edges)[: len(edges) // 2 * 2]
    rows = ranges(listed, 200_001)
    vector = deletion_vector(rows)
    data = b85decode(vector["pathOrInlineDv"].encode().translate(bytes.maketrans(Z85, PYTHONS)))
    assert unpack_from("<I", data) == (1681511377,)
    assert rows_of(data[4 : vector["sizeInBytes"]]) == np.flatnonzero(rows.mask()).tolist()
    assert vector["cardinality"] == rows.count
    assert vector["storageType"] == "i"
