"""The protocols of equity: factors before a run, and steps after it, in shares.

*Before a run.* A balance is a sum of shares with public weights, without a message. The factor is
the least one plus the number of public thresholds that the balance is below: one batch of
comparisons of 36 bits, whose signs become numbers. One product multiplies all weights.

*After a run.* With A, B, M a participant's costs under the reference, under the plan, and at best,
its saved share is found without a division: it is -128 plus the number of v from -127 to 128 for
which

::

    128 (A - B) - v (A - M + 1) >= 0

256 tests for each participant in one batch, whose signs become numbers. Steps are linear in them.

M is one minimum over all rows at once (`protocols/minimum`). B is a sum of cells where the plan is
public. Where the column of each row is in shares: with l_c = [column < c], which is 0 for c = 0 and
1 for c = the number of columns, the cell of a row is

::

    sum over c of cost_c (l_(c+1) - l_c)
    = last cost + sum over c >= 1 of l_c (cost_(c-1) - cost_c)

All l_c are found by one batch of comparisons of few bits, and each chooses a difference or zero
(`halves.choose`).

Learns   nobody anything but the orders that `minimum` opens, which are those of uniform rankings
Rounds   before: 9 (four nodes: 10). After: those of a minimum, of one comparison, and 2; with a
         secret plan those of one more comparison, and 2
Bytes    see docs/protocols/equity.md
Paper    as `less_than`, `halves` and `minimum`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.equity.rule import BALANCE_BITS, FINENESS, MEMORY, STEP_SCALE, EquityRule, EquityShape
from tacit.mpc.cost import Cost
from tacit.mpc.protocols import halves, less_than, minimum, pairwise
from tacit.mpc.protocols.minimum import find_least, with_ties
from tacit.mpc.ring import to_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, concatenate, scale


def _sizes(shape: EquityShape) -> tuple[int, ...]:
    return tuple(int(count) for count in shape.allowed.sum(axis=1))


async def least_costs(
    session: Session, costs: ArithmeticShare, shape: EquityShape, *, label: str
) -> ArithmeticShare:
    """Shares of the sum of the least allowed costs of each participant's rows.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> shape = EquityShape([0, 1, 2, 2], columns=2, bound=9)
    >>> costs = deal_integers([[3, 4], [5, 5], [9, 1], [2, 7]])
    >>> reveal(run_parties(lambda s: least_costs(s, costs[s.me], shape, label="m")).results)
    array([3, 5, 3])
    """
    cells = costs.map(lambda part: part[shape.allowed])
    columns = np.nonzero(shape.allowed)[1]
    found = await find_least(
        session,
        with_ties(cells, columns, tie_bits=shape.tie_bits),
        _sizes(shape),
        bits=shape.key_bits,
        label=label,
    )
    return found.lines[:, 1].map(shape.by_owner)


def cost_of_least(nodes: int, shape: EquityShape) -> Cost:
    return minimum.cost(nodes, _sizes(shape), bits=shape.key_bits, dtype=shape.word, columns=2)


def public_plan_costs(
    costs: ArithmeticShare, plan: NDArray[np.integer[Any]], shape: EquityShape
) -> ArithmeticShare:
    """Shares of what each participant that has rows pays under a public plan; no message."""
    rows = np.arange(shape.rows)
    return costs.map(lambda part: shape.by_owner(part[rows, plan]))


def _column_bits(shape: EquityShape) -> int:
    """The bits of a column minus another, with its sign."""
    return 1 + (shape.columns - 1).bit_length()


async def secret_plan_costs(
    session: Session,
    costs: ArithmeticShare,
    plan: ArithmeticShare,
    shape: EquityShape,
    *,
    label: str,
) -> ArithmeticShare:
    """The same under a plan in shares, whose ring may be another.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> shape = EquityShape([0, 1, 2], columns=3, bound=9)
    >>> costs, plan = deal_integers([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), deal_integers([2, 0, 1])
    >>> reveal(run_parties(
    ...     lambda s: secret_plan_costs(s, costs[s.me], plan[s.me], shape, label="p")
    ... ).results)
    array([3, 4, 8])
    """
    word = plan.dtype
    # Columns are compared in the ring of the plan; what is chosen lies in that of the costs.
    after = np.arange(1, shape.columns, dtype=word)
    behind = plan.map(lambda part: np.repeat(part, len(after)))
    behind = behind.add_public(np.tile(np.negative(after), shape.rows))
    signs = await less_than.compare_batch(
        session, behind[:0], behind, bits=_column_bits(shape), label=f"{label}.columns"
    )
    falls = costs.map(lambda part: (part[:, :-1] - part[:, 1:]).reshape(-1))
    chosen = await halves.choose(session, signs.kept, falls, label=f"{label}.cells")
    cells = chosen.map(lambda part: part.reshape(shape.rows, -1).sum(axis=1, dtype=part.dtype))
    return (cells + costs[:, -1]).map(shape.by_owner)


def cost_of_secret(nodes: int, shape: EquityShape) -> Cost:
    count = shape.rows * (shape.columns - 1)
    compared = less_than.cost(nodes, 0, count, bits=_column_bits(shape))
    return compared.then(halves.cost_of_choice(nodes, count, shape.word))


def balances(steps: Sequence[ArithmeticShare], rule: EquityRule) -> ArithmeticShare:
    """Shares of all balances, from each participant's own steps in order, the last one last.

    Who never took part has an empty array.

    >>> from tacit.mpc.local import deal_integers, reveal
    >>> own = deal_integers([1000, 500])
    >>> reveal([balances([each, each[:0]], EquityRule(decay=500)) for each in own])
    array([256000,      0])
    """
    weights = to_ring(rule.weights)
    made = []
    for own in steps:
        # Weights go by age, the last step first.
        last = own[::-1][:MEMORY]
        counted = scale(last, weights[: len(last)])
        made.append(counted.map(lambda part: part.sum(keepdims=True, dtype=np.uint64)))
    return concatenate(made)


async def factors(
    session: Session, balances: ArithmeticShare, rule: EquityRule, *, label: str
) -> ArithmeticShare:
    """Shares of the factor of each participant.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> b = deal_integers([0, 1 << 26, -(1 << 33)])
    >>> run = run_parties(lambda s: factors(s, b[s.me], EquityRule(), label="f"))
    >>> reveal(run.results)
    array([16, 14, 20])
    """
    count, each = len(balances), len(rule.thresholds)
    who = np.repeat(np.arange(count), each)
    thresholds = np.tile(to_ring(rule.thresholds), count)
    below = balances[who].add_public(np.negative(thresholds))
    signs = await less_than.compare_batch(
        session, below[:0], below, bits=BALANCE_BITS, label=f"{label}.thresholds"
    )
    gained = await halves.bits_to_arithmetic(session, signs.kept, label=f"{label}.levels")

    def counted(part: NDArray[np.uint64]) -> NDArray[np.uint64]:
        made: NDArray[np.uint64] = part.reshape(count, each).sum(axis=1, dtype=np.uint64)
        return made

    return gained.map(counted).add_public(to_ring([rule.least_factor]))


async def multiplied(
    session: Session,
    weights: ArithmeticShare,
    factors: ArithmeticShare,
    owners: Sequence[int],
    *,
    label: str,
) -> ArithmeticShare:
    """Shares of the weights, rows x columns, each row times its owner's factor. 1 round.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> w, f = deal_integers([[1, 2], [3, 4]]), deal_integers([15, 17])
    >>> run = run_parties(lambda s: multiplied(s, w[s.me], f[s.me], [1, 0], label="w"))
    >>> reveal(run.results)
    array([[17, 34],
           [45, 60]])
    """
    # A product on shares: neither weights nor factors are ever opened.
    by_row = factors[np.array(owners)][:, None]
    return await pairwise.multiply(session, weights, by_row, label=label)


def cost_before(
    nodes: int, rule: EquityRule, participants: int, *, rows: int, columns: int
) -> Cost:
    compared = participants * len(rule.thresholds)
    total = less_than.cost(nodes, 0, compared, bits=BALANCE_BITS)
    return total.then(halves.cost_of_conversion(nodes, compared)).then(
        pairwise.cost(nodes, rows * columns)
    )


TESTS = 2 * FINENESS


@dataclass(frozen=True, slots=True)
class RunSteps:
    """Shares in the ring of 64 bits, for each participant that has rows (`EquityShape.active`)."""

    saved: ArithmeticShare
    """The saved share, in 128ths."""
    steps: ArithmeticShare
    """What the balance of each takes from this run; they add up to zero."""


async def steps_after(
    session: Session,
    weights: ArithmeticShare,
    reference: NDArray[np.integer[Any]],
    plan: NDArray[np.integer[Any]] | ArithmeticShare,
    shape: EquityShape,
    *,
    label: str,
) -> RunSteps:
    """The steps after a run, from shares of the weights before any factor, rows x columns.

    The plan is public, or shares of the column of each row in a ring of any word.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> shape = EquityShape([0, 1, 2], columns=3, bound=10)
    >>> weights = deal_integers([[1, 9, 5], [0, 4, 3], [2, 2, 2]])
    >>> before, after = np.array([1, 0, 2]), np.array([0, 1, 2])
    >>> run = run_parties(lambda s: steps_after(s, weights[s.me], before, after, shape, label="e"))
    >>> reveal([each.saved for each in run.results]), reveal([each.steps for each in run.results])
    (array([ 113, -128,    0]), array([ 483210, -503685,   20475]))
    """
    costs = _costs(weights, shape)
    least = await least_costs(session, costs, shape, label=f"{label}.least")
    before = public_plan_costs(costs, reference, shape)
    if isinstance(plan, ArithmeticShare):
        after = await secret_plan_costs(session, costs, plan, shape, label=f"{label}.plan")
    else:
        after = public_plan_costs(costs, plan, shape)
    saved = await saved_from_costs(session, before, after, least, shape, label=f"{label}.saved")
    return RunSteps(saved, _steps(saved))


def _costs(weights: ArithmeticShare, shape: EquityShape) -> ArithmeticShare:
    word = shape.word
    # What is stated of a forbidden pair costs nobody anything; a plan that has one costs the most.
    costs = weights.map(lambda part: np.where(shape.allowed, part.astype(word), word.type(0)))
    largest = np.full(costs.shape, shape.bound, dtype=word)
    if shape.maximize:
        return costs.map(np.negative).add_public(largest)
    return costs.add_public(np.where(shape.allowed, word.type(0), largest))


async def saved_from_costs(
    session: Session,
    before: ArithmeticShare,
    after: ArithmeticShare,
    least: ArithmeticShare,
    shape: EquityShape,
    *,
    label: str,
) -> ArithmeticShare:
    """Shares of the saved shares, from those of the costs before, after and at best.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> shape = EquityShape([0, 1, 2], columns=3, bound=10)
    >>> a, b, m = (deal_integers(each) for each in ([9, 0, 2], [1, 4, 2], [1, 0, 2]))
    >>> reveal(run_parties(
    ...     lambda s: saved_from_costs(s, a[s.me], b[s.me], m[s.me], shape, label="s")
    ... ).results)
    array([ 113, -128,    0])
    """
    word, one = shape.word, np.ones(1, dtype=shape.word)
    values = to_ring(np.arange(1 - FINENESS, 1 + FINENESS)).astype(word)
    scaled = (before - after).map(lambda part: part[:, None] * word.type(FINENESS))
    possible = (before - least).add_public(one).map(lambda part: part[:, None] * values)
    # Both sides are linear in shares and public v: no division, and one batch for all tests.
    tests = ArithmeticShare(
        {c: (part - possible.parts[c]).reshape(-1) for c, part in scaled.parts.items()}
    )
    signs = await less_than.compare_batch(
        session, tests[:0], tests, bits=shape.test_bits, label=f"{label}.tests"
    )
    failed = await halves.bits_to_arithmetic(session, signs.kept, label=f"{label}.numbers")
    counts = failed.map(lambda part: part.reshape(-1, TESTS).sum(axis=1, dtype=part.dtype))
    return counts.map(np.negative).add_public(np.full(1, FINENESS, dtype=np.uint64))


def _steps(saved: ArithmeticShare) -> ArithmeticShare:
    count = len(saved)
    ahead = scale(saved, count) - saved.map(lambda part: part.sum(keepdims=True, dtype=part.dtype))
    return scale(ahead, STEP_SCALE // count)


def cost_after(nodes: int, shape: EquityShape, *, secret: bool) -> Cost:
    total = cost_of_least(nodes, shape)
    if secret:
        total = total.then(cost_of_secret(nodes, shape))
    count = TESTS * len(shape.active)
    tests = less_than.cost(nodes, 0, count, bits=shape.test_bits)
    return total.then(tests).then(halves.cost_of_conversion(nodes, count))
