"""The exact solver under SciPy's name: who knows `scipy.optimize` needs to learn nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import NoPlanError, ProblemError, TacitError
from tacit.problems import Assignment, Objective
from tacit.runs.engine_choice import EngineChoice
from tacit.runs.limits import Limits
from tacit.runs.solve import solve
from tacit.search.moves import ExactParameters

MOST_DECIMALS = 9
LARGEST_COST = 10**12
COURSES = (
    ExactParameters(phases=12),
    ExactParameters(phases=24, scaling=True),
    ExactParameters(phases=200, scaling=True),
)
"""Tried one after the other until the optimum is proved: most costs need the first."""


def linear_sum_assignment(
    cost_matrix: ArrayLike,
    maximize: bool = False,
    *,
    engine: str | EngineChoice = "nodes",
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Solve the linear sum assignment problem on secret shares, and prove the optimum.

    Takes and returns what `scipy.optimize.linear_sum_assignment` does: the rows, and the column of
    each, in ascending order of the rows. Pairs of infinite cost are forbidden. Of several optima it
    may find another than SciPy. The costs are shared among nodes on this machine, or those of
    `engine`; which pairs are forbidden and how many bits the costs have is public, and how many
    phases it takes until the optimum is proved.

    >>> linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]], engine="simulated")
    (array([0, 1, 2]), array([1, 0, 2]))
    """
    costs = _checked(cost_matrix, maximize=maximize)
    if 0 in costs.shape:
        return np.array([], dtype=np.intp), np.array([], dtype=np.intp)
    tall = costs.shape[0] > costs.shape[1]
    plan = _solve(costs.T if tall else costs, engine)
    if not tall:
        return np.arange(len(plan)), plan
    order = np.argsort(plan)
    return plan[order], order


def _checked(matrix: ArrayLike, *, maximize: bool) -> NDArray[Any]:
    costs = np.asarray(matrix)
    if costs.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {costs.shape!r} array")
    if not (np.issubdtype(costs.dtype, np.number) or costs.dtype == np.bool_):
        raise ValueError(f"expected a matrix containing numerical entries, got {costs.dtype}")
    if np.iscomplexobj(costs):
        raise ValueError("expected a matrix of real numbers, got complex ones")
    if costs.dtype.kind in "bui":  # narrow words would wrap where they are negated
        costs = costs.astype(np.int64)
    costs = -costs if maximize else costs
    if costs.dtype.kind == "f" and (np.isnan(costs) | np.isneginf(costs)).any():
        raise ValueError("matrix contains invalid numeric entries")
    return costs


def _solve(costs: NDArray[Any], engine: str | EngineChoice) -> NDArray[np.intp]:
    rows, columns = costs.shape
    forbidden = np.isposinf(costs) if costs.dtype.kind == "f" else np.zeros(costs.shape, dtype=bool)
    if forbidden.all(axis=1).any():
        raise ValueError("cost matrix is infeasible")
    weights = _whole(np.where(forbidden, costs[~forbidden].min(), costs))
    objective = Objective(
        "cost",
        weights,
        sense="minimize",
        weight_bound=(1 << int(weights.max()).bit_length()) - 1 or 1,
    )
    try:
        problem = Assignment(
            name="linear_sum_assignment",
            rows=rows,
            columns=columns,
            objectives=(objective,),
            forbidden=forbidden if forbidden.any() else None,
        )
    except ProblemError as error:
        if "forbidden" in str(error):
            raise ValueError("cost matrix is infeasible") from None
        raise
    for settings in COURSES:
        limits = Limits(deadline=3600.0)
        try:
            found = solve(
                problem, disclose="sealed", settings=settings, limits=limits, engine=engine
            )
        except NoPlanError:
            continue  # none without a forbidden pair was found yet
        if found.proved:
            return np.array(found.plan, dtype=np.intp)
    raise TacitError("the optimum could not be proved within an hour; take tacit.solve")


def _decimals(cost: float) -> int:
    return -int(Decimal(repr(cost)).normalize().as_tuple().exponent)


def _whole(costs: NDArray[Any]) -> NDArray[np.int64]:
    """The costs as whole numbers from 0 on, which changes no assignment."""
    if costs.dtype.kind == "f":
        decimals = max(
            -int(Decimal(repr(float(c))).normalize().as_tuple().exponent) for c in costs.flat
        )
        if decimals > MOST_DECIMALS:
            raise ValueError(
                f"a cost has {decimals} decimals; shares are whole numbers, so round to "
                f"{MOST_DECIMALS} or fewer"
            )
        scale = 10 ** max(0, decimals)
        whole = np.array([int(Decimal(repr(float(c))) * scale) for c in costs.flat], dtype=object)
    else:
        whole = costs.astype(object).reshape(-1)
    least = min(whole)
    if max(whole) - least > LARGEST_COST:
        raise ValueError(
            f"costs differ by more than {LARGEST_COST:,} in units of their last decimal; round them"
        )
    return np.array([int(each - least) for each in whole], dtype=np.int64).reshape(costs.shape)
