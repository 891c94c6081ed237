"""The ring Z_2^64: signed integers as wrapping 64-bit words.

NumPy's unsigned arrays wrap around silently, which is exactly the arithmetic of this ring. Scalars
would warn, so everything here and in the protocols stays an array of at least one dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""Elements of the ring, or 64 bits of a bit plane per element."""

RING_BITS = 64


def to_ring(values: Sequence[int] | NDArray[np.int64]) -> Words:
    """Signed integers as elements of the ring (two's complement), at least one-dimensional.

    >>> to_ring([1, -1])
    array([                   1, 18446744073709551615], dtype=uint64)
    """
    return np.atleast_1d(np.array(values, dtype=np.int64)).view(np.uint64)


def from_ring(words: NDArray[Any]) -> NDArray[np.int64]:
    """Elements of the ring, or of a smaller one, as signed integers: the inverse of `to_ring`.

    >>> from_ring(to_ring([5, -7])), from_ring(to_ring([-7]).astype(np.uint32))
    (array([ 5, -7]), array([-7]))
    """
    signed = np.ascontiguousarray(words).view(f"i{words.dtype.itemsize}")
    return signed.astype(np.int64, copy=False)


def public_word(value: int) -> np.uint64:
    """A public integer of any sign as one ring element, to add to or multiply arrays with.

    >>> int(public_word(-2)) == 2**64 - 2
    True
    """
    return np.uint64(value % (1 << RING_BITS))


_MANTISSA = 53
"""Bits of the whole numbers that a float64 holds."""
_SMALL = 40
"""Up to so many terms NumPy's own product of integers is faster."""


def multiplied(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Return the product of matrices of words, or of many such, modulo 2^32 or 2^64.

    NumPy multiplies integer matrices without BLAS. Here the words are cut into pieces whose
    products and sums are exact in a float64, which is about three times as fast for 100 or more
    lines.

    >>> words = np.full((64, 64), 2**32 - 1, dtype=np.uint32)
    >>> bool((multiplied(words, words) == np.matmul(words, words)).all())
    True
    """
    terms, width, word = a.shape[-1], 8 * a.dtype.itemsize, a.dtype.type
    if terms <= _SMALL:
        return np.asarray(np.matmul(a, b))
    # So many bits are left for a product, if a sum of so many terms is to stay exact.
    room = _MANTISSA - terms.bit_length()
    # Words of 32 bits are cut on one side only, into fewer pieces.
    right = width if width <= 32 else room // 2
    left = room - right
    total = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]),
                     dtype=a.dtype)  # fmt: skip
    rights = [(at, _piece(b, at, right)) for at in range(0, width, right)]
    for low in range(0, width, left):
        piece = _piece(a, low, left)
        for at, other in rights:
            if low + at < width:
                product = (piece @ other).astype(np.int64).astype(a.dtype)
                total += product << word(low + at)
    return total


def _piece(words: NDArray[Any], low: int, bits: int) -> NDArray[np.float64]:
    """Return so many bits of each word, from the bit `low` on."""
    word = words.dtype.type
    made: NDArray[np.float64] = ((words >> word(low)) & word((1 << bits) - 1)).astype(np.float64)
    return made
