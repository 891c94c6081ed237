"""Which keys are compared to find the least, or the largest, of every group: a public plan.

A group is cut into subgroups, all pairs inside a subgroup are compared, and the winners go on to
the next level, of which the last has one subgroup per group. A group of c keys needs about c^(4/3)
comparisons in two levels, where all pairs are c^2 / 2, and fewer in three; each level takes the
rounds of one comparison.

The plan follows from the sizes alone. Subgroups differ in size by one at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.planes import Unsigned
from tacit.mpc.rank.result import no_order

Indices = NDArray[np.intp]
FEW, MANY = 8, 299
"""Up to so many keys all pairs are compared, and up to so many two levels are enough."""


@dataclass(frozen=True, slots=True)
class Rivals:
    """Subgroups of one size: their numbers, and a line of candidates for each."""

    numbers: Indices
    members: Indices

    @property
    def pairs(self) -> int:
        """How many comparisons they need."""
        size: int = self.members.shape[1]
        return len(self.members) * (size * (size - 1) // 2)


@dataclass(frozen=True, slots=True)
class Level:
    """The subgroups of one level, together with those of the same size."""

    rivals: tuple[Rivals, ...]
    count: int
    """How many subgroups, so how many winners."""

    @property
    def pairs(self) -> int:
        """How many comparisons it needs."""
        return sum(each.pairs for each in self.rivals)

    def differences(self, keys: Unsigned) -> Unsigned:
        """Differences of keys for all pairs inside subgroups."""
        made = [np.zeros(0, dtype=keys.dtype)]
        for each in self.rivals:
            left, right = _pairs(each.members.shape[1])
            lines = keys.take(each.members)
            made.append((lines.take(left, axis=1) - lines.take(right, axis=1)).reshape(-1))
        return np.concatenate(made)

    def winners(self, less: NDArray[np.uint8], *, largest: bool) -> Indices:
        """The candidates that win, in the order of the subgroups, if the signs form orders."""
        found = np.empty(self.count, dtype=np.intp)
        first = 0
        for each in self.rivals:
            signs = less[first : first + each.pairs]
            first += each.pairs
            found[each.numbers] = _winners(signs, each.members, largest)
        return found


@cache
def _pairs(size: int) -> tuple[Indices, Indices]:
    return np.triu_indices(size, 1)


def _winners(less: NDArray[np.uint8], members: Indices, largest: bool) -> Indices:
    count, size = members.shape
    if size == 1:
        return members[:, 0]
    left, right = _pairs(size)
    smaller = np.zeros((count, size, size), dtype=np.uint8)
    signs = less.reshape(count, -1)
    smaller[:, left, right] = signs
    smaller[:, right, left] = 1 - signs
    ranks = smaller.sum(axis=2, dtype=np.uint16)  # how many are larger
    if (np.sort(ranks, axis=1) != np.arange(size)).any():
        raise no_order()
    at = ranks.argmin(axis=1) if largest else ranks.argmax(axis=1)
    found: Indices = members[np.arange(count), at]
    return found


def _cut_into(size: int, parts: int) -> tuple[int, ...]:
    """The sizes of so many subgroups of a group."""
    return tuple((size * (k + 1)) // parts - (size * k) // parts for k in range(parts))


def _pairs_inside(size: int, parts: int) -> int:
    """How many pairs so many subgroups of a group have."""
    each, longer = divmod(size, parts)
    return parts * (each * (each - 1) // 2) + longer * each


@cache
def _comparisons(size: int, levels: int) -> tuple[int, int]:
    """The least number of comparisons in so many levels, and into how many subgroups to cut.

    Where levels follow, subgroups of about the cube root of the size are best, or smaller ones.
    """
    if levels == 1 or size <= 2:
        return _pairs_inside(size, 1), 1
    widest = 2 + round(2 * size ** (1 / 3))
    return min(
        (_pairs_inside(size, parts) + _comparisons(parts, levels - 1)[0], parts)
        for parts in (-(-size // width) for width in range(1, min(size, widest) + 1))
    )


def levels_for(size: int) -> int:
    """How many levels groups of up to this size have, unless somebody says otherwise.

    >>> levels_for(6), levels_for(101), levels_for(3200)
    (1, 2, 3)
    """
    return 1 if size <= FEW else 2 if size <= MANY else 3


@lru_cache(maxsize=64)
def tournament(sizes: tuple[int, ...], levels: int) -> tuple[Level, ...]:
    """The levels for groups of these sizes.

    >>> [level.pairs for level in tournament((101,) * 100, 2)]
    [25000, 13600]
    >>> sum(level.pairs for level in tournament((300,), 2))
    1737
    """
    made = []
    left = sizes
    for remaining in range(levels, 0, -1):
        cut = [_cut_into(size, _comparisons(size, remaining)[1]) for size in left]
        made.append(_level(tuple(size for each in cut for size in each)))
        left = tuple(map(len, cut))
    return tuple(level for level in made if level.pairs or level is made[-1])


def _level(sizes: tuple[int, ...]) -> Level:
    widths = np.array(sizes, dtype=np.intp)
    first = np.cumsum(widths) - widths
    rivals = []
    for size in np.unique(widths):
        numbers = np.flatnonzero(widths == size)
        rivals.append(Rivals(numbers, first[numbers][:, None] + np.arange(size)))
    return Level(tuple(rivals), len(sizes))
