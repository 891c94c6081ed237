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
