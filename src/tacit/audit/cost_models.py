"""Models of the costs with few unknowns, fitted to what was disclosed.

- `LowRank`: costs are products of a few properties of rows and columns.
- `OnAMap`: distances between places of a map whose coordinates are unknown.
- `RowsAndColumnsOnAMap`: rows and columns are places on one map, such as vehicles and calls.
- `Schedule`: the schedule is public, and how costs grow with a delay is known roughly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.audit.measure import CURVATURE, NOISE, Judge, as_matrix, cell_spread
from tacit.audit.platform_attacks import (
    first_thresholds,
    informative_pairs,
    judge_groups,
    judge_pairs,
)
from tacit.audit.prior_knowledge import NothingButTheRange
from tacit.audit.view import Cells, View

Unknowns = NDArray[np.float64]
ITERATIONS = 150
MOST_EVALUATIONS = 60
"""So many evaluations determine a model; more only take longer."""
EXACT_NOISE = 0.05
FRACTION = 0.1
"""The noise of a score, as a fraction of the spread of scores within an evaluation."""


class CostModel(Protocol):
    """Cells as a smooth function of some unknowns, which are normal around 0 a priori."""

    @property
    def unit(self) -> float:
        """The number of weights in one unit of a cell."""
        ...

    @property
    def stiffness(self) -> float:
        """One over the variance of an unknown."""
        ...

    def starts(self, view: View, /) -> list[Unknowns]:
        """Where to begin, one or several."""
        ...

    def cells(self, unknowns: Unknowns, /) -> Cells:
        """The cells; larger is more valuable."""
        ...

    def pulled(self, unknowns: Unknowns, by_cell: Cells, /) -> Unknowns:
        """From derivatives by the cells to derivatives by the unknowns."""
        ...


def fit_model(view: View, model: CostModel, /) -> Cells:
    """The cells of the most probable unknowns."""
    # A fit from a bad start ends in a folded map, since the loss is not convex. Of
    # several starts the one that explains the disclosures best counts, which needs no secret to
    # decide.
    thinned = view.thinned(MOST_EVALUATIONS)
    fits = [_fitted(thinned, model, start) for start in model.starts(thinned)]
    return min(fits, key=lambda each: each[1])[0]


def _fitted(view: View, model: CostModel, start: Unknowns) -> tuple[Cells, float]:
    """The most probable cells from a start, and how badly they explain the disclosures."""
    from scipy.optimize import minimize

    design, count = view.design, len(start)
    first = design.scores(model.cells(start))
    sharp = _sharpness(view, first)
    judge, others = _judge(view, sharp * first, model.unit / sharp)
    transposed = design.transposed

    def loss(z: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        unknowns = z[:count]
        value, by_score, by_other = judge(sharp * design.scores(model.cells(unknowns)), z[count:])
        by_cell = transposed @ (sharp * by_score)
        gradient = model.pulled(unknowns, by_cell) + model.stiffness * unknowns
        # The prior: each unknown is normal around 0 with the variance 1 / stiffness.
        value += 0.5 * model.stiffness * float(unknowns @ unknowns)
        return value, np.concatenate([gradient, by_other])

    found = minimize(
        loss,
        np.concatenate([start, others]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": ITERATIONS, "maxfun": 3 * ITERATIONS, "maxcor": 20},
    )
    return model.cells(found.x[:count]), float(found.fun)


def _sharpness(view: View, scores: NDArray[np.float64]) -> float:
    """The factor that makes the noise of the likelihood a fraction of how much candidates differ.

    Long-tailed costs have a spread far above what decides between good candidates.
    """
    group = view.evaluation_of
    mean = np.bincount(group, scores) / view.sizes
    square = np.bincount(group, (scores - mean[group]) ** 2) / view.sizes
    typical = float(np.sqrt(np.median(square)))
    return NOISE / (FRACTION * typical) if typical > 0 else 1.0


def _judge(
    view: View, scores: NDArray[np.float64], unit: float
) -> tuple[Judge, NDArray[np.float64]]:
    """The loss that fits what was disclosed, and first values of its own unknowns."""
    if view.values is not None:
        return judge_values(view, view.exact_values / unit), np.zeros(view.evaluations)
    # Bits: most pairs of an evaluation have the same bit and say nothing, whereas one threshold per
    # evaluation uses every candidate. Dividing by `weight` gives thresholds the curvature of cells.
    if int(view.levels.max()) == 1:
        weight = float(np.sqrt(CURVATURE / NOISE * float(view.sizes.mean())))
        first = first_thresholds(view, scores, 1)
        return judge_groups(view, 1, weight), first.ravel() * weight
    return judge_pairs(*informative_pairs(view)), np.zeros(0)


def judge_values(view: View, values: NDArray[np.float64], /) -> Judge:
    """The squared error of exact values, with an unknown constant per evaluation."""
    group = view.evaluation_of
    # Scores are relative to a candidate of each evaluation, so only differences within it compare.
    typical = np.bincount(group, values) / view.sizes
    varied = values - typical[group]

    def judge(
        scores: NDArray[np.float64], others: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        off = (scores - others[group] - varied) / EXACT_NOISE
        by_score = off / EXACT_NOISE
        return 0.5 * float(off @ off), by_score, np.asarray(-np.bincount(group, by_score), float)

    return judge


@dataclass(frozen=True)
class LowRank(NothingButTheRange):
    """Costs of a known rank with unknown properties; the plan gives away no more than usual."""

    rank: int = 3
    name: str = "low rank"
    says: str = "that costs depend on a few properties of rows and columns"

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:
        """Properties that explain the disclosures, from where the plain attack got."""
        first = [found[name] for name in ("equations", "pairwise", "pointwise") if name in found]
        if not first:
            return None
        start = as_matrix(view.problem, first[-1])
        rank = min(self.rank, *start.shape)
        return fit_model(view, ProductModel(start, rank, cell_spread(view)))


@dataclass(frozen=True, eq=False)
class ProductModel:
    """Cells as inner products."""

    first: NDArray[np.float64]
    """An estimate to start from."""
    rank: int
    unit: float
    stiffness: float = 1.0

    def starts(self, view: View, /) -> list[Unknowns]:  # noqa: ARG002
        """The largest singular vectors of the estimate, centred: constants cannot be seen."""
        # A constant per row or column changes no plan, but would take one of the few properties.
        centred = self.first - self.first.mean(axis=0)
        centred = centred - centred.mean(axis=1)[:, None]
        left, sizes, right = np.linalg.svd(centred, full_matrices=False)
        roots = np.sqrt(sizes[: self.rank])
        properties = (left[:, : self.rank] * roots, right[: self.rank].T * roots)
        return [np.concatenate(properties).ravel()]

    def _split(self, unknowns: Unknowns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        properties = unknowns.reshape(-1, self.rank)
        return properties[: len(self.first)], properties[len(self.first) :]

    def cells(self, unknowns: Unknowns, /) -> Cells:
        """The inner products."""
        rows, columns = self._split(unknowns)
        return np.asarray(rows @ columns.T).ravel()

    def pulled(self, unknowns: Unknowns, by_cell: Cells, /) -> Unknowns:
        """Each side by the other."""
        rows, columns = self._split(unknowns)
        pull = by_cell.reshape(self.first.shape)
        return np.concatenate([pull @ columns, pull.T @ rows]).ravel()


Matrix = NDArray[np.float64]
SAMPLE = 400
"""Candidates whose steps are counted."""
BEST = 15
LEAST = 1e-9
"""Keeps the derivative finite where two places coincide."""


class OnAMap:
    """The cells are distances between places in the plane."""

    name = "map"
    says = "that distances come from a map"

    def guess(self, view: View, /) -> Cells:
        """Nothing: where the places lie is unknown."""
        return np.zeros(view.cell_count)

    def from_plan(self, view: View, /) -> Cells:
        """Minus the root of the steps between two places along the plan."""
        return -roots_of_steps(view, _published(view)).ravel()

    def from_candidates(self, view: View, /) -> Cells | None:
        """Minus the root of the steps along candidates: those that survive beat chance."""
        return -roots_of_steps(view, view.cells).ravel()

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG002
        """Coordinates that explain the disclosures."""
        return fit_model(view, PlaceModel(view.problem.rows, cell_spread(view)))


def roots_of_steps(view: View, plans: NDArray[np.int32], /) -> Matrix:
    """The root of the steps between two places, averaged over plans (a sample, if many)."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import shortest_path

    places, total = view.problem.rows, np.zeros((view.problem.rows, view.problem.rows))
    chosen = np.unique(np.linspace(0, len(plans) - 1, min(SAMPLE, len(plans))).astype(np.int64))
    for cells in plans[chosen]:
        ends = np.divmod(cells, view.problem.columns)
        ways = csr_matrix((np.ones(len(cells)), ends), shape=(places, places))
        steps = shortest_path(ways, directed=False, unweighted=True)
        # On a good tour k consecutive places fill an area in proportion to k, so the ends of k
        # steps lie about sqrt(k) apart. The minimum replaces the infinite distance of places in
        # different routes.
        total += np.sqrt(np.minimum(steps, places))
    return total / len(chosen)


