"""The exact solver on real nodes: the twin's plan, and what is proved of it."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tacit.engine.agreement.exact import ForestCourse
from tacit.engine.agreement.sealed import course_of, pin_sealed
from tacit.engine.coordinator.sealed_search import Opened, SealedSearch
from tacit.engine.local.cluster import LocalCluster
from tacit.errors import MpcError, RefusedError
from tacit.mpc import held_by
from tacit.problems import Assignment, Objective, Problem
from tacit.runs import EngineChoice, Limits, solve
from tacit.runs.sealed.exact import SimulatedExact
from tacit.runs.sealed.searching import SealedPlan
from tacit.search.moves import ExactParameters
from tests.engine.agreed_cluster import AgreedCluster, run
from tests.engine.sealed_agreed_cluster import SEVEN, begin, draft, sealed
from tests.support.mending import mend

pytestmark = pytest.mark.processes
SETTINGS = ExactParameters(phases=9)


def impossible() -> Problem:
    """Two rows may have one column alone, the same."""
    weights = np.random.default_rng(5).integers(0, 99, (4, 4))
    forbidden = np.zeros((4, 4), dtype=bool)
    forbidden[:2, 1:] = True
    return Assignment(
        name="too few",
        rows=4,
        columns=4,
        objectives=(Objective("pay", weights),),
        forbidden=forbidden,
        proven=True,
    )


def exact(
    cluster: LocalCluster,
    problem: Problem,
    best: str = "value",
    evaluations: int = SETTINGS.phases,
) -> AgreedCluster:
    pinned = pin_sealed(SETTINGS)
    return draft(cluster, sealed(problem, best), search=pinned, evaluations=evaluations)


def twin(agreed: AgreedCluster, seed: int, phases: int) -> SealedPlan:
    course = course_of(agreed.agreement, 0, seed=seed)
    assert isinstance(course, ForestCourse)
    clear = SimulatedExact(agreed.problem, course, [(1,)])
    clear.advance(phases, phases, until=None)
    return clear.open(until=None)


def phases_of_a_proof(agreed: AgreedCluster, seed: int) -> int:
    """After how many phases the twin has proved its plan, which depends on the tie-breaks."""
    every = range(1, SETTINGS.phases + 1)
    return next(count for count in every if twin(agreed, seed, count).outcome == "optimum")


def same(agreed: AgreedCluster, search: SealedSearch, opened: Opened, phases: int) -> None:
    clear = twin(agreed, search.seed, phases)
    assert (opened.plan, opened.value, opened.outcome) == (clear.plan, clear.value, clear.outcome)


@pytest.mark.parametrize("name", SEVEN)
def test_three_nodes_find_the_plan_of_the_twin(cluster: LocalCluster, name: str) -> None:
    agreed = exact(cluster, SEVEN[name]())

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            needed = phases_of_a_proof(agreed, search.seed)
            await search.advance(1, 9, until=None)
            if needed > 1:
                await search.advance(needed - 1, 9, until=None)
            opened = await search.open(until=None)
            assert opened.outcome == "optimum"
            same(agreed, search, opened, needed)

    run(work())


def test_four_nodes_find_it_too_and_say_what_is_not_proved(four: LocalCluster) -> None:
    agreed = exact(four, SEVEN["balanced"](), best="nothing")

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            await search.advance(1, 9, until=None)
            opened = await search.open(until=None)
            assert (opened.outcome, opened.value) == ("feasible", None)
            same(agreed, search, opened, 1)

    run(work())


def test_where_every_plan_is_forbidden_none_is_opened(cluster: LocalCluster) -> None:
    agreed = exact(cluster, impossible())

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            await search.advance(4, 9, until=None)
            opened = await search.open(until=None)
            assert (opened.outcome, opened.plan, opened.value) == ("infeasible", [], None)
            course = course_of(agreed.agreement, 0, seed=0)
            assert isinstance(course, ForestCourse)
            components: dict[int, np.ndarray] = {}
            for node, each in enumerate(opened.parts):
                for _, held in each:  # none of a node that was late, which two can do without
                    for c, part in zip(held_by(node, 3), held, strict=True):
                        components[c] = np.frombuffer(part, course.shape.word)
            whole = sum(components.values(), np.zeros(6, dtype=course.shape.word))
            assert whole.tolist() == [0, 1, 0, 0, 0, 0]

    run(work())


def test_a_killed_node_comes_back_to_the_phase_before(own_cluster: LocalCluster) -> None:
    agreed = exact(own_cluster, SEVEN["balanced"]())

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            await search.advance(2, 9, until=None)
            own_cluster.kill(1)
            with pytest.raises(MpcError):
                await search.advance(1, 9, until=time.monotonic() + 1)
            mend(own_cluster)
            await search.advance(1, 9, until=time.monotonic() + 40)
            same(agreed, search, await search.open(until=None), 3)

    run(work())


def test_there_are_no_more_phases_than_agreed(cluster: LocalCluster) -> None:
    agreed = exact(cluster, SEVEN["balanced"](), evaluations=3)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            with pytest.raises(RefusedError, match="generations"):
                await search.advance(4, 4, until=None)

    run(work())


def test_only_its_owners_get_it(four: LocalCluster) -> None:
    found = solve(
        SEVEN["balanced"](),
        disclose="sealed",
        limits=Limits(deadline=60),
        settings=ExactParameters(phases=3),
        engine=EngineChoice(cluster=four.folder / "cluster.toml", plan="owners"),
    )
    assert found.proved
    assert found.percent_of_optimum == 100
