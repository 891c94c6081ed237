"""A platform that does not follow the agreed search: unrestricted queries.

Within its budget of evaluations it submits random populations, or crafted ones: after each quarter
of the budget it fits what it has, and then submits only plans that are equally good by its
estimate, so that what is still unknown decides every comparison. Under `above` the threshold
follows from the worst candidate, so where it is high, one bad plan in each set moves it to the
middle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.audit.measure import ITERATIONS, as_matrix, flat_prior
from tacit.audit.platform_attacks import by_what_is_disclosed
from tacit.audit.view import Cells, View, cells_of
from tacit.disclosure import parse_disclosure, split_disclosure
from tacit.problems import Assignment
from tacit.search import repair

ROUNDS = 4
HIGH_PERCENT = 90
SWAPS = 60
"""Swaps of two entries tried to make plans equally good."""


def random_view(view: View, weights: NDArray[np.float64], /, *, seed: int = 0) -> View:
    """The view of a platform that submits random populations, as many and as large as in `view`.

    `weights` answer the queries, as the nodes would.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    return answered(view, weights, random_plans(view, int(view.sizes.sum()), rng))


def recover_from(queried: View, /) -> Cells:
    """Estimate the cells from the answers to these queries."""
    return by_what_is_disclosed(queried, prior=flat_prior(queried.cell_count), found={})


def recover_by_crafted(view: View, weights: NDArray[np.float64], /, *, seed: int = 0) -> Cells:
    """Estimate the cells from adaptively crafted populations."""
    rng = np.random.Generator(np.random.PCG64(seed))
    ends = np.unique(np.linspace(0, view.evaluations, ROUNDS + 1).astype(np.int64))[1:]
    plans = np.empty((0, view.problem.plan_length), dtype=np.int32)
    estimate = np.zeros(view.cell_count)
    for end in ends:
        seen = view.first(int(end))
        more = random_plans(view, int(seen.sizes.sum()) - len(plans), rng)
        crafted = equally_good(view, more, estimate, rng)
        if estimate.any() and _threshold_is_high(view):
            answered_sets = np.searchsorted(np.cumsum(view.sizes), len(plans), side="right")
            starts = (np.cumsum(view.sizes) - view.sizes)[answered_sets : int(end)] - len(plans)
            # The threshold lies at a share of the way from the worst to the best candidate. One
            # bad plan moves it down among the others, so that about half of them pass.
            crafted[starts] = view.problem.known.good_plan(-as_matrix(view.problem, estimate))
        plans = np.concatenate([plans, crafted])
        found = {} if not estimate.any() else {"pointwise": estimate, "pairwise": estimate}
        estimate = by_what_is_disclosed(
            answered(seen, weights, plans),
            prior=flat_prior(view.cell_count),
            found=found,
            # Fits in between only choose the next queries; the last one is what counts.
            iterations=ITERATIONS if end == view.evaluations else ITERATIONS // 3,
        )
    return estimate


def _threshold_is_high(view: View) -> bool:
    """Whether few candidates pass; a lower threshold is near the middle anyway."""
    method, percent = split_disclosure(view.disclosure)
    return method == "above" and percent >= HIGH_PERCENT


def answered(view: View, weights: NDArray[np.float64], plans: NDArray[np.int32], /) -> View:
    """The view of a platform that submitted these plans in sets of the same sizes."""
    disclosure = parse_disclosure(view.disclosure)
    cells = cells_of(view.problem, plans)
    fitness = np.rint(weights.ravel()[cells].sum(axis=1)).astype(np.int64)
    sets = np.split(fitness, np.cumsum(view.sizes)[:-1])
    levels = [disclosure.levels(disclosure.disclose(each)) for each in sets]
    return replace(
        view,
        plans=plans,
        cells=cells,
        levels=np.concatenate(levels),
        values=None if view.values is None else fitness.astype(np.float64),
        best=None if view.best is None else np.array([each.max() for each in sets], np.float64),
    )


def random_plans(view: View, count: int, rng: np.random.Generator, /) -> NDArray[np.int32]:
    """Random plans without forbidden cells, which nodes refuse to evaluate."""
    known = view.problem.known
    genomes = np.tile(np.arange(known.genome_length, dtype=np.int32), (count, 1))
    genomes = np.ascontiguousarray(rng.permuted(genomes, axis=1))
    if view.problem.forbidden and view.problem.kind == Assignment.kind:
        repair(genomes, _allowed(view), rng.integers(0, 2**32, count, dtype=np.uint32))
    return np.ascontiguousarray(known.plans(genomes))


def _allowed(view: View) -> NDArray[np.bool_]:
    allowed = np.ones((view.problem.rows, view.problem.columns), dtype=np.bool_)
    if view.problem.forbidden:
        allowed[tuple(np.array(view.problem.forbidden).T)] = False
    return allowed


def equally_good(
    view: View, plans: NDArray[np.int32], estimate: Cells, rng: np.random.Generator, /
) -> NDArray[np.int32]:
    """Swap entries of plans while that brings their estimates closer together."""
    if not estimate.any():
        return plans
    # By the estimate all plans become equal, so the answers depend only on what it does not know
    # yet.
    values = _values(view, plans, estimate)
    target = float(np.median(values))
    everybody, allowed = np.arange(len(plans)), _allowed(view)
    for _ in range(SWAPS):
        one, other = rng.integers(0, plans.shape[1], (2, len(plans)))
        tried = plans.copy()
        tried[everybody, one], tried[everybody, other] = (
            plans[everybody, other],
            plans[everybody, one],
        )
        if isinstance(view.problem.known, Assignment):  # two entries count, and nothing beside them
            rows = np.stack([one, other])
            now = values + sum(
                _cells_of_rows(view, tried, rows, estimate)
                - _cells_of_rows(view, plans, rows, estimate)
            )
        else:
            now = _values(view, tried, estimate)
        closer = np.abs(now - target) < np.abs(values - target)
        if isinstance(view.problem.known, Assignment):
            both = [allowed[each, tried[everybody, each]] for each in (one, other)]
            # Nodes refuse a population with a forbidden pair, which would waste an evaluation of
            # the budget.
            closer &= both[0] & both[1]
        plans[closer], values[closer] = tried[closer], now[closer]
    return plans


def _cells_of_rows(
    view: View, plans: NDArray[np.int32], rows: NDArray[np.int64], estimate: Cells
) -> NDArray[np.float64]:
    """The values of some rows of each plan."""
    columns = plans[np.arange(len(plans)), rows]
    return np.asarray(estimate[rows * view.problem.columns + columns])


def _values(view: View, plans: NDArray[np.int32], estimate: Cells) -> NDArray[np.float64]:
    return np.asarray(estimate[cells_of(view.problem, plans)].sum(axis=1))
