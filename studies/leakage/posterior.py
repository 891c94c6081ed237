"""Bound what anybody could learn under `top:k` on independent weights, by posterior draws.

The secret is itself a draw from the posterior. So the correlation of the posterior's mean with the
secret is, on average, the length of that mean in units of the length of a draw, and no estimate
has more. Both lengths are known without the secret. Chains from different first points show how
far the draws still depend on where they began.

A first point fits what is disclosed, or all but a little: the sampler mends the rest. The squares
of what is missing to a small margin are added up and minimized (L-BFGS), in cells scaled by how
many candidates they move. Disclosed best values belong to it: the value of the good plans as a
whole is what the sampler changes most slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.evaluation.instances import reference_of
from studies.evaluation.run import recorded
from studies.leakage.results import BoundResult
from studies.leakage.study import LeakageJob
from tacit.audit import Cells, View, audit_of
from tacit.audit.measure import as_matrix, cell_spread, cells_that_count, centred
from tacit.audit.platform_attacks import anchored_prior
from tacit.audit.view import one_hot
from tacit.disclosure import BestMode
from tacit.errors import InputError, ParameterError
from tacit.jit import kernel


class Constraints(NamedTuple):
    """Candidates by evaluation, the top group of each first, and which of them each cell moves."""

    begins: NDArray[np.int64]
    """The first candidate of each evaluation, and the number of all."""
    rest: NDArray[np.int64]
    """The first candidate of each evaluation outside of its top group."""
    evaluation_of: NDArray[np.int64]
    moves: NDArray[np.int64]
    """Where the candidates of each cell begin in `moved`, and the number of all."""
    moved: NDArray[np.int32]
    ways: NDArray[np.float64]
    """1 where a candidate moves with the cell, -1 where against it."""


def constraints_of(view: View, /) -> tuple[Constraints, Any]:
    """The constraints of a view, and the same as a sparse matrix of candidates by cells."""
    if not bits_by_rank(view):
        raise InputError(f"{view.disclosure} tells more than an order of groups; take top")
    order = np.lexsort((view.levels, view.evaluation_of))
    order = order[_without_double_ties(view, order)]
    group, top = view.evaluation_of[order], view.levels[order] == 0
    sizes = np.bincount(group, minlength=view.evaluations)
    picked = one_hot(view.cells[order], view.cell_count)
    # A constant per evaluation changes no order within it, and leaves each cell few candidates to
    # move.
    matrix = (picked - _usual(picked, group, sizes)[group]).tocsr()
    matrix.eliminate_zeros()
    by_cell = matrix.tocsc()
    by_cell.sort_indices()
    begins = np.concatenate([[0], np.cumsum(sizes)])
    constraints = Constraints(
        begins=begins,
        rest=begins[:-1] + np.bincount(group[top], minlength=view.evaluations),
        evaluation_of=group,
        moves=by_cell.indptr.astype(np.int64),
        moved=by_cell.indices.astype(np.int32),
        ways=by_cell.data,
    )
    return constraints, matrix


def bits_by_rank(view: View, /) -> bool:
    """Whether all that is disclosed of candidates is which are the best k."""
    return view.disclosure.startswith("top:") and view.evaluations > 0


def _usual(picked: Any, group: NDArray[np.int64], sizes: NDArray[np.int64]) -> Any:  # noqa: ANN401
    """Per evaluation 1 for each cell that more than half of its candidates pick."""
    from scipy.sparse import csr_matrix

    ones, ends = np.ones(len(group)), np.arange(len(group) + 1)
    together = csr_matrix((ones, group, ends), shape=(len(group), len(sizes)))
    usual = (together.T @ picked).tocsr()
    usual.data = (2 * usual.data > np.repeat(sizes, np.diff(usual.indptr))).astype(np.float64)
    usual.eliminate_zeros()
    return usual


def _without_double_ties(view: View, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which candidates are kept.

    A plan with copies both in the top group and outside is the threshold. With two such plans in
    one evaluation their fitness is equal: an event of probability 0 for weights that are not whole
    numbers, so their copies outside are left out. That gives away a little of what is disclosed.
    """
    group, top = view.evaluation_of[order], view.levels[order] == 0
    plans = np.column_stack([group, view.plans[order]])
    _, which = np.unique(plans, axis=0, return_inverse=True)
    which, count = which.ravel(), int(which.max()) + 1
    inside, outside = (np.bincount(which[side], minlength=count) > 0 for side in (top, ~top))
    tied = np.flatnonzero(inside & outside)
    evaluation = np.zeros(count, dtype=np.int64)
    evaluation[which] = group
    often = np.bincount(evaluation[tied], minlength=view.evaluations) > 1
    return np.asarray(top | ~(np.isin(which, tied) & often[group]))


