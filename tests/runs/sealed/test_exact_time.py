"""The exact solver's schedule follows from the deadline, and from nothing that is secret."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.engine.derived import KnownTime
from tacit.problems import generate_assignment, generate_named
from tacit.runs import sealed_settings, solve
from tacit.search.moves import ExactParameters

EXACT = {"method": "exact"}
HUNDRED = generate_assignment(1, rows=100)


def chosen(time: KnownTime | None, **changes: Any) -> ExactParameters:
    settings = sealed_settings(HUNDRED, {**EXACT, **changes}, time=time)
    assert isinstance(settings, ExactParameters)
    return settings


@pytest.mark.parametrize(
    ("time", "scaling", "phases"),
    [
        (None, False, 12),
        (KnownTime(deadline=None), False, 12),
        (KnownTime(deadline=1), False, 12),
        (KnownTime(deadline=15), False, 33),
        (KnownTime(deadline=20), True, 12),
        (KnownTime(deadline=1000), True, 48),
        (KnownTime(deadline=15, nodes=4), False, 27),
        (KnownTime(deadline=20, delay=0.01), False, 12),
        (KnownTime(deadline=1000, steps=100), True, 28),
        (KnownTime(deadline=1000, steps=50), False, 50),
    ],
)
def test_a_schedule_is_as_long_as_fits(time: KnownTime | None, scaling: bool, phases: int) -> None:
    settings = chosen(time)
    assert (settings.scaling, settings.phases) == (scaling, phases)


@pytest.mark.parametrize(
    "changes", [{"phases": 12}, {"steps": 12}, {"scaling": False}, {"checkpoints": "6:8"}]
)
def test_what_is_named_stands(changes: dict[str, Any]) -> None:
    settings = chosen(KnownTime(deadline=1000), **changes)
    assert (settings.scaling, settings.phases) == (False, 12)


def test_given_settings_stand() -> None:
    time = KnownTime(deadline=1000)
    assert sealed_settings(HUNDRED, {}, ExactParameters(), time=time) == ExactParameters()


def test_structured_costs_are_proved_where_there_is_time() -> None:
    problem = generate_named("low-rank", 3, rows=30)
    usual = solve(problem, disclose="sealed", settings=ExactParameters(), engine="simulated")
    longer = sealed_settings(problem, EXACT, time=KnownTime(deadline=20))
    assert not usual.proved
    assert solve(problem, disclose="sealed", settings=longer, engine="simulated").proved
