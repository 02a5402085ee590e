"""How much of a file is rows: what its rows would take in a larger one, written as we write them.

A file of a few rows is mostly footer and page headers, and another codec packs otherwise. So what is written again
takes less than it did, which decides how many files there will be. What a file has however few its rows are, is found
by comparing small files with each other.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from coalesce.interop.adopt.footers import Footer
from coalesce.interop.adopt.survey import Packing

_SMALL: Final = 64 * 1024
_CHUNK: Final = 40  # bytes of the headers of a column's pages, in each row group
# How far that may be off, as seen: there are texts that zstd packs well and others not at all; and dictionaries of
# columns with few values are in every small file, and once in a large one.
_LEAST: Final = 0.3
_LEAST_PACKED: Final = 0.45
_MOST: Final = 1.5
# About how large the same rows are in our files, which are packed with zstd, beside those of another codec.
_FACTORS: Final = {"SNAPPY": 0.76, "LZ4": 0.78, "LZ4_RAW": 0.78, "LZO": 0.78, "UNCOMPRESSED": 0.65}


def packing_of(footers: Sequence[Footer]) -> Packing:
    """What files have in common, by those whose footers were read."""
    if not footers:
        return Packing()
    lengths = np.array([f.length for f in footers], np.float64)
    sizes = np.array([f.file.size for f in footers], np.float64) - lengths
    rows = np.array([f.rows for f in footers], np.float64)
    factors = [_FACTORS.get(f.codec, 1.0) for f in footers]
    headers = float(np.mean([f.chunks for f in footers])) * _CHUNK
    fixed = max(_fixed(sizes, rows), min(headers, float(sizes.min())))
    least = _LEAST if any(f.codec in _FACTORS for f in footers) else _LEAST_PACKED
    return Packing(float(lengths.mean()), fixed, float(np.mean(factors)), least, _MOST)


def _fixed(sizes: np.ndarray, rows: np.ndarray) -> float:
    """What small files take beside their rows: where the line through their sizes begins."""
    small = sizes < _SMALL
    sizes, rows = sizes[small], rows[small]
    if len(sizes) < 2 or rows.min() == rows.max():
        return 0.0
    slope, begin = np.polyfit(rows, sizes, 1)
    return float(np.clip(begin, 0.0, sizes.min())) if slope > 0 else 0.0
