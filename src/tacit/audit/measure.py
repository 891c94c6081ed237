"""Measure how close an estimate comes to the secret matrix, and fit cells to what was disclosed.

`fit` maximizes a prior and a likelihood by L-BFGS; `Truth` scores an estimate. `counts_of` gives
the paper's counts of equations and inequations (section 3.3), exact for a given run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.audit.record import RecordedProblem
from tacit.audit.view import Cells, Design, View
from tacit.disclosure import Buckets, Exact, Leakage, Order, inequations_between, parse_disclosure


def counts_of(view: View, /, *, repeats: bool = False) -> Leakage:
    """Count for a given run: pairs of different candidates, each pair once.

    With `repeats` repeated candidates count again, which is how the paper counts.
    """
    disclosure = parse_disclosure(view.disclosure)
    names = np.arange(len(view.cells)) if repeats else candidate_names(view)
    if isinstance(disclosure, Exact):
        return Leakage(comb(len(np.unique(names)), 2), 0)
    sets = np.split(np.arange(len(names)), np.cumsum(view.sizes)[:-1])
    inequations = _distinct_inequations(view, names, sets)
    if isinstance(disclosure, Order):
        bests = [int(names[each[view.levels[each].argmin()]]) for each in sets]
        across = _across(view, names, sets)
        return Leakage(comb(len(set(bests)), 2), inequations, across)
    named = 0
    if isinstance(disclosure, Buckets):
        # A best bucket with a single candidate identifies the best.
        lone = [each[view.levels[each] == 0] for each in sets]
        named = len({int(names[each[0]]) for each in lone if len(each) == 1})
    return Leakage(comb(named, 2), inequations)


def candidate_names(view: View, /) -> NDArray[np.int64]:
    """A number per candidate, the same for those that pick the same cells."""
    # Sums of random words do not depend on the order of cells, and those of two different sets of
    # cells are the same with a probability of about 2**-63.
    words = np.random.Generator(np.random.PCG64(0)).integers(
        0, 2**63, view.cell_count, dtype=np.uint64
    )
    sums = words[view.cells].sum(axis=1, dtype=np.uint64)
    return np.asarray(np.unique(sums, return_inverse=True)[1], dtype=np.int64)


def _distinct_inequations(
    view: View, names: NDArray[np.int64], sets: Sequence[NDArray[np.int64]]
) -> int:
    """Pairs of candidates in different groups of an evaluation; each pair once in a run."""
    appearances = np.zeros(int(names.max()) + 1, dtype=np.int64)
    firsts = []
    for each in sets:
        _, first = np.unique(names[each], return_index=True)
        firsts.append(each[first])
        appearances[names[each[first]]] += 1
    pairs, again = 0, []
    for first in firsts:
        pairs += inequations_between(np.bincount(view.levels[first]).tolist())
        # Only two candidates that both occur in several evaluations can form a pair twice.
        returning = first[appearances[names[first]] > 1]
        one, other = np.triu_indices(len(returning), 1)
        apart = view.levels[returning[one]] != view.levels[returning[other]]
        low, high = np.sort(names[np.stack([returning[one], returning[other]])[:, apart]], axis=0)
        again.append(low * len(appearances) + high)
    repeated = np.concatenate(again)
    return pairs - (len(repeated) - len(np.unique(repeated)))


def _across(view: View, names: NDArray[np.int64], sets: Sequence[NDArray[np.int64]]) -> int:
    """Members of an evaluation that are worse than the known best of a better one."""
    if view.best is None:
        return 0
    best_names = np.array([names[each[view.levels[each].argmin()]] for each in sets])
    _, first = np.unique(best_names, return_index=True)
    known = np.sort(view.best[first])
    total = 0
    for each, best in zip(sets, view.best, strict=True):
        better = len(known) - int(np.searchsorted(known, best, side="right"))
        total += better * (len(np.unique(names[each])) - 1)
    return total


TOGETHER = 512
"""The number of factors between 1 and 2 that are multiplied before one logarithm is taken."""


def logistic_loss(ahead: NDArray[np.float64], /) -> tuple[float, NDArray[np.float64]]:
    """The sum of log(1 + exp(-ahead)), and how hard each observation pulls: 1/(1 + exp(ahead)).

    >>> loss, pull = logistic_loss(np.array([0.0, np.inf]))
    >>> round(loss, 3), pull.tolist()
    (0.693, [0.5, 0.0])
    """
    # log(1 + exp(-a)) = max(-a, 0) + log(1 + exp(-abs(a))): the exponential cannot overflow.
    # Neither can a product of 512 factors of at most 2, and it takes one logarithm in place of 512.
    shrunk = np.exp(-np.abs(ahead))
    grown = 1 + shrunk
    pull = np.where(ahead > 0, shrunk, 1.0) / grown
    whole = len(grown) // TOGETHER * TOGETHER
    products = np.multiply.reduce(grown[:whole].reshape(-1, TOGETHER), axis=1)
    rest = np.multiply.reduce(grown[whole:])
    loss = float(np.log(products).sum() + np.log(rest) - np.minimum(ahead, 0).sum())
    return loss, pull


NOISE = 0.3
"""The noise of a score, in units of a cell's spread."""
CURVATURE = 0.1
"""About what one observation adds to the second derivative of its score."""
BEYOND = 50.0
"""The penalty for cells outside of their range."""
ITERATIONS = 120

