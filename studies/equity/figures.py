"""Sum up the series of a cell, and audit what opened plans disclose of levels.

Figures are shares, spread and total cost, with standard errors. The audit plays a platform, which
knows flights, owners, schedules, the reference and every plan, so it knows by how many slots each
airline's flights were moved. It does not know what a slot is worth to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from studies.equity.series import EquitySetting, Series
from studies.equity.study import EquityCell
from tacit.equity import FINENESS, NEUTRAL, balance_of, factor_of, steps_of

Reals = NDArray[np.float64]
WINDOW = 10
"""Runs over which a platform averages."""
DIGITS = 4


class Estimate(msgspec.Struct, frozen=True):
    """A mean over series, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float], /) -> Estimate:
        """The estimate from one value per series.

        >>> Estimate.of([1.0, 3.0])
        Estimate(mean=2.0, error=1.0)
        """
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        return cls(round(float(np.mean(values)), DIGITS), round(float(error), DIGITS))


class EquityFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a cell; shares have one entry per airline, the cheapest first."""

    group: str
    label: str
    setting: EquitySetting
    saved: tuple[float, ...]
    """Of its cost under the reference."""
    saved_of_possible: tuple[float, ...]
    """Of what it could save at all."""
    spread: Estimate
    """The highest saved share minus the lowest, in each series."""
    spread_of_possible: Estimate
    excess: Estimate
    """By how many percent the total cost is above the best."""
    own: Estimate
    """What the airline that a conduct is about saved in truth, as a share of its cost."""


def figures_of(cell: EquityCell, series: Sequence[Series], /) -> EquityFigures:
    """The figures of a cell from its series."""
    airline = cell.setting.conduct.airline
    return EquityFigures(
        group=cell.group,
        label=cell.label,
        setting=cell.setting,
        saved=_mean([each.saved for each in series]),
        saved_of_possible=_mean([each.saved_of_possible for each in series]),
        spread=Estimate.of([float(np.ptp(each.saved)) for each in series]),
        spread_of_possible=Estimate.of([float(np.ptp(each.saved_of_possible)) for each in series]),
        excess=Estimate.of([100 * each.excess for each in series]),
        own=Estimate.of([float(each.saved[airline]) for each in series]),
    )


def _mean(lines: Sequence[np.ndarray]) -> tuple[float, ...]:
    return tuple(round(float(value), DIGITS) for value in np.mean(lines, axis=0))


class AuditFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Correlations of estimates with the true levels, over all airlines, runs and series.

    Estimates of the level of a run use its own plan and all before it.
    """

    label: str
    setting: EquitySetting
    one_run: float
    """By how many slots an airline was moved forward in a run, with the level of that run; both as
    differences from the airline's own mean, so that it is not about who is ahead in general."""
    window: float
    """The mean over ten runs with the level of the last of them."""
    twin: float
    """The level as it would be if a slot of delay cost everybody the same."""
    within: float
    """The same, as differences from the airline's own mean."""
    trained: float
    """A linear fit of all these to series whose levels the platform knows, on other series."""
    exact: float
    """In what share of runs the rounded fit is the level."""
    standing: float
    """The means over a whole series: who was ahead in general."""


def audit(cell: EquityCell, series: Sequence[Series], /) -> AuditFigures:
    """Attack series, the last half with what was learnt from the first."""
    levels = [each.levels.astype(np.float64) for each in series]
    moved = [-each.displaced for each in series]
    windows = [_trailing(each) for each in moved]
    twins = [guessed_levels(each, cell.setting) for each in series]
    features = [
        np.stack([np.ones_like(a), a, b, c, _trailing(c)], axis=-1)
        for a, b, c in zip(moved, windows, twins, strict=True)
    ]
    half = len(series) // 2
    fit, *_ = np.linalg.lstsq(
        np.concatenate([each.reshape(-1, each.shape[-1]) for each in features[:half]]),
        np.concatenate([each.reshape(-1) for each in levels[:half]]),
        rcond=None,
    )
    fitted = [each @ fit for each in features[half:]]
    most = cell.setting.levels
    rounded = [np.rint(np.clip(each, -most, most)) for each in fitted]
    hits = [guess == level for guess, level in zip(rounded, levels[half:], strict=True)]
    return AuditFigures(
        label=cell.label,
        setting=cell.setting,
        one_run=correlation([*map(_centred, moved)], [*map(_centred, levels)]),
        window=correlation(windows, levels),
        twin=correlation(twins, levels),
        within=correlation([*map(_centred, twins)], [*map(_centred, levels)]),
        trained=correlation(fitted, levels[half:]),
        exact=round(float(np.mean(hits)), DIGITS),
        standing=correlation(
            [each.mean(axis=0) for each in twins], [each.mean(axis=0) for each in levels]
        ),
    )


def guessed_levels(series: Series, setting: EquitySetting, /) -> Reals:
    """Balances and levels by the public rule, as if a slot of delay cost everybody the same."""
    flights = setting.market.flights / setting.market.airlines
    possible = np.rint(series.delayed * flights) + 1
    saved = np.floor(FINENESS * np.rint(-series.displaced * flights) / possible)
    shares = np.clip(saved, -FINENESS, FINENESS).astype(np.int64)
    steps = [steps_of(line) for line in shares]
    guessed = np.empty(shares.shape)
    for run, airline in np.ndindex(*shares.shape):
        own = [int(step[airline]) for step in steps[:run]]
        guessed[run, airline] = factor_of(balance_of(own, setting.rule), setting.rule) - NEUTRAL
    return guessed


def _trailing(lines: Reals) -> Reals:
    """The mean of each column over the last runs, up to and with each."""
    sums = np.cumsum(np.concatenate([np.zeros((1, lines.shape[1])), lines]), axis=0)
    ends = np.arange(1, len(lines) + 1)
    starts = np.maximum(ends - WINDOW, 0)
    means: Reals = (sums[ends] - sums[starts]) / (ends - starts)[:, None]
    return means


def _centred(lines: Reals) -> Reals:
    centred: Reals = lines - lines.mean(axis=0)
    return centred


def correlation(estimates: Sequence[Reals], truths: Sequence[Reals], /) -> float:
    """Pearson's, over all of them; 0 where nothing varies.

    >>> correlation([np.array([1.0, 2.0])], [np.array([3.0, 5.0])])
    1.0
    """
    x, y = (np.concatenate([each.reshape(-1) for each in all_of]) for all_of in (estimates, truths))
    if not x.std() or not y.std():
        return 0.0
    return round(float(np.corrcoef(x, y)[0, 1]), DIGITS)
