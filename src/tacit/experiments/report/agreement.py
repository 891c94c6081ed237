"""How well our figures agree with the paper's: ranking, spread, findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tacit.experiments.paper import Column
from tacit.experiments.quality import normalized
from tacit.experiments.report.column_figures import ColumnFigures, published_figures
from tacit.experiments.report.evidence import Evidence, Finding
from tacit.experiments.report.findings_one_obfuscated import one_findings
from tacit.experiments.report.findings_one_objective import ap_findings, tsp_findings
from tacit.experiments.report.findings_two_obfuscated import two_findings
from tacit.experiments.report.results import Results
from tacit.experiments.statistics import Spread, rank_correlation

AllFigures = Mapping[str, Mapping[str, ColumnFigures]]
"""Our figures by column and instance."""


@dataclass(frozen=True)
class Assessed:
    """A finding, on how many instances it holds, and what the first instance says."""

    finding: Finding
    holding: int
    instances: int
    evidence: str

    @property
    def holds(self) -> bool:
        """Whether it holds on at least half of the instances."""
        return 2 * self.holding >= self.instances


def within_spread(ours: Spread, theirs: Spread, medians: list[float], /) -> bool:
    """Whether the paper's median is no further from ours than runs or instances are apart.

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


def rankings(column: Column, figures: Mapping[str, ColumnFigures], /) -> dict[str, float]:
    """Spearman's correlation with the paper's ranking, in the summary and in the comparison.

    A configuration's figure is the median over instances of its medians; where the paper's own
    instance is here, that one counts alone.
    """
    theirs = published_figures(column)
    chosen = figures
    if column.paper_key in figures and column.study == "tsp":
        chosen = {column.paper_key: figures[column.paper_key]}
    found = {}
    for stage, name in (("final", "summary"), ("comparison", "comparison")):
        told: list[dict[str, Spread]] = [getattr(each, stage) for each in chosen.values()]
        ours = {d: float(np.median([each[d].median for each in told])) for d in told[0]}
        published = {d: spread.median for d, spread in getattr(theirs, stage).items()}
        found[f"{column.name} {name}"] = rank_correlation(ours, published)
    return found


def all_findings() -> list[Finding]:
    """Every finding of sections 5.1 to 5.4.

    >>> len(all_findings())
    47
    """
    return [*ap_findings(), *tsp_findings(), *one_findings(), *two_findings()]


def assess(results: Results, figures: AllFigures, /) -> list[Assessed]:
    """Check every finding whose studies are here, on each instance."""
    assessed = []
    by_instance: dict[tuple[str, ...], list[Evidence]] = {}
    for finding in all_findings():
        if not all(study in results.studies for study in finding.studies):
            continue
        if finding.studies not in by_instance:
            by_instance[finding.studies] = list(_evidence(results, figures, finding.studies))
        outcomes = [finding.check(evidence) for evidence in by_instance[finding.studies]]
        holding = sum(holds for holds, _ in outcomes)
        assessed.append(Assessed(finding, holding, len(outcomes), outcomes[0][1]))
    return assessed


def _evidence(
    results: Results, figures: AllFigures, studies: tuple[str, ...]
) -> Iterator[Evidence]:
    columns = [column for column in results.columns() if column.study in studies]
    for instance in results.instances(studies[0]):
        fronts = {}
        for study in studies:
            if f"{study} igd+" in figures:
                truth = results.truth(study, instance)
                points = results.median_fronts(study, instance)
                fronts[study] = {name: normalized(each, truth) for name, each in points.items()}
        yield Evidence(
            figures={column.name: figures[column.name][instance] for column in columns},
            curves={column.name: results.curves(column, instance) for column in columns},
            fronts=fronts,
        )
