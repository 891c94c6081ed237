"""Reading finished studies for the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from studies.execution.store import Store
from studies.paper import COLUMNS, Column
from studies.report.column_figures import ColumnFigures, Curves, measured_figures
from studies.study.study import Study

Fronts = Mapping[str, NDArray[np.float64]]
"""Per disclosure the points of one run's last set, one row each."""


@dataclass(frozen=True)
class Results:
    """Finished studies by name, and their folders."""

    studies: Mapping[str, Study]
    stores: Mapping[str, Store]

    def part(self, studies: Mapping[str, Study], /) -> Results:
        """The runs of smaller versions of the same studies: their first instances, their seeds."""
        return Results(studies, {name: self.stores[name] for name in studies})

    def columns(self) -> list[Column]:
        """The columns whose studies are available."""
        return [column for column in COLUMNS.values() if column.study in self.studies]

    def instances(self, study: str, /) -> list[str]:
        """The instances of a study, in its order."""
        return list(self._references[study])[: len(self.studies[study].instances)]

    def optimum(self, study: str, instance: str, /) -> int | None:
        """The optimum of an instance."""
        optimum: int | None = self._references[study][instance]["optimum"]
        return optimum

    def truth(self, study: str, instance: str, /) -> NDArray[np.float64]:
        """The ground truth of an instance with several objectives."""
        return np.array(self._references[study][instance]["ground_truth"], dtype=np.float64)

    def curves(self, column: Column, instance: str, /) -> Curves:
        """Every run of an instance, in the unit of the column."""
        chosen = (
            pl.scan_parquet(self.stores[column.study].generations)
            .filter(pl.col("instance") == instance)
            .filter(pl.col("seed").is_in(self.studies[column.study].seeds.all()))
            .select("disclosure", "seed", "generation", column.metric)
            .collect()
        )
        optimum = self.optimum(column.study, instance)
        unit = 100 / optimum if column.in_percent and optimum else 1.0
        curves = {}
        for disclosure in self.studies[column.study].disclosures:
            runs = chosen.filter(pl.col("disclosure") == disclosure)
            count = runs["seed"].n_unique()
            curves[disclosure] = unit * runs[column.metric].to_numpy().reshape(count, -1)
        return curves

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
        study, curves = column.study, self.curves(column, instance)
        points = pl.read_parquet(self.stores[study].fronts).filter(pl.col("instance") == instance)
        fronts = {}
        for disclosure, runs in curves.items():
            last = runs[:, -1]
            seed = self.studies[study].seeds.all()[
                int(np.argsort(last, kind="stable")[len(last) // 2])
            ]
            chosen = points.filter((pl.col("disclosure") == disclosure) & (pl.col("seed") == seed))
            fronts[disclosure] = chosen.select("objective_1", "objective_2").to_numpy()
        return fronts

    @cached_property
    def _references(self) -> dict[str, dict[str, dict[str, Any]]]:
        return {
            name: msgspec.json.decode((store.folder / "study.json").read_bytes())["yardsticks"]
            for name, store in self.stores.items()
        }