class Place(NamedTuple):
    """A point and what follows from it. A sweep changes all arrays."""

    cells: NDArray[np.float64]
    scores: NDArray[np.float64]
    """Of the candidates, up to a constant per evaluation."""
    lowest: NDArray[np.int64]
    """Per evaluation the worst candidate of the top group."""
    highest: NDArray[np.int64]
    """Per evaluation the best candidate outside of it."""
    middles: NDArray[np.float64]
    """Per cell the sum over sweeps of the middle of its interval: its mean, given the others."""


@kernel
def lowest_of(scores: NDArray[np.float64], first: int, end: int) -> int:
    """The candidate with the lowest score among some."""
    found = first
    for i in range(first, end):
        if scores[i] < scores[found]:
            found = i
    return found


@kernel
def highest_of(scores: NDArray[np.float64], first: int, end: int) -> int:
    """The candidate with the highest score among some."""
    found = first
    for i in range(first, end):
        if scores[i] > scores[found]:
            found = i
    return found


@kernel
def unmoved_extreme(
    scores: NDArray[np.float64], first: int, end: int, moved: NDArray[np.int32], way: float
) -> float:
    """The lowest (way 1) or highest (way -1) score of candidates that are not in `moved`."""
    best, k = np.inf, 0
    for i in range(first, end):
        if k < len(moved) and moved[k] == i:
            k += 1
        elif way * scores[i] < best:
            best = way * scores[i]
    return way * best


@kernel
def interval(
    cell: int, half_range: float, bounds: Constraints, place: Place
) -> tuple[float, float]:
    """How far a cell can go down and up."""
    scores, moved = place.scores, bounds.moved
    down = min(-half_range - place.cells[cell], 0.0)
    up = max(half_range - place.cells[cell], 0.0)
    k, end = bounds.moves[cell], bounds.moves[cell + 1]
    while k < end:
        first, e = k, bounds.evaluation_of[moved[k]]
        worst_top, best_rest = np.inf, -np.inf
        while k < end and moved[k] < bounds.rest[e]:
            worst_top = min(worst_top, scores[moved[k]])
            k += 1
        split = k
        while k < end and moved[k] < bounds.begins[e + 1]:
            best_rest = max(best_rest, scores[moved[k]])
            k += 1
        top, rest = scores[place.lowest[e]], scores[place.highest[e]]
        # Where the point does not fit yet, a cell may keep what is violated but not worsen it.
        violation = min(top - rest, 0.0)
        # The extreme moves with the cell itself, so that the next one that stays is the limit.
        if worst_top == top:
            top = unmoved_extreme(scores, bounds.begins[e], bounds.rest[e], moved[first:split], 1.0)
        if best_rest == rest:
            rest = unmoved_extreme(
                scores, bounds.rest[e], bounds.begins[e + 1], moved[split:k], -1.0
            )
        lower = min(rest - worst_top + violation, 0.0)
        upper = max(top - best_rest - violation, 0.0)
        if bounds.ways[first] < 0:
            lower, upper = -upper, -lower
        down, up = max(down, lower), min(up, upper)
    return down, up


@kernel
def move(cell: int, by: float, bounds: Constraints, place: Place) -> None:
    """Change a cell and everything that follows from it."""
    scores, moved = place.scores, bounds.moved
    place.cells[cell] += by
    k, end = bounds.moves[cell], bounds.moves[cell + 1]
    while k < end:
        e, step = bounds.evaluation_of[moved[k]], by * bounds.ways[k]
        low, high = place.lowest[e], place.highest[e]
        low_left, high_left = False, False
        while k < end and moved[k] < bounds.rest[e]:
            i = moved[k]
            scores[i] += step
            if step > 0:
                low_left = low_left or i == low
            elif scores[i] < scores[low]:
                low = i
            k += 1
        while k < end and moved[k] < bounds.begins[e + 1]:
            i = moved[k]
            scores[i] += step
            if step < 0:
                high_left = high_left or i == high
            elif scores[i] > scores[high]:
                high = i
            k += 1
        place.lowest[e] = lowest_of(scores, bounds.begins[e], bounds.rest[e]) if low_left else low
        place.highest[e] = (
            highest_of(scores, bounds.rest[e], bounds.begins[e + 1]) if high_left else high
        )


