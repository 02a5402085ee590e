"""Dead rows as Delta's deletion vectors, written into the log itself: no further file, and nothing to be cleaned up.

A vector is a Roaring bitmap in its portable form. Dead rows mostly lie together, so that it is a few bytes.
"""

from base64 import b85encode
from collections.abc import Iterator
from dataclasses import dataclass
from struct import pack
from typing import Any, Final

import numpy as np

from coalesce.arrow.ranges import Ranges, Rows

_MAGIC: Final = 1681511377  # of Delta: a bitmap of 64 bits in the portable form
_WITH_RUNS: Final = 12347  # of Roaring
_CONTAINER: Final = 1 << 16
_MOST_IN_ARRAY: Final = 4096
_OFFSETS_FROM: Final = 4  # containers on, where there are runs
# Delta's alphabet is Z85's; Python's has other characters in the same order of values.
_PYTHONS: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85: Final = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_TO_Z85: Final = bytes.maketrans(_PYTHONS, _Z85)


@dataclass(frozen=True, slots=True)
class Container:
    """The rows of 65,536 that begin at `key` times as many."""

    key: int
    count: int
    has_runs: bool
    data: bytes


def deletion_vector(dead: Ranges) -> dict[str, Any]:
    """The descriptor of a vector that leaves out these rows."""
    data = pack("<I", _MAGIC) + serialized(dead)
    padded = data + b"\0" * (-len(data) % 4)
    text = b85encode(padded).translate(_TO_Z85).decode("ascii")
    return {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": dead.count}


def serialized(rows: Ranges) -> bytes:
    """Rows as a bitmap of 64 bits: one of 32 bits for each four billion of them."""
    by_high: dict[int, list[Container]] = {}
    for container in _containers(rows):
        by_high.setdefault(container.key >> 16, []).append(container)
    parts = [pack("<Q", len(by_high))]
    for high, containers in by_high.items():
        parts += [pack("<I", high), _bitmap(containers)]
    return b"".join(parts)


def _bitmap(containers: list[Container]) -> bytes:
    """A bitmap of 32 bits: which containers have runs, their keys and counts, where they begin, and they themselves."""
    flags = np.packbits([c.has_runs for c in containers], bitorder="little").tobytes()
    head = pack("<I", _WITH_RUNS | (len(containers) - 1) << 16) + flags
    head += b"".join(pack("<HH", c.key & 0xFFFF, c.count - 1) for c in containers)
    if len(containers) >= _OFFSETS_FROM:
        begin = len(head) + 4 * len(containers)
        begins = np.cumsum([begin, *(len(c.data) for c in containers[:-1])])
        head += begins.astype("<u4").tobytes()
    return head + b"".join(c.data for c in containers)


def _containers(rows: Ranges) -> Iterator[Container]:
    """Every container that has rows, each in the form that takes the least."""
    touched: set[int] = set()
    for start, stop in zip(rows.starts.tolist(), rows.stops.tolist(), strict=True):
        touched.update(range(start // _CONTAINER, (stop - 1) // _CONTAINER + 1))
    for key in sorted(touched):
        begin = key * _CONTAINER
        inside = rows.between(begin, min(begin + _CONTAINER, rows.total))
        lengths = inside.stops - inside.starts
        count = int(lengths.sum())
        as_runs, as_values = 2 + 4 * len(lengths), 2 * count if count <= _MOST_IN_ARRAY else _CONTAINER // 8
        if as_runs <= as_values:
            pairs = np.stack([inside.starts, lengths - 1], axis=1).astype("<u2")
            yield Container(key, count, True, pack("<H", len(lengths)) + pairs.tobytes())
        else:
            yield Container(key, count, False, _plain(inside, count))


def _plain(inside: Ranges, count: int) -> bytes:
    mask = np.zeros(_CONTAINER, np.bool_)
    mask[: inside.total] = inside.mask()
    if count > _MOST_IN_ARRAY:
        return np.packbits(mask, bitorder="little").tobytes()
    values: Rows = np.flatnonzero(mask)
    return values.astype("<u2").tobytes()
