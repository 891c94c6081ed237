"""The platform's claims about opened plans are checked against what the nodes opened."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from tacit.agreement import Agreement, SealedRun
from tacit.errors import LogError
from tacit.problems import Assignment, Objective, Problem
from tacit.records import Disclosed
from tacit.search.moves import AssignmentParameters
from tacit.verify.claims import (
    Claim,
    check_claimed,
    check_gaps,
    check_nothing_proved,
    check_proved,
    check_values,
    check_weightings,
    opened_plan_values,
    what_nodes_proved,
)
from tests.on_nodes.entries import opened_plan


def agreed(problem: Problem, *weightings: tuple[int, int]) -> Agreement:
    run = SealedRun(problem, AssignmentParameters(), weightings, 1)
    return cast(Agreement, SimpleNamespace(sealed_run=run, known_problem=problem))


PAIR = tuple(Objective(name, None, weight_bound=9) for name in ("pay", "rest"))
PROBLEM = Assignment(name="p", rows=2, columns=2, objectives=PAIR)
AGREEMENT = agreed(PROBLEM, (3, 1), (1, 1), (1, 3))
"""All that is looked at of one."""


def opened(search: int, plan: list[int], outcome: str = "optimum") -> Disclosed:
    return opened_plan(search, plan, outcome=outcome)


LEDGER = [opened(0, [0, 1]), opened(1, [0, 1]), opened(2, [1, 0])]


def test_proved_is_what_the_nodes_said_of_all_plans() -> None:
    check_proved(LEDGER, Claim(proved=True))
    check_proved(LEDGER, Claim())
    unproved = [*LEDGER[:2], opened(2, [1, 0], "feasible")]
    check_proved(unproved, Claim(proved=False))
    with pytest.raises(LogError, match="did not prove it"):
        check_proved(unproved, Claim(proved=True))
    with pytest.raises(LogError, match="did not prove it"):
        check_proved([], Claim(proved=True))
    with pytest.raises(LogError, match="proved that none does"):
        check_proved(LEDGER, Claim(proved=False))


def test_the_nodes_own_word_is_told_whatever_the_platform_says() -> None:
    one = cast(Agreement, SimpleNamespace(objectives=[SimpleNamespace(scale=10)]))
    assert what_nodes_proved(one, LEDGER) == ", and they proved that no plan is better"
    unproved = [*LEDGER[:2], opened_plan(2, [1, 0], outcome="feasible", gap=25)]
    assert what_nodes_proved(one, unproved).endswith(
        "did not prove that no plan is better but of 2 of 3; the optimum is better by at most 2.5"
    )
    assert what_nodes_proved(one, [opened_plan(0, [0, 1])]) == ""


def test_what_was_shown_before_counts_as_well() -> None:
    unproved = [opened(0, [0, 1], "feasible")]
    check_claimed(AGREEMENT, unproved, Claim(earlier=Claim(proved=False)))
    with pytest.raises(LogError, match="did not prove it"):
        check_claimed(AGREEMENT, unproved, Claim(earlier=Claim(proved=True)))
    with pytest.raises(LogError, match="the nodes proved nothing"):
        check_nothing_proved(Claim(earlier=Claim(gaps=[0.0])))
    with pytest.raises(LogError, match="not which of them is the first"):
        Claim(others=[[0, 1]]).check_shown()


def test_values_are_those_that_were_opened() -> None:
    two = agreed(PROBLEM, (2, 0), (1, 1), (0, 1))
    ledger = [opened_plan(k, [0, 1], value=value) for k, value in enumerate((8, 9, 5))]
    known = opened_plan_values(two, ledger)
    check_values(known, Claim(values=[([0, 1], [4, 5]), ([0, 1], [None, 5]), ([1, 0], [])]))
    for plan, values, word in (
        ([0, 1], [4, 6], "another"),
        ([0, 1], [float("nan"), 5], "another"),
        ([1, 0], [4, None], "none"),
    ):
        with pytest.raises(LogError, match=f"the nodes disclosed {word}"):
            check_values(known, Claim(values=[(plan, values)]))


def test_a_plan_is_the_one_of_its_weightings() -> None:
    check_weightings(AGREEMENT, LEDGER, Claim(found_for=[([0, 1], ["3:1", "1:1"]), ([1, 0], [])]))
    for plan, weighting in (([0, 1], "1:3"), ([1, 0], "1:1"), ([0, 1], "2:1")):
        with pytest.raises(LogError, match=f"another plan for the weighting {weighting}"):
            check_weightings(AGREEMENT, LEDGER, Claim(found_for=[(plan, [weighting])]))


def test_gaps_are_those_that_were_opened() -> None:
    pay = SimpleNamespace(scale=10)
    one = cast(Agreement, SimpleNamespace(objectives=[pay]))
    ledger = [opened_plan(0, [0, 1], outcome="feasible", gap=25)]
    check_gaps(one, ledger, Claim(gaps=[2.5]))
    check_gaps(one, ledger, Claim())
    with pytest.raises(LogError, match="what plans lack"):
        check_gaps(one, ledger, Claim(gaps=[0.0]))
    several = cast(Agreement, SimpleNamespace(objectives=[pay, pay]))
    check_gaps(several, ledger, Claim(gaps=[25]))
