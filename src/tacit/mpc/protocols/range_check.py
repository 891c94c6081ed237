"""Are all of a participant's weights in 0..bound? One opened bit per participant.

Over the full width of the ring, a weight w is in range if neither w nor bound - w has its top bit
set; so two comparisons of 64 bits per weight, and no value escapes the check. Per
participant, the answers are joined by a tree of ANDs, and only its root is opened to the nodes.
The nodes learn one bit per participant: whether all is in range, not which weight is wrong.
7 rounds for each 2^20 comparisons, ceil(log2(2 * most weights of one participant)) for the tree
and 1 for opening; about 64 bytes per weight. The comparison is that of `less_than`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import bit_and, less_than, opening
from tacit.mpc.ring import RING_BITS, to_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

CHUNK = 1 << 20
"""Comparisons in one batch: more would make frames and memory needlessly large."""


def _answers(outside: BitShare, counts: Sequence[int], *, me: int) -> BitShare:
    """Bits "in range" in a grid: a line per weight and end, a column of bits per participant."""
    total = sum(counts)
    offsets = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int)
    lines = 2 * max(counts)
    columns = -(-len(counts) // 64) * 64
    components = []
    for values, flip in ((outside.mine, me == 0), (outside.next, me == 2)):
        # "In range" is the complement; padding, where there is no weight, counts as in range.
        fill = np.uint8(flip)
        grid = np.full((lines, columns), fill, dtype=np.uint8)
        for p, (start, count) in enumerate(zip(offsets, counts, strict=True)):
            grid[:count, p] = values[start : start + count] ^ fill
            grid[count : 2 * count, p] = values[total + start : total + start + count] ^ fill
        packed = np.packbits(grid, axis=1, bitorder="little")
        components.append(packed.view(np.uint64))
    return BitShare(components[0], components[1])


async def _signs(session: Session, x: ArithmeticShare, label: str) -> BitShare:
    parts = [
        await less_than.compare_batch(
            session, x[:0], x[start : start + CHUNK], bits=RING_BITS, label=f"{label}.sign.{start}"
        )
        for start in range(0, len(x), CHUNK)
    ]
    return BitShare(
        np.concatenate([part.kept.mine for part in parts]),
        np.concatenate([part.kept.next for part in parts]),
    )


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
    zero = np.zeros_like(limit)
    flat = ArithmeticShare(weights.mine.reshape(-1), weights.next.reshape(-1))
    both = ArithmeticShare(
        np.concatenate([flat.mine, (limit if session.me == 0 else zero) - flat.mine]),
        np.concatenate([flat.next, (limit if session.me == 2 else zero) - flat.next]),
    )
    grid = _answers(await _signs(session, both, label), counts, me=session.me)
    level = 0
    while len(grid) > 1:
        half = len(grid) // 2
        joined = await bit_and.and_bits(
            session, grid[:half], grid[half : 2 * half], label=f"{label}.{level}"
        )
        rest = grid[2 * half :]
        grid = BitShare(
            np.concatenate([joined.mine, rest.mine]), np.concatenate([joined.next, rest.next])
        )
        level += 1
    root = await opening.open_to_nodes(session, grid[0])
    return np.unpackbits(root.view(np.uint8), bitorder="little")[: len(counts)].astype(np.bool_)


def cost(counts: Sequence[int]) -> Cost:
    """The cost with this many weights per participant."""
    words = -(-len(counts) // 64)
    total, left = Cost.free(), 2 * sum(counts)
    while left:
        total = total.then(less_than.cost(0, min(left, CHUNK), bits=RING_BITS))
        left -= min(left, CHUNK)
    lines = 2 * max(counts)
    while lines > 1:
        total = total.then(bit_and.cost(lines // 2 * words))
        lines -= lines // 2
    return total.then(opening.cost_to_nodes(words))
