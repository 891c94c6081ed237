"""Attacks of a platform on a recorded run: each estimates the secret cells from a view.

`ATTACKS` are those of a semi-honest platform, in the order in which they are tried; a later one may
start from the estimate of an earlier one.

- Plan only and frequency need nothing disclosed: the published plan, and which genes survive.
- Ridge regression takes what was disclosed (ranks, groups, bits) as if it were fitness.
- Equations: an exact fitness is a sum of cells, and hundreds of sums determine them.
- Pairwise logistic regression: which of two candidates of one evaluation is better.
- Pointwise logistic regression: in which group a candidate is, with free thresholds per evaluation.
- Anchored: each evaluation with a disclosed best value is one more equation, since the mean of its
  best group has about this value. The public range bounds the cells, and where the disclosures say
  little about a cell, its survival frequency decides.
- Known rows: a participant that colludes with the platform knows its own rows, which calibrate all
  other cells. The score is measured on the other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.measure import (
    CURVATURE,
    ITERATIONS,
    NOISE,
    Judge,
    Prior,
    cell_spread,
    cells_that_count,
    fit,
    flat_prior,
    logistic_loss,
)
from tacit.audit.view import Cells, View, one_hot


def by_published_plans(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
    """The baseline: the value of a cell is the number of published plans that use it."""
    cells = np.zeros(view.cell_count)
    np.add.at(cells, view.published, 1.0)
    return cells


def by_frequency(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
    """Estimate the cells from the candidates alone."""
    return gene_frequency(view)


def gene_frequency(view: View, /) -> Cells:
    """How often each gene occurs, standardized to mean 0 and spread 1: valuable ones survive.

    The logarithm keeps the few genes that took over the population from dominating the others.
    """
    cells = np.log1p(np.bincount(view.cells.ravel(), minlength=view.cell_count))
    return np.asarray((cells - cells.mean()) / (float(cells.std()) or 1.0))


RIDGE = 3.0
RIDGE_ITERATIONS = 200


def ridge_regression(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
    """Estimate the cells."""
    from scipy.sparse.linalg import lsqr

    disclosed = -view.levels.astype(np.float64)
    design = view.design
    # Ranks and groups compare candidates of one evaluation only, so every equation is a difference
    # within one.
    if design.typical is not None:
        matrix, base = design.matrix, design.typical[view.evaluation_of]
    else:
        base = _random_members(view)
        matrix = design.matrix - design.matrix[base]
    differences = disclosed - disclosed[base]
    spread = float(differences.std())
    if spread == 0:
        return np.zeros(view.cell_count)
    return np.asarray(
        lsqr(matrix, differences / spread, damp=np.sqrt(RIDGE), iter_lim=RIDGE_ITERATIONS)[0]
    )


def _random_members(view: View) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    rng = np.random.Generator(np.random.PCG64(0))
    starts = np.cumsum(view.sizes) - view.sizes
    return np.asarray(
        starts[view.evaluation_of] + rng.random(len(view.levels)) * view.sizes[view.evaluation_of]
    ).astype(np.int64)


EQUATION_NOISE = 0.01
EQUATION_ITERATIONS = 400


def from_equations(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
    """Estimate the cells, or None where values are not exact."""
    if view.values is None:
        return None
    return by_equations(view, prior=flat_prior(view.cell_count))


def by_equations(view: View, /, *, prior: Prior, iterations: int = EQUATION_ITERATIONS) -> Cells:
    """Solve the equations of exact values by LSQR, given a prior."""
    from scipy.sparse import diags
    from scipy.sparse.linalg import lsqr

    matrix, sums = _system(view)
    sums = sums / cell_spread(view) - matrix @ prior.mean
    # Steep cells are scaled down as in `fit`, so that LSQR converges. Known cells have the factor 0
    # and stay at the prior's mean.
    scale = prior.unknown / np.sqrt(EQUATION_NOISE**2 + view.design.visits)
    solved = lsqr(matrix @ diags(scale), sums, damp=EQUATION_NOISE, iter_lim=iterations)[0]
    return np.asarray(prior.mean + solved * scale)


def _system(view: View) -> tuple[Any, Any]:
    from scipy.sparse import vstack

    design, values = view.design, view.exact_values
    if design.typical is None:
        return design.matrix, values - values.mean()
    # Differences within evaluations lose the level of each evaluation. Steps from one typical
    # candidate to the next tie them together again.
    typical = one_hot(view.cells[design.typical], view.cell_count)
    base = values[design.typical]
    steps, rises = typical[1:] - typical[:-1], np.diff(base)
    return (
        vstack([design.matrix, steps]).tocsr(),
        np.concatenate([values - base[view.evaluation_of], rises]),
    )


Places = NDArray[np.int64]
MANY_GROUPS = 3
RANDOM_PAIRINGS, FEW_PAIRINGS = 16, 4
"""Random pairs per candidate; few where it is also compared by rank."""


def pairwise_regression(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
    """Estimate the cells, or None where values are exact."""
    if view.values is not None:
        return None
    return by_pairs(view, prior=flat_prior(view.cell_count))


def by_pairs(
    view: View,
    /,
    *,
    prior: Prior,
    iterations: int = ITERATIONS,
    start: Cells | None = None,
    limit: float | None = None,
) -> Cells:
    """Fit the cells to pairs of candidates by logistic regression, given a prior."""
    better, worse = informative_pairs(view)
    return fit(
        view.design, judge_pairs(better, worse), prior=prior, others=np.zeros(0),
        iterations=iterations, start=start, limit=limit,
    )  # fmt: skip


def judge_pairs(better: Places, worse: Places, /, *, noise: float = NOISE) -> Judge:
    """The logistic loss of pairs."""

    def judge(
        scores: NDArray[np.float64], others: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        loss, pull = logistic_loss((scores[better] - scores[worse]) / noise)
        count = len(scores)
        by_score = np.bincount(worse, pull, count) - np.bincount(better, pull, count)
        return loss, by_score / noise, others

    return judge


def informative_pairs(view: View, /) -> tuple[Places, Places]:
    """Indices of candidates of one evaluation, the better ones and the worse ones."""
    rng = np.random.Generator(np.random.PCG64(0))
    pairs = list(_by_rank(view)) if int(view.levels.max()) >= MANY_GROUPS else []
    # An order without ties is implied by comparing ranks. Groups have ties, which sorting by rank
    # breaks arbitrarily, so random pairs are added.
    if view.disclosure != "order":
        pairs += _at_random(view, rng, FEW_PAIRINGS if pairs else RANDOM_PAIRINGS)
    one, other = (np.concatenate(each) for each in zip(*pairs, strict=True))
    ahead = view.levels[one] < view.levels[other]
    behind = view.levels[one] > view.levels[other]
    return (
        np.concatenate([one[ahead], other[behind]]),
        np.concatenate([other[ahead], one[behind]]),
    )


def _by_rank(view: View) -> Iterator[tuple[Places, Places]]:
    # Distances 1, 2, 4 ... in rank: n log n pairs stand for all n**2, close and far ones alike.
    order = np.lexsort((view.levels, view.evaluation_of))
    distance = 1
    while distance < view.sizes.max():
        one, other = order[:-distance], order[distance:]
        together = view.evaluation_of[one] == view.evaluation_of[other]
        yield one[together], other[together]
        distance *= 2


def _at_random(
    view: View, rng: np.random.Generator, pairings: int
) -> Iterator[tuple[Places, Places]]:
    everybody = np.arange(len(view.levels))
    for _ in range(pairings):
        shuffled = np.lexsort((rng.random(len(everybody)), view.evaluation_of))
        yield everybody, shuffled


MOST_GROUPS = 6
"""With more groups the thresholds interfere, and pairs find far more."""
LEAST_GAP, WIDE = 1e-6, 500.0


def pointwise_regression(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
    """Estimate the cells, or None where there are no groups."""
    if not has_groups(view):
        return None
    return by_groups(view, prior=flat_prior(view.cell_count))


def has_groups(view: View, /) -> bool:
    """Whether candidates come in a few groups."""
    return view.disclosure not in ("none", "order") and 1 <= int(view.levels.max()) < MOST_GROUPS


def by_groups(
    view: View,
    /,
    *,
    prior: Prior,
    iterations: int = ITERATIONS,
    start: Cells | None = None,
    limit: float | None = None,
) -> Cells:
    """Fit the cells to groups by ordinal regression with free thresholds, given a prior."""
    thresholds = int(view.levels.max())
    if thresholds == 0:  # one group says nothing
        return prior.mean
    scores = view.design.scores(prior.mean if start is None else start)
    first = first_thresholds(view, scores, thresholds)
    # A threshold is touched by a whole evaluation, a cell by few candidates. The weight gives both
    # the same curvature, which L-BFGS needs to converge.
    weight = np.sqrt(CURVATURE / NOISE * float(view.sizes.mean()) / thresholds)
    return fit(
        view.design, judge_groups(view, thresholds, weight), prior=prior,
        others=first.ravel() * weight, iterations=iterations, start=start, limit=limit,
    )  # fmt: skip


def first_thresholds(
    view: View, scores: NDArray[np.float64], thresholds: int, /
) -> NDArray[np.float64]:
    """Initial thresholds for normally distributed scores, one row per evaluation."""
    from scipy.special import ndtri

    count, group = view.evaluations, view.evaluation_of
    mean = np.bincount(group, scores, count) / view.sizes
    spread = np.sqrt(np.maximum(np.bincount(group, scores**2, count) / view.sizes - mean**2, 1.0))
    groups = np.bincount(group * (thresholds + 1) + view.levels, minlength=count * (thresholds + 1))
    shares = groups.reshape(count, -1).cumsum(axis=1)[:, :-1] / view.sizes[:, None]
    # Shares of 0 and 1 would give infinite thresholds.
    normal = -ndtri(np.clip(shares, 1e-3, 1 - 1e-3))
    # Thresholds of empty groups still need an order.
    normal -= 1e-3 * np.arange(thresholds)
    return np.asarray(mean[:, None] + spread[:, None] * normal)


def judge_groups(view: View, thresholds: int, weight: float, /) -> Judge:
    """The loss of scores between thresholds; these come flattened and times `weight`."""
    first = view.evaluation_of * thresholds
    has_upper, has_lower = view.levels > 0, view.levels < thresholds
    upper = first + np.maximum(view.levels - 1, 0)
    lower = first + np.minimum(view.levels, thresholds - 1)
    between = has_upper & has_lower
    count = view.evaluations * thresholds

    def judge(
        scores: NDArray[np.float64], others: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        edges = others / weight
        # The best group has no upper and the worst no lower threshold: theirs are infinitely far.
        below = np.where(has_upper, (edges[upper] - scores) / NOISE, np.inf)
        above = np.where(has_lower, (scores - edges[lower]) / NOISE, np.inf)
        # log(s(a) - s(-c)) = log s(a) + log s(c) + log(1 - exp(-(a + c))), s being logistic.
        (loss, pull_down), (more, pull_up) = logistic_loss(below), logistic_loss(above)
        squeeze = np.zeros(len(scores))
        # Thresholds may cross on the way, where the logarithm below would not exist.
        room = np.maximum(below[between] + above[between], LEAST_GAP)
        loss += more - float(np.log(-np.expm1(-room)).sum())
        # Beyond about 700 the exponential overflows.
        squeeze[between] = 1 / np.expm1(np.minimum(room, WIDE))
        by_upper = np.where(has_upper, pull_down + squeeze, 0.0) / NOISE
        by_lower = np.where(has_lower, pull_up + squeeze, 0.0) / NOISE
        by_edge = np.bincount(lower, by_lower, count) - np.bincount(upper, by_upper, count)
        return loss, by_upper - by_lower, by_edge / weight

    return judge


def by_what_is_disclosed(
    view: View,
    /,
    *,
    prior: Prior,
    found: Mapping[str, Cells],
    iterations: int = ITERATIONS,
    limit: float | None = None,
) -> Cells:
    """Fit what this disclosure gives, starting from the estimate of the plain attack, if any."""
    if view.values is not None:
        return by_equations(view, prior=prior)
    # Pairs are as good as several thresholds at the end of a run, and better at its beginning.
    fit, start = (
        (by_groups, found.get("pointwise"))
        if int(view.levels.max()) == 1
        else (by_pairs, found.get("pairwise"))
    )
    return fit(view, prior=prior, iterations=iterations, start=start, limit=limit)


MOST_EQUATIONS = 200
ANCHORED_ITERATIONS = 60
HALF_RANGE = sqrt(3)
"""Half of the range, in units of the spread of a cell that is uniform in it."""
TRUST = 0.3
"""The weight of the frequency: about the correlation that it reaches by itself."""


def anchored(view: View, found: Mapping[str, Cells], /) -> Cells | None:
    """Estimate the cells, or None where no best value is disclosed or all values are."""
    return _anchored(view, found)


def anchored_in_range(view: View, found: Mapping[str, Cells], /) -> Cells | None:
    """Estimate cells of which none lies outside of the public range."""
    return _anchored(view, found, limit=HALF_RANGE)


def anchored_with_frequency(view: View, found: Mapping[str, Cells], /) -> Cells | None:
    """Take surviving genes as the prior's mean; None where values are exact."""
    if view.values is not None:
        return None
    prior = anchored_prior(view, TRUST * gene_frequency(view))
    return by_what_is_disclosed(view, prior=prior, found=found, iterations=ANCHORED_ITERATIONS)


