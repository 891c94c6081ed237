"""Proof of what holds of a matching M, on shares, whatever happened before.

One more step of the prices v gives v', and for all columns j and k, with row i on column k,

::

    r_jk = v_k + C_ij - C_ik - v'_j          F = sum of v - v'

Counted are rows and columns of M whose sum is not 1, and entries of r below 0 or above 3 C. If none
is wrong, then for any plan P: cost(P) = cost(M) - F + sum of r over P >= cost(M) - F. This holds as
integers, since n (4 C + 1) is less than half the ring. So F bounds what M costs above the optimum,
and F = 0 proves it optimal. The entries of M are bits that were brought into the ring.

A product, a minimum, a comparison at the width of the ring, bits to numbers, and a comparison of
the counts. Nobody learns anything: all of it stays shares. Forbidden pairs need no check of their
own: a plan that has one costs more than one that has none, so it is never proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.assignment import iterations, minima
from tacit.mpc.assignment.minima import line_minima, public
from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.assignment.state import AssignmentState
from tacit.mpc.assignment.ties import PROOF, Ties
from tacit.mpc.cost import Cost
from tacit.mpc.planes import cut
from tacit.mpc.protocols import halves, less_than
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, concatenate

Words = NDArray[np.unsignedinteger]
PROOF_STEPS = (0, 1)
"""Without a ladder the gap is compared with 0 alone."""


@dataclass(frozen=True, slots=True)
class Proved:
    """Shares for each weighting of what holds of its plan."""

    optimal: BitShare
    valid: BitShare
    """Whether the duals are feasible, so that the gap is a bound."""
    total: ArithmeticShare
    """What the plan costs."""
    rung: ArithmeticShare
    """How many steps of the ladder hold of the gap, if that is a bound."""


async def prove(
    session: Session,
    state: AssignmentState,
    costs: ArithmeticShare,
    shape: AssignmentShape,
    ties: Ties,
    *,
    steps: Sequence[int] = (),
) -> Proved:
    """Return what holds of a state's plan; the gap is compared with the `steps` of a ladder."""
    k, word, ring = shape.weightings, shape.word, 8 * shape.word.itemsize
    between, own = await iterations.table_and_own(
        session, state.matching, costs, label="prove.table"
    )
    candidates = between + state.prices[:, None, :]
    drawn = ties.own_first(PROOF, shape.size)
    least = (await line_minima(session, candidates, drawn, shape, label="prove.least")).values
    gap, total = _count(state.prices - least), _count(own)
    limits = (steps or PROOF_STEPS)[:-1]

    def minus(share: ArithmeticShare, value: int) -> ArithmeticShare:
        return share.map(np.negative).add_public(public(value, word))

    sums = state.matching.map(_sums)
    reduced = (candidates - least[:, :, None]).map(lambda part: part.reshape(k, -1))
    tested = _joined(
        [
            sums.add_public(public(-1, word)),
            minus(sums, 1),
            reduced,
            minus(reduced, shape.widest),
            *[minus(gap[:, None], limit) for limit in limits],
        ]
    )
    known = known_part(session, tested).reshape(-1)
    signs = await less_than.compare_known(session, known[:0], known, bits=ring, label="prove.signs")
    numbers = await halves.bits_to_arithmetic(session, signs.kept, label="prove.bits", dtype=word)
    wrong = numbers.map(lambda part: part.reshape(k, -1))
    end = _entries(shape)
    # The first limit of a ladder is 0: with it counted, no fault means that the plan is optimal.
    counts = concatenate([_count(wrong[:, : end + 1]), _count(wrong[:, :end])])
    last = cut(known_part(session, counts.add_public(public(-1, word))), bits=_count_bits(shape))
    holds = await less_than.compare_known(
        session, last[:0], last, bits=_count_bits(shape), label="prove.all"
    )
    rung = minus(_count(wrong[:, end:]), len(limits))
    return Proved(holds.kept[:k], holds.kept[k:], total, rung)


def _sums(matching: Words) -> Words:
    """Return the sums of rows and of columns."""
    return np.concatenate([matching.sum(axis=a, dtype=matching.dtype) for a in (1, 2)], axis=1)


def _count(share: ArithmeticShare) -> ArithmeticShare:
    return share.map(lambda part: part.sum(axis=1, dtype=part.dtype))


def _joined(shares: list[ArithmeticShare]) -> ArithmeticShare:
    return ArithmeticShare(
        {c: np.concatenate([x.parts[c] for x in shares], axis=1) for c in shares[0].parts}
    )


def _entries(shape: AssignmentShape) -> int:
    """Return how many signs per weighting are about sums and reduced costs."""
    return 4 * shape.size + 2 * shape.size**2


def _count_bits(shape: AssignmentShape) -> int:
    return 1 + (_entries(shape) + 1).bit_length()


def cost(nodes: int, shape: AssignmentShape, *, steps: Sequence[int] = ()) -> Cost:
    """Return the cost of a proof."""
    k, word = shape.weightings, shape.word
    tested = k * (_entries(shape) + len(steps or PROOF_STEPS) - 1)
    total = iterations.cost_of_table(nodes, shape).then(minima.cost(nodes, shape, shape.size))
    total = total.then(less_than.cost(nodes, 0, tested, bits=8 * word.itemsize))
    total = total.then(halves.cost_of_conversion(nodes, tested, word))
    return total.then(less_than.cost(nodes, 0, 2 * k, bits=_count_bits(shape)))
