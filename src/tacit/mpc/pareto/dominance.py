"""How many candidates dominate each one, as shares.

In the first secret order the nodes know who is ahead in (F_1, sum of the others, lower index).
Whoever is ahead dominates whoever is behind unless it is smaller in one of the other objectives;
nobody dominates somebody ahead. So of each pair both comparisons in the other objectives are kept
as shares, in the same rounds in which the first order is found, and the public order then says
which of the two counts. With more than two objectives a tree of ANDs joins them.

The bits become numbers modulo 2^16, which the nodes add up by themselves. `signs`: the rounds of a
comparison. `count_dominators`: 2 rounds, and ceil(log2(m - 1)) for the ANDs. Nobody learns
anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.planes import cut, plane_words
from tacit.mpc.protocols import b2a, less_than, pairwise
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.rank.all_pairs import pair_count, pair_differences
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, BitShare, concatenate

COUNT = np.dtype(np.uint16)
"""What dominators are counted in."""


@cache
def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Both positions of all pairs, in the order of `pair_differences`."""
    count = pair_count(n)
    first = np.tile(np.arange(n), n // 2)[:count]
    distance = np.repeat(np.arange(1, n // 2 + 1), n)[:count]
    return first, (first + distance) % n


async def smaller_in_others(
    session: Session, others: Sequence[ArithmeticShare], *, bits: int, label: str
) -> BitShare:
    """For each objective, of all pairs: whether the first is smaller, and whether the second is.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> from tacit.mpc.shares import reconstruct
    >>> f = deal_integers([3, 5])
    >>> run = run_parties(lambda s: smaller_in_others(s, [f[s.me]], bits=4, label="d"))
    >>> reconstruct(run.results)
    array([[[1],
            [0]]], dtype=uint8)
    """
    n = len(others[0])
    forward = [pair_differences(cut(known_part(session, each), bits=bits)) for each in others]
    both = np.concatenate([part for each in forward for part in (each, np.negative(each))])
    signs = await less_than.compare_known(session, both[:0], both, bits=bits, label=label)
    return signs.kept.map(lambda part: part.reshape(len(others), 2, pair_count(n)))


async def count_dominators(
    session: Session, smaller: BitShare, ranks: NDArray[np.intp], *, label: str
) -> ArithmeticShare:
    """Shares modulo 2^16 of how many dominate each, from the ranks in the first order.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits, reconstruct
    >>> smaller = deal_bits(np.array([[[1], [0]]], dtype=np.uint8))  # the first in objective 2
    >>> async def node(s, ranks):
    ...     return await count_dominators(s, smaller[s.me], np.array(ranks), label="d")
    >>> reconstruct(run_parties(lambda s: node(s, [0, 1])).results)  # but ahead in objective 1
    array([0, 0], dtype=uint16)
    >>> reconstruct(run_parties(lambda s: node(s, [1, 0])).results)
    array([1, 0], dtype=uint16)
    """
    n = len(ranks)
    first, second = _pairs(n)
    if not len(first):
        return ArithmeticShare(dict.fromkeys(session.held, np.zeros(n, dtype=COUNT)))
    swapped = ranks[first] > ranks[second]
    # Is the one ahead smaller? If not, it is at least as good.
    counts = smaller.map(lambda part: np.where(swapped, part[:, 1], part[:, 0]))
    as_good = counts.add_public(np.ones(counts.shape, dtype=np.uint8))
    dominates = await _all_of(session, as_good, label=f"{label}.all")
    numbers = await b2a.bits_to_arithmetic(session, dominates, label=f"{label}.b2a", dtype=COUNT)
    behind, ahead = np.where(swapped, first, second), np.where(swapped, second, first)

    def summed(part: Array) -> Array:
        table = np.zeros((n, n), dtype=COUNT)
        table[behind, ahead] = part
        made: Array = table.sum(axis=1, dtype=COUNT)
        return made

    return numbers.map(summed)


async def _all_of(session: Session, bits: BitShare, *, label: str) -> BitShare:
    """The AND of all lines, as bits."""
    count = bits.shape[1]
    if len(bits) == 1:
        return bits[0]

    def packed(part: Array) -> Array:
        padded = np.zeros((len(part), 64 * plane_words(count)), dtype=np.uint8)
        padded[:, :count] = part
        return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)

    lines, level = bits.map(packed), 0
    while len(lines) > 1:
        half = len(lines) // 2
        joined = await pairwise.and_bits(
            session, lines[:half], lines[half : 2 * half], label=f"{label}.{level}"
        )
        lines, level = concatenate([joined, lines[2 * half :]]), level + 1
    return lines.map(
        lambda part: np.unpackbits(part.view(np.uint8), axis=1, bitorder="little")[0, :count]
    )


def cost_of_signs(nodes: int, n: int, objectives: int, *, bits: int) -> Cost:
    """The cost of the kept comparisons."""
    return less_than.cost(nodes, 0, 2 * (objectives - 1) * pair_count(n), bits=bits)


def cost(nodes: int, n: int, objectives: int) -> Cost:
    """The cost of counting dominators."""
    pairs, lines, total = pair_count(n), objectives - 1, Cost.free(nodes)
    if not pairs:
        return total
    while lines > 1:
        total = total.then(pairwise.cost(nodes, lines // 2 * plane_words(pairs)))
        lines -= lines // 2
    return total.then(b2a.cost(nodes, pairs, COUNT))
