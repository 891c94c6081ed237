"""Fitting a model of the costs with few unknowns to what was disclosed.

A map of a hundred places has two hundred unknowns where a matrix of distances has thousands, so a
fraction of the evaluations determines them. Where fits from several starts differ, the one that
explains the disclosures best is taken: an attacker can tell that without knowing the truth.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.pairwise import informative_pairs, judge_pairs
from tacit.audit.attacks.pointwise import first_thresholds, judge_groups
from tacit.audit.record.view import Cells, View
from tacit.audit.score.fit import CURVATURE, NOISE, Judge

Unknowns = NDArray[np.float64]
ITERATIONS = 150
MOST_EVALUATIONS = 60
"""As many determine a model; more only take longer."""
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
    if int(view.levels.max()) == 1:
        weight = float(np.sqrt(CURVATURE / NOISE * float(view.sizes.mean())))
        first = first_thresholds(view, scores, 1)
        return judge_groups(view, 1, weight), first.ravel() * weight
    return judge_pairs(*informative_pairs(view)), np.zeros(0)


def judge_values(view: View, values: NDArray[np.float64], /) -> Judge:
    """The squared error of exact values, with an unknown constant per evaluation."""
    group = view.evaluation_of
    typical = np.bincount(group, values) / view.sizes
    varied = values - typical[group]

    def judge(
        scores: NDArray[np.float64], others: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        off = (scores - others[group] - varied) / EXACT_NOISE
        by_score = off / EXACT_NOISE
        return 0.5 * float(off @ off), by_score, np.asarray(-np.bincount(group, by_score), float)

    return judge
