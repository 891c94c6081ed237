"""Sources of masks that are weakened on purpose, or fixed for the observer; p-value limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from tacit.mpc.masks import KeyedMasks, MaskSource
from tacit.mpc.ring import to_ring
from tacit.mpc.shares import ArithmeticShare, BitShare, held_by, total
from tests.mpc.mask_checks import RememberedMasks

SURE = 1e-6
"""A p-value below this is not chance."""


class Unshuffled(RememberedMasks):
    """A weakened source: permutations that do not permute."""

    def permutation(self, label: str, component: int, size: int) -> NDArray[np.intp]:  # noqa: ARG002
        return np.arange(size)


def fixed_for(
    observer: int, number: int, kind: type[KeyedMasks] = RememberedMasks, *, nodes: int = 3
) -> Callable[[int], MaskSource]:
    """Keys of which the observer's own never change; the one that it lacks is new each time."""
    keys = {c: bytes([c + 1]) * 32 for c in range(nodes)}
    keys[observer] = number.to_bytes(32, "little")
    return lambda me: kind({c: keys[c] for c in held_by(me, nodes)})


def split_bits_alike(bits: NDArray[np.uint8], observer: int, *, nodes: int) -> list[BitShare]:
    """The same for bits, one per byte."""
    rng = np.random.default_rng(1)
    parts = {
        c: rng.integers(0, 2, bits.shape, dtype=np.uint8) for c in sorted(held_by(observer, nodes))
    }
    parts[observer] = bits ^ total(parts.values(), np.bitwise_xor)
    return [BitShare({c: parts[c] for c in held_by(i, nodes)}) for i in range(nodes)]


def split_alike(values: NDArray[np.int64], observer: int, *, nodes: int) -> list[ArithmeticShare]:
    """Shares of which the observer's own components are always the same."""
    rng = np.random.default_rng(1)
    parts = {
        c: rng.integers(0, 2**64, values.shape, dtype=np.uint64)
        for c in sorted(held_by(observer, nodes))
    }
    parts[observer] = to_ring(values) - total(parts.values(), np.add)
    return [ArithmeticShare({c: parts[c] for c in held_by(i, nodes)}) for i in range(nodes)]


def least_p(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> float:
    """The smallest p-value over all single bits and all pairs of bits."""
    cells = []
    for lines in (first, second):
        # Counts this small are exact as floats, which are multiplied far faster than integers.
        x = lines.astype(np.float32)
        ones, both = x.sum(axis=0), x.T @ x
        only_first, only_second = ones[:, None] - both, ones[None, :] - both
        cells.append((both, only_first, only_second, len(x) - both - only_first - only_second))
    statistic, filled = np.zeros_like(both), np.zeros_like(both)
    for one, other in zip(*cells, strict=True):
        total = one + other
        # Two samples of the same size: the statistic of a table with two lines.
        statistic += (one - other) ** 2 / np.maximum(total, 1)
        filled += total > 0
    freedom = np.maximum(filled - 1, 1)
    # The tail gets smaller with the statistic, so of each freedom only the largest matters.
    return min(
        float(chi2.sf(statistic[freedom == each].max(), each)) for each in np.unique(freedom)
    )
