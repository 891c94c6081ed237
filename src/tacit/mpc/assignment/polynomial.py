"""Which columns are on a cycle of parents: the diagonal of a public polynomial modulo 2.

Each column has at most one parent, so (A^l)_kk is 1 exactly if column k is on a cycle whose length
divides l. The coefficients are chosen so that those of the multiples of each length c up to n add
up to 1 modulo 2. Then f(A)_kk = 1 exactly if k is on a cycle, and no OR over lengths is needed.

Baby steps and giant steps: with q baby steps A, ..., A^q and s giant steps A^q, ..., A^(qs),

::

    f(A)_kk = sum over b of (P_b A^(qb))_kk,    P_b = sum over a of f_(qb+a) A^a

The P_b are sums of shares. The diagonal of a product is one more product with n entries.
ceil(log2 q) + ceil(log2 s) + 1 rounds and q + s - 2 products of matrices of bits. Nobody learns
anything: every letter is masked as in any product.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import bit_products
from tacit.mpc.protocols.bit_products import matrix_product, multiplied, products
from tacit.mpc.session import Session
from tacit.mpc.shares import BitShare

Bits = NDArray[np.uint8]


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
def steps(size: int) -> tuple[int, int]:
    """Return how many baby steps and giant steps to take.

    The fewest rounds take most products: 7 rounds and 49 products for 100 columns, where one round
    more saves 31 products. So one round more than the least is allowed for.

    >>> steps(100), steps(300), steps(2)
    ((8, 12), (15, 19), (1, 1))
    """
    choices = [(q, max(1, -(-size // q) - 1)) for q in range(1, size + 1)]
    most = 1 + min(_rounds(*each) for each in choices)
    return min((each for each in choices if _rounds(*each) <= most), key=lambda e: (sum(e), e))


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
    babies, giants = steps(size)
    baby = await _powers(session, parents, babies, label=f"{label}.baby")
    giant = await _powers(session, baby[-1], giants, label=f"{label}.giant")
    nothing = parents.map(np.zeros_like)
    rows = [_chosen(baby, at * babies, size, nothing) for at in range(giants + 1)]
    alone = rows[0].map(lambda part: np.diagonal(part, axis1=-2, axis2=-1))
    left, right = _stacked(rows[1:]), _stacked(giant)
    # The parents' rows, which the exchange needs next, go in the same round.
    rest, moved = await products(
        session,
        [(left, right, _diagonals), (parents, matched, multiplied)],
        label=f"{label}.diagonal",
    )
    return alone + rest, moved


async def _powers(session: Session, first: BitShare, count: int, *, label: str) -> list[BitShare]:
    """Return the first powers of a matrix; each round doubles how many there are."""
    size, powers = first.shape[-1], [first]
    while (known := len(powers)) < count:
        more = powers[: min(known, count - known)]
        wide = BitShare(
            {c: np.concatenate([each.parts[c] for each in more], -1) for c in session.held}
        )
        made = await matrix_product(session, powers[-1], wide, label=f"{label}.{known}")
        powers += [made[..., at * size : (at + 1) * size] for at in range(len(more))]
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
    made: Bits = np.bitwise_xor.reduce(np.bitwise_xor.reduce(both, axis=0), axis=-1)
    return made


def cost(nodes: int, weightings: int, size: int) -> Cost:
    """Return the cost of finding the columns on cycles."""
    total = Cost.free(nodes)
    for count in steps(size):
        known = 1
        while known < count:
            more = min(known, count - known)
            total = total.then(bit_products.cost(nodes, weightings * size * size * more))
            known += more
    return total.then(bit_products.cost(nodes, weightings * size, weightings * size * size))
