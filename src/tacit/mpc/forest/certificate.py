"""What is proved of a matching, in shares, whatever happened before.

With r_ij = C_ij - v_j - b_i and R = 2 C (the bound), counted are

::

    sums     rows and columns of the matching whose sum is not 1
    duals    entries with r < 0, and with r > R
    gap      whether sum C M - sum v - sum b, which is the sum of r over the matching, exceeds n

All zero: for any plan P, cost(P) - cost(M) = sum of r over P - sum of r over M >= -n, as integers,
since n (R + C + 1) is less than half the ring. Costs are multiples of n + 1, so M is the optimum.
The matching's entries are bits that were brought into the ring, so they are 0 or 1.

Without the gap: the optimum is at least cost(M) - gap, so the gap may be shown as a bound.

A product, a comparison at the width of the ring, bits to numbers, and a comparison of the counts.
Nobody learns anything: all of it stays shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.forest.first_duals import transposed
from tacit.mpc.forest.minima import public
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.state import ForestState
from tacit.mpc.forest.told.gap import limits
from tacit.mpc.planes import cut
from tacit.mpc.protocols import b2a, less_than, pairwise
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, concatenate

Words = NDArray[np.unsignedinteger]


@dataclass(frozen=True, slots=True)
class Proved:
    """Bits for each weighting, and what a bound follows from."""

    optimal: BitShare
    feasible: BitShare
    """Whether it is a plan, without forbidden pairs."""
    bounded: BitShare
    """Whether the duals are feasible, so that the gap is one."""
    total: ArithmeticShare
    """The scaled cost."""
    gap: ArithmeticShare
    """By how much the scaled cost may exceed the optimum's."""
    rung: ArithmeticShare
    """How many steps of the ladder hold of the gap; 1 or 0 where there is no ladder."""


def _sum_over(matching: Words, tables: Words) -> Words:
    made: Words = (matching[:, None] * tables).sum(axis=(2, 3), dtype=tables.dtype)
    return made


def _off_by(matching: Words) -> Words:
    """Sums of rows and of columns."""
    return np.concatenate([matching.sum(axis=a, dtype=matching.dtype) for a in (1, 2)], axis=1)


def _lines(share: ArithmeticShare, /) -> ArithmeticShare:
    return share.map(lambda part: part.reshape(len(part), -1))


def _joined(shares: list[ArithmeticShare]) -> ArithmeticShare:
    """Entries of all, weighting by weighting."""
    return ArithmeticShare(
        {c: np.concatenate([x.parts[c] for x in shares], axis=1) for c in shares[0].parts}
    )


def _entries(shape: ForestShape) -> tuple[int, int]:
    """How many signs per weighting are about sums, and about duals."""
    return 4 * shape.size, 2 * shape.size**2


def _limits(steps: Sequence[int], shape: ForestShape) -> list[int]:
    """What the gap is compared with; the first is that of the proof, which is within n."""
    return limits(steps or (0, 1), scale=shape.scale)


def _count_bits(shape: ForestShape) -> int:
    return 1 + (sum(_entries(shape)) + 1 + shape.size).bit_length()


async def prove(
    session: Session,
    costs: ArithmeticShare,
    matching: ArithmeticShare,
    state: ForestState,
    forbidden: NDArray[np.bool_],
    shape: ForestShape,
    *,
    steps: Sequence[int] = (),
) -> Proved:
    """What holds of a matching, columns x rows; `forbidden` are rows x columns of the forest.

    The gap is compared with the `steps` of a ladder, if there is one.
    """
    k, word, ring = shape.weightings, shape.word, 8 * shape.word.itemsize
    left = costs - state.prices[:, None, :] - state.profits[:, :, None]
    tables = ArithmeticShare(
        {c: np.stack([p, costs.parts[c]], axis=1) for c, p in left.parts.items()}
    )
    sums = await pairwise.product(
        session, matching, transposed(tables), _sum_over, label="prove.sums"
    )
    gap, total = sums[:, 0], sums[:, 1]

    def minus(share: ArithmeticShare, value: int) -> ArithmeticShare:
        return share.map(np.negative).add_public(public(value, word))

    off, r = matching.map(_off_by), _lines(left)
    tested = _joined(
        [
            off.add_public(public(-1, word)),
            minus(off, 1),
            r,
            minus(r, 2 * shape.bound),
            *[minus(gap[:, None], limit) for limit in _limits(steps, shape)],
        ]
    )
    known = known_part(session, tested).reshape(-1)
    signs = await less_than.compare_known(session, known[:0], known, bits=ring, label="prove.signs")
    numbers = await b2a.bits_to_arithmetic(session, signs.kept, label="prove.bits", dtype=word)
    wrong = numbers.map(lambda part: part.reshape(k, -1))
    edge, end = _entries(shape)[0], sum(_entries(shape))
    used = matching.map(
        lambda part: (part * forbidden.T.astype(part.dtype)).sum(axis=(1, 2), dtype=part.dtype)
    )

    def count(share: ArithmeticShare) -> ArithmeticShare:
        return share.map(lambda part: part.sum(axis=1, dtype=part.dtype))

    counts = concatenate(
        [count(wrong[:, : end + 1]), count(wrong[:, :edge]) + used, count(wrong[:, :end])]
    ).add_public(public(-1, word))
    bits = _count_bits(shape)
    last = cut(known_part(session, counts), bits=bits)
    holds = await less_than.compare_known(session, last[:0], last, bits=bits, label="prove.all")
    kept = holds.kept
    rung = minus(count(wrong[:, end:]), len(_limits(steps, shape)))
    return Proved(kept[:k], kept[k : 2 * k], kept[2 * k :], total, gap, rung)


def cost(nodes: int, shape: ForestShape, *, steps: Sequence[int] = ()) -> Cost:
    """The cost of a proof."""
    k, word = shape.weightings, shape.word
    tested = k * (sum(_entries(shape)) + len(_limits(steps, shape)))
    total = pairwise.cost(nodes, 2 * k, itemsize=word.itemsize)
    total = total.then(less_than.cost(nodes, 0, tested, bits=8 * word.itemsize))
    total = total.then(b2a.cost(nodes, tested, word))
    return total.then(less_than.cost(nodes, 0, 3 * k, bits=_count_bits(shape)))
