"""Measure how well our figures agree with the paper's: rankings, spreads, findings and z-scores."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm, t

from studies.report.findings import (
    Evidence,
    Finding,
    ap_findings,
    one_findings,
    tsp_findings,
    two_findings,
)
from studies.report.results import COLUMNS, Column, ColumnFigures, Results, published_figures
from studies.statistics import ALPHA, Points, Spread, normalized, rank_correlation
from studies.tables import Cell, ReportTable, plain

STAGES = {
    "initial": "initial population",
    "final": "last generation",
    "comparison": "comparison generation",
}


@dataclass(frozen=True)
class StageScores:
    """The z-scores of the medians of a column at one stage, by disclosure."""

    column: Column
    stage: str
    scores: dict[str, float]
    limit: float
    """Beyond it lie five percent of the scores of runs that do the same as the paper's."""
    within: int
    """How many medians differ by no more than the larger IQR: the weaker test of before."""

    @property
    def worst(self) -> str:
        """The disclosure with the largest score."""
        return max(self.scores, key=lambda text: abs(self.scores[text]))


def z_on_same_instance(ours: Spread, theirs: Spread, /) -> float:
    """The difference of two medians of runs on one instance, in its standard errors.

    >>> z_on_same_instance(Spread(120, 0, 3.0), Spread(100, 0, 4.0))
    4.0
    """
    return _ratio(ours.median - theirs.median, ours.error**2 + theirs.error**2)


def z_on_instances_alike(ours: Sequence[Spread], theirs: Spread, /) -> float:
    """The same where the paper's instance is another one, drawn as ours were.

    Our figure is the mean of our instances' medians. The paper's instance differs from that mean as
    much as ours do among each other, apart from what is noise between runs; that variance between
    instances counts beside the errors of both medians.

    >>> round(z_on_instances_alike([Spread(4, 0), Spread(8, 0)], Spread(0, 0)), 3)
    1.732
    """
    medians = np.array([each.median for each in ours])
    noise = float(np.mean([each.error**2 for each in ours]))
    total = max(float(medians.var(ddof=1)), noise)
    variance = total / len(ours) + (total - noise) + theirs.error**2
    return _ratio(float(medians.mean()) - theirs.median, variance)


def _ratio(difference: float, variance: float) -> float:
    if not difference:
        return 0.0
    return difference / math.sqrt(variance) if variance else math.copysign(math.inf, difference)


def z_scores(figures: AllFigures, /) -> list[StageScores]:
    """Every stage of every column that can be scored.

    On the paper's own instance that is always so; on instances that are drawn alike it takes two.
    """
    found = []
    for by_instance in figures.values():
        column = next(iter(by_instance.values())).column
        own = by_instance.get(column.paper_key) if column.study == "tsp" else None
        if own is None and len(by_instance) < 2:
            continue
        found += [_stage_scores(column, stage, by_instance, own) for stage in STAGES]
    return found


def _stage_scores(
    column: Column, stage: str, by_instance: Mapping[str, ColumnFigures], own: ColumnFigures | None
) -> StageScores:
    published: dict[str, Spread] = getattr(published_figures(column), stage)
    ours: list[dict[str, Spread]] = [
        getattr(each, stage) for each in ([own] if own else by_instance.values())
    ]
    scores, within = {}, 0
    for text, theirs in published.items():
        if text not in ours[0]:
            continue
        spreads = [each[text] for each in ours]
        z = z_on_same_instance(spreads[0], theirs) if own else z_on_instances_alike(spreads, theirs)
        scores[text] = round(z, 2)
        within += within_spread(spreads[0], theirs, [each.median for each in spreads])
    limit = norm.ppf(1 - ALPHA / 2) if own else t.ppf(1 - ALPHA / 2, len(ours) - 1)
    return StageScores(column, stage, scores, float(limit), within)


def count_below(scores: Collection[float], limit: float = 2.0, /) -> int:
    """How many scores are smaller, whatever their sign.

    >>> count_below([-1.5, 1.9, 2.0, -7.0])
    2
    """
    return sum(abs(z) < limit for z in scores)


def root_mean_square(scores: Collection[float], /) -> float:
    """About 1 where runs do the same as the paper's.

    >>> root_mean_square([3.0, -4.0, 0.0, 0.0])
    2.5
    """
    return math.sqrt(sum(z * z for z in scores) / len(scores))


def scores_by_column(found: Sequence[StageScores], /) -> dict[str, dict[str, object]]:
    """The same for `summary.json`, by column and stage."""
    return {
        f"{each.column.name} {each.stage}": {
            "below_2": count_below(each.scores.values()),
            "medians": len(each.scores),
            "limit": round(each.limit, 2),
            "beyond_limit": len(each.scores) - count_below(each.scores.values(), each.limit),
            "root_mean_square": round(root_mean_square(each.scores.values()), 2),
            "within_larger_iqr": each.within,
            "z": each.scores,
        }
        for each in found
    }


def z_scores_table(found: Sequence[StageScores], /) -> ReportTable:
    """One row per column and stage."""
    rows = []
    for each in found:
        values, count = list(each.scores.values()), len(each.scores)
        beyond = count - count_below(values, each.limit)
        rows.append(
            (
                *plain(each.column.label, STAGES[each.stage]),
                Cell(f"{count_below(values)} of {count}", count_below(values) < count),
                *plain(
                    f"{beyond} ({each.limit:.2f})",
                    f"{root_mean_square(values):.2f}",
                    f"{each.scores[each.worst]:+.2f} ({each.worst})",
                    f"{each.within} of {count}",
                ),
            )
        )
    return ReportTable(
        "table-z-scores",
        "Our medians minus the paper's, in standard errors of the difference (z)",
        ("column", "stage", "|z| below 2", "beyond the 5 % limit", "root mean square",
         "largest", "within the larger IQR"),
        tuple(rows),
        "The standard error of our median is by bootstrap; that of the paper's is 1.2533 IQR / "
        "(1.349 × the root of 31), as of 31 normal values, since median and IQR are all that is "
        "known. TSP: the paper's own instance. AP and MOAP: our instances are drawn like the "
        "paper's, so the variance between ours is included, and with so few instances z follows "
        "Student's t, whose limit is given. Runs that do the same as the paper's have a root mean "
        "square of about 1. The last column is the test of earlier reports, which tells little "
        "apart.",
    )  # fmt: skip


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


TABLE_OF_STAGE = {"final": "summary", "comparison": "comparison"}
"""What the paper's tables of the last and of the comparison generation are called here."""


def rankings(figures: ColumnFigures, /) -> dict[str, float]:
    """Spearman's correlation with the paper's ranking, in the summary and in the comparison."""
    return rankings_over([figures])


def rankings_over(instances: Sequence[ColumnFigures], /) -> dict[str, float]:
    """The same by the original rule: a configuration's median over instances of their medians."""
    column = instances[0].column
    theirs = published_figures(column)
    found = {}
    for stage, name in TABLE_OF_STAGE.items():
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
