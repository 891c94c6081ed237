"""Bit planes: plane k holds bit k of many numbers, 64 numbers per machine word.

One bitwise operation on a word then works on 64 numbers. The numbers are cut into lanes of 8, 16,
32 or 64 bits, whichever just holds them, and transposed by the butterfly of recursive block
swaps, so that turning N numbers into planes costs about log2(lane) passes over the data.

Number e sits in bit e // blocks of lane e % blocks, with `blocks` lanes in a plane. All parties
use the same layout, so nothing needs to be reordered.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.ring import Words

Unsigned = NDArray[Any]
"""Unsigned integers of any width that holds the bits in question."""

_LANES: dict[int, type[np.unsignedinteger[Any]]] = {
    8: np.uint8,
    16: np.uint16,
    32: np.uint32,
    64: np.uint64,
}


def plane_words(count: int) -> int:
    """How many 64-bit words a plane of `count` numbers has.

    >>> plane_words(0), plane_words(64), plane_words(65)
    (0, 1, 2)
    """
    return -(-count // 64)


def lane_bits(bits: int) -> int:
    """The lane that holds numbers of this many bits.

    >>> lane_bits(5), lane_bits(19), lane_bits(64)
    (8, 32, 64)
    """
    return next(lane for lane in _LANES if bits <= lane)


def cut(numbers: Words, *, bits: int) -> Unsigned:
    """The numbers in the narrowest unsigned type that holds this many of their lowest bits.

    >>> cut(np.array([258], dtype=np.uint64), bits=5)
    array([2], dtype=uint8)
    """
    return numbers.astype(_LANES[lane_bits(bits)])


def to_planes(numbers: Unsigned, *, bits: int) -> Words:
    """The lowest `bits` bits of each number as planes, shape (bits, plane_words(count))."""
    lane = lane_bits(bits)
    kind = _LANES[lane]
    words = plane_words(len(numbers))
    rows = np.zeros(64 * words, dtype=kind)
    np.copyto(rows[: len(numbers)], numbers, casting="unsafe")
    rows = rows.reshape(lane, 64 * words // lane)
    distance = lane // 2
    mask = kind((1 << distance) - 1)
    while distance:
        blocks = rows.reshape(lane // (2 * distance), 2, distance, rows.shape[1])
        upper, lower = blocks[:, 0], blocks[:, 1]
        # Swap the high half of each upper block with the low half of the lower one.
        swap = ((upper >> kind(distance)) ^ lower) & mask
        lower ^= swap
        swap <<= kind(distance)
        upper ^= swap
        distance //= 2
        mask = kind(mask ^ (mask << kind(distance))) if distance else mask
    return rows[:bits].view(np.uint64)


def plane_to_bits(plane: Words, count: int, *, bits: int) -> NDArray[np.uint8]:
    """One plane as `count` zeros and ones; `bits` is what the numbers were cut to.

    >>> planes = to_planes(np.array([1, 2, 3], dtype=np.uint64), bits=2)
    >>> plane_to_bits(planes[1], 3, bits=2)
    array([0, 1, 1], dtype=uint8)
    """
    lane = lane_bits(bits)
    kind = _LANES[lane]
    lanes = np.ascontiguousarray(plane).view(kind)
    # Selecting the byte first keeps the wide shifts off the many single bits.
    as_bytes = lanes.view(np.uint8).reshape(len(lanes), lane // 8)
    shifts = np.arange(8, dtype=np.uint8)[None, :, None]
    spread = (np.ascontiguousarray(as_bytes.T)[:, None, :] >> shifts) & np.uint8(1)
    return spread.reshape(-1)[:count]
