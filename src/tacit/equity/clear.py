"""Equity over the integers: the specification, which the protocol gives number for number.

Of a participant with cost A under the reference plan, B under the plan found, and M the sum of the
least allowed cells of its rows, the *saved share* is (A - B) / (A - M + 1) in whole 128ths, rounded
down and cut at -128 and 128. M is subtracted so that a constant added to a row, which changes no
plan, changes no share. A *step* is the share minus the mean of those who took part, scaled; a
*balance* the sum of own steps, older ones with less weight; the *factor* follows by thresholds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.equity.rule import FINENESS, STEP_SCALE, EquityRule, EquityShape

Numbers = NDArray[np.int64]


def costs_of(weights: Numbers, shape: EquityShape) -> Numbers:
    """The costs of all cells; of a forbidden one the largest, whatever is stated there."""
    costs = shape.bound - weights if shape.maximize else weights
    return np.where(shape.allowed, costs, shape.bound)


def plan_costs(weights: Numbers, plan: NDArray[np.integer[Any]], shape: EquityShape) -> Numbers:
    """What each participant that has rows pays under a plan."""
    return shape.by_owner(costs_of(weights, shape)[np.arange(shape.rows), plan])


def least_costs(weights: Numbers, shape: EquityShape) -> Numbers:
    """The least that each could pay if it had all columns to itself."""
    return shape.by_owner(costs_of(weights, shape).min(axis=1))


def saved_shares(
    weights: Numbers,
    reference: NDArray[np.integer[Any]],
    plan: NDArray[np.integer[Any]],
    shape: EquityShape,
) -> Numbers:
    """The saved share of each participant that has rows, in 128ths.

    >>> shape = EquityShape([0, 1, 2], columns=3, bound=10)
    >>> weights = np.array([[1, 9, 5], [0, 4, 3], [2, 2, 2]])
    >>> saved_shares(weights, np.array([1, 0, 2]), np.array([0, 1, 2]), shape)
    array([ 113, -128,    0])
    """
    under_reference = plan_costs(weights, reference, shape)
    saved = under_reference - plan_costs(weights, plan, shape)
    possible = under_reference - least_costs(weights, shape) + 1
    shares: Numbers = np.clip(FINENESS * saved // possible, -FINENESS, FINENESS)
    return shares


def steps_of(saved: Numbers) -> Numbers:
    """By how much each is ahead of the mean in this run; they add up to zero.

    >>> steps_of(np.array([113, -128, 0]))
    array([ 483210, -503685,   20475])
    """
    count = len(saved)
    steps: Numbers = STEP_SCALE // count * (count * saved - saved.sum())
    return steps


def balance_of(steps: Sequence[int], rule: EquityRule) -> int:
    """The balance of a participant with these own steps, the last one last.

    >>> balance_of([1000, 500], EquityRule(decay=500))
    256000
    """
    return sum(weight * step for weight, step in zip(rule.weights, reversed(steps), strict=False))


def factor_of(balance: int, rule: EquityRule) -> int:
    """The factor of whoever has this balance; more than the neutral one for who is behind.

    >>> [factor_of(balance, EquityRule()) for balance in (0, 1 << 26, -(1 << 40))]
    [16, 14, 20]
    """
    return rule.least_factor + sum(balance < threshold for threshold in rule.thresholds)


def weighted(
    weights: Numbers, factors: Sequence[int], owners: Sequence[int] | NDArray[np.intp]
) -> Numbers:
    """The weights that a search or a solver is given: each row times its owner's factor.

    >>> weighted(np.array([[1, 2], [3, 4]]), [15, 17], [1, 0])
    array([[17, 34],
           [45, 60]])
    """
    return weights * np.array(factors, dtype=np.int64)[np.asarray(owners), None]