def _anchored(
    view: View, found: Mapping[str, Cells], *, limit: float | None = None
) -> Cells | None:
    if view.best is None or view.values is not None:
        return None
    prior = anchored_prior(view, np.zeros(view.cell_count))
    return by_what_is_disclosed(
        view, prior=prior, found=found, iterations=ANCHORED_ITERATIONS, limit=limit
    )


def anchored_prior(view: View, mean: Cells, /) -> Prior:
    """The prior conditioned on the disclosed best values."""
    everything = np.ones(view.cell_count, dtype=np.bool_)
    if view.best is None:
        return Prior(mean, everything)
    chosen = np.unique(
        np.linspace(0, view.evaluations - 1, min(MOST_EQUATIONS, view.evaluations)).astype(np.int64)
    )
    groups = _mean_of_best_group(view)[chosen]
    # Cells are relative to the middle of the public range, so values have to be as well.
    middle = view.sign * view.problem.plan_length * view.weight_bound / 2
    values = (view.best[chosen] - middle) / cell_spread(view)
    # A best group is spread around its mean; ranks identify the best one.
    noise = 0.1 if view.disclosure == "order" else 1.0
    # Gaussian conditioning on `groups @ cells = values + noise`. Along an eigenvector of size s the
    # variance shrinks to 1 / (1 + s / noise**2); `Prior.narrowing` is 1 less its root.
    gram = groups @ groups.T
    sizes, turned = np.linalg.eigh(gram)
    # A population that has converged repeats its best group, and equal rows give eigenvalues of 0.
    kept = sizes > 1e-8 * sizes.max()
    sizes, turned = sizes[kept], turned[:, kept]
    directions = (turned / np.sqrt(sizes)).T @ groups
    moved = groups.T @ np.linalg.solve(gram + noise**2 * np.eye(len(gram)), values - groups @ mean)
    return Prior(mean + moved, everything, directions, 1 - 1 / np.sqrt(1 + sizes / noise**2))


