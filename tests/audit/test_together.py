"""Objectives that are evaluated together are expected to give away less than each apart."""

from __future__ import annotations

import pytest

from tacit.audit.explanation import explain_expected
from tacit.audit.leakage_table import (
    Expected,
    entries_of_objectives_together,
    expected_leakage,
)

SHOWN = ("order", "quantiles:20", "quantiles:5", "top:60", "top:15")


def looked_up(disclosure: str, *, kind: str = "assignment", scheduled: bool = False) -> Expected:
    return expected_leakage(
        disclosure, kind=kind, rows=100, columns=100, population=300, evaluations=300,
        scheduled=scheduled,
    )  # fmt: skip


@pytest.mark.parametrize("shown", SHOWN)
def test_a_pareto_score_gives_away_less_of_an_objective(shown: str) -> None:
    together, apart = looked_up(f"pareto:{shown}"), looked_up(shown)
    (measured,) = (
        each
        for each in entries_of_objectives_together()
        if (each.disclosure, each.evaluations, each.rows, each.prior, each.family)
        == (f"pareto:{shown}", 300, 100, "range", "uniform")
    )
    assert together.honest.correlation == measured.honest < apart.honest.correlation
    assert together.measured_as == f"pareto:{shown}"
    assert measured.of_sum is not None
    assert measured.of_sum > measured.honest


def test_others_of_the_same_method_take_the_neighbour_that_tells_more() -> None:
    assert looked_up("pareto:quantiles:10").measured_as in (
        "pareto:quantiles:5",
        "pareto:quantiles:20",
    )
    assert looked_up("pareto:top:150").measured_as in ("pareto:top:60", "pareto:order")


@pytest.mark.parametrize(("kind", "scheduled"), [("tour", False), ("assignment", True)])
def test_what_was_not_measured_counts_as_the_most_telling_of_one(
    kind: str, scheduled: bool
) -> None:
    expected = looked_up("pareto:top:15", kind=kind, scheduled=scheduled)
    assert expected == looked_up("none", kind=kind, scheduled=scheduled)


def test_structure_and_unrestricted_queries_count_as_of_one_objective() -> None:
    """Neither was measured for objectives together, so the most stands, and the words say it."""
    expected, most = looked_up("pareto:quantiles:20"), looked_up("none")
    assert (expected.worst, expected.structured) == (most.worst, most.structured)
    words = explain_expected(
        expected, disclosure="pareto:quantiles:20", evaluations=300, population=300, costs="costs"
    )
    assert "could draw a rough picture of your costs (0.4" in words
    assert "If they follow a structure" in words
