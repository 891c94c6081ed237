"""What a platform says of opened plans is held against what the nodes opened."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from tacit.engine.agreement import Agreement, pin_sealed
from tacit.engine.records import OpenedPlan
from tacit.errors import LogError
from tacit.search.moves import ExactParameters
from tacit.verify.claimed_plans import check_gaps, check_proved, check_weightings
from tacit.verify.verdict import Claim

AGREEMENT = cast(
    Agreement, SimpleNamespace(search=pin_sealed(ExactParameters(), [(3, 1), (1, 1), (1, 3)]))
)
"""All that is looked at of one."""


def opened(search: int, plan: list[int], outcome: str = "optimum") -> OpenedPlan:
    return OpenedPlan(search, plan, None, [], outcome=outcome)


LEDGER = [opened(0, [0, 1]), opened(1, [0, 1]), opened(2, [1, 0])]


def test_proved_is_what_the_nodes_said_of_all_plans() -> None:
    assert "no plan is better" in check_proved(LEDGER, Claim(proved=True))
    assert check_proved(LEDGER, Claim()) == ""
    unproved = [*LEDGER[:2], opened(2, [1, 0], "feasible")]
    assert check_proved(unproved, Claim(proved=False)) == ""
    with pytest.raises(LogError, match="did not prove it"):
        check_proved(unproved, Claim(proved=True))
    with pytest.raises(LogError, match="did not prove it"):
        check_proved([], Claim(proved=True))
    with pytest.raises(LogError, match="proved that none does"):
        check_proved(LEDGER, Claim(proved=False))


def test_a_plan_is_the_one_of_its_weightings() -> None:
    check_weightings(AGREEMENT, LEDGER, Claim(found_for=[([0, 1], ["3:1", "1:1"]), ([1, 0], [])]))
    for plan, weighting in (([0, 1], "1:3"), ([1, 0], "1:1"), ([0, 1], "2:1")):
        with pytest.raises(LogError, match=f"another plan for the weighting {weighting}"):
            check_weightings(AGREEMENT, LEDGER, Claim(found_for=[(plan, [weighting])]))


def test_gaps_are_those_that_were_opened() -> None:
    pay = SimpleNamespace(scale=10)
    one = cast(Agreement, SimpleNamespace(objectives=[pay]))
    ledger = [OpenedPlan(0, [0, 1], None, [], outcome="feasible", gap=25)]
    check_gaps(one, ledger, Claim(gaps=[2.5]))
    check_gaps(one, ledger, Claim())
    with pytest.raises(LogError, match="what plans lack"):
        check_gaps(one, ledger, Claim(gaps=[0.0]))
    several = cast(Agreement, SimpleNamespace(objectives=[pay, pay]))
    check_gaps(several, ledger, Claim(gaps=[25]))
