"""After a run: what each participant saved, and its step, in shares.

The saved share is found without a division: with A, B, M the costs under the reference, under the
plan, and at best, it is -128 plus the number of v from -127 to 128 for which

::

    128 (A - B) - v (A - M + 1) >= 0

256 tests for each participant in one batch, whose signs become numbers. Steps are linear in them.
The rounds of a minimum, of the plan's costs if it is secret, of one comparison, and 2. Nobody
learns anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.equity import row_minima, under_plan
from tacit.equity.rule import FINENESS, STEP_SCALE
from tacit.equity.shape import EquityShape
from tacit.mpc.cost import Cost
from tacit.mpc.linear import scale
from tacit.mpc.protocols import b2a, less_than
from tacit.mpc.ring import to_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare

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
    least = await row_minima.least_costs(session, costs, shape, label=f"{label}.least")
    before = under_plan.public_plan_costs(costs, reference, shape)
    if isinstance(plan, ArithmeticShare):
        after = await under_plan.secret_plan_costs(
            session, costs, plan, shape, label=f"{label}.plan"
        )
    else:
        after = under_plan.public_plan_costs(costs, plan, shape)
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
    tests = ArithmeticShare(
        {c: (part - possible.parts[c]).reshape(-1) for c, part in scaled.parts.items()}
    )
    signs = await less_than.compare_batch(
        session, tests[:0], tests, bits=shape.test_bits, label=f"{label}.tests"
    )
    failed = await b2a.bits_to_arithmetic(session, signs.kept, label=f"{label}.numbers")
    counts = failed.map(lambda part: part.reshape(-1, TESTS).sum(axis=1, dtype=part.dtype))
    return counts.map(np.negative).add_public(np.full(1, FINENESS, dtype=np.uint64))


def _steps(saved: ArithmeticShare) -> ArithmeticShare:
    count = len(saved)
    ahead = scale(saved, count) - saved.map(lambda part: part.sum(keepdims=True, dtype=part.dtype))
    return scale(ahead, STEP_SCALE // count)


def cost(nodes: int, shape: EquityShape, *, secret: bool) -> Cost:
    """The cost of the steps after a run, with a plan that is secret or public."""
    total = row_minima.cost(nodes, shape)
    if secret:
        total = total.then(under_plan.cost_of_secret(nodes, shape))
    count = TESTS * len(shape.active)
    tests = less_than.cost(nodes, 0, count, bits=shape.test_bits)
    return total.then(tests).then(b2a.cost(nodes, count))
