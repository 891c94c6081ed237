"""The end of a batch: the plan that may be opened, what is proved of it, and checkpoints.

*Proof* of what holds of a matching M, on shares, whatever happened before. With row i on column k,
rows pay a_i = C_ik - v_k, and one more step of the prices v gives v'. For all allowed pairs,

::

    r_ij = C_ij - a_i - v'_j          F = sum of v - v'

Counted are rows and columns of M whose sum is not 1, and entries of r below 0 or above their bound.
If none is wrong, then for any plan P without forbidden pairs:
cost(P) = cost(M) - F + sum of r over P >= cost(M) - F. This holds as integers, since the sums are
less than half the ring. So F bounds what M costs above the optimum, and F = 0 proves it optimal.
The entries of M are bits that were brought into the ring, and none of a forbidden pair counts.

A product, a minimum, a comparison at the width of the ring, bits to numbers, and a comparison of
the counts. Nobody learns anything: all of it stays shares.

*Plan*: one line per weighting, its cost, whether it is proved to be the optimum, with a ladder the
rung of its gap, then the column of each row. A state that comes before the first iteration has
prices that prove nothing, so its proof is left out and the line says 0.

*Ladder*: F is compared with public steps 0, 1, b, b^2, ..., whose last no two plans can be apart.
Opened is the *rung*, how many of the steps below the last hold. The gap itself would disclose the
plan's cost to the unit wherever the bound is known to be close. The comparisons go with those of
the proof, so the ladder adds no round. The rung of a gap that is no bound is 0.

*Checkpoint*: one bit, 1 if the plans of all weightings are proved. The bits of the proofs are
multiplied, pair by pair, and the product is opened to coordinator and nodes in one round. They
learn that bit and nothing else: each letter is uniform, or follows from the bit and from what its
receiver holds. The nodes would see it anyway, since nothing is asked for after a 1; so they can
hold to it. ceil(log2 k) + 1 rounds for k weightings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.assignment import minima
from tacit.mpc.assignment.layout import AssignmentShape, Layout, public
from tacit.mpc.assignment.minima import PROOF, Ties, column_minima, offers, paid_by_rows
from tacit.mpc.assignment.state import AssignmentState
from tacit.mpc.cost import Cost
from tacit.mpc.planes import cut
from tacit.mpc.protocols import bit_products, halves, less_than, opening, pairwise
from tacit.mpc.protocols.bit_products import both
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, concatenate

Words = NDArray[np.unsignedinteger]
PROOF_STEPS = (0, 1)
"""Without a ladder the gap is compared with 0 alone."""


def ladder(base: int, widest: int, /) -> tuple[int, ...]:
    """Return the steps, of which the last is as far as two plans can be apart; none without a base.

    >>> ladder(10, 2500)
    (0, 1, 10, 100, 1000, 2500)
    >>> ladder(0, 2500)
    ()
    """
    if not base:
        return ()
    steps = [0]
    while (following := steps[-1] * base or 1) < widest:
        steps.append(following)
    return (*steps, max(1, widest))


def bound_of(rung: int, steps: Sequence[int], /) -> int:
    """Return by how many units at most a plan with this rung is worse than the optimum.

    >>> [bound_of(rung, ladder(10, 2500)) for rung in (0, 2, 5)]
    [2500, 100, 0]
    """
    return steps[len(steps) - 1 - rung]


def rung_of(gap: int, steps: Sequence[int], /) -> int:
    """Return how many steps below the last hold of a gap.

    >>> rung_of(10, ladder(10, 2500)), rung_of(0, (0, 7)), rung_of(1, (0, 7))
    (3, 1, 0)
    """
    return sum(gap <= step for step in steps[:-1])


@dataclass(frozen=True, slots=True)
class ProvedShares:
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
) -> ProvedShares:
    """Return what holds of a state's plan; the gap is compared with the `steps` of a ladder."""
    k, word, ring = shape.weightings, shape.word, 8 * shape.word.itemsize
    # A row on a forbidden column would pay what no candidate shows, so it counts as on none.
    matching = state.matching.map(lambda part: shape.placed(shape.taken(part)))
    paid = await paid_by_rows(session, matching, costs, state.prices, label="prove.paid")
    total = _sum(paid) + _sum(state.prices)
    offered = offers(costs, shape, paid)
    drawn = ties.drawn(PROOF, shape)
    least = await column_minima(session, offered, None, drawn, shape, label="prove.least")
    gap = _sum(state.prices - least.values)
    limits = (steps or PROOF_STEPS)[:-1]

    # Both ends of r are checked at the width of the ring: a minimum that was too high makes entries
    # negative, one that was too low makes sums that wrap around.
    def minus(share: ArithmeticShare, value: int) -> ArithmeticShare:
        return share.map(np.negative).add_public(public(value, word))

    sums = matching.map(_lines_sums)
    reduced = offered - least.values.map(lambda part: np.repeat(part, shape.rows_of, axis=1))
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
    counts = concatenate([_sum(wrong[:, : end + 1]), _sum(wrong[:, :end])])
    last = cut(known_part(session, counts.add_public(public(-1, word))), bits=_count_bits(shape))
    holds = await less_than.compare_known(
        session, last[:0], last, bits=_count_bits(shape), label="prove.all"
    )
    rung = minus(_sum(wrong[:, end:]), len(limits))
    return ProvedShares(holds.kept[:k], holds.kept[k:], total, rung)


def _lines_sums(matching: Words) -> Words:
    """Return the sums of rows and of columns."""
    return np.concatenate([matching.sum(axis=a, dtype=matching.dtype) for a in (1, 2)], axis=1)


