"""Quality of sets of plans (the paper's section 4.4) and its paired comparisons (section 5)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata, spearmanr, wilcoxon

from tacit.jit import kernel

Points = NDArray[np.float64]


def relative_error(value: float, optimum: int, /) -> float:
    """How far a value lies from the optimum, as a share of it; 0 is optimal.

    >>> relative_error(95, 100), relative_error(105, 100)
    (0.05, 0.05)
    """
    return abs(optimum - value) / abs(optimum) if optimum else float(value != optimum)


@kernel
def distances_plus(found: Points, truth: Points) -> tuple[float, float]:
    """GD+ and IGD+ (Ishibuchi et al. 2015), where only shortfalls count.

    GD+ is the mean over found points of the distance to the nearest point of the truth; IGD+ the
    mean over the truth of the distance to the nearest found point. Both are taken of every
    generation, so in one pass; a library that takes one at a time is their peer in the tests.

    >>> distances_plus(np.array([[6.0, 8.0]]), np.array([[10.0, 5.0], [9.0, 12.0]]))
    (4.0, 4.5)
    """
    from_found = np.full(found.shape[0], np.inf)
    from_truth = np.full(truth.shape[0], np.inf)
    for i in range(found.shape[0]):
        for j in range(truth.shape[0]):
            square = 0.0
            for k in range(found.shape[1]):
                short = truth[j, k] - found[i, k]
                if short > 0.0:
                    square += short * short
            from_found[i] = min(from_found[i], square)
            from_truth[j] = min(from_truth[j], square)
    return np.sqrt(from_found).mean(), np.sqrt(from_truth).mean()


def normalized(points: Points, truth: Points, /) -> Points:
    """Points on a scale on which the ground truth's ideal is 1 and its nadir 0.

    The paper puts the ideal at 0 and the nadir at 1 and calls small values better; distances are
    the same.

    >>> normalized(np.array([[5.0, 1.0]]), np.array([[0.0, 2.0], [10.0, 0.0]]))
    array([[0.5, 0.5]])
    """
    nadir, ideal = truth.min(axis=0), truth.max(axis=0)
    # Where the whole truth has one value there is nothing to scale, and 1 avoids a division by
    # zero.
    return np.asarray((points - nadir) / np.where(ideal > nadir, ideal - nadir, 1.0))


ALPHA = 0.05
RESAMPLES = 2000
NORMAL_IQR = 1.349
"""The interquartile range of a normal distribution, in standard deviations."""
NORMAL_MEDIAN_ERROR = 1.2533
"""The standard error of its median, in those of its mean: the root of half of pi."""

Samples = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """Median and interquartile range of a sample.

    >>> found = Spread.of([1, 2, 3, 4, 5])
    >>> found.median, found.iqr, 0.5 < found.error < 1.5
    (3.0, 2.0, True)
    """

    median: float
    iqr: float
    error: float = 0.0
    """The standard error of the median."""

    @classmethod
    def of(cls, sample: ArrayLike, /) -> Spread:
        """Of a sample, quartiles interpolated linearly."""
        low, middle, high = np.percentile(np.asarray(sample, dtype=np.float64), [25, 50, 75])
        return cls(float(middle), float(high - low), median_error(sample))


def median_error(sample: ArrayLike, /) -> float:
    """The standard error of a sample's median, by bootstrap with the same draws every time.

    >>> median_error([3.0, 3.0, 3.0])
    0.0
    """
    values = np.asarray(sample, dtype=np.float64)
    medians = np.median(values[_draws(len(values))], axis=1)
    return float(medians.std(ddof=1))


@cache
def _draws(count: int) -> NDArray[np.int64]:
    # Seeded by the size of the sample, so that a report has the same errors whenever it is written.
    return np.random.Generator(np.random.PCG64(count)).integers(0, count, (RESAMPLES, count))


def median_error_from_iqr(iqr: float, count: int, /) -> float:
    """The standard error of a median of which only the IQR is known, as if values were normal.

    The IQR gives the standard deviation, and that the error of the median (McGill, Tukey and Larsen
    1978 draw the notches of their box plots so).

    >>> round(median_error_from_iqr(948, 31), 1)
    158.2
    """
    return NORMAL_MEDIAN_ERROR * iqr / (NORMAL_IQR * math.sqrt(count))


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
    # Without any difference the signed-rank test is not defined.
    if np.array_equal(first, second):
        return Duel(0.0, 1.0)
    return _duel(np.asarray(first, np.float64).tobytes(), np.asarray(second, np.float64).tobytes())


@lru_cache(maxsize=1 << 16)
def _duel(first: bytes, second: bytes) -> Duel:
    """Kept, since the tables and figures of a report compare the same runs again and again."""
    one, other = (np.frombuffer(each, np.float64) for each in (first, second))
    # Pairs without a difference drop out, as they do from the correlation.
    p = float(wilcoxon(one, other, alternative="two-sided").pvalue)
    return Duel(rank_biserial(one, other), p)


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


def holm(outcomes: Mapping[tuple[str, str], Duel], /) -> dict[tuple[str, str], Duel]:
    """The same duels with p-values corrected for their number (Holm 1979), each pair counted once.

    >>> found = holm({("a", "b"): Duel(1, 0.02), ("a", "c"): Duel(1, 0.03)})
    >>> [each.p for each in found.values()]
    [0.04, 0.04]
    """
    pairs = {frozenset(pair): outcome.p for pair, outcome in outcomes.items()}
    corrected: dict[frozenset[str], float] = {}
    highest = 0.0
    for rank, pair in enumerate(sorted(pairs, key=lambda each: pairs[each])):
        # Never below an earlier one, or a pair could be significant where a clearer one is not.
        highest = max(highest, min(1.0, (len(pairs) - rank) * pairs[pair]))
        corrected[pair] = highest
    return {
        pair: Duel(outcome.correlation, corrected[frozenset(pair)])
        for pair, outcome in outcomes.items()
    }


def rank_correlation(ours: Mapping[str, float], theirs: Mapping[str, float], /) -> float:
    """Spearman's correlation between two rankings of the same configurations."""
    common = [name for name in ours if name in theirs]
    found = spearmanr([ours[name] for name in common], [theirs[name] for name in common])
    return round(float(found.statistic), 4)
