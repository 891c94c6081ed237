"""The evidence for findings, and the checks that findings on two objectives share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from studies.report.column_figures import ColumnFigures, Curves
from tacit.disclosure import PAPER_CONFIGURATIONS

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
    after_holm: bool = False
    """Whether wins count only if they stay significant after Holm's correction."""

    def final(self, column: str, disclosure: str, /) -> float:
        """The median of the last generation."""
        return self.figures[column].final[disclosure].median

    def wins_of(self, column: str, /) -> dict[str, int]:
        """Wins at the comparison generations."""
        figures = self.figures[column]
        return figures.wins_after_holm if self.after_holm else figures.wins


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
    part_of: str = ""
    """The finding that this one was split from after it had failed, which counts in its place
    under the original rules."""


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
    """Values on one line."""
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in values.items())


ONE, TWO = "moap-one", "moap-two"


def trend(column: str, better_when_finer: dict[str, bool], evidence: Evidence) -> tuple[bool, str]:
    """Whether the finest or the coarsest configuration of a method ends better."""
    failing = []
    for method, finer in better_when_finer.items():
        fine, coarse = METHODS[method][0], METHODS[method][-1]
        finest_smaller = evidence.final(column, fine) < evidence.final(column, coarse)
        if finest_smaller != finer:
            failing.append(method)
    return not failing, f"not for {', '.join(failing)}" if failing else "for every method named"


def none_beats_all(study: str, evidence: Evidence) -> tuple[bool, str]:
    """No obfuscation wins against every configuration, in both metrics."""
    both = [evidence.wins_of(f"{study} {metric}") for metric in ("gd+", "igd+")]
    holds = all(wins["none"] == len(wins) - 1 for wins in both)
    return holds, f"none wins {both[0]['none']} (GD+) and {both[1]['none']} (IGD+) of 13"


def best_of_configurable(
    column: str, names: Sequence[str], within: int, evidence: Evidence
) -> tuple[bool, str]:
    """The named configurations are among those of the configurable with most wins."""
    wins = evidence.wins_of(column)
    bound = sorted((wins[name] for name in CONFIGURABLE), reverse=True)[within - 1]
    named = {name: float(wins[name]) for name in names}
    return min(named.values()) >= bound, f"wins: {show(named)}"


def worst_of_all(
    column: str, names: Sequence[str], within: int, evidence: Evidence
) -> tuple[bool, str]:
    """The named configurations are on average among those with the fewest wins."""
    wins = evidence.wins_of(column)
    bound = sorted(wins.values())[within - 1]
    named = {name: float(wins[name]) for name in names}
    return float(np.median(list(named.values()))) <= bound, f"wins: {show(named)}"


def most_wins_in_sum(
    study: str, names: Sequence[str], within: int, evidence: Evidence
) -> tuple[bool, str]:
    """The named configurations have most wins of the configurable, both metrics added up."""
    gd, igd = (evidence.wins_of(f"{study} {metric}") for metric in ("gd+", "igd+"))
    sums = {name: float(gd[name] + igd[name]) for name in CONFIGURABLE}
    ranked = sorted(sums, key=lambda name: -sums[name])
    bound = sums[ranked[within - 1]]
    best = {name: sums[name] for name in ranked[:4]}
    return all(sums[name] >= bound for name in names), f"most: {show(best)}"


def metrics_disagree(study: str, evidence: Evidence) -> tuple[bool, str]:
    """Some configuration is in the upper half by GD+ and the lower half by IGD+, and vice versa."""
    gd, igd = (evidence.wins_of(f"{study} {metric}") for metric in ("gd+", "igd+"))
    apart = {name: gd[name] - igd[name] for name in CONFIGURABLE}
    most, least = max(apart, key=lambda n: apart[n]), min(apart, key=lambda n: apart[n])
    extremes = f"{most} wins {gd[most]} and {igd[most]}, {least} {gd[least]} and {igd[least]}"
    return apart[most] >= 3 and apart[least] <= -3, f"GD+ and IGD+: {extremes}"


def skew(points: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> float:
    """How much further a set is in the second objective than in the first, on average."""
    return float((points[:, 1] - points[:, 0]).mean())
