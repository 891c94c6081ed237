"""Reading finished studies for the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from studies.evaluation.instances import InstanceSpec, Reference, named_problem, reference_of
from studies.evaluation.run import RunRecord
from studies.evaluation.study import SearchStudy
from studies.report.column_figures import ColumnFigures, Curves, measured_figures
from studies.report.paper import COLUMNS, Column
from studies.study import Rows

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
