"""Read finished studies and the paper's tables, and compute the figures of a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from studies.evaluation.instances import InstanceSpec, Reference, named_problem, reference_of
from studies.evaluation.run import RunRecord
from studies.evaluation.study import SearchStudy
from studies.statistics import (
    Duel,
    Spread,
    duel,
    duels,
    holm,
    median_error_from_iqr,
    wins,
)
from studies.study import Rows
from tacit.disclosure import split_disclosure


@dataclass(frozen=True)
class Column:
    """One measured quantity of the paper: a study, a metric and the instance it is shown for."""

    name: str
    study: str
    metric: str
    paper_key: str
    larger_is_better: bool = False
    in_percent: bool = False
    """Shown in percent of the optimum, since the instances differ in it."""
    label: str = ""


COLUMNS = {
    column.name: column
    for column in (
        Column("ap", "ap", "mean_fitness", "ap1K100x100", True, True, "AP, % of the optimum"),
        Column("tsp", "tsp", "mean_fitness", "kroD100", label="TSP, length of the tour"),
        *(
            Column(
                f"{study} {short}",
                study,
                metric,
                f"ap2K100x100/{words}-obfuscated/{metric}",
                label=f"MOAP, {words.replace('-', ' ')} obfuscated, {short.upper()}",
            )
            for study, words in (("moap-one", "one-objective"), ("moap-two", "two-objectives"))
            for short, metric in (("gd+", "gd_plus"), ("igd+", "igd_plus"))
        ),
    )
}
"""Six columns, each with a summary and a comparison: twelve columns of medians."""


@cache
def published() -> dict[str, Any]:
    """The data file."""
    raw = (files("studies") / "data" / "paper.json").read_bytes()
    decoded: dict[str, Any] = msgspec.json.decode(raw)
    return decoded


Fronts = Mapping[str, NDArray[np.float64]]
"""Per disclosure the points of one run's last set, one row each."""


@dataclass(frozen=True)
class Results:
    """Finished studies by name, and the rows of all of them.

    A study may go by the name of another one, with which it is compared.
    """

    studies: Mapping[str, SearchStudy]
    rows: Rows

    def part(self, studies: Mapping[str, SearchStudy], /) -> Results:
        """The runs of smaller versions of the same studies."""
        return Results(studies, self.rows)

    def columns(self) -> list[Column]:
        """The columns whose studies are available."""
        return [column for column in COLUMNS.values() if column.study in self.studies]

    def instances(self, study: str, /) -> list[str]:
        """The instances of a study, in its order."""
        return [named_problem(spec).name for spec in self.studies[study].instances]

    def _reference(self, study: str, instance: str) -> Reference:
        return reference_of(self._spec(study, instance))

    def _spec(self, study: str, instance: str) -> InstanceSpec:
        (found,) = (
            spec for spec in self.studies[study].instances if named_problem(spec).name == instance
        )
        return found

    def optimum(self, study: str, instance: str, /) -> int | None:
        """The optimum of an instance."""
        return self._reference(study, instance).optimum

    def truth(self, study: str, instance: str, /) -> NDArray[np.float64]:
        """The ground truth of an instance with several objectives."""
        truth = self._reference(study, instance).truth
        assert truth is not None, "the paper's studies of several objectives have one"
        return truth

    def runs(self, study: str, instance: str, /) -> dict[str, list[RunRecord]]:
        """Per disclosure the runs on an instance, seed by seed."""
        found: dict[str, list[RunRecord]] = {}
        for job in self.studies[study].jobs_on(self._spec(study, instance)):
            found.setdefault(job.disclosure, []).append(self.rows[job])
        return found

    def curves(self, column: Column, instance: str, /) -> Curves:
        """Every run of an instance, in the unit of the column."""
        optimum = self.optimum(column.study, instance)
        unit = 100 / optimum if column.in_percent and optimum else 1.0
        return {
            disclosure: unit * np.stack([run.metrics[column.metric] for run in runs])
            for disclosure, runs in self.runs(column.study, instance).items()
        }

    def figures(
        self, column: Column, instance: str, generations: Mapping[str, int], /
    ) -> ColumnFigures:
        """The tables' figures for an instance."""
        return self._figures(column, instance, self.curves(column, instance), generations)

    def counted(self, study: str, /) -> list[str]:
        """The instances whose runs are pooled: the paper's own alone where it is available.

        The paper shows one instance, and where configurations nearly tie, their order differs
        from instance to instance; all runs together have the least noise.
        """
        names = self.instances(study)
        shown = {column.paper_key for column in COLUMNS.values() if column.study == study}
        return [name for name in names if name in shown] if study == "tsp" else names

    def pooled_curves(self, column: Column, /) -> Curves:
        """Every run of all instances that count, in the unit of the column."""
        apart = [self.curves(column, name) for name in self.counted(column.study)]
        return {name: np.concatenate([each[name] for each in apart]) for name in apart[0]}

    def pooled_figures(self, column: Column, generations: Mapping[str, int], /) -> ColumnFigures:
        """The figures of all runs of all instances that count."""
        first = self.counted(column.study)[0]
        return self._figures(column, first, self.pooled_curves(column), generations)

    def _figures(
        self, column: Column, instance: str, curves: Curves, generations: Mapping[str, int]
    ) -> ColumnFigures:
        optimum = 100.0 if column.in_percent else self.optimum(column.study, instance)
        return measured_figures(column, curves, generations, optimum=optimum)

    def median_fronts(self, column: Column, instance: str, /) -> Fronts:
        """Per disclosure the last set of the run with the median of a column, IGD+ as a rule."""
        fronts = {}
        for disclosure, runs in self.runs(column.study, instance).items():
            last = np.array([run.metrics[column.metric][-1] for run in runs])
            median = int(np.argsort(last, kind="stable")[len(last) // 2])
            fronts[disclosure] = runs[median].front
        return fronts


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

    >>> from studies.report.results import COLUMNS
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

    >>> from studies.report.results import COLUMNS
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
