"""Keep parents, find cycles among them, exchange along all cycles at once, and cut.

*Keep*: the parent of a column changes only when its price falls. It is the column that holds the
row whose offer was the least. *Exchange*: a column on a cycle takes the row of its parent. Cycles
of parents are disjoint, so the matching stays one. *Cut*: an edge that ends at a moved column is
dropped.

The invariant is v_j >= v_p + C_ij - C_ip for every column j with parent p and the row i that p has.
It holds when the edge is set and, since v_p never rises, until the row of p changes: hence the cut.
The row of j is not in it, so an edge that begins at a moved column stays right. Around a cycle it
makes the exchange strictly cheaper (docs/protocols/prices-and-cycles.md). Without the cut plans get
worse.

*Cycles*: each column has at most one parent, so (A^l)_kk is 1 exactly if column k is on a cycle
whose length divides l. The public coefficients f are chosen so that those of the multiples of each
length c up to n add up to 1 modulo 2. Then f(A)_kk = 1 exactly if k is on a cycle, and no OR over
lengths is needed. With q baby steps A, ..., A^q and s giant steps A^q, ..., A^(qs),

::

    f(A)_kk = sum over b of (P_b A^(qb))_kk,    P_b = sum over a of f_(qb+a) A^a

The P_b are sums of shares. The diagonal of a product is one more product with n entries.
ceil(log2 q) + ceil(log2 s) + 1 rounds and q + s - 2 products of matrices of bits.

All of it are products of bits, and bits to numbers. Nobody learns anything, not whether there was a
cycle: every letter is masked as in any product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.assignment.layout import AssignmentShape
from tacit.mpc.cost import Cost
from tacit.mpc.protocols import bit_products, halves
from tacit.mpc.protocols.bit_products import matrix_product, multiplied, products
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

Bits = NDArray[np.uint8]
_ONE = np.ones(1, dtype=np.uint8)


async def keep_parents(
    session: Session,
    own: BitShare,
    rows: BitShare,
    parents: BitShare,
    matched: BitShare,
    *,
    label: str,
) -> BitShare:
    """Return the parents after a minimum: the holder of the marked row, the one of before if none.

    `own` is 1 where a column's own price was the least, `rows` marks the row whose offer was.
    `matched` is the matching of that minimum, without the columns that have moved since: edges to
    those are cut by having no holder. Edges of `parents` are cut already.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits, reconstruct
    >>> index = np.eye(3, dtype=np.uint8)[None]
    >>> matched, rows = deal_bits(index[:, [1, 0, 2]]), deal_bits(index * [[0], [1], [0]])
    >>> own = deal_bits(np.array([[1, 0, 1]], dtype=np.uint8))
    >>> before = deal_bits(np.array([[[0, 0, 0], [0, 0, 0], [1, 0, 0]]], dtype=np.uint8))
    >>> run = run_parties(lambda s: keep_parents(
    ...     s, own[s.me], rows[s.me], before[s.me], matched[s.me], label="keep"))
    >>> reconstruct(run.results)[0]
    array([[0, 0, 0],
           [1, 0, 0],
           [1, 0, 0]], dtype=uint8)
    """
    # A column has at most one of both: its own price was the least, or one row's offer was.
    holder = matched.map(lambda part: np.ascontiguousarray(part.swapaxes(-1, -2)))
    kept, fresh = await products(
        session,
        [(own[..., None], parents, np.bitwise_and), (rows, holder, multiplied)],
        label=label,
    )
    return fresh + kept


def cost_of_keeping(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of keeping parents."""
    entries = shape.weightings * shape.size**2
    return bit_products.cost(nodes, entries, entries)


@cache
def coefficients(size: int) -> tuple[int, ...]:
    """Return f_0, ..., f_size, of which the multiples of each length add up to 1 modulo 2.

    >>> coefficients(4)
    (0, 1, 0, 1, 1)
    """
    f = [0] * (size + 1)
    for length in range(size, 0, -1):
        f[length] = (1 - sum(f[2 * length :: length])) % 2
    return tuple(f)


