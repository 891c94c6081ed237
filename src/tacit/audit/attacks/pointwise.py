"""Pointwise logistic regression with free thresholds per evaluation.

A group is an interval of scores between two thresholds. Each evaluation has its own: one for true
and false (the intercept of a plain logistic regression), k-1 for k quantiles or buckets.
All are fitted together with the cells.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record.view import Cells, View
from tacit.audit.score.fit import (
    CURVATURE,
    ITERATIONS,
    NOISE,
    Judge,
    Prior,
    fit,
    flat_prior,
    logistic_loss,
)

MOST_GROUPS = 6
"""With more groups the thresholds interfere, and pairs find far more."""
LEAST_GAP, WIDE = 1e-6, 500.0


def recover(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
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
    """The same with a prior."""
    thresholds = int(view.levels.max())
    if thresholds == 0:  # one group says nothing
        return prior.mean
    scores = view.design.scores(prior.mean if start is None else start)
    first = first_thresholds(view, scores, thresholds)
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
        below = np.where(has_upper, (edges[upper] - scores) / NOISE, np.inf)
        above = np.where(has_lower, (scores - edges[lower]) / NOISE, np.inf)
        # log(s(a) - s(-c)) = log s(a) + log s(c) + log(1 - exp(-(a + c))), s being logistic.
        (loss, pull_down), (more, pull_up) = logistic_loss(below), logistic_loss(above)
        squeeze = np.zeros(len(scores))
        room = np.maximum(below[between] + above[between], LEAST_GAP)
        loss += more - float(np.log(-np.expm1(-room)).sum())
        squeeze[between] = 1 / np.expm1(np.minimum(room, WIDE))
        by_upper = np.where(has_upper, pull_down + squeeze, 0.0) / NOISE
        by_lower = np.where(has_lower, pull_up + squeeze, 0.0) / NOISE
        by_edge = np.bincount(lower, by_lower, count) - np.bincount(upper, by_upper, count)
        return loss, by_upper - by_lower, by_edge / weight

    return judge
