"""Paired comparisons as the paper makes them (section 5): tests, effect sizes, wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata, spearmanr, wilcoxon

ALPHA = 0.05

Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """Median and interquartile range of a sample.

    >>> Spread.of([1, 2, 3, 4, 5])
    Spread(median=3.0, iqr=2.0)
    """

    median: float
    iqr: float

    @classmethod
    def of(cls, sample: ArrayLike, /) -> Spread:
        """Of a sample, quartiles interpolated linearly."""
        low, middle, high = np.percentile(np.asarray(sample, dtype=np.float64), [25, 50, 75])
        return cls(float(middle), float(high - low))


@dataclass(frozen=True)
class Duel:
    """Two configurations compared over runs with the same seeds."""

    correlation: float
    """Matched-pairs rank-biserial: 1 where the first is larger in every pair."""
    p: float

    @property
    def significant(self) -> bool:
        """Whether the two-sided test rejects at the 5 % level."""
        return self.p < ALPHA


def rank_biserial(first: Samples, second: Samples, /) -> float:
    """Matched-pairs rank-biserial correlation (Kerby 2014); pairs without a difference drop out.

    >>> round(rank_biserial(np.array([5.0, 5.0, 1.0]), np.array([1.0, 3.0, 2.0])), 3)
    0.667
    """
    difference = first - second
    difference = difference[difference != 0]
    if not len(difference):
        return 0.0
    ranks = rankdata(np.abs(difference))
    favourable = ranks[difference > 0].sum() / ranks.sum()
    return float(2 * favourable - 1)


def duel(first: Samples, second: Samples, /) -> Duel:
    """Compare paired samples; those that never differ do not differ significantly."""
    if np.array_equal(first, second):
        return Duel(0.0, 1.0)
    p = float(wilcoxon(first, second, alternative="two-sided").pvalue)
    return Duel(rank_biserial(first, second), p)


def duels(samples: Mapping[str, Samples], /) -> dict[tuple[str, str], Duel]:
    """Every pair of configurations, in both directions (the correlation changes its sign)."""
    found: dict[tuple[str, str], Duel] = {}
    names = list(samples)
    for i, row in enumerate(names):
        for column in names[:i]:
            outcome = duel(samples[row], samples[column])
            found[row, column] = outcome
            found[column, row] = Duel(-outcome.correlation, outcome.p)
    return found


def wins(outcomes: Mapping[tuple[str, str], Duel], /, *, larger_is_better: bool) -> dict[str, int]:
    """How many others each configuration beats significantly."""
    count = {row: 0 for row, _ in outcomes}
    for (row, _), outcome in outcomes.items():
        better = outcome.correlation > 0 if larger_is_better else outcome.correlation < 0
        count[row] += outcome.significant and better
    return count


def rank_correlation(ours: Mapping[str, float], theirs: Mapping[str, float], /) -> float:
    """Spearman's correlation between two rankings of the same configurations."""
    common = [name for name in ours if name in theirs]
    found = spearmanr([ours[name] for name in common], [theirs[name] for name in common])
    return round(float(found.statistic), 4)
