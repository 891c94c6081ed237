"""The figures of one column: medians, spreads, comparisons and standings per disclosure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.report.paper import Column, published
from studies.statistics import (
    Duel,
    Spread,
    duel,
    duels,
    holm,
    median_error_from_iqr,
    wins,
)
from tacit.disclosure import split_disclosure

PAPER_RUNS = 31

Curves = Mapping[str, NDArray[np.float64]]
"""Per disclosure one row per run and one entry per generation."""


@dataclass(frozen=True)
class ColumnFigures:
    """The figures of a column in the paper's tables, from our runs or from the paper."""

    column: Column
    initial: dict[str, Spread]
    final: dict[str, Spread]
    comparison: dict[str, Spread]
    duels: dict[tuple[str, str], Duel]
    optimum: float | None
    """In the unit of the column: 100 where it is in percent."""

    @property
    def wins(self) -> dict[str, int]:
        """Significant wins at the comparison generations."""
        found = wins(self.duels, larger_is_better=self.column.larger_is_better)
        return {name: found.get(name, 0) for name in self.comparison}

    @property
    def wins_after_holm(self) -> dict[str, int]:
        """Wins that stay significant when p-values are corrected for the number of pairs."""
        found = wins(holm(self.duels), larger_is_better=self.column.larger_is_better)
        return {name: found.get(name, 0) for name in self.comparison}

    def better(self, one: float, other: float, /) -> bool:
        """Whether one value is better than another."""
        return one > other if self.column.larger_is_better else one < other

    def of_optimum(self, value: float, /) -> float:
        """A value in percent of the optimum."""
        return 100 * value / self.optimum if self.optimum else float("nan")


def measured_figures(
    column: Column,
    curves: Curves,
    generations: Mapping[str, int],
    /,
    *,
    optimum: float | None,
) -> ColumnFigures:
    """Figures of our runs; `generations` says per method where to compare.

    >>> from studies.report.paper import COLUMNS
    >>> curves = {"none": np.array([[1.0, 5.0], [2.0, 6.0]]), "order": np.array([[1.0, 3], [2, 4]])}
    >>> figures = measured_figures(COLUMNS["ap"], curves, {"none": 1, "order": 0}, optimum=100)
    >>> figures.final["order"].median, figures.comparison["order"].median
    (3.5, 1.5)
    """
    compared = {}
    for disclosure, runs in curves.items():
        last = runs.shape[1] - 1
        generation = min(generations.get(split_disclosure(disclosure)[0], last), last)
        compared[disclosure] = runs[:, generation]
    return ColumnFigures(
        column=column,
        initial={name: Spread.of(runs[:, 0]) for name, runs in curves.items()},
        final={name: Spread.of(runs[:, -1]) for name, runs in curves.items()},
        comparison={name: Spread.of(values) for name, values in compared.items()},
        duels=duels(compared),
        optimum=optimum,
    )


def published_figures(column: Column, /) -> ColumnFigures:
    """Figures of the paper, in percent of the optimum where the column is."""
    tables = published()
    optimum: int | None = tables["optimum"].get(column.paper_key)
    unit = 100 / optimum if column.in_percent and optimum else 1.0

    def spread(median: float, iqr: float) -> Spread:
        error = median_error_from_iqr(iqr, PAPER_RUNS)
        return Spread(median * unit, iqr * unit, error * unit)

    summary, comparison = (
        tables[f"{column.paper_key}/{name}"] for name in ("summary", "comparison")
    )
    outcomes: dict[tuple[str, str], Duel] = {}
    for row, entry in comparison.items():
        for other, compared in entry["rank_biserial"].items():
            p = 0.0 if compared["significant"] else 1.0
            outcomes[row, other] = Duel(compared["r"], p)
            outcomes[other, row] = Duel(-compared["r"], p)
    return ColumnFigures(
        column=column,
        initial={d: spread(t["initial_median"], t["initial_iqr"]) for d, t in summary.items()},
        final={d: spread(t["gen500_median"], t["gen500_iqr"]) for d, t in summary.items()},
        comparison={d: spread(t["median"], t["iqr"]) for d, t in comparison.items()},
        duels=outcomes,
        optimum=100.0 if column.in_percent else optimum,
    )


Generations = Mapping[str, int]
"""By method."""


class Standing:
    """The runs of a column, one set of curves per instance.

    >>> from studies.report.paper import COLUMNS
    >>> low, high = np.array([[9.0, 1.0]] * 6), np.array([[8.0, 2.0]] * 6)
    >>> standing = Standing(COLUMNS["tsp"], [{"top:15": low, "order": high}])
    >>> standing.wins({"top": 1, "order": 1}), standing.wins({"top": 0, "order": 0})
    ({'top:15': 1.0, 'order': 0.0}, {'top:15': 0.0, 'order': 1.0})
    """

    def __init__(self, column: Column, instances: Sequence[Curves], /) -> None:
        self.column, self._instances = column, instances
        self._duels: dict[tuple[int, str, int, str, int], Duel] = {}

    def wins(self, generations: Generations, /) -> dict[str, float]:
        """The mean over instances of significant wins against all other disclosures."""
        counts = [self._wins_on(i, generations) for i in range(len(self._instances))]
        return {
            text: float(np.mean([each[text] for each in counts])) for text in self._instances[0]
        }

    def medians(self, generations: Generations, /) -> dict[str, float]:
        """Medians over runs, then over instances."""
        return {
            text: float(
                np.median([np.median(_values(each, text, generations)) for each in self._instances])
            )
            for text in self._instances[0]
        }

    def ranked(self, disclosures: Sequence[str], generations: Generations, /) -> list[str]:
        """Disclosures from the best to the worst: by wins, where these are equal by medians."""
        won, medians = self.wins(generations), self.medians(generations)
        sign = 1 if self.column.larger_is_better else -1
        known = [text for text in disclosures if text in won]
        return sorted(known, key=lambda text: (won[text], sign * medians[text]), reverse=True)

    def _wins_on(self, instance: int, generations: Generations) -> dict[str, int]:
        outcomes = {}
        names = list(self._instances[instance])
        for i, row in enumerate(names):
            for other in names[:i]:
                found = self._duel(instance, row, other, generations)
                outcomes[row, other] = found
                outcomes[other, row] = Duel(-found.correlation, found.p)
        return wins(outcomes, larger_is_better=self.column.larger_is_better)

    def _duel(self, instance: int, row: str, other: str, generations: Generations) -> Duel:
        at, other_at = (_asked(text, generations) for text in (row, other))
        key = (instance, row, at, other, other_at)
        if key not in self._duels:
            curves = self._instances[instance]
            self._duels[key] = duel(
                _values(curves, row, generations), _values(curves, other, generations)
            )
        return self._duels[key]


def _asked(disclosure: str, generations: Generations) -> int:
    """The generation to compare at; a method that was not measured is compared at the last."""
    return generations.get(split_disclosure(disclosure)[0], -1)


def _values(curves: Curves, disclosure: str, generations: Generations) -> NDArray[np.float64]:
    runs = curves[disclosure]
    return runs[:, min(_asked(disclosure, generations), runs.shape[1] - 1)]