def _published(view: View) -> NDArray[np.int32]:
    """The cells of each published plan; a sealed search may open several."""
    return view.published.reshape(view.plans_published, -1)


def _best(view: View) -> NDArray[np.int64]:
    """Some candidates of each evaluation that none of it is known to be better than."""
    # Sorted by level within each evaluation, so a position less the start of its evaluation is a
    # rank.
    order = np.lexsort((view.levels, view.evaluation_of))
    starts = np.cumsum(view.sizes) - view.sizes
    return order[np.arange(len(order)) - starts[view.evaluation_of[order]] < BEST]


@dataclass(frozen=True, eq=False)
class PlaceModel:
    """Distances as a function of coordinates, in units of about their own spread."""

    places: int
    unit: float
    stiffness: float = 0.7
    """Coordinates spread a little more than distances do."""

    def starts(self, view: View, /) -> list[Unknowns]:
        """Maps on which the steps along the plan, or along the best candidates, are distances."""
        by_steps = [
            roots_of_steps(view, _published(view)),
            roots_of_steps(view, view.cells[_best(view)]),
        ]
        return [self._laid_out(each) for each in by_steps]

    def _laid_out(self, distances: Matrix) -> Unknowns:
        """Classical scaling to two dimensions."""
        squares = distances**2
        # Torgerson's double centring: -J D^2 J / 2 has the inner products of the coordinates.
        inner = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None])
        inner -= 0.5 * squares.mean()
        sizes, axes = np.linalg.eigh(inner)
        # Eigenvalues are in ascending order. Roots of steps are no exact distances, so some are
        # negative.
        laid = axes[:, -2:] * np.sqrt(np.maximum(sizes[-2:], 0))
        apart = self._distances(laid)[self._pairs]
        return np.asarray(laid / (float(apart.std()) or 1.0)).ravel()

    @cached_property
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        one, other = np.triu_indices(self.places, 1)
        return one.astype(np.int64), other.astype(np.int64)

    def _distances(self, laid: Matrix) -> Matrix:
        apart = laid[:, None] - laid
        return np.asarray(np.sqrt((apart**2).sum(axis=2) + LEAST))

    def cells(self, unknowns: Unknowns, /) -> Cells:
        """The distances: near is good, be it as a cost or as a value."""
        return -self._distances(unknowns.reshape(-1, 2)).ravel()

    def pulled(self, unknowns: Unknowns, by_cell: Cells, /) -> Unknowns:
        """Along the line through each pair."""
        laid = unknowns.reshape(-1, 2)
        pull = -by_cell.reshape(self.places, self.places) / self._distances(laid)
        # Only cells above the diagonal count, and each moves both of its places.
        pull = pull + pull.T
        return np.asarray(pull.sum(axis=1)[:, None] * laid - pull @ laid).ravel()


