"""A secret order that permutes each of several blocks within itself, for one joint shuffle.

No communication: the nodes derive it from their pair keys. Every node knows two of the three
permutations that make it up, and so nothing of the order.
"""

from __future__ import annotations

import numpy as np

from tacit.mpc.protocols.shuffle import SecretPermutation
from tacit.mpc.session import Session


def draw_block_order(
    session: Session, blocks: int, children: int, *, label: str
) -> SecretPermutation:
    """A secret order of rows that permutes each block within itself.

    >>> from tacit.mpc.local import run_parties
    >>> async def node(s):
    ...     return draw_block_order(s, 2, 3, label="o").known[s.me].tolist()
    >>> [sorted(order[:3]) for order in run_parties(node).results]
    [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    """
    first = np.arange(blocks)[:, None] * children
    known = {}
    for component in (session.me, session.next):
        # As for any permutation: the order of 64-bit words under their own label.
        words = session.words(f"{label}.p", component, (blocks, children))
        known[component] = (first + np.argsort(words, axis=1, kind="stable")).reshape(-1)
    return SecretPermutation(known)
