"""How well our figures agree with the paper's: ranking, spread, findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tacit.experiments.paper import COLUMNS
from tacit.experiments.quality import Points, normalized
from tacit.experiments.report.column_figures import ColumnFigures, published_figures
from tacit.experiments.report.evidence import Evidence, Finding
from tacit.experiments.report.findings_one_objective import ap_findings, tsp_findings
from tacit.experiments.report.findings_two_objectives import one_findings, two_findings
from tacit.experiments.report.results import Results
from tacit.experiments.statistics import Spread, rank_correlation

AllFigures = Mapping[str, Mapping[str, ColumnFigures]]
"""Our figures by column and instance."""
Pooled = Mapping[str, ColumnFigures]
"""Our figures by column, of all runs together."""


@dataclass(frozen=True)
class Assessed:
    """A finding: whether it holds on all runs together, the evidence, and single instances."""

    finding: Finding
    holds: bool
    evidence: str
    state: int
    """The number of instances on which it holds separately."""
    instances: int


def within_spread(ours: Spread, theirs: Spread, medians: list[float], /) -> bool:
    """Whether the paper's median differs from ours by no more than runs or instances do.

    That is: by at most the larger of the two IQRs, or it lies between the smallest and the largest
    of our instances' medians.

    >>> within_spread(Spread(10, 1), Spread(11.5, 2), [10])
    True
    >>> within_spread(Spread(10, 1), Spread(11.5, 1), [9, 10, 11])
    False
    """
    if abs(ours.median - theirs.median) <= max(ours.iqr, theirs.iqr):
        return True
    return min(medians) <= theirs.median <= max(medians)


def rankings(figures: ColumnFigures, /) -> dict[str, float]:
    """Spearman's correlation with the paper's ranking, in the summary and in the comparison."""
    theirs = published_figures(figures.column)
    found = {}
    for stage, name in (("final", "summary"), ("comparison", "comparison")):
        ours, published = (
            {disclosure: spread.median for disclosure, spread in getattr(each, stage).items()}
            for each in (figures, theirs)
        )
        found[f"{figures.column.name} {name}"] = rank_correlation(ours, published)
    return found


def all_findings() -> list[Finding]:
    """Every finding of sections 5.1 to 5.4."""
    return [*ap_findings(), *tsp_findings(), *one_findings(), *two_findings()]


def assess(results: Results, figures: AllFigures, pooled: Pooled, /) -> list[Assessed]:
    """Check every finding whose studies are available, on all runs and on each instance."""
    assessed = []
    together: dict[tuple[str, ...], Evidence] = {}
    apart: dict[tuple[str, ...], list[Evidence]] = {}
    for finding in all_findings():
        studies = finding.studies
        if not all(study in results.studies for study in studies):
            continue
        if studies not in apart:
            apart[studies] = list(_evidence_apart(results, figures, studies))
            together[studies] = _evidence_together(results, pooled, studies)
        holds, evidence = finding.check(together[studies])
        state = sum(finding.check(each)[0] for each in apart[studies])
        assessed.append(Assessed(finding, holds, evidence, state, len(apart[studies])))
    return assessed


def _evidence_apart(
    results: Results, figures: AllFigures, studies: tuple[str, ...]
) -> Iterator[Evidence]:
    columns = [column for column in results.columns() if column.study in studies]
    for instance in results.instances(studies[0]):
        yield Evidence(
            figures={column.name: figures[column.name][instance] for column in columns},
            curves={column.name: results.curves(column, instance) for column in columns},
            fronts={study: _fronts(results, study, [instance]) for study in studies},
        )


def _evidence_together(results: Results, pooled: Pooled, studies: tuple[str, ...]) -> Evidence:
    columns = [column for column in results.columns() if column.study in studies]
    return Evidence(
        figures={column.name: pooled[column.name] for column in columns},
        curves={column.name: results.pooled_curves(column) for column in columns},
        fronts={study: _fronts(results, study, results.counted(study)) for study in studies},
    )


def _fronts(results: Results, study: str, instances: list[str]) -> dict[str, Points]:
    """Normalized sets per disclosure, those of several instances combined."""
    if f"{study} igd+" not in COLUMNS:
        return {}
    found: dict[str, list[Points]] = {}
    for instance in instances:
        truth = results.truth(study, instance)
        for name, points in results.median_fronts(study, instance).items():
            found.setdefault(name, []).append(normalized(points, truth))
    return {name: np.concatenate(sets) for name, sets in found.items()}
