"""The Pareto score against its definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.disclosure import (
    BestMode,
    Order,
    Pareto,
    Quantiles,
    Top,
    check_score_fits,
    pareto_score,
    parse_disclosure,
)
from tacit.disclosure.pareto_score import crowding, dominators
from tacit.errors import DisclosureError, ProblemError
from tacit.problems import Objective, generate_assignment
from tacit.runs import with_disclosures


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("pareto:order", Order()),
        ("pareto:quantiles:20", Quantiles(20)),
        ("pareto:top:60", Top(60)),
    ],
)
def test_texts_read_back_as_they_are_written(text: str, shown: Order | Quantiles | Top) -> None:
    disclosure = parse_disclosure(text)
    assert disclosure == Pareto(shown)
    assert disclosure.text == text
    assert disclosure.usual_best is BestMode.NOTHING
    assert disclosure.least_individuals == shown.least_individuals


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pareto:none", "has an order and no values, which none would need"),
        ("pareto:buckets:5", "which buckets:5 would need"),
        ("pareto:above:90", "which above:90 would need"),
        ("pareto:sealed", "which sealed would need"),
        ("pareto:pareto:order", "which pareto:order would need"),
        ("pareto", "needs what is shown of the score"),
        ("pareto:", "needs what is shown of the score"),
        ("pareto:top", "needs a whole number after 'top:'"),
    ],
)
def test_what_needs_values_is_refused(text: str, message: str) -> None:
    with pytest.raises(DisclosureError, match=message):
        parse_disclosure(text)


def test_duplicates_are_dominated_by_the_first_of_them() -> None:
    fitness = np.array([[5, 5, 5, 1], [5, 5, 5, 9]])
    assert dominators(fitness).tolist() == [0, 1, 2, 0]
    assert pareto_score(fitness, spans=[9, 9]).tolist() == [2, 1, 0, 3]


def test_crowding_counts_both_objectives_alike() -> None:
    """Ten times the values in one objective give ten times the crowding: the order stays."""
    fitness = np.array([[0, 1, 5, 9, 10], [10, 9, 5, 1, 0]])
    wide = fitness * np.array([[10], [1]])
    assert crowding(fitness, spans=[10, 10]).argsort().tolist() == [1, 3, 2, 0, 4]
    assert crowding(wide, spans=[100, 10]).argsort().tolist() == [1, 3, 2, 0, 4]


def test_scores_that_do_not_fit_the_nodes_are_refused() -> None:
    check_score_fits([100_000] * 4, 1000)
    with pytest.raises(DisclosureError, match="scale the weights down"):
        check_score_fits([2**40] * 3, 10)
    with pytest.raises(DisclosureError, match="for 1 to 1000 candidates at once, not for 1001"):
        check_score_fits([9, 9], 1001)


def test_it_is_of_all_objectives_or_of_none() -> None:
    problem = generate_assignment(1, rows=4, objectives=2)
    first, second = (each.name for each in problem.objectives)
    assert with_disclosures(problem, "pareto:order", None).evaluates_together
    assert not problem.evaluates_together
    for disclose in ({second: "pareto:order"}, {first: "pareto:top:2", second: "pareto:order"}):
        with pytest.raises(ProblemError, match="is of all objectives together"):
            with_disclosures(problem, disclose, None)
    with pytest.raises(ProblemError, match="is of all objectives together"):
        with_disclosures(generate_assignment(1, rows=4), "pareto:order", None)
    with pytest.raises(ProblemError, match="discloses nothing of a best fitness"):
        with_disclosures(problem, "pareto:order", "value")
    public = replace(problem.objectives[1], confidential=False)
    with pytest.raises(ProblemError, match="all of them confidential"):
        with_disclosures(
            replace(problem, objectives=(problem.objectives[0], public)), "pareto:order", None
        )
    assert isinstance(public, Objective)
