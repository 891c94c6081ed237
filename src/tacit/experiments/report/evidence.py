"""The evidence for findings: figures, and for our own runs also curves and fronts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import PAPER_CONFIGURATIONS
from tacit.experiments.report.column_figures import ColumnFigures, Curves

METHODS = {
    method: [text for text in PAPER_CONFIGURATIONS if text.startswith(f"{method}:")]
    for method in ("buckets", "above", "quantiles", "top")
}
"""Configurations of each method, the one that discloses most first."""
CONFIGURABLE = [text for texts in METHODS.values() for text in texts]
FINEST = [texts[0] for texts in METHODS.values()]
COARSEST = [texts[-1] for texts in METHODS.values()]


@dataclass(frozen=True)
class Evidence:
    """The figures of some runs of each study; curves and fronts only for our own runs."""

    figures: Mapping[str, ColumnFigures]
    curves: Mapping[str, Curves] = field(default_factory=dict)
    fronts: Mapping[str, Mapping[str, NDArray[np.float64]]] = field(default_factory=dict)
    """Points on the scale of the ground truth, nadir 0 and ideal 1."""

    def final(self, column: str, disclosure: str, /) -> float:
        """The median of the last generation."""
        return self.figures[column].final[disclosure].median

    def wins_of(self, column: str, /) -> dict[str, int]:
        """Wins at the comparison generations."""
        return self.figures[column].wins


Check = Callable[[Evidence], tuple[bool, str]]
"""Returns whether a finding holds, and the evidence."""


@dataclass(frozen=True)
class Finding:
    """A sentence of the paper's sections 5.1 to 5.4 as a check."""

    section: str
    name: str
    text: str
    check: Check
    studies: tuple[str, ...]
    needs_runs: bool = False
    """Whether curves or fronts are needed, which the paper does not print as numbers."""


def deviation(runs: NDArray[np.float64], /) -> float:
    """The deviation of runs from their median curve: the mean over generations of IQR / |median|.

    >>> deviation(np.array([[10.0, 10.0], [10.0, 10.0], [10.0, 10.0]]))
    0.0
    """
    low, middle, high = np.percentile(runs, [25, 50, 75], axis=0)
    return float(np.mean((high - low) / np.abs(middle)))


def improvement_after(runs: NDArray[np.float64], share: float, /) -> float:
    """The part of the median curve's improvement that comes after a share of the generations.

    >>> improvement_after(np.array([[10.0, 5.0, 4.0, 3.0, 2.0]]), 0.5)
    0.25
    """
    curve = np.median(runs, axis=0)
    middle = int(share * (len(curve) - 1))
    whole = curve[0] - curve[-1]
    return float((curve[middle] - curve[-1]) / whole) if whole else 0.0


def show(values: Mapping[str, float], /, digits: int = 0) -> str:
    """Values on one line.

    >>> show({"top:15": 7.0})
    'top:15 7'
    """
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())
