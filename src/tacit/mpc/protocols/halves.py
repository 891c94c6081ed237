"""A shared value as two operands, each known to some nodes: x = u + v.

u is the sum of components 0 and 1, known to the nodes that hold both; v is the sum of the others,
known to nodes 0 and 1. Those who know an operand share it again, as bits or in the ring: its mask
is one component, and the rest, brought by a letter, another. An operand that is a single component
is a share already. 1 round; each letter is masked by a key that its receiver does not have, so
nobody learns anything.

::

    three nodes   u - r -> 1   by 2          r: key of 1
    four nodes    u - r -> 1   by 2, 3       v - r' -> 3   by 0, 1        r': key of 3
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tacit.mpc.letters import WORD, Letter, outside
from tacit.mpc.protocols.pairwise import PAIRS, Pair, Shape
from tacit.mpc.session import Session
from tacit.mpc.shares import Array, Share, total

HALVES: dict[int, tuple[tuple[int, ...], ...]] = {3: ((0, 1), (2,)), 4: ((0, 1), (2, 3))}
"""The components that make up each operand."""

Operand = Mapping[int, Array]
"""The components of an operand that this node holds."""


def half_pairs(nodes: int) -> list[Pair]:
    """The pairs of components of different operands: where products of the two come from.

    >>> half_pairs(3), half_pairs(4)
    ([(1, 2), (2, 0)], [(1, 2), (3, 0), (0, 2), (1, 3)])
    """
    first = HALVES[nodes][0]
    return [(i, j) for i, j in PAIRS[nodes] if (i in first) != (j in first)]


def operand_of(session: Session) -> int:
    """The number of the operand that this node knows."""
    return 1 if session.me in HALVES[session.nodes][0] else 0


def known_part(session: Session, x: Share) -> Array:
    """The operand of x that this node knows."""
    return total([x.parts[c] for c in HALVES[session.nodes][operand_of(session)]], x.plus)


def half_letters(nodes: int, shape: Shape, dtype: np.dtype[Any] = WORD) -> list[Letter]:
    """The letters of `share_halves`: one for each operand of more than one component."""
    return [
        Letter(outside(nodes, *half), half[-1], shape, dtype)
        for half in HALVES[nodes]
        if len(half) > 1
    ]


async def share_halves(
    session: Session,
    known: Array,
    kind: type[Share],
    *,
    label: str,
) -> tuple[Operand, Operand]:
    """The components of u and of v that this node holds, from the operand that it knows. 1 round.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import BitShare
    >>> known = [np.array([k], dtype=np.uint64) for k in (6, 6, 3)]
    >>> async def node(s):
    ...     u, v = await share_halves(s, known[s.me], BitShare, label="h")
    ...     return sorted(u), sorted(v)
    >>> run_parties(node).results
    [([1], [2]), ([0], [2]), ([0, 1], [])]
    """
    shape, dtype, me = known.shape, known.dtype, session.me
    operands: list[dict[int, Array]] = [{}, {}]
    contents: dict[int, Array] = {}
    number = 0
    for half, made in zip(HALVES[session.nodes], operands, strict=True):
        knows = me not in half
        if len(half) == 1:
            if knows:
                made[half[0]] = known
            continue
        rest, masked = half
        if me != masked:
            made[masked] = session.words(f"{label}.{masked}", masked, shape, dtype)
        if knows:
            made[rest] = contents[number] = kind.minus(known, made[masked])
        number += 1
    letters = half_letters(session.nodes, shape, dtype)
    arrived = await session.exchange(letters, contents)
    for number, content in arrived.items():
        rest = next(half[0] for half in HALVES[session.nodes] if half[-1] == letters[number].to)
        operands[rest in HALVES[session.nodes][1]][rest] = content
    return operands[0], operands[1]
