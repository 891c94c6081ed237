"""The exact solver under SciPy's name: who knows `scipy.optimize` needs to learn nothing."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import AgreementError, ProblemError, TacitError
from tacit.problems import FITNESS_BITS, Assignment, Objective, first_served
from tacit.runs.engine_choice import EngineChoice
from tacit.runs.settings import sealed_settings
from tacit.runs.solve import solve
from tacit.search.moves import AssignmentParameters

COARSEST_BITS = 8
BLOCKS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 100)
"""After so many blocks of one iteration per place it is opened whether the optimum is proved. Every
family of costs that was tried took 3 at most, but no bound is known."""


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
    blocks of iterations it takes until the optimum is proved.

    Shares are whole numbers of so many bits. Costs whose decimals fit are taken as they are; others
    are rounded to steps as fine as fit, of 100 rows to a part in 10^12 of the difference between
    the largest and the least. The optimum of the rounded costs is proved, and no assignment is
    better by more than one such step per row.

    >>> linear_sum_assignment([[4, 1, 3], [2, 0, 5], [3, 2, 2]], engine="simulated")
    (array([0, 1, 2]), array([1, 0, 2]))
    """
    costs = _checked(cost_matrix)
    if maximize:
        costs = -costs
    # SciPy refuses what is invalid after the signs are turned.
    if costs.dtype.kind == "f" and (np.isnan(costs) | np.isneginf(costs)).any():
        raise ValueError("matrix contains invalid numeric entries")
    if 0 in costs.shape:
        return np.array([], dtype=np.intp), np.array([], dtype=np.intp)
    tall = costs.shape[0] > costs.shape[1]
    plan = _solve(costs.T if tall else costs, engine)
    if not tall:
        return np.arange(len(plan)), plan
    order = np.argsort(plan)
    return plan[order], order


def _checked(matrix: ArrayLike) -> NDArray[Any]:
    """Whole numbers as objects, which no sign makes wrap; all others as SciPy takes them."""
    costs = np.asarray(matrix)
    if costs.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {costs.shape!r} array")
    if costs.dtype.kind in "bui":
        return costs.astype(np.int64 if costs.dtype.kind == "b" else costs.dtype).astype(object)
    if isinstance(matrix, np.ndarray) and not np.can_cast(costs.dtype, np.float64):
        raise TypeError(
            f"expected a matrix containing numerical entries, got {costs.dtype}, which is not "
            "cast safely to float64"
        )
    return np.asarray(matrix, dtype=np.float64)


def _solve(costs: NDArray[Any], engine: str | EngineChoice) -> NDArray[np.intp]:
    forbidden = np.isposinf(costs) if costs.dtype.kind == "f" else np.zeros(costs.shape, dtype=bool)
    if forbidden.all(axis=1).any():
        raise ValueError("cost matrix is infeasible")
    problem = _as_problem(np.where(forbidden, costs[~forbidden].min(), costs), forbidden)
    *checkpoints, iterations = (problem.columns * each for each in BLOCKS)
    settings = AssignmentParameters(
        iterations=iterations, checkpoints=":".join(map(str, checkpoints))
    )
    found = solve(problem, disclose="sealed", settings=settings, engine=engine)
    if not found.proved:
        raise TacitError("the optimum could not be proved; take tacit.solve with more iterations")
    return np.array(found.plan, dtype=np.intp)


def _as_problem(costs: NDArray[Any], forbidden: NDArray[np.bool_]) -> Assignment:
    """The problem with costs as exact as shares can hold them."""
    exact = _in_units(costs)
    needed = max(1, max(exact.flat).bit_length())
    bits = _bits_that_fit(min(needed, FITNESS_BITS), forbidden)
    whole = exact if bits == needed else _rounded(exact, bits)
    return _problem(whole.astype(np.int64), forbidden, bits)


def _bits_that_fit(bits: int, forbidden: NDArray[np.bool_]) -> int:
    """At most so many, for which the numbers of the solver have room."""
    if first_served(~forbidden) is None:
        raise ValueError("cost matrix is infeasible")
    while True:
        try:
            sealed_settings(_problem(None, forbidden, bits), {})
        except (ProblemError, AgreementError):
            # So coarse that rounding is not what keeps it from fitting: the error is about
            # something else.
            if bits <= COARSEST_BITS:
                raise
            bits -= 1
        else:
            return bits


def _problem(
    weights: NDArray[np.int64] | None, forbidden: NDArray[np.bool_], bits: int
) -> Assignment:
    cost = Objective("cost", weights, sense="minimize", weight_bound=(1 << bits) - 1)
    rows, columns = forbidden.shape
    return Assignment(
        name="linear_sum_assignment",
        rows=rows,
        columns=columns,
        objectives=(cost,),
        forbidden=forbidden if forbidden.any() else None,
    )


def _in_units(costs: NDArray[Any]) -> NDArray[Any]:
    """The costs as whole numbers from 0 on, in units of their last decimal."""
    if costs.dtype.kind == "f":
        # By `repr`, the shortest decimal of a float: 0.1 is a tenth and not 0.1000000000000000055.
        decimal = [Decimal(repr(float(cost))).normalize() for cost in costs.flat]
        last = min(0, *(int(each.as_tuple().exponent) for each in decimal))
        whole = [int(Fraction(each) * 10**-last) for each in decimal]
    else:
        whole = [int(cost) for cost in costs.flat]
    least = min(whole)
    return np.array([cost - least for cost in whole], dtype=object).reshape(costs.shape)


def _rounded(exact: NDArray[Any], bits: int) -> NDArray[Any]:
    """The nearest of so many equal steps from 0 to the largest."""
    steps, largest = (1 << bits) - 1, max(exact.flat)
    # Halves are rounded up, in whole numbers of any size.
    rounded: NDArray[Any] = (2 * exact * steps + largest) // (2 * largest)
    return rounded
