"""Less-than with a public bit length: the sign of many shared differences at once.

The sign of u + v (see `halves`) is the XOR of the top bits and the carry from below. The bits are
taken in blocks of two. Whether a block generates a carry, and whether it passes one on, are sums of
products of one operand's bits with the other's,

::

    generate   u1 v1 + u1 u0 v0 + u0 v1 v0          pass on   (u1 + v1)(u0 + v0)

so u0, u1, u1 u0 and the same of v are shared, and one round of products makes both. A tree over the
blocks then finds the carry, on bit planes with 64 comparisons per word. Its last AND is not shared
again: its masked parts go straight to where the result is wanted.

Learns   the nodes the signs that are opened and nothing else; of kept signs nobody learns anything
Rounds   2 + max(1, ceil(log2 b)) for b = floor(bits / 2) blocks
Bytes    for 28 bits 8.1 per opened sign (four nodes: 10.3), for 64 bits 19.3 (24.8)
Paper    [mohassel2018, Section 5.3], with a tree of blocks in place of a prefix adder
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.planes import Unsigned, plane_to_bits, plane_words, to_planes
from tacit.mpc.protocols.halves import (
    HALVES,
    half_letters,
    half_pairs,
    known_part,
    mixed_parts,
    operand_of,
    share_halves,
)
from tacit.mpc.protocols.pairwise import (
    PAIRS,
    Pair,
    Reshare,
    add_share,
    known_pairs,
    open_contents,
    open_letters,
    opened_value,
    product_parts,
    reshare,
    reshare_letters,
)
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

LOW, HIGH, BOTH = 0, 1, 2
"""Of a block: its low bit, its high bit, and their product."""
GENERATE, PASS_ON = 0, 1


@dataclass(frozen=True, slots=True)
class Signs:
    """The result of a batch: opened signs for the nodes, kept ones as XOR shares of 0 or 1."""

    opened: NDArray[np.uint8]
    kept: BitShare


def _blocks_of(bits: int) -> int:
    return bits // 2  # of bits - 1 bits below the sign


def _monomials(planes: Words) -> Words:
    """The low bits, high bits and their products of all blocks, highest block first."""
    count, words = planes.shape
    if count % 2:
        # A bit of zero below generates nothing and is passed nothing.
        planes = np.concatenate([np.zeros((1, words), dtype=np.uint64), planes])
    blocks = planes.reshape(-1, 2, words)[::-1]
    made = np.empty((3, len(blocks), words), dtype=np.uint64)
    made[LOW], made[HIGH] = blocks[:, 0], blocks[:, 1]
    np.bitwise_and(made[LOW], made[HIGH], out=made[BOTH])
    return made


def _block_parts(u: Words, v: Words) -> Words:
    """What one component of u and one of v add to both bits of the blocks, in planes."""
    _, blocks, words = u.shape
    part = np.empty((2, blocks, words), dtype=np.uint64)
    generate, pass_on = part
    np.bitwise_and(u[HIGH], v[HIGH], out=generate)
    generate ^= u[BOTH] & v[LOW]
    generate ^= u[LOW] & v[BOTH]
    np.bitwise_and(u[HIGH], v[LOW], out=pass_on)
    pass_on ^= u[LOW] & v[HIGH]
    return _without_last(part)


def _without_last(part: Words) -> Words:
    """All planes in one list, but for whether the lowest block passes on what never comes."""
    return part.reshape(-1, part.shape[2])[:-1]


async def _share_blocks(session: Session, planes: Words, label: str) -> BitShare:
    """Shares of what all blocks generate and pass on: 2 x blocks x words. 2 rounds."""
    bits = _monomials(planes)
    _, blocks, words = bits.shape
    u, v = await share_halves(session, bits, BitShare, label=f"{label}.bits")
    first, pairs = HALVES[session.nodes][0], half_pairs(session.nodes)
    parts = mixed_parts(session, u, v, _block_parts)
    products = await reshare(
        session, parts, BitShare, (2 * blocks - 1, words), label=f"{label}.blocks", pairs=pairs
    )
    made = {}
    for c, planes_of in products.parts.items():
        whole = np.empty((2, blocks, words), dtype=np.uint64)
        _without_last(whole)[:] = planes_of
        whole[PASS_ON, -1] = 0
        # Where both bits come from one operand, their product is shared already.
        whole[PASS_ON] ^= (u if c in first else v)[c][BOTH]
        made[c] = whole
    return BitShare(made)


def _combined(x: BitShare, product: BitShare) -> BitShare:
    """The blocks of the next level, half as many; an odd one at the top stays as it is."""
    blocks, words = x.shape[1], x.shape[2]
    pairs, odd = blocks // 2, blocks % 2
    made = {}
    for c, old in x.parts.items():
        new = np.empty((2, pairs + odd, words), dtype=np.uint64)
        new[:, :odd] = old[:, :odd]
        planes = product.parts[c]
        np.bitwise_xor(planes[:pairs], old[GENERATE, odd::2], out=new[GENERATE, odd:])
        new[PASS_ON, odd:-1] = planes[pairs:]
        new[PASS_ON, -1] = 0
        made[c] = new
    return BitShare(made)


def _level_parts(session: Session, x: BitShare) -> dict[Pair, Words]:
    """Parts of (pass on, above) AND (generate, pass on, below), for neighbours."""
    odd = x.shape[1] % 2
    above = BitShare({c: part[PASS_ON, odd::2] for c, part in x.parts.items()})
    below = BitShare({c: part[:, odd + 1 :: 2] for c, part in x.parts.items()})
    parts = product_parts(session, above, below, np.bitwise_and)
    return {pair: _without_last(part) for pair, part in parts.items()}


async def _sign_parts(
    session: Session, known: Sequence[Unsigned], *, bits: int, label: str
) -> dict[Pair, Words]:
    """Parts of the signs for each pair of components, in planes; each vector begins a new word.

    `known` are the operands this node knows (`known_part`) of differences that must lie in
    [-2^(bits-1), 2^(bits-1)). One message short of the result.
    """
    planes = np.concatenate([to_planes(k, bits=bits) for k in known if len(k)], axis=1)
    x = await _share_blocks(session, planes[: bits - 1], label)
    level = 0
    # Each level has a label, so masks of its own: with those of another level the difference of two
    # letters would be one of carries.
    while x.shape[1] > 2:
        shape = 2 * (x.shape[1] // 2) - 1, x.shape[2]
        parts = _level_parts(session, x)
        x = _combined(x, await reshare(session, parts, BitShare, shape, label=f"{label}.{level}"))
        level += 1
    # The last AND stays parts, unmasked: whoever opens or reshares them masks them, one round less.
    if x.shape[1] == 2:
        parts = product_parts(session, x[PASS_ON, 0], x[GENERATE, 1], np.bitwise_and)
    else:
        pairs = known_pairs(PAIRS[session.nodes], session.me)
        parts = {pair: np.zeros(x.shape[2], dtype=np.uint64) for pair in pairs}
    add_share(session, parts, x[GENERATE, 0])
    half = HALVES[session.nodes][operand_of(session)]
    pair = next(pair for pair in PAIRS[session.nodes] if set(half) <= set(pair))
    # Top bits are linear in the sign: each goes into a part that its knowers have, and is never
    # shared by a letter.
    if pair in parts:
        parts[pair] ^= planes[bits - 1]
    return parts


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
    public, secret = (known_part(session, d) for d in (opened, kept))
    return await compare_known(session, public, secret, bits=bits, label=label)


async def compare_known(
    session: Session, opened: Unsigned, kept: Unsigned, *, bits: int, label: str
) -> Signs:
    """`compare_batch` for callers that have already taken the known parts of the differences.

    Taking them before differences are formed is half the work or less. Words may have any width
    that holds `bits` bits.

    >>> from tacit.mpc.local import run_parties
    >>> known = [np.array([u], dtype=np.uint8) for u in (2, 2, 5)]  # -1 in 3 bits
    >>> run = run_parties(lambda s: compare_known(s, known[s.me], known[0][:0], bits=3, label="lt"))
    >>> run.results[0].opened
    array([1], dtype=uint8)
    """
    bits = max(bits, 2)
    if not len(opened) and not len(kept):
        empty = np.zeros(0, dtype=np.uint8)
        return Signs(empty, BitShare(dict.fromkeys(session.held, empty)))
    parts = await _sign_parts(session, [opened, kept], bits=bits, label=label)
    # Each kind fills words of its own: a word with both would open kept signs with the others.
    split, words = plane_words(len(opened)), plane_words(len(kept))
    public = {pair: part[:split] for pair, part in parts.items()}
    secret = {pair: part[split:] for pair, part in parts.items()}
    letters = open_letters(session.nodes, (split,)) if split else []
    count = len(letters)
    contents = (
        open_contents(session, public, BitShare, (split,), label=f"{label}.opened") if split else {}
    )
    last = Reshare(session, secret, BitShare, (words,), label=f"{label}.kept") if words else None
    if last is not None:
        letters += last.letters
        contents |= {count + number: content for number, content in last.contents.items()}
    arrived = await session.exchange(letters, contents)
    signs = np.zeros(0, dtype=np.uint8)
    if split:
        plane = opened_value(public, BitShare, arrived, count)
        signs = plane_to_bits(plane, len(opened), bits=bits)
    if last is None:
        return Signs(signs, BitShare(dict.fromkeys(session.held, signs[:0])))
    share = last.share(arrived, first=count)
    return Signs(signs, share.map(lambda part: plane_to_bits(part, len(kept), bits=bits)))


def cost(nodes: int, opened: int, kept: int, *, bits: int) -> Cost:
    bits = max(bits, 2)
    split, rest = plane_words(opened), plane_words(kept)
    words, blocks = split + rest, _blocks_of(bits)
    if not words:
        return Cost.free(nodes)
    rounds = [
        half_letters(nodes, (3 * blocks, words)),
        reshare_letters(nodes, (2 * blocks - 1, words), pairs=half_pairs(nodes)),
    ]
    while blocks > 2:
        rounds.append(reshare_letters(nodes, (2 * (blocks // 2) - 1, words)))
        blocks -= blocks // 2
    last = open_letters(nodes, (split,)) if split else []
    last += reshare_letters(nodes, (rest,)) if rest else []
    return Cost.of(nodes, *rounds, last)
