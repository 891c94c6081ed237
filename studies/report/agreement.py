"""How well our figures agree with the paper's: ranking, spread, findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from studies.quality import Points, normalized
from studies.report.column_figures import ColumnFigures, published_figures
from studies.report.evidence import Evidence, Finding
from studies.report.findings_one_objective import ap_findings, tsp_findings
from studies.report.findings_two_objectives import one_findings, two_findings
from studies.report.paper import COLUMNS
from studies.report.results import Results
from studies.statistics import Spread, rank_correlation

AllFigures = Mapping[str, Mapping[str, ColumnFigures]]
"""Our figures by column and instance."""
Pooled = Mapping[str, ColumnFigures]
"""Our figures by column, of all runs together."""


@dataclass(frozen=True)
class Assessed:
    """A finding under two rules.

    The original one asks for half of the instances, the later one for the runs of all instances
    together.
    """

    finding: Finding
    holding: int
    """The number of instances on which it holds separately."""
    holding_after_holm: int
    """The same where only wins count that Holm's correction leaves significant."""
    instances: int
    evidence: str
    """The figures of the first instance."""
    pooled_holds: bool
    pooled_evidence: str

    @property
    def holds(self) -> bool:
        """Whether it holds by the original rule."""
        return 2 * self.holding >= self.instances

    @property
    def holds_after_holm(self) -> bool:
        """Whether it holds by the original rule with wins after Holm's correction."""
        return 2 * self.holding_after_holm >= self.instances


def by_original_rule(assessed: Sequence[Assessed], /) -> dict[str, bool]:
    """The findings as first written down: yes where they hold on at least half of the instances."""
    return {each.finding.name: each.holds for each in assessed if not each.finding.part_of}


def by_later_rule(assessed: Sequence[Assessed], /) -> dict[str, bool]:
    """The findings after one that had failed was split in two: yes on all runs together."""
    split = {each.finding.part_of for each in assessed}
    return {
        each.finding.name: each.pooled_holds for each in assessed if each.finding.name not in split
    }


def after_holm(assessed: Sequence[Assessed], /) -> dict[str, bool]:
    """The original rule again, with wins that stay significant after Holm's correction."""
    return {
        each.finding.name: each.holds_after_holm for each in assessed if not each.finding.part_of
    }


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


STAGES = {"final": "summary", "comparison": "comparison"}
"""What the paper's tables of the last and of the comparison generation are called here."""


def rankings(figures: ColumnFigures, /) -> dict[str, float]:
    """Spearman's correlation with the paper's ranking, in the summary and in the comparison."""
    return rankings_over([figures])


def rankings_over(instances: Sequence[ColumnFigures], /) -> dict[str, float]:
    """The same by the original rule: a configuration's median over instances of their medians."""
    column = instances[0].column
    theirs = published_figures(column)
    found = {}
    for stage, name in STAGES.items():
        medians = [
            {text: spread.median for text, spread in getattr(each, stage).items()}
            for each in (*instances, theirs)
        ]
        *ours, published = medians
        middle = {text: float(np.median([each[text] for each in ours])) for text in ours[0]}
        found[f"{column.name} {name}"] = rank_correlation(middle, published)
    return found


def spearman_by_rule(
    results: Results, figures: AllFigures, pooled: Pooled, /
) -> tuple[dict[str, float], dict[str, float]]:
    """The rankings by the original rule and by the later one."""
    original: dict[str, float] = {}
    later: dict[str, float] = {}
    for name, by_instance in figures.items():
        counted = results.counted(pooled[name].column.study)
        original |= rankings_over([by_instance[instance] for instance in counted])
        later |= rankings(pooled[name])
    return original, later


def all_findings() -> list[Finding]:
    """Every finding of sections 5.1 to 5.4, and the parts of one.

    >>> sum(not finding.part_of for finding in all_findings())
    47
    """
    return [*ap_findings(), *tsp_findings(), *one_findings(), *two_findings()]


def figures_at(results: Results, generations: Mapping[str, int], /) -> AllFigures:
    """The figures of every column and instance, compared at these generations."""
    return {
        column.name: {
            instance: results.figures(column, instance, generations)
            for instance in results.instances(column.study)
        }
        for column in results.columns()
    }


def assess(results: Results, figures: AllFigures, pooled: Pooled, /) -> list[Assessed]:
    """Check every finding whose studies are available, on each instance and on all runs."""
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
        outcomes = [finding.check(each) for each in apart[studies]]
        corrected = [finding.check(replace(each, after_holm=True)) for each in apart[studies]]
        assessed.append(
            Assessed(
                finding,
                sum(holds for holds, _ in outcomes),
                sum(holds for holds, _ in corrected),
                len(outcomes),
                outcomes[0][1],
                *finding.check(together[studies]),
            )
        )
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
        for name, points in results.median_fronts(COLUMNS[f"{study} igd+"], instance).items():
            found.setdefault(name, []).append(normalized(points, truth))
    return {name: np.concatenate(sets) for name, sets in found.items()}