@cache
def baby_and_giant_steps(size: int) -> tuple[int, int]:
    """Return how many baby steps and giant steps to take.

    The fewest rounds take most products: 7 rounds and 49 products for 100 columns, where one round
    more saves 31 products. So one round more than the least is allowed for.

    >>> baby_and_giant_steps(100), baby_and_giant_steps(300), baby_and_giant_steps(2)
    ((8, 12), (15, 19), (1, 1))
    """
    choices = [(q, max(1, -(-size // q) - 1)) for q in range(1, size + 1)]
    most = 1 + min(_rounds(*steps) for steps in choices)
    return min((steps for steps in choices if _rounds(*steps) <= most), key=lambda e: (sum(e), e))


def _rounds(babies: int, giants: int) -> int:
    return (babies - 1).bit_length() + (giants - 1).bit_length() + 1


async def on_cycles(
    session: Session, parents: BitShare, matched: BitShare, *, label: str
) -> tuple[BitShare, BitShare]:
    """Return shares of one bit for each column, whether it is on a cycle, and its parent's row.

    `parents` are weightings x columns x columns, without a diagonal; `matched` columns x rows.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits, reconstruct
    >>> rows = np.eye(4, dtype=np.uint8)
    >>> parents, matched = deal_bits(rows[None, [1, 0, 0, 2]]), deal_bits(rows[None])
    >>> async def node(s):
    ...     return (await on_cycles(s, parents[s.me], matched[s.me], label="c"))[0]
    >>> reconstruct(run_parties(node).results)
    array([[1, 1, 0, 0]], dtype=uint8)
    """
    size = parents.shape[-1]
    babies, giants = baby_and_giant_steps(size)
    baby = await _powers(session, parents, babies, label=f"{label}.baby")
    giant = await _powers(session, baby[-1], giants, label=f"{label}.giant")
    nothing = parents.map(np.zeros_like)
    sums = [_chosen(baby, at * babies, size, nothing) for at in range(giants + 1)]
    alone = sums[0].map(lambda part: np.diagonal(part, axis1=-2, axis2=-1))
    left, right = _stacked(sums[1:]), _stacked(giant)
    # The parents' rows, which the exchange needs next, go in the same round.
    rest, rows = await products(
        session,
        [(left, right, _diagonals), (parents, matched, multiplied)],
        label=f"{label}.diagonal",
    )
    return alone + rest, rows


async def _powers(session: Session, first: BitShare, count: int, *, label: str) -> list[BitShare]:
    """Return the first powers of a matrix; each round doubles how many there are."""
    size, powers = first.shape[-1], [first]
    while (known := len(powers)) < count:
        more = powers[: min(known, count - known)]
        # A^known times all powers side by side: one product, whose tables are made once.
        wide = BitShare(
            {c: np.concatenate([each.parts[c] for each in more], -1) for c in session.held}
        )
        product = await matrix_product(session, powers[-1], wide, label=f"{label}.{known}")
        powers += [product[..., at * size : (at + 1) * size] for at in range(len(more))]
    return powers


def _chosen(baby: list[BitShare], before: int, size: int, nothing: BitShare) -> BitShare:
    """Return the sum of the baby steps whose coefficient is 1, `before` steps further."""
    f, total = coefficients(size), nothing
    for number, power in enumerate(baby, start=before + 1):
        if number <= size and f[number]:
            total = total + power
    return total


def _stacked(shares: list[BitShare]) -> BitShare:
    return BitShare({c: np.stack([x.parts[c] for x in shares]) for c in shares[0].parts})


def _diagonals(left: Bits, right: Bits) -> Bits:
    """Return the diagonals of all products, added up modulo 2; the first axis numbers them."""
    both = left & right.swapaxes(-1, -2)
    diagonals: Bits = np.bitwise_xor.reduce(np.bitwise_xor.reduce(both, axis=0), axis=-1)
    return diagonals


def cost_of_cycles(nodes: int, weightings: int, size: int) -> Cost:
    """Return the cost of finding the columns on cycles."""
    total = Cost.free(nodes)
    for count in baby_and_giant_steps(size):
        known = 1
        while known < count:
            more = min(known, count - known)
            total = total.then(bit_products.cost(nodes, weightings * size * size * more))
            known += more
    return total.then(bit_products.cost(nodes, weightings * size, weightings * size * size))


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The matching after an exchange, and what is left of the parents."""

    matched: BitShare
    matching: ArithmeticShare
    parents: BitShare
    """Those that were exchanged, after the cut."""
    unmoved: BitShare
    """The matching of the columns that have kept their rows."""


async def exchange(
    session: Session,
    parents: BitShare,
    matched: BitShare,
    shape: AssignmentShape,
    *,
    label: str,
) -> Exchanged:
    """Give each column on a cycle of parents the row of its parent, and cut.

    >>> from tacit.mpc.local import reveal, run_parties
    >>> from tacit.mpc.shares import deal_bits
    >>> rows, shape = np.eye(3, dtype=np.uint8), AssignmentShape(3, spread=9)
    >>> matched = deal_bits(rows[None])
    >>> parents = deal_bits(rows[None, [1, 0, 0]])
    >>> async def node(s):
    ...     return (await exchange(s, parents[s.me], matched[s.me], shape, label="x")).matching
    >>> reveal(run_parties(node).results)[0]
    array([[0, 1, 0],
           [1, 0, 0],
           [0, 0, 1]])
    """
    on_cycle, rows = await on_cycles(session, parents, matched, label=f"{label}.cycles")
    # Every mover takes the row of its parent, which moves as well: so the matching stays one, and
    # it must be all cycles at once.
    stays = on_cycle.add_public(_ONE)
    given, taken, left = await products(
        session,
        [
            (on_cycle[..., None], matched, np.bitwise_and),
            (on_cycle[..., None], rows, np.bitwise_and),
            (parents, stays[..., None, :], np.bitwise_and),
        ],
        label=f"{label}.taken",
    )
    unmoved = matched + given
    after = unmoved + taken
    # No edge leads over a forbidden pair, so those stay 0 without being converted.
    numbers = await halves.bits_to_arithmetic(
        session, after.map(shape.taken), label=f"{label}.matching", dtype=shape.word
    )
    return Exchanged(after, numbers.map(shape.placed), left, unmoved)


def cost(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of an exchange."""
    entries = shape.weightings * shape.size**2
    total = cost_of_cycles(nodes, shape.weightings, shape.size)
    total = total.then(bit_products.cost(nodes, entries, entries, entries))
    return total.then(halves.cost_of_conversion(nodes, shape.weightings * shape.pairs, shape.word))
