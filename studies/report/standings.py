"""Wins and medians of a column at any generations, kept so that many can be asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from studies.report.column_figures import Curves
from studies.report.paper import Column
from studies.statistics import Duel, duel, wins
from tacit.disclosure import split_disclosure

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