@kernel
def sweep(
    bounds: Constraints,
    place: Place,
    words: NDArray[np.float64],
    half_range: float,
    reflect: bool,
) -> None:
    """Give every cell a new value: reflected, or drawn by `words`, uniform in 0..1."""
    for cell in range(len(place.cells)):
        down, up = interval(cell, half_range, bounds, place)
        place.middles[cell] += place.cells[cell] + (down + up) / 2
        # A reflection at the middle leaves a uniform distribution as it is, and crosses the
        # interval faster than draws do (overrelaxation).
        by = down + up if reflect else down + (up - down) * words[cell]
        if by != 0.0:
            move(cell, by, bounds, place)


HALF_RANGE = sqrt(3)
"""Cells are in units of their spread, so they are uniform from minus to plus this."""
DRAW_EVERY = 4
"""In the other sweeps cells are reflected, not drawn."""
REFRESH_EVERY = 50
"""Scores are computed anew after so many sweeps, before rounding errors add up."""
MARGIN = 0.03
"""In units of a cell's spread."""
STEEPNESS = 0.05
BEYOND = 10.0
"""The penalty for cells outside of their range."""
ANCHORED = 0.3
"""The penalty for a best value that is missed."""
SOFTNESS = 0.2
"""Of the maximum over a top group, so that it has a derivative."""
ITERATIONS = 300

Loss = Callable[[Cells], tuple[float, Cells]]
SWEEPS, DROPPED = 512, 256
"""Of each of two chains, about a minute of one core in all; what is drawn first is dropped."""


