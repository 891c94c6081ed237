"""Range checks of all weights: whether those of each participant lie in 0..bound.

Over the full width of the ring, a weight w is in range if neither w nor bound - w has its top bit
set; so two comparisons of 64 bits per weight (`less_than`), and no value escapes the check. Per
participant, the answers are joined by a tree of ANDs, and only its root is opened to the nodes.

Learns   the nodes one bit per participant: whether all is in range, not which weight is wrong
Rounds   7 for each 2^20 comparisons, ceil(log2(2 * most weights of one participant)) for the tree
         and 1 for opening
Bytes    54 per weight where one participant has all (four nodes: 73)
Paper    as `less_than` and `pairwise`
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import less_than, opening, pairwise
from tacit.mpc.ring import RING_BITS, to_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, BitShare, concatenate

CHUNK = 1 << 20
"""Comparisons in one batch: more would make frames and memory needlessly large."""


def _answers(outside: BitShare, counts: Sequence[int]) -> BitShare:
    """Bits "in range" in a grid: a line per weight and end, a column of bits per participant."""
    total = sum(counts)
    offsets = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int)
    lines = 2 * max(counts)
    words = -(-len(counts) // 64)

    def grid(values: Array) -> Array:
        made = np.zeros((lines, words), dtype=np.uint64)
        for p, (start, count) in enumerate(zip(offsets, counts, strict=True)):
            column, bit = made[:, p // 64], np.uint64(p % 64)
            column[:count] |= values[start : start + count].astype(np.uint64) << bit
            upper = values[total + start : total + start + count]
            column[count : 2 * count] |= upper.astype(np.uint64) << bit
        return made

    # "In range" is the complement; padding, where there is no weight, counts as in range.
    return outside.map(grid).add_public(np.full((lines, words), ~np.uint64(0)))


async def _signs(session: Session, x: ArithmeticShare, label: str) -> BitShare:
    parts = [
        await less_than.compare_batch(
            session, x[:0], x[start : start + CHUNK], bits=RING_BITS, label=f"{label}.sign.{start}"
        )
        for start in range(0, len(x), CHUNK)
    ]
    return concatenate([part.kept for part in parts])


async def check_ranges(
    session: Session,
    weights: ArithmeticShare,
    counts: Sequence[int],
    bounds: Sequence[int],
    *,
    label: str,
) -> NDArray[np.bool_]:
    """For each participant, whether all its weights lie in 0..bound.

    `weights` has the participants' weights one after the other, `counts` how many each has, and
    `bounds` the largest weight each may have.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> w = deal_integers([5, 10, 11, -1, 0])
    >>> run = run_parties(lambda s: check_ranges(s, w[s.me], [2, 1, 2], [10, 10, 10], label="r"))
    >>> run.results[0]
    array([ True, False, False])
    """
    limit = np.repeat(to_ring(list(bounds)), counts)
    flat = weights.map(lambda part: part.reshape(-1))
    both = concatenate([flat, flat.map(np.negative).add_public(limit)])
    grid = _answers(await _signs(session, both, label), counts)
    # Only the root is opened: single answers would tell which weight is out of range, and by the
    # end that it passes, on which side.
    inside = await pairwise.and_all(session, grid, label=label)
    root = await opening.open_to_nodes(session, inside)
    return np.unpackbits(root.view(np.uint8), bitorder="little")[: len(counts)].astype(np.bool_)


def cost(nodes: int, counts: Sequence[int]) -> Cost:
    """The cost with this many weights per participant."""
    words = -(-len(counts) // 64)
    total, left = Cost.free(nodes), 2 * sum(counts)
    while left:
        total = total.then(less_than.cost(nodes, 0, min(left, CHUNK), bits=RING_BITS))
        left -= min(left, CHUNK)
    total = total.then(pairwise.cost_of_and_all(nodes, 2 * max(counts), words))
    return total.then(opening.cost_to_nodes(nodes, words))