class RowsAndColumnsOnAMap(NothingButTheRange):
    """Both kinds of places are unknown, so by symmetry the plan gives away no more than usual."""

    name = "places"
    says = "that costs are distances between places"

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:
        """Coordinates of both that explain the disclosures, from where the plain attack got."""
        first = [found[name] for name in ("equations", "pairwise", "pointwise") if name in found]
        start = np.zeros(view.cell_count) if not first else first[-1]
        return fit_model(view, MeetingModel(as_matrix(view.problem, start), view))


@dataclass(frozen=True, eq=False)
class MeetingModel:
    """Distances between two sets of places."""

    first: NDArray[np.float64]
    """An estimate to start from."""
    view: View
    stiffness: float = 0.7

    @property
    def unit(self) -> float:
        """About the spread of a distance."""
        return cell_spread(self.view)

    def starts(self, view: View, /) -> list[Unknowns]:
        """Unfolding of a first estimate, and of the plan alone: partners lie together.

        Squared distances, rows and columns centred, are minus twice the inner products.
        """
        plan = np.zeros(view.cell_count)
        plan[view.published] = 1.0
        return [self._unfolded(each) for each in (self.first, plan.reshape(self.first.shape))]

    def _unfolded(self, estimate: NDArray[np.float64]) -> Unknowns:
        inner = estimate - estimate.mean(axis=0) - estimate.mean(axis=1)[:, None]
        inner = inner + estimate.mean()
        left, sizes, right = np.linalg.svd(inner, full_matrices=False)
        roots = np.sqrt(sizes[:2])
        laid = np.concatenate([left[:, :2] * roots, right[:2].T * roots])
        spread = float(laid.std()) or 1.0
        return np.asarray(laid / spread).ravel()

    def _apart(self, unknowns: Unknowns) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        laid = unknowns.reshape(-1, 2)
        rows = self.first.shape[0]
        apart = laid[:rows, None] - laid[None, rows:]
        return apart, np.sqrt((apart**2).sum(axis=2) + LEAST)

    def cells(self, unknowns: Unknowns, /) -> Cells:
        """The distances: near is good, be it as a cost or as a value."""
        return np.asarray(-self._apart(unknowns)[1].ravel())

    def pulled(self, unknowns: Unknowns, by_cell: Cells, /) -> Unknowns:
        """Along the line through each pair."""
        apart, distances = self._apart(unknowns)
        pull = (-by_cell.reshape(distances.shape) / distances)[:, :, None] * apart
        return np.concatenate([pull.sum(axis=1), -pull.sum(axis=0)]).ravel()