@dataclass(frozen=True, eq=False)
class Draws:
    """What is kept of a chain; matrices are centred as the measure of leakage centres them."""

    mean: Cells
    centred_mean: NDArray[np.float64]
    length: float
    """The root of the mean square of a centred draw."""
    violated: int
    """How many evaluations the last draw does not fit: 0, or the first point was too far off."""


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of independent uniform cells given a view."""

    view: View

    @cached_property
    def bounds(self) -> tuple[Constraints, Any]:
        """The constraints, and their matrix."""
        return constraints_of(self.view)

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """Cells that count."""
        return cells_that_count(self.view.problem)

    def first_point(self, rng: np.random.Generator, /) -> Cells:
        """Cells drawn from the prior, moved until they fit what is disclosed."""
        drawn = rng.uniform(-HALF_RANGE, HALF_RANGE, self.view.cell_count)
        near = np.clip(anchored_prior(self.view, drawn).mean, -HALF_RANGE, HALF_RANGE)
        return fitting_point(self.view, *self.bounds, near, HALF_RANGE)

    def draws(
        self, first: Cells, /, *, sweeps: int, dropped: int, rng: np.random.Generator
    ) -> Draws:
        """Run a chain; the mean is over the sweeps after the first `dropped`."""
        constraints, _ = self.bounds
        place, length = self._place(first), 0.0
        for number in range(sweeps):
            if number % REFRESH_EVERY == 0:
                place = self._place(place.cells)._replace(middles=place.middles)
            if number == dropped:
                place.middles[:] = 0.0
            reflect = number % DRAW_EVERY != 0
            sweep(constraints, place, rng.random(len(first)), HALF_RANGE, reflect)
            if number >= dropped:
                length += float((self.centred(place.cells) ** 2).sum())
        kept = sweeps - dropped
        mean = place.middles / kept
        place = self._place(place.cells)
        gaps = place.scores[place.lowest] - place.scores[place.highest]
        violated = int((gaps < -1e-6).sum())
        return Draws(mean, self.centred(mean), sqrt(length / kept), violated)

    def centred(self, cells: Cells, /) -> NDArray[np.float64]:
        """The cells that count, without the constants of rows and columns."""
        return centred(as_matrix(self.view.problem, cells), self.counts)[self.counts]

    def _place(self, cells: Cells) -> Place:
        bounds, matrix = self.bounds
        scores = np.asarray(matrix @ cells)
        ends = zip(bounds.begins[:-1], bounds.rest, bounds.begins[1:], strict=True)
        low_high = [(lowest_of(scores, a, b), highest_of(scores, b, c)) for a, b, c in ends]
        lowest, highest = np.array(low_high, dtype=np.int64).T.copy()
        return Place(cells.copy(), scores, lowest, highest, np.zeros(len(cells)))


def limit_between(one: Draws, other: Draws, /) -> float:
    """The highest correlation that any estimate has on average, from two independent chains.

    The product of two means, not the square of one, which chance would make longer.
    """
    shared = float(one.centred_mean @ other.centred_mean)
    return sqrt(max(shared, 0.0) / (one.length * other.length))


@dataclass(frozen=True, eq=False)
class Bound:
    """An estimate, and what no estimate exceeds on average."""

    estimate: Cells
    """The mean of all draws."""
    limit: float
    violated: int


def bound_of(view: View, /, *, sweeps: int, dropped: int, seed: int = 0) -> Bound:
    """The bound of a view under `top:k`, by two chains from different first points.

    With few sweeps the draws are too close to where they began: the estimate is then worse than
    the posterior's mean, and the limit too high. What is true lies between the two.
    """
    posterior, rng = Posterior(view), np.random.Generator(np.random.PCG64(seed))
    one, other = (
        posterior.draws(posterior.first_point(rng), sweeps=sweeps, dropped=dropped, rng=rng)
        for _ in range(2)
    )
    violated = max(one.violated, other.violated)
    return Bound((one.mean + other.mean) / 2, limit_between(one, other), violated)


def fitting_point(
    view: View,
    bounds: Constraints,
    matrix: Any,  # noqa: ANN401
    start: Cells,
    half_range: float,
    /,
) -> Cells:
    """The cells near `start` at which the minimum is reached, none outside of its range."""
    from scipy.optimize import minimize

    group, count = bounds.evaluation_of, len(start)
    way = np.where(np.arange(len(group)) < bounds.rest[group], 1.0, -1.0)
    scale = 1 / np.sqrt(1 + STEEPNESS * np.diff(bounds.moves))
    threshold_scale = 1 / np.sqrt(bounds.rest - bounds.begins[:-1])
    transposed, missed_best = matrix.T.tocsr(), _missed_best(view)

    def missing(z: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        cells, thresholds = z[:count] * scale, z[count:] * threshold_scale
        short = np.maximum(MARGIN - way * (matrix @ cells - thresholds[group]), 0.0)
        beyond = cells - np.clip(cells, -half_range, half_range)
        missed, by_cell = missed_best(cells)
        pull = -2 * way * short
        by_cell = by_cell + transposed @ pull + 2 * BEYOND * beyond
        by_threshold = -np.bincount(group, pull, len(thresholds))
        loss = missed + float(short @ short) + BEYOND * float(beyond @ beyond)
        return loss, np.concatenate([by_cell * scale, by_threshold * threshold_scale])

    scores = np.where(way > 0, matrix @ start, np.inf)
    thresholds = np.minimum.reduceat(scores, bounds.begins[:-1])
    found = minimize(
        missing,
        np.concatenate([start / scale, thresholds / threshold_scale]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": ITERATIONS, "maxfun": 2 * ITERATIONS, "maxcor": 10},
    )
    return np.asarray(np.clip(found.x[:count] * scale, -half_range, half_range))


def _missed_best(view: View) -> Loss:
    """The loss of cells by which the best of a top group does not have its disclosed value."""
    if view.best is None:
        return lambda cells: (0.0, np.zeros(len(cells)))
    top = np.flatnonzero(view.levels == 0)
    group = view.evaluation_of[top]
    begins = np.searchsorted(group, np.arange(view.evaluations))
    picked = one_hot(view.cells[top], view.cell_count)
    transposed = picked.T.tocsr()
    middle = view.sign * view.problem.plan_length * view.weight_bound / 2
    values = (view.best - middle) / cell_spread(view)

    def loss(cells: Cells) -> tuple[float, Cells]:
        scores = picked @ cells
        highest = np.maximum.reduceat(scores, begins)
        # Relative to the highest score, so that no exponential overflows.
        share = np.exp((scores - highest[group]) / SOFTNESS)
        total = np.add.reduceat(share, begins)
        off = highest + SOFTNESS * np.log(total) - values
        return ANCHORED * float(off @ off), transposed @ (
            2 * ANCHORED * off[group] * share / total[group]
        )

    return loss


def measure_bound(job: LeakageJob, /) -> BoundResult:
    """Run, and draw from the posterior."""
    weights = reference_of(job.run.instance).problem.objectives[0].weights
    if weights is None:
        raise ParameterError("the problem has no weights to compare with; leave it out")
    audit = audit_of(recorded(job.run, best=BestMode(job.best)), weights.astype(np.float64))
    view = audit.view.first(job.evaluations[-1])
    bound = bound_of(view, sweeps=SWEEPS, dropped=DROPPED)
    return BoundResult(
        instance=view.problem.name,
        disclosure=job.run.disclosure,
        evaluations=view.evaluations,
        population=job.population,
        posterior_mean=audit.truth.score(bound.estimate).correlation,
        limit=bound.limit,
        violated=bound.violated,
    )
