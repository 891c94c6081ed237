"""Less-than with a public bit length: the sign of many shared differences at once.

The sign of u + v (see `operands`) is the XOR of the top bits and the carry from below. A tree over
generate and propagate bits finds the carry in ceil(log2) levels, on bit planes with 64 comparisons
per word. The last AND of the tree is not shared again: its blinded parts go straight to where the
result is wanted.

With L = bits - 1 bits below the sign: 1 + max(1, ceil(log2 L)) rounds, about 4L bits per
comparison at node 0 and 3L at the others. The nodes learn the opened signs and nothing else; of
kept signs nobody learns anything. After [mohassel2018, Section 5.3], with a tree in place of a
prefix adder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.planes import Unsigned, plane_to_bits, plane_words, to_planes
from tacit.mpc.protocols import operands
from tacit.mpc.protocols.bit_and import and_part, pass_on
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


@dataclass(frozen=True, slots=True)
class Signs:
    """The result of a batch: opened signs for the nodes, kept ones as XOR shares of 0 or 1."""

    opened: NDArray[np.uint8]
    kept: BitShare


async def _combine(session: Session, g: BitShare, p: BitShare, label: str) -> tuple[BitShare, ...]:
    """One level: neighbours (low, high) become g_high ^ p_high & g_low and p_high & p_low."""
    pairs = g.shape[0] // 2
    words = g.shape[1]
    low, high = slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2)
    part = np.empty((2 * pairs - 1, words), dtype=np.uint64)
    part[:pairs] = and_part(p[high], g[low])
    # The lowest pair's propagate bit is never needed.
    part[pairs:] = and_part(p[high][1:], p[low][1:])
    part ^= session.zero_xor(f"{label}.zero", part.shape)
    product = await pass_on(session, part)
    rest = g.shape[0] % 2
    new_g = _level(product[:pairs], g[high], g, rest)
    # A plane that is never read stands in for the lowest propagate bit.
    new_p = _level(product[pairs - 1 :], None, p, rest)
    return new_g, new_p


def _level(product: BitShare, add: BitShare | None, old: BitShare, rest: int) -> BitShare:
    pairs, words = product.shape[0], product.shape[1]
    made = []
    for source, extra, before in (
        (product.mine, None if add is None else add.mine, old.mine),
        (product.next, None if add is None else add.next, old.next),
    ):
        planes = np.empty((pairs + rest, words), dtype=np.uint64)
        if extra is None:
            planes[:pairs] = source
        else:
            np.bitwise_xor(source, extra, out=planes[:pairs])
        if rest:
            planes[pairs] = before[-1]
        made.append(planes)
    return BitShare(made[0], made[1])


async def sign_parts(
    session: Session, known: Sequence[Unsigned], *, bits: int, label: str
) -> Words:
    """Blinded XOR parts of the signs, in planes; each vector begins a new word.

    `known` are the operands this node knows (`known_part`) of differences that must lie in
    [-2^(bits-1), 2^(bits-1)). One message short of the result.

    >>> from tacit.mpc.local import run_parties
    >>> known = [np.array(u, dtype=np.uint64) for u in ([5, 5], [6, 2], [6, 2])]  # 3 and -1
    >>> a, b, c = run_parties(lambda s: sign_parts(s, [known[s.me]], bits=3, label="lt")).results
    >>> plane_to_bits(a ^ b ^ c, 2, bits=3)
    array([0, 1], dtype=uint8)
    """
    planes = np.concatenate([to_planes(k, bits=bits) for k in known if len(k)], axis=1)
    top = planes[bits - 1]
    first = await operands.share_operands(session, planes[: bits - 1], label=label)
    g, p = first.generate, first.propagate
    level = 0
    while g.shape[0] > 2:
        g, p = await _combine(session, g, p, f"{label}.{level}")
        level += 1
    if g.shape[0] == 2:
        part = and_part(p[1], g[0])
        part ^= g.mine[1]
    else:
        part = g.mine[0].copy()
    part ^= session.zero_xor(f"{label}.last", part.shape)
    if session.me != 2:  # u's top bit is known to node 0, v's to node 1
        part ^= top
    return part


async def compare_batch(
    session: Session,
    opened: ArithmeticShare,
    kept: ArithmeticShare,
    *,
    bits: int,
    label: str,
) -> Signs:
    """Whether differences are negative: some opened to the nodes, some kept as shares.

    Both kinds take the same rounds. Either may be empty.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> from tacit.mpc.shares import reconstruct
    >>> d, e = deal_integers([3, -3]), deal_integers([-4])
    >>> run = run_parties(lambda s: compare_batch(s, d[s.me], e[s.me], bits=3, label="lt"))
    >>> run.results[0].opened, reconstruct([r.kept for r in run.results])
    (array([0, 1], dtype=uint8), array([1], dtype=uint8))
    """
    public, secret = (operands.known_part(session, d) for d in (opened, kept))
    return await compare_known(session, public, secret, bits=bits, label=label)


async def compare_known(
    session: Session, opened: Unsigned, kept: Unsigned, *, bits: int, label: str
) -> Signs:
    """`compare_batch` for callers that have already taken the known parts of the differences.

    Taking them before differences are formed is half the work or less. Words may have any width
    that holds `bits` bits.

    >>> from tacit.mpc.local import run_parties
    >>> known = [np.array([u], dtype=np.uint8) for u in (5, 2, 2)]  # -1 in 3 bits
    >>> run = run_parties(lambda s: compare_known(s, known[s.me], known[0][:0], bits=3, label="lt"))
    >>> run.results[0].opened
    array([1], dtype=uint8)
    """
    bits = max(bits, 2)
    if not len(opened) and not len(kept):
        empty = np.zeros(0, dtype=np.uint8)
        return Signs(empty, BitShare(empty, empty))
    part = await sign_parts(session, [opened, kept], bits=bits, label=label)
    split = plane_words(len(opened))
    public, secret = part[:split], part[split:]
    if split:
        await session.send(session.next, public)
    # One frame to the previous node carries both kinds.
    await session.send(session.previous, part)
    after = await session.receive(session.next, part.shape)
    plane = public ^ after[:split]
    if split:
        plane ^= await session.receive(session.previous, split)
    shares = (plane_to_bits(c, len(kept), bits=bits) for c in (secret, after[split:]))
    return Signs(plane_to_bits(plane, len(opened), bits=bits), BitShare(*shares))


def cost(opened: int, kept: int, *, bits: int) -> Cost:
    """The cost of a batch."""
    bits = max(bits, 2)
    split, words = plane_words(opened), plane_words(opened) + plane_words(kept)
    if not words:
        return Cost.free()
    total = operands.cost((bits - 1) * words)
    left = bits - 1
    while left > 2:
        ands = 8 * words * (2 * (left // 2) - 1)
        total = total.then(Cost.of(1, [ands], [ands], [ands]))
        left = left // 2 + left % 2
    last = [8 * split, 8 * words] if split else [8 * words]
    return total.then(Cost.of(1, last, last, last))
