"""Lines of shares in the order of distinct keys: shuffled first, so that the order tells nothing.

The lines of each group are shuffled, all pairs compared and the signs opened: a uniformly random
order per group. The secret permutation and the public order together lead from the original
positions to the sorted ones, and back. Other lines may take the same way while it is in use, each
time under fresh masks; nothing else is opened on it.

The rounds of a shuffle and a comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.planes import cut
from tacit.mpc.protocols import less_than, shuffle
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.protocols.order import SecretPermutation, draw_block_order
from tacit.mpc.rank.result import no_order
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, Share

S = TypeVar("S", bound=Share)


@dataclass(frozen=True, slots=True)
class Sorted:
    """The way from original to sorted positions."""

    secret: SecretPermutation
    places: NDArray[np.intp]
    """The shuffled position of each sorted one: public, and uniform within a group."""

    async def forward(self, session: Session, lines: S, *, label: str) -> S:
        """Lines in sorted order; groups follow each other."""
        return (await shuffle.shuffle(session, lines, self.secret, label=label))[self.places]

    async def back(self, session: Session, lines: S, *, label: str) -> S:
        """Lines of sorted positions at their original ones."""
        mixed = lines.map(self._unsorted)
        return await shuffle.unshuffle(session, mixed, self.secret, label=label)

    def _unsorted(self, part: NDArray[Any]) -> NDArray[Any]:
        mixed = np.empty_like(part)
        mixed[self.places] = part
        return mixed


async def sort_lines(
    session: Session,
    lines: ArithmeticShare,
    groups: int,
    *,
    bits: int,
    label: str,
    changed: tuple[int, int] | None = None,
) -> tuple[Sorted, ArithmeticShare, BitShare]:
    """Sort the lines of groups by their first column, the key, the least first.

    `changed` names two columns: whether the first of them is less than the second stays a share,
    in sorted order. Keys are distinct within a group.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> x = deal_integers([[5, 50], [3, 30], [4, 40]])
    >>> async def node(s):
    ...     _, lines, _ = await sort_lines(s, x[s.me], 1, bits=5, label="o")
    ...     return lines
    >>> reveal(run_parties(node).results)[:, 1]
    array([30, 40, 50])
    """
    size = len(lines) // groups
    order = draw_block_order(session, groups, size, label=f"{label}.order")
    mixed = await shuffle.shuffle(session, lines, order, label=f"{label}.shuffle")
    known = cut(known_part(session, mixed[:, 0]), bits=bits).reshape(groups, size)
    left, right = _pairs(size)
    secret = known.reshape(-1)[:0]
    if changed is not None:
        secret = cut(known_part(session, mixed[:, changed[0]] - mixed[:, changed[1]]), bits=bits)
    signs = await less_than.compare_known(
        session,
        (known.take(left, axis=1) - known.take(right, axis=1)).reshape(-1),
        secret,
        bits=bits,
        label=f"{label}.less",
    )
    places = _places(signs.opened.reshape(groups, -1), size)
    kept = signs.kept if changed is None else signs.kept[places]
    return Sorted(order, places), mixed[places], kept


@cache
def _pairs(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(size, 1)


def _places(less: NDArray[np.uint8], size: int) -> NDArray[np.intp]:
    """The shuffled position of each sorted one, if the signs form an order."""
    groups = len(less)
    left, right = _pairs(size)
    larger = np.zeros((groups, size, size), dtype=np.uint8)
    larger[:, left, right] = 1 - less
    larger[:, right, left] = less
    ranks = larger.sum(axis=2, dtype=np.intp)  # how many are smaller
    places = np.argsort(ranks, axis=1, kind="stable")
    if (np.take_along_axis(ranks, places, axis=1) != np.arange(size)).any():
        raise no_order()
    return (places + np.arange(groups)[:, None] * size).reshape(-1)


def cost(
    nodes: int,
    groups: int,
    size: int,
    columns: int,
    dtype: np.dtype[Any],
    *,
    bits: int,
    changed: bool,
) -> Cost:
    """The cost of sorting."""
    mixing = shuffle.cost(nodes, (groups * size, columns), dtype)
    pairs, kept = groups * (size * (size - 1) // 2), groups * size if changed else 0
    return mixing.then(less_than.cost(nodes, pairs, kept, bits=bits))
