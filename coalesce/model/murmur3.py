"""The hash behind buckets: murmur3, x86, 32 bits, seed 0, for one value or a whole column."""

import struct
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[Any]  # of uint32; NumPy's types would call `words * 5` signed
Word = TypeVar("Word", int, Words)  # one number, or a whole column of them: the arithmetic is the same

_MASK: Final = 0xFFFFFFFF  # what a uint32 does by itself, and a Python integer must be told
_FEW: Final = 16  # rows below which stepping a column costs more than hashing each by itself
_TAIL_MASKS: Final = np.array([0, 0xFF, 0xFFFF, 0xFFFFFF], np.uint32)


def murmur3(data: bytes) -> int:
    """The hash of one byte string."""
    whole = len(data) & ~3
    state = _absorb_all(0, data[:whole])
    state ^= _scramble(int.from_bytes(data[whole:], "little"))
    return _finish(state ^ len(data))


def murmur3_spans(data: npt.NDArray[np.uint8], starts: Integers, lengths: Integers) -> Words:
    """The hash of each span of `data`, stepping through all spans at once, four bytes at a time."""
    blocks = lengths >> 2
    order = np.argsort(-blocks, kind="stable")  # longest first: the spans that still have a block are a prefix
    starts, lengths, blocks = starts[order], lengths[order], blocks[order]
    padded = np.concatenate([data, np.zeros(4, np.uint8)])
    word_at: Words = np.ndarray((len(data) + 1,), "<u4", buffer=padded, strides=(1,))  # one at *every* byte
    state = np.zeros(len(starts), np.uint32)
    # How many spans have more than `step` blocks, for every step.
    still_running = len(blocks) - np.searchsorted(blocks[::-1], np.arange(int(blocks[0])), side="right")
    for step, running in enumerate(still_running.tolist()):
        if running < _FEW:
            for row in range(running):  # the few long ones, each to its end
                rest = padded[starts[row] + 4 * step : starts[row] + 4 * blocks[row]].tobytes()
                state[row] = _absorb_all(int(state[row]), rest)
            break
        state[:running] = _absorb(state[:running], word_at[starts[:running] + 4 * step])
    tails = word_at[starts + 4 * blocks] & _TAIL_MASKS[lengths & 3]
    state = _finish(state ^ _scramble(tails) ^ lengths.astype(np.uint32))
    hashes = np.empty_like(state)
    hashes[order] = state
    return hashes


def murmur3_longs(halves: Words) -> Words:
    """The hash of each 64-bit integer, given as its low and its high 32 bits, one row each."""
    state: Words = np.zeros(len(halves), np.uint32)
    for half in (halves[:, 0], halves[:, 1]):
        state = _absorb(state, half)
    return _finish(state ^ np.uint32(8))


def _absorb_all(state: int, data: bytes) -> int:
    for (word,) in struct.iter_unpack("<I", data):
        state = _absorb(state, word)
    return state


def _absorb(state: Word, word: Word) -> Word:
    mixed = state ^ _scramble(word)
    return (_rotated(mixed, 13) * 5 + 0xE6546B64) & _MASK


def _scramble(word: Word) -> Word:
    return (_rotated(word * 0xCC9E2D51 & _MASK, 15) * 0x1B873593) & _MASK


def _rotated(word: Word, bits: int) -> Word:
    return (word << bits | word >> (32 - bits)) & _MASK


def _finish(state: Word) -> Word:
    state = ((state ^ state >> 16) * 0x85EBCA6B) & _MASK
    state = ((state ^ state >> 13) * 0xC2B2AE35) & _MASK
    state = state ^ state >> 16
    return state  # noqa: RET504 - returned directly, NumPy's types would make it Any
