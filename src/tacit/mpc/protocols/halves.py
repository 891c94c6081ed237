"""Shared values as two operands x = u + v that different nodes know; bits to numbers, and choices.

u is the sum of components 0 and 1, known to the nodes that hold both; v is the sum of the others,
known to nodes 0 and 1. Those who know an operand share it again, as bits or in the ring: its mask
is one component, and the rest, brought by a letter, another. An operand that is a single component
is a share already.

::

    three nodes   u - r -> 1   by 2          r: key of 1
    four nodes    u - r -> 1   by 2, 3       v - r' -> 3   by 0, 1        r': key of 3

*Bits to numbers* (`bits_to_arithmetic`): a bit is u ^ v, and over the integers u ^ v = u + v - 2uv.
So u and v are shared in the ring, and one product of the two follows.

*Choices* (`choose`): a number where a bit is 1, and 0 elsewhere. With the bit e ^ f, the number
u + v, and e and u known to the same nodes, over the integers

::

    (e ^ f)(u + v) = eu + fv + e(v - 2fv) + f(u - 2eu)

Those who know e and u share e, u - 2eu and eu; the others f, v - 2fv and fv; one product of each
two follows. That is one round less than turning the bit into a number first.

Learns   nobody anything: each letter is masked by a key that its receiver does not have
Rounds   sharing the operands 1, bits to numbers 2, choices 2
Bytes    bits to numbers 8 (four nodes: 12), choices 24 (20)
Paper    [mohassel2018, Section 5.4] for bits to numbers
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.letters import WORD, Letter, outside
from tacit.mpc.protocols.pairwise import PAIRS, Pair, Shape, known_pairs, reshare, reshare_letters
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, BitShare, Share, total

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
        # The mask is a component that all but its receiver draw; the receiver is brought the rest
        # and never holds the mask. Those who know the operand hold both, and no letter is needed.
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


def mixed_parts(
    session: Session, u: Operand, v: Operand, op: Callable[[Array, Array], Array]
) -> dict[Pair, Array]:
    """The parts of op(u, v), for the pairs of components of different operands; not yet masked."""
    first = HALVES[session.nodes][0]
    made = {}
    for i, j in known_pairs(half_pairs(session.nodes), session.me):
        a, b = (i, j) if i in first else (j, i)
        made[i, j] = op(u[a], v[b])
    return made


async def _reshare_mixed(
    session: Session, parts: dict[Pair, Array], like: Array, *, label: str
) -> ArithmeticShare:
    return await reshare(
        session,
        parts,
        ArithmeticShare,
        like.shape,
        label=label,
        dtype=like.dtype,
        pairs=half_pairs(session.nodes),
    )


def cost_of_conversion(nodes: int, n: int, dtype: np.dtype[Any] = WORD) -> Cost:
    return Cost.of(
        nodes,
        half_letters(nodes, (n,), dtype),
        reshare_letters(nodes, (n,), dtype, pairs=half_pairs(nodes)),
    )


async def bits_to_arithmetic(
    session: Session, bits: BitShare, *, label: str, dtype: np.dtype[Any] = WORD
) -> ArithmeticShare:
    """Shares of 0 or 1 in a ring of these words, from XOR shares of 0 or 1 (a bit per element).

    >>> from tacit.mpc.local import reveal, run_parties
    >>> from tacit.mpc.shares import deal_bits
    >>> c = deal_bits(np.array([1, 0], dtype=np.uint8))
    >>> reveal(run_parties(lambda s: bits_to_arithmetic(s, c[s.me], label="b2a")).results)
    array([1, 0])
    """
    # Components of a byte may have random bits above the one that counts.
    known = (known_part(session, bits) & np.uint8(1)).astype(dtype)
    u, v = await share_halves(session, known, ArithmeticShare, label=f"{label}.bits")
    product = await _reshare_mixed(
        session, mixed_parts(session, u, v, np.multiply), known, label=f"{label}.product"
    )
    both, two = {**u, **v}, dtype.type(2)
    return ArithmeticShare({c: both[c] - two * part for c, part in product.parts.items()})


_TERMS = 3


def cost_of_choice(nodes: int, n: int, dtype: np.dtype[Any] = WORD) -> Cost:
    return Cost.of(
        nodes,
        half_letters(nodes, (_TERMS, n), dtype),
        reshare_letters(nodes, (n,), dtype, pairs=half_pairs(nodes)),
    )


async def choose(
    session: Session, bits: BitShare, x: ArithmeticShare, *, label: str
) -> ArithmeticShare:
    """Shares of x where the bit is 1, and of 0 elsewhere (one bit per element).

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> from tacit.mpc.shares import deal_bits
    >>> c, x = deal_bits(np.array([1, 0], dtype=np.uint8)), deal_integers([-7, 5])
    >>> reveal(run_parties(lambda s: choose(s, c[s.me], x[s.me], label="c")).results)
    array([-7,  0])
    """
    dtype = x.dtype
    bit = (known_part(session, bits) & np.uint8(1)).astype(dtype)
    number = known_part(session, x)
    both = bit * number
    terms = np.stack([bit, number - dtype.type(2) * both, both])
    u, v = await share_halves(session, terms, ArithmeticShare, label=f"{label}.terms")
    parts = mixed_parts(session, u, v, lambda a, b: a[0] * b[1] + a[1] * b[0])
    product = await _reshare_mixed(session, parts, bit, label=f"{label}.product")
    shared = {**u, **v}
    return ArithmeticShare({c: shared[c][2] + part for c, part in product.parts.items()})
