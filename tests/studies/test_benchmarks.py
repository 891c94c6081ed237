"""Benchmarks on cases that take no time: what judges plans, counts steps and prints tables."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs
from studies.benchmarks import adversarial, families_on_nodes
from studies.benchmarks.adversarial_costs import FAMILIES, instance
from studies.benchmarks.families_on_nodes import Content, Run
from studies.benchmarks.steps_in_time import fitted, steps_within

from tacit.problems import generate_assignment
from tacit.runs import Result


@pytest.mark.parametrize("family", FAMILIES)
def test_a_plan_of_an_adversarial_family_is_proved(family: str) -> None:
    expected = "refused" if family == "no plan" else "proved"
    for size, delay in ((9, 0.0), (10, 0.05)):
        assert adversarial.run_of(family, size, 1, delay).outcome == expected


@pytest.mark.parametrize("is_proved", [True, False])
def test_a_plan_that_is_not_the_optimum_is_noticed(
    monkeypatch: pytest.MonkeyPatch, *, is_proved: bool
) -> None:
    solve = vars(adversarial)["solve"]

    def wrong(*arguments: Any, **named: Any) -> Result:
        found: Result = solve(*arguments, **named)
        return structs.replace(found, plan=found.plan[::-1], proved=is_proved)

    monkeypatch.setattr(adversarial, "solve", wrong)
    outcome = adversarial.run_of("planted by one", 9, 1).outcome
    assert outcome == ("WRONG" if is_proved else "worse")


def test_a_plan_that_is_not_feasible_is_noticed() -> None:
    asked = instance("full capacities", 8, 1)
    assert adversarial.is_feasible(asked, [0, 1, 0, 1, 0, 1, 0, 1])
    assert not adversarial.is_feasible(asked, [0, 0, 0, 0, 0, 1, 1, 1])
    band = instance("band", 8, 1)
    assert adversarial.is_feasible(band, list(range(8)))
    assert not adversarial.is_feasible(band, [7, 1, 2, 3, 4, 5, 6, 0])


def test_more_time_is_for_more_steps() -> None:
    problem = generate_assignment(1)
    parameters = fitted(problem, 60)
    steps = [steps_within(problem, parameters, seconds, slower=3) for seconds in (1, 2, 4, 8, 60)]
    assert steps == sorted(steps)
    assert steps[0] < steps[-1] == parameters.steps
    assert steps_within(problem, parameters, 4, slower=3, delay=0.01) < steps[2]


def test_a_table_has_median_worst_and_proofs_of_each_deadline() -> None:
    def run(seed: int, percent: float | None, *, is_proved: bool) -> Run:
        return Run("ap", 9, 2.0, seed, percent, is_proved, 1.0, 20)

    runs = (
        run(1, 100.0, is_proved=True),
        run(2, 98.0, is_proved=False),
        run(3, 99.5, is_proved=False),
    )
    *_, row = families_on_nodes.table(Content(2, 0.1, runs))
    assert row == "| ap, 9 rows on nodes | 99.5, worst 98.0 (1 of 3) |"
    *_, row = families_on_nodes.table(Content(2, 0.1, (*runs, run(4, None, is_proved=False))))
    assert row == "| ap, 9 rows on nodes | 1 of 4 without a feasible plan |"
