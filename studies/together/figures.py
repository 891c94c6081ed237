"""Figures of the study: GD+ and IGD+ at the last generation, all instances and seeds together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from studies.paper import Column
from studies.report.results import Results
from studies.statistics import Samples, Spread, duel

APART, TOGETHER = "moap-two", "moap-pareto"
"""The study whose objectives are evaluated and obfuscated apart, and the other one."""
COMPARED = ("none", "quantiles:5", "top:60")
"""What is taken of the first."""
METRICS = {"GD+": "gd_plus", "IGD+": "igd_plus"}

LastValues = Mapping[str, Sequence[Samples]]
"""By configuration: per instance one value per seed, seeds in the same order everywhere."""


class Compared(msgspec.Struct, frozen=True):
    """Two configurations on the same instances and seeds."""

    correlation: float
    """Matched-pairs rank-biserial: -1 where the first is smaller, so better, in every pair."""
    p: float
    """Of a two-sided Wilcoxon signed-rank test."""


class Standing(msgspec.Struct, frozen=True):
    """One configuration by one metric."""

    median: float
    iqr: float
    ratio: float
    """Its median over that of NSGA-II without obfuscation."""
    ratios: list[float]
    """The same on each instance."""
    against_none: Compared
    against_apart: Compared | None
    """Against the same disclosure of each objective apart, where that was run."""


class TogetherFigures(msgspec.Struct, frozen=True):
    """All standings: by metric, then by configuration."""

    instances: list[str]
    seeds: int
    generations: int
    standings: dict[str, dict[str, Standing]]


def last_values(results: Results, metric: str, /) -> LastValues:
    """The last generation of both studies, apart first."""
    found: dict[str, list[Samples]] = {}
    for study in (APART, TOGETHER):
        column = Column(f"{study} {metric}", study, METRICS[metric], "")
        for instance in results.instances(study):
            for name, runs in results.curves(column, instance).items():
                if study == TOGETHER or name in COMPARED:
                    found.setdefault(name, []).append(runs[:, -1])
    return found


def standings_of(values: LastValues, /) -> dict[str, Standing]:
    """Each configuration beside NSGA-II without obfuscation, and beside its own kind apart.

    >>> one = [np.array([4.0, 2.0]), np.array([6.0, 4.0])]
    >>> found = standings_of({"none": one, "pareto:order": [each / 2 for each in one]})
    >>> found["pareto:order"].ratio, found["pareto:order"].against_none.correlation
    (0.5, -1.0)
    """
    pooled = {name: np.concatenate(runs) for name, runs in values.items()}
    plain = {name: [float(np.median(each)) for each in runs] for name, runs in values.items()}

    def compared(name: str, other: str) -> Compared:
        found = duel(pooled[name], pooled[other])
        return Compared(found.correlation, found.p)

    standings = {}
    for name, sample in pooled.items():
        spread, apart = Spread.of(sample), name.removeprefix("pareto:")
        standings[name] = Standing(
            median=spread.median,
            iqr=spread.iqr,
            ratio=spread.median / float(np.median(pooled["none"])),
            ratios=[own / none for own, none in zip(plain[name], plain["none"], strict=True)],
            against_none=compared(name, "none"),
            against_apart=compared(name, apart) if apart != name and apart in pooled else None,
        )
    return standings


def together_figures(results: Results, /) -> TogetherFigures:
    """The figures of finished runs of both studies."""
    study = results.studies[TOGETHER]
    return TogetherFigures(
        instances=results.instances(TOGETHER),
        seeds=study.seeds.count,
        generations=study.generations,
        standings={metric: standings_of(last_values(results, metric)) for metric in METRICS},
    )
