"""The least, or the largest, key of every group: its line as shares, and marks of where it was.

Keys are distinct within a group. The lines of each group are shuffled within it. A public plan
(`tournament`) cuts each group into subgroups: all pairs inside a subgroup are compared and opened,
and the winners go on to the next level, of which the last has one subgroup per group. So the place
of the least is public in the shuffled order, and its line is the share there. Marks of it go back
to the original order as shares. A group of c keys needs about c^(4/3) comparisons in two levels,
where all pairs are c^2 / 2, and fewer in three.

Learns   the nodes the opened orders. Given all permutations but one, the ranking of a group's
         shuffled keys is uniform whatever the keys are, and the orders are a public function of
         it: a simulator draws a uniform ranking and opens the same pairs. Were two keys equal,
         their order would show it
Rounds   a shuffle, one comparison per level, and for marks a way back
Bytes    those of the shuffle and of the comparisons
Paper    [hamada2012] for opening comparisons of shuffled keys

What is found is a function of the keys alone, never of the shuffle: `least_in_the_clear`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.planes import Unsigned, cut
from tacit.mpc.protocols import less_than, shuffle
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.protocols.ranking import no_order
from tacit.mpc.protocols.shuffle import SecretPermutation, draw_group_order
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, as_columns

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
    # Equal keys, or keys out of range, would show as a cycle that depends on the data.
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


def with_ties(
    values: ArithmeticShare, ties: NDArray[np.integer[Any]], *, tie_bits: int
) -> ArithmeticShare:
    """Lines of key and value: the key is the value, and among equal values a public number.

    >>> from tacit.mpc.local import deal_integers, reveal
    >>> reveal([with_ties(v, np.array([1, 0]), tie_bits=1) for v in deal_integers([5, 5])])
    array([[11,  5],
           [10,  5]])
    """
    word = values.dtype
    # Without the tie, equal values would be smaller in neither direction, and the opened signs
    # would tell that they are equal.
    keys = values.map(lambda part: part << word.type(tie_bits)).add_public(ties.astype(word))
    return as_columns([keys, values])


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in each group, in the order of the groups."""

    lines: ArithmeticShare
    """Shares of the lines that were found."""
    places: NDArray[np.intp]
    """Where they are among all shuffled lines: public, and uniform within a group."""
    kept: BitShare
    """The signs that were kept secret."""
    order: SecretPermutation
    count: int
    """How many lines there were."""

    def _public(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        marks = np.zeros(self.count, dtype=dtype)
        marks[self.places] = 1
        return marks

    async def marks(self, session: Session, dtype: np.dtype[Any], *, label: str) -> ArithmeticShare:
        """Shares of 1 where a line was found and 0 elsewhere, in the original order."""
        public = self._public(dtype)
        return await shuffle.labels_to_shares(
            session, public, self.order, label=label, kind=ArithmeticShare
        )

    async def bit_marks(self, session: Session, *, label: str) -> BitShare:
        """The same as bits, one per byte."""
        public = self._public(np.dtype(np.uint8))
        return await shuffle.labels_to_shares(
            session, public, self.order, label=label, kind=BitShare
        )


async def find_least(
    session: Session,
    lines: ArithmeticShare,
    sizes: Sequence[int],
    *,
    bits: int,
    label: str,
    kept: ArithmeticShare | None = None,
    levels: int | None = None,
    largest: bool = False,
) -> Found:
    """Find the line with the least key of every group; with `largest`, the largest key.

    Groups of these sizes follow each other. Lines are keys, or begin with the key. The keys of a
    group are distinct and differ by less than 2^(bits - 1). Signs of the differences `kept`, for
    which `bits` suffice too, are found in the same messages and stay shares.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> keys = deal_integers([10, 30, 20, 9, 8])
    >>> async def node(s):
    ...     found = await find_least(s, keys[s.me], [3, 2], bits=6, label="m")
    ...     word = np.dtype(np.uint64)
    ...     return found.lines, await found.marks(s, word, label="back")
    >>> results = run_parties(node).results
    >>> reveal([lines for lines, _ in results]), reveal([marks for _, marks in results])
    (array([10,  8]), array([1, 0, 0, 0, 1]))
    """
    # Fresh for every search: signs opened in one order twice would link two sets of keys.
    order = draw_group_order(session, sizes, label=f"{label}.order")
    mixed = await shuffle.shuffle(session, lines, order, label=f"{label}.shuffle")
    keys = mixed if mixed.any.ndim == 1 else mixed[:, 0]
    # The known part is linear, so it is taken and cut before the many differences are formed.
    known = cut(known_part(session, keys), bits=bits)
    places = np.arange(len(lines))
    secret = known[:0] if kept is None else known_part(session, kept)
    signs = []
    for number, level in enumerate(_levels(sizes, levels)):
        batch = await less_than.compare_known(
            session,
            level.differences(known[places]),
            secret if number == 0 else secret[:0],
            bits=bits,
            label=f"{label}.{number}",
        )
        signs.append(batch.kept)
        # Only winners go on: whom they beat is in the opened signs, and uniform.
        places = places[level.winners(batch.opened, largest=largest)]
    return Found(mixed[places], places, signs[0], order, len(lines))


def _levels(sizes: Sequence[int], levels: int | None) -> tuple[Level, ...]:
    """At least one level, in which the kept signs are found too."""
    return tournament(tuple(sizes), levels or levels_for(max(sizes)))


def least_in_the_clear(
    keys: NDArray[np.integer[Any]], sizes: Sequence[int], *, largest: bool = False
) -> NDArray[np.intp]:
    """What `find_least` finds: the place of the least key of each group, in the original order.

    >>> least_in_the_clear(np.array([10, 30, 20, 9, 8]), [3, 2])
    array([0, 4])
    """
    ends = np.cumsum(sizes)
    best = np.argmax if largest else np.argmin
    starts = [int(end) - size for end, size in zip(ends, sizes, strict=True)]
    places = [at + best(keys[at : at + size]) for at, size in zip(starts, sizes, strict=True)]
    return np.array(places, dtype=np.intp)


def cost(
    nodes: int,
    sizes: Sequence[int],
    *,
    bits: int,
    dtype: np.dtype[Any],
    columns: int | None = None,
    kept: int = 0,
    levels: int | None = None,
) -> Cost:
    """The cost of finding; lines have so many columns of this type, or are keys alone."""
    shape = (sum(sizes),) if columns is None else (sum(sizes), columns)
    total = shuffle.cost(nodes, shape, dtype)
    for number, level in enumerate(_levels(sizes, levels)):
        signs = 0 if number else kept
        total = total.then(less_than.cost(nodes, level.pairs, signs, bits=bits))
    return total


def cost_of_marks(nodes: int, sizes: Sequence[int], dtype: np.dtype[Any]) -> Cost:
    return shuffle.cost_to_shares(nodes, sum(sizes), dtype)