def _mean_of_best_group(view: View) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Per evaluation the mean of its best group, as cells."""
    best = np.flatnonzero(view.levels == 0)
    group = view.evaluation_of[best]
    share = 1 / np.bincount(group, minlength=view.evaluations)
    width = view.cells.shape[1]
    means = np.zeros((view.evaluations, view.cell_count))
    places = (np.repeat(group, width), view.cells[best].ravel())
    np.add.at(means, places, np.repeat(share[group], width))
    return means


def from_known_rows(view: View, weights: NDArray[np.float64], rows: tuple[int, ...], /) -> Cells:
    """Estimate the cells; of `weights` only these `rows` are used."""
    unknown = cells_that_count(view.problem, rows)
    known = cells_that_count(view.problem) & ~unknown
    spread, middle = float(weights[known].std()) or 1.0, float(weights[known].mean())
    mean = np.where(known, (weights - middle) / spread, 0.0).ravel()
    # The spread of its own rows is a better guess than the public range.
    informed = replace(view, weight_bound=round(spread * np.sqrt(12)))
    prior = Prior(mean, unknown.ravel())
    return by_what_is_disclosed(informed, prior=prior, found={})


Attack = Callable[[View, Mapping[str, Cells]], Cells | None]

BASELINE = "plan only"
ATTACKS: dict[str, Attack] = {
    BASELINE: by_published_plans,
    "frequency": by_frequency,
    "regression": ridge_regression,
    "equations": from_equations,
    "pairwise": pairwise_regression,
    "pointwise": pointwise_regression,
    "anchor": anchored,
    "combination": anchored_with_frequency,
}


MAIN = ("equations", "pairwise", "pointwise", "anchor")
ON_BITS = ("pointwise", "anchor")
"""With several groups they rarely find more than pairs do."""
LONG_RUN = 200
"""From this many evaluations on they find more than pairs, so pairs of bits are left out."""


def main_attacks(view: View, /) -> dict[str, Cells]:
    """The attacks that are usually the strongest, where trying all would take too long."""
    found: dict[str, Cells] = {}
    for name in MAIN:
        bits = view.values is None and int(view.levels.max()) == 1
        if name in ON_BITS and not bits:
            continue
        if name == "pairwise" and bits and view.evaluations >= LONG_RUN:
            continue
        estimate = ATTACKS[name](view, found)
        if estimate is not None:
            found[name] = estimate
    return found
