"""Secret orders of rows: one permutation per component, from the key that all nodes but one have.

So no node knows all of an order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.session import Session
from tacit.mpc.shares import Array


@dataclass(frozen=True, slots=True)
class SecretPermutation:
    """What one node knows of a secret order: the permutations of its components."""

    known: Mapping[int, NDArray[np.intp]]

    def apply(self, component: int, rows: Array, *, back: bool) -> Array:
        """Bring rows into the order of one component's permutation, or back out of it.

        >>> order = SecretPermutation({0: np.array([2, 0, 1])})
        >>> order.apply(0, np.array([7, 8, 9]), back=False)
        array([9, 7, 8])
        >>> order.apply(0, np.array([9, 7, 8]), back=True)
        array([7, 8, 9])
        """
        permutation = self.known[component]
        if not back:
            return rows[permutation]
        original = np.empty_like(rows)
        original[permutation] = rows
        return original


def draw_order(session: Session, n: int, *, label: str) -> SecretPermutation:
    """A secret order of n rows: each node draws the permutations that it may know.

    >>> from tacit.mpc.local import run_parties
    >>> async def node(s):
    ...     return sorted(draw_order(s, 3, label="order").known)
    >>> run_parties(node).results
    [[1, 2], [0, 2], [0, 1]]
    """
    return SecretPermutation({c: session.permutation(f"{label}.p", c, n) for c in session.held})


def draw_block_order(
    session: Session, blocks: int, children: int, *, label: str
) -> SecretPermutation:
    """A secret order of rows that permutes each block within itself, for one joint shuffle.

    >>> from tacit.mpc.local import run_parties
    >>> async def node(s):
    ...     return draw_block_order(s, 2, 3, label="o").known[s.held[0]].tolist()
    >>> [sorted(order[:3]) for order in run_parties(node).results]
    [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    """
    first = np.arange(blocks)[:, None] * children
    known = {}
    for component in session.held:
        # As for any permutation: the order of 64-bit words under their own label.
        words = session.words(f"{label}.p", component, (blocks, children))
        known[component] = (first + np.argsort(words, axis=1, kind="stable")).reshape(-1)
    return SecretPermutation(known)


def draw_group_order(session: Session, sizes: Sequence[int], *, label: str) -> SecretPermutation:
    """The same for groups that need not have one size.

    >>> from tacit.mpc.local import run_parties
    >>> async def node(s):
    ...     return draw_group_order(s, [1, 2], label="o").known[s.held[0]].tolist()
    >>> [sorted(order[1:]) for order in run_parties(node).results]
    [[1, 2], [1, 2], [1, 2]]
    """
    if len(set(sizes)) == 1:
        return draw_block_order(session, len(sizes), sizes[0], label=label)
    group = np.repeat(np.arange(len(sizes)), sizes)
    return SecretPermutation(
        {
            component: np.lexsort((session.words(f"{label}.p", component, len(group)), group))
            for component in session.held
        }
    )