Judge = Callable[
    [NDArray[np.float64], NDArray[np.float64]],
    tuple[float, NDArray[np.float64], NDArray[np.float64]],
]
"""From scores and further unknowns to the loss and its derivatives by both."""


@dataclass(frozen=True, eq=False)
class Prior:
    """The attacker's prior: a mean, known cells, and equations."""

    mean: Cells
    unknown: NDArray[np.bool_]
    directions: NDArray[np.float64] | None = None
    """Orthonormal rows: the directions that the equations constrain."""
    narrowing: NDArray[np.float64] | None = None
    """The share, 0 to 1, by which the equations narrow the spread along each direction."""

    def spread(self, whitened: Cells, /) -> Cells:
        """From coordinates in which the prior is round to deviations from the mean, and back."""
        if self.directions is None or self.narrowing is None:
            return whitened * self.unknown
        along = self.directions @ whitened
        return (whitened - self.directions.T @ (self.narrowing * along)) * self.unknown


def flat_prior(cell_count: int, /) -> Prior:
    """Nothing is known."""
    return Prior(np.zeros(cell_count), np.ones(cell_count, dtype=np.bool_))


def fit(
    design: Design,
    judge: Judge,
    /,
    *,
    prior: Prior,
    others: NDArray[np.float64],
    curvature: float = CURVATURE,
    iterations: int = ITERATIONS,
    start: Cells | None = None,
    limit: float | None = None,
) -> Cells:
    """The most probable cells. `others` are first values of unknowns beside the cells.

    `limit` is how far a cell can be from 0 at most, where its range is known.
    """
    from scipy.optimize import minimize

    count = len(prior.mean)
    # Cells in which many candidates differ are steeper by factors of 10,000. Without this scaling
    # the optimizer stops far from the optimum, and leakage looks smaller than it is.
    scale = 1 / np.sqrt(1 + curvature / NOISE * design.visits)
    transposed = design.transposed

    def loss(z: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        whitened = z[:count] * scale
        cells = prior.mean + prior.spread(whitened)
        value, by_score, by_other = judge(design.scores(cells), z[count:])
        by_cell = transposed @ by_score
        if limit is not None:
            beyond = cells - np.clip(cells, -limit, limit)
            value += 0.5 * BEYOND * float(beyond @ beyond)
            by_cell = by_cell + BEYOND * beyond
        # The chain rule needs the transpose of `spread`. It is symmetric, as either its mask or its
        # narrowing is the identity.
        gradient = (prior.spread(by_cell) + whitened) * scale
        return value + 0.5 * float(whitened @ whitened), np.concatenate([gradient, by_other])

    first = np.zeros(count) if start is None else (start - prior.mean) * prior.unknown / scale
    found = minimize(
        loss,
        np.concatenate([first, others]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxfun": 10 * iterations, "maxcor": 10},
    )
    return np.asarray(prior.mean + prior.spread(found.x[:count] * scale))


Matrix = NDArray[np.float64]
SWEEPS = 200
"""Rows and columns are centred in turn, as often as forbidden cells make it necessary."""

ROUNDING = 1e-9


class Score(msgspec.Struct, frozen=True):
    """The score of an attack."""

    correlation: float
    """With the secret matrix, rows and columns centred: 0 is nothing, 1 is everything. Of the
    estimate, or of the best mixture of it with the guess of prior knowledge."""
    gain: float
    """The partial correlation given the prior's guess: the share found of what it leaves open."""
    nrmse: float
    """The error of the centred matrix in units of its spread, by the attacker's own scale."""
    best_columns: float
    """The share of rows whose most valuable column was found."""
    plan_quality: float
    """The value of the attacker's plan, in percent of the best plan known."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The secret matrix, internal (larger is better), to measure estimates against."""

    problem: RecordedProblem
    weights: Matrix
    sign: int
    known_rows: tuple[int, ...] = ()
    """Rows that the attacker knows: they do not count."""
    optimum: float | None = None
    """The optimal fitness, where it is known; otherwise that of the best plan found here."""
    guess: Cells | None = None
    """The guess of prior knowledge before the run."""

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """Cells that count."""
        return cells_that_count(self.problem, self.known_rows)

    @cached_property
    def best_fitness(self) -> float:
        """The reference for plans."""
        if self.optimum is not None:
            return self.optimum
        return self._value(self.problem.known.good_plan(self.weights))

    def _value(self, plan: NDArray[np.int32]) -> float:
        return float(self.problem.known.cell_sums(self.weights, plan[None, :])[0])

    def score(self, estimate: Cells, /, *, unit: float = 1.0) -> Score:
        """Measure an estimate; `unit` is the attacker's factor for its numbers."""
        matrix = as_matrix(self.problem, estimate)
        ours, theirs = self._counted(matrix), self._counted(self.weights)
        value = self._value(self.problem.known.good_plan(matrix))
        # A cost above the best known one gives more than 100, as everywhere.
        quality = 100 * value / self.best_fitness if self.best_fitness else 100.0
        gain = cosine(self._beyond_the_guess(ours), self._beyond_the_guess(theirs))
        return Score(
            correlation=max(cosine(ours, theirs), self._with_the_guess(gain)),
            gain=gain,
            nrmse=float(np.linalg.norm(unit * ours - theirs) / (np.linalg.norm(theirs) or 1.0)),
            best_columns=self._best_columns(matrix),
            plan_quality=quality,
        )

    def _counted(self, matrix: Matrix) -> NDArray[np.float64]:
        """The cells that count, rows and columns centred."""
        return centred(matrix, self.counts)[self.counts]

    def _with_the_guess(self, gain: float) -> float:
        """The multiple correlation of guess and estimate with the secret."""
        if self.guess is None:
            return -1.0
        guessed = self._counted(as_matrix(self.problem, self.guess))
        known = max(cosine(guessed, self._counted(self.weights)), 0.0)
        return float(np.sqrt(known**2 + (1 - known**2) * max(gain, 0.0) ** 2)) if known else -1.0

    def _beyond_the_guess(self, cells: NDArray[np.float64]) -> NDArray[np.float64]:
        """The part orthogonal to the guess; zeros if it is within rounding errors."""
        if self.guess is None:
            return cells
        guessed = self._counted(as_matrix(self.problem, self.guess))
        power = float(guessed @ guessed)
        left = cells - guessed * (float(guessed @ cells) / power) if power else cells
        explained = float(np.linalg.norm(left)) < ROUNDING * float(np.linalg.norm(cells))
        return np.zeros_like(left) if explained else left

    def _best_columns(self, matrix: Matrix) -> float:
        rows = self.counts.any(axis=1)
        hidden = np.where(self.counts, matrix, -np.inf)[rows]
        true = np.where(self.counts, self.weights, -np.inf)[rows]
        found = np.take_along_axis(true, hidden.argmax(axis=1)[:, None], axis=1)[:, 0]
        return float((found == true.max(axis=1)).mean())


def cosine(one: NDArray[np.float64], other: NDArray[np.float64], /) -> float:
    """The cosine of the angle between two vectors; the correlation of centred ones.

    >>> cosine(np.array([1.0, 0.0]), np.array([2.0, 0.0])), cosine(np.zeros(2), np.ones(2))
    (1.0, 0.0)
    """
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / norms if norms else 0.0


def cells_that_count(
    problem: RecordedProblem, known_rows: tuple[int, ...] = (), /
) -> NDArray[np.bool_]:
    """Return the cells an attack has to find: allowed, not from a place to itself, not known.

    >>> cells_that_count(RecordedProblem("t", "tour", 2, 2, True, [], [])).tolist()
    [[False, True], [True, False]]
    """
    counts = np.ones((problem.rows, problem.columns), dtype=np.bool_)
    if problem.known.between_places:
        np.fill_diagonal(counts, False)
    for row, column in problem.forbidden:
        counts[row, column] = False
    counts[list(known_rows)] = False
    if problem.symmetric:
        counts[:, list(known_rows)] = False
    return counts


def as_matrix(problem: RecordedProblem, estimate: Cells, /) -> Matrix:
    """An estimate as a matrix; of a symmetric one both halves.

    >>> tours = RecordedProblem("t", "tour", 2, 2, True, [], [])
    >>> as_matrix(tours, np.array([0.0, 5.0, 0.0, 0.0])).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    matrix = estimate.reshape(problem.rows, problem.columns)
    if problem.symmetric:
        upper = np.triu(matrix, 1)
        return np.asarray(upper + upper.T)
    return matrix


def centred(matrix: Matrix, counts: NDArray[np.bool_], /) -> Matrix:
    """Remove the constants of rows and columns, over the cells that count.

    Where there are more columns than rows, plans differ in the columns they use, so that a
    column's constant can be identified, and stays.
    """
    left = np.where(counts, matrix, 0.0)
    per_row, per_column = (np.maximum(counts.sum(axis=axis), 1) for axis in (1, 0))
    square = counts.shape[0] == counts.shape[1]
    for _ in range(SWEEPS):
        by_row = left.sum(axis=1) / per_row
        left = np.where(counts, left - by_row[:, None], 0.0)
        by_column = left.sum(axis=0) / per_column
        if not square or np.abs(by_column).max() < 1e-9 * max(float(np.abs(left).max()), 1e-300):
            break
        left = np.where(counts, left - by_column, 0.0)
    return left


def cell_spread(view: View, /) -> float:
    """The spread of a cell if all of the public range were equally likely."""
    return float(view.weight_bound / np.sqrt(12)) or 1.0


def unit_of(view: View, estimate: Cells, /) -> float:
    """The factor from an estimate to weights, as far as the view determines it.

    The slope of fitness, or of disclosed best values, over what the estimate gives for the same
    candidates; without any disclosed value the public range decides.
    """
    if view.values is None and (view.best is None or view.evaluations < 3):
        return cell_spread(view) / max(float(estimate.std()), 1.0)
    scores = estimate[view.cells].sum(axis=1)
    if view.values is not None:
        given, disclosed = scores, view.values
    else:
        rated = np.where(view.levels == 0, scores, -np.inf)
        starts = np.cumsum(view.sizes) - view.sizes
        given, disclosed = np.maximum.reduceat(rated, starts), np.asarray(view.best)
    varied = given - given.mean()
    power = float(varied @ varied)
    return float(varied @ disclosed) / power if power > 0 else cell_spread(view)
