"""Who begins with a grown plan, simulated, and whose time it is."""

from __future__ import annotations

import pytest

from tacit.engine.derived import KnownTime, fitted_start
from tacit.problems import Problem, generate_assignment, generate_named
from tacit.runs import Limits, sealed_settings, solve, with_disclosures
from tacit.runs.sealed.driver import LEAST_SECONDS, SealedDriver
from tacit.runs.sealed.searching import SimulatedSealedSearch
from tacit.search.moves import SealedParameters, fitted_parameters
from tests.runs.clock import DrivenClock

SPARSE = generate_named("sparse", 7, rows=100)
GROWN = SealedParameters(block=4, start="grown")


@pytest.mark.parametrize(
    ("problem", "time", "changes", "start"),
    [
        (SPARSE, KnownTime(deadline=2), {}, "grown"),
        (SPARSE, KnownTime(deadline=20), {}, "grown"),
        (SPARSE, KnownTime(deadline=0.5), {}, "drawn"),
        (SPARSE, KnownTime(deadline=2, delay=0.01), {}, "drawn"),
        (SPARSE, KnownTime(deadline=20, delay=0.01), {}, "grown"),
        (SPARSE, KnownTime(deadline=5), {}, "drawn"),
        (SPARSE, KnownTime(deadline=5), {"method": "search"}, "grown"),
        (SPARSE, KnownTime(deadline=5), {"finish": "0"}, "grown"),
        (SPARSE, KnownTime(deadline=2), {"start": "drawn"}, "drawn"),
        (SPARSE, None, {"start": "grown"}, "grown"),
        (generate_assignment(1, rows=100), KnownTime(deadline=2), {}, "drawn"),
        (generate_named("slots", 1, rows=30, columns=45), KnownTime(deadline=2), {}, "drawn"),
    ],
)
def test_a_start_is_grown_where_few_pairs_are_allowed_and_time_is_enough(
    problem: Problem, time: KnownTime | None, changes: dict[str, str], start: str
) -> None:
    settings = sealed_settings(problem, changes, time=time)
    assert isinstance(settings, SealedParameters)
    assert settings.start == start


def test_a_grown_start_is_better_than_what_a_search_finds() -> None:
    problem = generate_named("sparse", 7, rows=30)
    grown, drawn = (
        solve(
            problem,
            disclose="sealed",
            settings=SealedParameters(block=8, start=start),
            limits=Limits(generations=20),
            engine="simulated",
            seed=1,
        ).percent_of_optimum
        for start in ("grown", "drawn")
    )
    assert grown is not None
    assert drawn is not None
    assert grown < 106 < drawn


@pytest.mark.parametrize(
    ("took", "left"), [(3.0, 7.0), (9.9, LEAST_SECONDS), (60.0, LEAST_SECONDS)]
)
def test_the_time_that_nodes_take_to_grow_a_start_counts(
    took: float, left: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = DrivenClock(monkeypatch)
    problem = with_disclosures(generate_named("sparse", 7, rows=12), "sealed", "value")
    twin = SimulatedSealedSearch(problem, GROWN, (1,), seed=1, stream=0)
    driver = SealedDriver(problem, [twin], Limits(deadline=10), GROWN, [(1,)])
    driver.begun = clock.now - took
    driver.start()
    assert driver._end is not None
    assert driver._end - clock.now == pytest.approx(left)


@pytest.mark.parametrize(
    ("rows", "deadline", "delay", "start"),
    [
        (30, 20.0, 0.05, "grown"),  # the network takes 13 s of it
        (30, 17.0, 0.05, "drawn"),
        (100, 20.0, 0.05, "drawn"),  # 22 s would be late
        (300, 2.0, 0.0, "grown"),
        (300, 1.5, 0.0, "drawn"),  # busy nodes take 1.35 s
    ],
)
def test_a_start_is_grown_where_its_rounds_fit(
    rows: int, deadline: float, delay: float, start: str
) -> None:
    problem = generate_named("sparse", 501, rows=rows)
    known = KnownTime(deadline=deadline, delay=delay)
    assert fitted_start(problem, fitted_parameters(problem), [(1,)], known).start == start