SHAPES = 12
"""Variations of the curves that are fitted; the first two usually have nine tenths of it all."""
PLAYED = 100
"""Drawn problems from which the meaning of a plan is learned."""
NEVER = 1e12


@dataclass(frozen=True, eq=False)
class Schedule:
    """Rows have a first column of their own, and costs that follow curves like these."""

    curves: Matrix
    """Drawn costs by delay in columns, from 0, one row each."""
    first: NDArray[np.int64]
    """The first allowed column of each row."""
    name: str = "schedule"
    says: str = "the schedule and how delays usually cost money"

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """The mean curve."""
        return np.asarray(self.curves.mean(axis=0))

    @cached_property
    def unit(self) -> float:
        """The spread of a cost around the mean curve."""
        return float(np.sqrt(self.curves.var(axis=0).mean())) or 1.0

    @cached_property
    def shapes(self) -> Matrix:
        """The largest variations of the curves, one per row, each as large as it is likely."""
        varied = self.curves - self.mean
        _, sizes, axes = np.linalg.svd(varied, full_matrices=False)
        count = min(SHAPES, len(sizes))
        return np.asarray(axes[:count] * (sizes[:count, None] / np.sqrt(len(varied))))

    @cached_property
    def delays(self) -> NDArray[np.int64]:
        """The delay of each cell, negative where it is forbidden."""
        return np.asarray(np.arange(self.curves.shape[1]) - self.first[:, None])

    def _cells(self, amounts: Matrix) -> Cells:
        """The cells of rows whose curves have these amounts of each shape.

        Late is bad, be it as a cost or as a lower value.
        """
        curves = self.mean + amounts @ self.shapes
        at = np.take_along_axis(curves, np.maximum(self.delays, 0), axis=1)
        return -np.where(self.delays < 0, 0.0, at).ravel()

    def guess(self, view: View, /) -> Cells:  # noqa: ARG002
        """The mean curve, put at each row's time."""
        return self._cells(np.zeros((len(self.first), len(self.shapes))))

    def from_plan(self, view: View, /) -> Cells:
        """The curve that rows usually have which get the delay that the plan gives."""
        return self._cells(self.amounts_by_plan(view))

    def amounts_by_plan(self, view: View, /) -> Matrix:
        """Return the usual amounts of each shape for rows with the plan's delays."""
        rows, columns = np.divmod(view.published[: view.problem.rows], view.problem.columns)
        given = np.zeros(len(self.first), dtype=np.int64)
        given[rows] = self.delays[rows, columns]
        return self.amounts_given(given)

    def amounts_given(self, given: NDArray[np.int64], /) -> Matrix:
        """Return the usual amounts of each shape for rows with these delays in optimal plans."""
        return np.asarray(self.features(given) @ self._learned)

    def from_candidates(self, view: View, /) -> Cells | None:  # noqa: ARG002
        """Nothing beyond the plain attacks."""
        return None

    def from_disclosed(self, view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG002
        """Curves that explain the disclosures."""
        return fit_model(view, CurveModel(self, view))

    def features(self, given: NDArray[np.int64], /) -> Matrix:
        """Return the known properties of rows that get these delays, one line per row."""
        # The queue at a row's own slot: rows that want one by then, less the slots before it. In a
        # long queue a delay says little about the row's costs.
        waiting = np.array([(self.first <= each).sum() - each for each in self.first])
        late, slots = given.astype(np.float64), self.curves.shape[1]
        return np.stack(
            [np.ones(len(given)), late, np.minimum(late, 5), given == 0, self.first / slots,
             waiting / slots, late * self.first / slots, np.sqrt(late), late**2 / slots], axis=1,
        )  # fmt: skip

    @cached_property
    def _learned(self) -> Matrix:
        """From features of a row to amounts of the shapes, by least squares over drawn problems."""
        from scipy.optimize import linear_sum_assignment

        rng = np.random.Generator(np.random.PCG64(0))
        seen, amounts = [], []
        # Shapes are orthogonal but not of length 1, so amounts are inner products over squared
        # lengths.
        size = np.maximum((self.shapes**2).sum(axis=1), np.finfo(float).tiny)
        for _ in range(PLAYED):
            # An attacker can draw costs itself and solve such problems exactly. Their plans show
            # which curves usually get which delay. The seed is fixed, so that the audit of a record
            # can be repeated.
            drawn = self.curves[rng.integers(0, len(self.curves), len(self.first))]
            costs = np.take_along_axis(drawn, np.maximum(self.delays, 0), axis=1)
            rows, columns = linear_sum_assignment(np.where(self.delays < 0, NEVER, costs))
            seen.append(self.features(self.delays[rows, columns]))
            amounts.append((drawn - self.mean) @ self.shapes.T / size)
        return np.asarray(
            np.linalg.lstsq(np.concatenate(seen), np.concatenate(amounts), rcond=None)[0]
        )


@dataclass(frozen=True, eq=False)
class CurveModel:
    """Amounts of each shape as unknowns, normal with variance 1 a priori."""

    schedule: Schedule
    view: View
    stiffness: float = 1.0

    @property
    def unit(self) -> float:
        """The spread of a cost around the mean curve."""
        return self.schedule.unit

    @cached_property
    def _by_cell(self) -> Matrix:
        """The derivative of each cell by the amount of each shape, in units of cells."""
        schedule = self.schedule
        at = schedule.shapes.T[np.maximum(schedule.delays, 0)]
        allowed = (schedule.delays >= 0)[:, :, None]
        return np.asarray(np.where(allowed, -at / schedule.unit, 0.0))

    def starts(self, view: View, /) -> list[Unknowns]:  # noqa: ARG002
        """The mean amounts: `cells` adds them to what the plan implies."""
        return [np.zeros(len(self.schedule.first) * len(self.schedule.shapes))]

    def cells(self, unknowns: Unknowns, /) -> Cells:
        """The curves at each row's time."""
        amounts = unknowns.reshape(len(self.schedule.first), -1)
        varied = np.einsum("rck,rk->rc", self._by_cell, amounts)
        return np.asarray(self._mean + varied.ravel())

    @cached_property
    def _mean(self) -> Cells:
        return self.schedule.from_plan(self.view) / self.schedule.unit

    def pulled(self, unknowns: Unknowns, by_cell: Cells, /) -> Unknowns:  # noqa: ARG002
        """Linear, so the same everywhere."""
        pull = by_cell.reshape(self.schedule.delays.shape)
        return np.asarray(np.einsum("rck,rc->rk", self._by_cell, pull)).ravel()
