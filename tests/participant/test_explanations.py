"""The explanations of an agreement, a run and its plan for a participant."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.agreement.terms import Agreement
from tacit.client import Plan
from tacit.errors import InputError
from tacit.participant.explanations import SearchWords, plan_words, search_words
from tacit.participant.plans import own_cells, plan_rows, table_lines
from tacit.participant.results import OwnResult
from tacit.participant.review_words import _kind_lines, review_json, review_lines
from tacit.participant.reviewing import Review, _warnings
from tacit.participant.submission import chosen_objective
from tacit.plain_text import wrapped
from tacit.problems import (
    Participant,
    Problem,
    generate_assignment,
    generate_capacitated,
    generate_tour,
)
from tacit.search.moves import AssignmentParameters
from tests.on_nodes.fixtures import example_cast
from tests.on_nodes.owners_cast import owners_cast
from tests.on_nodes.sealed_agreed_cluster import partly_forbidden, symmetric_tour


@pytest.fixture
def agreement() -> Agreement:
    return example_cast().agreement


@pytest.fixture
def made(agreement: Agreement) -> Review:
    return Review("r-1", "slots", "invited", agreement, "owner", pinned=True)


def test_what_is_disclosed(agreement: Agreement) -> None:
    first = search_words(agreement).disclosed[0]
    assert first.endswith(
        "which 1 of 100 plans is best, not by how much; and the total of the best plan, as a number"
    )
    assert search_words(agreement).inferred[1] == (
        "'pay': from 10 evaluations of up to 100 plans, at most 0 equations and 990 inequations."
    )


def test_what_is_disclosed_of_all_objectives_together(agreement: Agreement) -> None:
    pay = replace(agreement.objectives[0], disclosure="pareto:top:5", best="nothing")
    both = replace(agreement, objectives=[pay, replace(pay, name="joy")], reveal_best=False)
    words = search_words(both)
    assert words.disclosed == [
        "all objectives together, at each of at most 10 evaluations: which 5 of 100 plans, by how "
        "many others are better in every objective and then by how much room there is around "
        "each, are best, not by how much, nor in which order"
    ]
    assert any("it tells most of the sum of all objectives" in each for each in words.inferred)
    for front, told in (("plans", "no total of any"), ("values", "as a number")):
        *_, last = search_words(replace(both, front=front)).disclosed
        assert last.startswith("once, at the end: which plans of the last best group no other one")
        assert last.endswith(told)


def sealed_words(**changes: Any) -> SearchWords:
    """What is said of a sealed run with these settings."""
    problem, value = changes.pop("problem", None), changes.pop("value", False)
    weightings = changes.pop("weightings", [(1,)])
    parameters = AssignmentParameters(**{"iterations": 12, **changes})
    agreement = owners_cast(
        problem=problem, parameters=parameters, plan_for="everybody", weightings=weightings
    ).agreement
    if value:
        pay = replace(agreement.objectives[0], best="value")
        agreement = replace(agreement, objectives=[pay])
    return search_words(agreement)


def test_what_a_sealed_assignment_discloses() -> None:
    assert sealed_words().disclosed == [
        "once, at the end: the plan that was found, and whether it is proved to be the best of "
        "all, and nothing else; not its total, nor anything about any other plan"
    ]
    (told,) = sealed_words(value=True).disclosed
    assert told.endswith("and its total, as a number; nothing about any other plan")
    problem = generate_assignment(1, rows=4, objectives=2, participants=3)
    (several,) = sealed_words(problem=problem, weightings=[(1, 0), (1, 1)]).disclosed
    assert "2 plans, one for each agreed weighting of the objectives, and whether each" in several


def test_of_each_objective_it_is_said_how_many_plans_are_of_it() -> None:
    """A platform that opens 5 plans of one objective cannot have them counted as those of two."""
    problem = generate_assignment(1, rows=4, objectives=2, participants=3)
    weightings = [(1, k) for k in range(5)]
    first, second = sealed_words(problem=problem, weightings=weightings).inferred
    assert "Of the 5 plans, one for each weighting of the objectives, 5 are of this" in first
    assert "Of the 5 plans, one for each weighting of the objectives, 4 are of this" in second
    assert first.startswith(f"'{problem.objectives[0].name}': ")
    assert second.startswith(f"'{problem.objectives[1].name}': ")
    weightings = [(1, 0), (1, 1)]
    _, second = sealed_words(problem=problem, weightings=weightings).inferred
    assert "Of the 2 plans, one for each weighting of the objectives, 1 is of this" in second
    owners = owners_cast(problem=problem, weightings=weightings).agreement
    assert "Of the 2 plans" in search_words(owners).inferred[0]


def test_how_a_sealed_assignment_comes_about() -> None:
    drawn, early = sealed_words(generations=20).limits
    assert "begin with a plan that they draw, and that nobody knows" in drawn
    assert "in 20 generations of a local search and 12 iterations of the exact method" in drawn
    assert "the platform may have the plan opened after any of these" in early
    public, least = sealed_words(problem=partly_forbidden(), least=4, seconds=60).limits
    assert "begin with a plan without forbidden pairs, which everybody can work out" in public
    assert "improve it in 12 iterations" in public
    assert least == (
        "the platform cannot have a plan opened before 4 of 12 iterations, unless the deadline "
        "has come, 60 s after the nodes began"
    )
    assert sealed_words(least=4).limits[1].endswith("before 4 of 12 iterations")
    _, either = sealed_words(least=4, seconds=60, checkpoints="2").limits
    assert "unless all is proved after one of the iterations named above or the deadline" in either


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "no least number of iterations"),
        ({"least": 4, "seconds": 59}, "opened early from 59 s on, and the deadline is 60.5 s"),
        ({"least": 4, "seconds": 60}, None),
        ({"least": 4}, None),
    ],
)
def test_what_lets_a_plan_be_opened_early_is_warned_of(
    settings: dict[str, Any], said: str | None
) -> None:
    parameters = AssignmentParameters(iterations=12, **settings)
    agreement = owners_cast(parameters=parameters, plan_for="everybody").agreement
    found = [each for each in _warnings(agreement, 60.5) if "opened" in each]
    assert len(found) == (said is not None)
    assert all(said is not None and said in each for each in found)


def test_what_a_sealed_tour_discloses() -> None:
    words = search_words(owners_cast(problem=symmetric_tour(), plan_for="everybody").agreement)
    assert words.disclosed == [
        "once, at the end: the plan that was found, and nothing else; "
        "not its total, nor anything about any other plan"
    ]
    assert words.limits == ["at most 10 generations, then one opening"]


def test_who_learns_a_plan_that_is_for_its_owners() -> None:
    cast = owners_cast()
    assert search_words(cast.agreement).disclosed == [
        "once, at the end: that there is a plan, and whether it is proved to be the best of all, "
        "and nothing of it, not which row gets what; not its total"
    ]
    learns, key = plan_words(cast.agreement)
    assert "All but one of you together learn the columns of the last one." in learns
    assert "If you lose the key, nobody can give you your part again" in key
    tour = owners_cast(problem=symmetric_tour(), plan=[*range(12)])
    assert plan_words(tour.agreement)[0].startswith("Each participant: the whole plan")
    value = replace(cast.agreement.objectives[0], best="value")
    told = search_words(replace(cast.agreement, objectives=[value])).disclosed
    assert told[0].endswith("; and its total, as a number")


def test_own_rows_are_shown_by_name_and_nothing_else() -> None:
    cast = owners_cast()
    both = OwnResult(state="finished", reason=None, for_owners=True, own_rows=[{1: 5, 0: 3}])
    rows = plan_rows(both, cast.agreement, "any")
    assert rows == [["0", "3", "yours"], ["1", "5", "yours"]]
    outcome = OwnResult(state="finished", reason=None, for_owners=True, own_rows=[{4: 2}])
    assert plan_rows(outcome, cast.agreement, "any") == [["4", "2", "yours"]]


def test_places_of_a_tour_are_ones_own_and_positions_count_from_1() -> None:
    plan = [3, 0, 1, 2, *range(4, 12)]
    agreement = owners_cast(problem=shared_tour(), plan=plan).agreement
    for outcome in (
        OwnResult(state="finished", reason=None, plan=Plan(items=plan)),
        OwnResult(state="finished", reason=None, for_owners=True, own_rows=[dict(enumerate(plan))]),
    ):
        rows = plan_rows(outcome, agreement, "west")
        assert rows[:3] == [["1", "3", "yours"], ["2", "0", ""], ["3", "1", ""]]
        assert [place for _, place, whose in rows if whose] == ["3", "2"]
        assert table_lines(rows, agreement)[:3] == [
            "position  city (from 0)",
            "1         3  *",
            "2         0",
        ]
        assert own_cells(outcome, agreement, [2, 3], 1) == [(2, 4, 1), (3, 0, 1)]


def shared_tour() -> Problem:
    others = Participant("east", (0, 1, *range(4, 12)))
    return dataclasses.replace(symmetric_tour(), participants=(Participant("west", (2, 3)), others))


def test_a_terminal_breaks_no_word(made: Review) -> None:
    lines = review_lines(made)
    shown = wrapped(lines, 80)
    words = [word for line in lines for word in line.split()]
    assert [word for line in shown for word in line.split()] == words
    assert all(len(line) <= 80 or len(line.split()) == 1 for line in shown)


def test_a_review_begins_with_the_run_and_says_whether_to_sign(made: Review) -> None:
    assert review_lines(made)[0] == "Run r-1, slots (invited)"
    assert review_json(made)["may_sign"] is True


def test_the_plan_says_whose_row_it_is(agreement: Agreement) -> None:
    shown = plan_rows(
        OwnResult(state="finished", reason=None, plan=Plan(items=[1, 0])), agreement, "owner"
    )
    assert shown == [["0", "1", "yours"], ["1", "0", "yours"]]


def test_an_objective_is_chosen_by_name_or_is_the_only_one(agreement: Agreement) -> None:
    assert chosen_objective(agreement, "owner", None) == 0
    with pytest.raises(InputError, match="'owner' seals nothing for 'cost'; choose from 'pay'"):
        chosen_objective(agreement, "owner", "cost")


def test_a_review_shows_the_kind_and_its_public_numbers() -> None:
    drawn = generate_capacitated(1, rows=4, columns=3)
    shown = _kind_lines(drawn)
    assert shown[0] == "kind of problem: capacitated, version 1"
    assert shown[1] == f"capacities: {', '.join(map(str, drawn.capacities))}"
    assert _kind_lines(generate_tour(1, cities=5))[1].endswith("count as one plan")


def test_when_it_is_told_that_all_is_proved_is_shown() -> None:
    _, told = sealed_words(generations=20, checkpoints="6:8:10").disclosed
    assert told.startswith("after iteration 6, 8, 10: whether all is proved by then")
    assert "at most 3 times, and tells" in told
    assert "2.0 bits at most" in told


def test_that_a_gap_is_opened_is_shown() -> None:
    _, told = sealed_words(gap=10).disclosed
    assert "rounded up to 0, 1 or a power of 10" in told
    assert "bits at most" in told
