"""By how many standard errors our medians differ from the paper's."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, t

from studies.report.agreement import AllFigures, within_spread
from studies.report.column_figures import ColumnFigures, published_figures
from studies.report.paper import Column
from studies.statistics import ALPHA, Spread
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
