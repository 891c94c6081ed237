"""What the series of a cell come to: shares, spread and total cost, with standard errors."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from studies.equity.plan import Cell
from studies.equity.series import Series, Setting

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


class CellFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a cell; shares have one entry per airline, the cheapest first."""

    group: str
    label: str
    setting: Setting
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


def figures_of(cell: Cell, series: Sequence[Series], /) -> CellFigures:
    """The figures of a cell from its series."""
    airline = cell.setting.conduct.airline
    return CellFigures(
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
