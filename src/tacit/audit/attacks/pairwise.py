"""Pairwise logistic regression: which of two candidates of one evaluation is better.

Every disclosure but the exact one tells this for pairs from different groups. Ranks and groups are
compared at distances 1, 2, 4 and so on, groups also at random. The constant of an evaluation
cancels out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record.view import Cells, View
from tacit.audit.score.fit import ITERATIONS, NOISE, Judge, Prior, fit, flat_prior, logistic_loss

Places = NDArray[np.int64]
MANY_GROUPS = 3
RANDOM_PAIRINGS, FEW_PAIRINGS = 16, 4
"""Random pairs per candidate; few where it is also compared by rank."""


def recover(view: View, found: Mapping[str, Cells], /) -> Cells | None:  # noqa: ARG001
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
    """The same with a prior."""
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
