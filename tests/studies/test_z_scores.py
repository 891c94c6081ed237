"""z-scores of medians, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from studies.report.agreement import (
    scores_by_column,
    z_on_instances_alike,
    z_on_same_instance,
    z_scores,
    z_scores_table,
)
from studies.report.results import COLUMNS, ColumnFigures, published_figures
from studies.statistics import Spread


def shifted(figures: ColumnFigures, errors: float) -> ColumnFigures:
    """The paper's figures, moved by so many of its standard errors, with no error of their own."""

    def moved(spreads: dict[str, Spread]) -> dict[str, Spread]:
        return {
            text: Spread(spread.median + errors * spread.error, spread.iqr)
            for text, spread in spreads.items()
        }

    return replace(
        figures,
        initial=moved(figures.initial),
        final=moved(figures.final),
        comparison=moved(figures.comparison),
    )


def test_on_the_same_instance_both_errors_count() -> None:
    assert z_on_same_instance(Spread(90, 0, 6), Spread(100, 0, 8)) == -1
    assert z_on_same_instance(Spread(100, 0), Spread(100, 0)) == 0
    assert z_on_same_instance(Spread(101, 0), Spread(100, 0)) == float("inf")


def test_on_instances_alike_the_variance_between_them_counts() -> None:
    # Medians 10, 12, 14: mean 12, variance 4. Errors 1: noise 1, so 3 between instances.
    ours = [Spread(median, 0, 1) for median in (10, 12, 14)]
    assert z_on_instances_alike(ours, Spread(6, 0, 2)) == pytest.approx(6 / (4 / 3 + 3 + 4) ** 0.5)
    # Medians that differ by less than their errors: the errors alone count.
    ours = [Spread(12, 0, 3), Spread(12, 0, 3)]
    assert z_on_instances_alike(ours, Spread(6, 0, 0)) == pytest.approx(6 / (9 / 2) ** 0.5)


def test_three_errors_away_is_seen_although_it_is_within_the_iqr() -> None:
    column = COLUMNS["tsp"]
    same, away = (shifted(published_figures(column), errors) for errors in (0.5, 3))
    (_, last, _) = z_scores({"tsp": {"kroD100": same, "kroE100": away}})
    assert set(last.scores.values()) == {0.5}
    assert last.limit == pytest.approx(1.96, abs=0.001)
    found = z_scores({"tsp": {"kroD100": away}})
    assert all(set(each.scores.values()) == {3.0} and each.within == 14 for each in found)
    entry = scores_by_column(found)["tsp final"]
    assert (entry["below_2"], entry["beyond_limit"], entry["root_mean_square"]) == (0, 14, 3.0)
    assert "0 of 14" in z_scores_table(found).markdown()


def test_instances_that_are_drawn_alike_need_two() -> None:
    figures = published_figures(COLUMNS["ap"])
    assert z_scores({"ap": {"one": figures}}) == []
    (_, last, _) = z_scores({"ap": {"one": figures, "other": shifted(figures, 1)}})
    assert last.limit == pytest.approx(12.71, abs=0.01)
    assert set(last.scores) == set(figures.final)