def _sum(share: ArithmeticShare) -> ArithmeticShare:
    return share.map(lambda part: part.sum(axis=1, dtype=part.dtype))


def _joined(shares: list[ArithmeticShare]) -> ArithmeticShare:
    return ArithmeticShare(
        {c: np.concatenate([x.parts[c] for x in shares], axis=1) for c in shares[0].parts}
    )


def _entries(shape: AssignmentShape) -> int:
    """Return how many signs per weighting are about sums and reduced costs."""
    return 4 * shape.size + 2 * shape.pairs


def _count_bits(shape: AssignmentShape) -> int:
    return 1 + (_entries(shape) + 1).bit_length()


def cost_of_proof(nodes: int, shape: AssignmentShape, *, steps: Sequence[int] = ()) -> Cost:
    """Return the cost of a proof."""
    k, word = shape.weightings, shape.word
    tested = k * (_entries(shape) + len(steps or PROOF_STEPS) - 1)
    total = minima.cost_of_paid(nodes, shape).then(minima.cost(nodes, shape, own=False))
    total = total.then(less_than.cost(nodes, 0, tested, bits=8 * word.itemsize))
    total = total.then(halves.cost_of_conversion(nodes, tested, word))
    return total.then(less_than.cost(nodes, 0, 2 * k, bits=_count_bits(shape)))


@dataclass(frozen=True, slots=True)
class PlanShares:
    """Shares for each weighting."""

    plans: ArithmeticShare
    """A line for each: cost, proved, perhaps a rung, and the column of each row."""
    proved: BitShare | None
    """Whether each plan is proved to be the optimum; None where no proof was tried."""


def heads(*, steps: Sequence[int]) -> int:
    """Return how many words of a plan come before its columns.

    >>> heads(steps=()), heads(steps=(0, 1, 10))
    (2, 3)
    """
    return 3 if steps else 2


async def unproved(
    session: Session,
    state: AssignmentState,
    costs: ArithmeticShare,
    layout: Layout,
    *,
    steps: Sequence[int] = (),
) -> PlanShares:
    """Return the plan of a state of which nothing is proved yet."""
    total = _sum(await paid_by_rows(session, state.matching, costs, label="finish.own"))
    nothing = total.map(np.zeros_like)
    return PlanShares(_lines(state, layout, [total, *[nothing] * (heads(steps=steps) - 1)]), None)


async def finish(
    session: Session,
    state: AssignmentState,
    costs: ArithmeticShare,
    layout: Layout,
    shape: AssignmentShape,
    ties: Ties,
    *,
    steps: Sequence[int] = (),
) -> PlanShares:
    """Return the plan and what is proved of it; `steps` are those of a ladder for its gap."""
    k, word = shape.weightings, shape.word
    proved = await prove(session, state, costs, shape, ties, steps=steps)
    bits = concatenate([proved.optimal, proved.valid]) if steps else proved.optimal
    numbers = await halves.bits_to_arithmetic(session, bits, label="finish.bits", dtype=word)
    first = [proved.total, numbers[:k]]
    # The plan's cost is that of the matching whether or not anything is proved of it.
    if steps:
        # The rung of a gap that is no bound must not be opened.
        first.append(
            await pairwise.multiply(session, numbers[k:], proved.rung, label="finish.rung")
        )
    return PlanShares(_lines(state, layout, first), proved.optimal)


def _lines(
    state: AssignmentState, layout: Layout, first: Sequence[ArithmeticShare]
) -> ArithmeticShare:
    columns = state.matching.map(layout.plan_of)
    return ArithmeticShare(
        {
            c: np.column_stack([*(each.parts[c] for each in first), part])
            for c, part in columns.parts.items()
        }
    )


def cost_of_end(nodes: int, shape: AssignmentShape, *, steps: Sequence[int] = ()) -> Cost:
    """Return the cost of the end of a batch with a proof."""
    k, word = shape.weightings, shape.word
    total = cost_of_proof(nodes, shape, steps=steps)
    total = total.then(halves.cost_of_conversion(nodes, (2 if steps else 1) * k, word))
    return total.then(pairwise.cost(nodes, k, itemsize=word.itemsize)) if steps else total


def cost_unproved(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of the end of a batch without a proof."""
    return minima.cost_of_paid(nodes, shape)


async def tell_finished(session: Session, proved: BitShare, /) -> bool:
    """A node's side of a checkpoint: whether all of these bits are 1.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits
    >>> proved = deal_bits(np.array([1, 1, 0], dtype=np.uint8))
    >>> run = run_parties(lambda s: tell_finished(s, proved[s.me]), hear_finished)
    >>> run.results, run.coordinator
    ([False, False, False], False)
    """
    level = 0
    while (count := len(proved.any)) > 1:
        half = count // 2
        pairs = await both(
            session, proved[:half], proved[half : 2 * half], label=f"finished.{level}"
        )
        proved, level = concatenate([pairs, proved[2 * half :]]), level + 1
    # Components may have more bits than the one that counts.
    opened = await opening.disclose(session, proved.map(lambda part: part & np.uint8(1)), told=True)
    assert opened is not None
    return bool(opened[0])


async def hear_finished(session: Session, /) -> bool:
    """The coordinator's side of a checkpoint."""
    return bool((await opening.receive_opened(session, 1, dtype=np.uint8, xor=True))[0] & 1)


def cost_of_checkpoint(nodes: int, weightings: int) -> Cost:
    """Return the cost of one checkpoint."""
    total = Cost.free(nodes)
    while weightings > 1:
        total = total.then(bit_products.cost(nodes, weightings // 2))
        weightings -= weightings // 2
    return total.then(opening.cost_to_coordinator(nodes, 1, itemsize=1, told=True))
