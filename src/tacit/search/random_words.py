"""Randomness as arrays of 32-bit words.

Kernels do not draw; they get random words and turn them into decisions. So a kernel is a pure
function, compiled or not, and a run depends on nothing but the bit stream of its generator, which
NumPy keeps the same on every machine and in every version (its distributions may change).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel

WORD_RANGE = 2**32

Words = NDArray[np.uint32]


def draw_words(rng: np.random.Generator, count: int, /) -> Words:
    """Draw words from the generator's raw stream.

    >>> draw_words(np.random.Generator(np.random.PCG64(1)), 3)
    array([2032329983, 2198257139, 3243419750], dtype=uint32)
    """
    raw = rng.bit_generator.random_raw((count + 1) // 2)
    return np.asarray(raw, dtype="<u8").view("<u4")[:count]


def threshold(probability: float, /) -> int:
    """The bound below which a word means yes.

    >>> threshold(1.0) == WORD_RANGE, threshold(0.25)
    (True, 1073741824)
    """
    return round(probability * WORD_RANGE)


@kernel
def below(word: np.uint32, bound: int) -> int:
    """Turn a word into a whole number in 0..bound-1 (multiply and shift).

    Uneven by at most bound/2^32, which no search can notice.

    >>> below(np.uint32(2**31), 10)
    5
    """
    return int((np.int64(word) * bound) >> 32)


@kernel
def distinct_pair(first: np.uint32, second: np.uint32, bound: int) -> tuple[int, int]:
    """Two different positions in 0..bound-1, the smaller one first (bound at least 2).

    >>> distinct_pair(np.uint32(2**31), np.uint32(0), 10)
    (0, 5)
    """
    i = below(first, bound)
    j = below(second, bound - 1)
    if j >= i:
        return i, j + 1
    return j, i


@kernel
def segment(first: np.uint32, second: np.uint32, bound: int) -> tuple[int, int]:
    """The first and last position of a segment of 0..bound-1, of one position at least.

    >>> segment(np.uint32(2**31), np.uint32(0), 10)
    (0, 5)
    """
    i, j = below(first, bound), below(second, bound)
    if i > j:
        return j, i
    return i, j
