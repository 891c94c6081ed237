"""Exact solutions of several weightings in the same messages, on real nodes."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from tacit.engine.agreement.exact import ForestCourse
from tacit.engine.agreement.sealed import course_of, courses_of, groups_of, pin_sealed
from tacit.engine.coordinator.coordinator import Coordinator
from tacit.engine.coordinator.sealed_search import Opened, SealedSearch
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.records import OpenedPlan
from tacit.engine.records.events import BuiltOnThree, PlanBound
from tacit.engine.wire.messages import Advance, OpenPlan
from tacit.errors import MpcError, RefusedError
from tacit.mpc.epoch import greeting_cost
from tacit.mpc.forest import outcome, phases
from tacit.problems import generate_assignment
from tacit.runs import EngineChoice, Limits, SolveSettings, solve
from tacit.runs.sealed.exact import SimulatedExact
from tacit.search.moves import ExactParameters
from tacit.verify.sealed.generations import check_generations_asked
from tacit.verify.sealed.opened import check_opened
from tests.engine.agreed_cluster import AgreedCluster, ask, run
from tests.engine.sealed_agreed_cluster import draft, sealed
from tests.support.mending import mend

pytestmark = pytest.mark.processes
WEIGHTINGS = [(0, 1), (1, 3), (1, 1), (3, 1), (1, 0)]
SETTINGS = ExactParameters(phases=5, together=3)
GROUPS = [(0, 1), (2, 3, 4)]


def exact(cluster: LocalCluster, **changes: object) -> AgreedCluster:
    problem = sealed(generate_assignment(3, rows=6, objectives=2), "value")
    pinned = pin_sealed(SETTINGS, WEIGHTINGS)
    agreed = draft(cluster, problem, search=pinned, evaluations=SETTINGS.phases, **changes)
    assert groups_of(agreed.agreement) == GROUPS
    return agreed


async def begun(agreed: AgreedCluster, coordinator: Coordinator) -> list[SealedSearch]:
    await coordinator.start(agreed.signatures, agreed.sealed(), within=20)
    searches = [SealedSearch(coordinator, group[0]) for group in GROUPS]
    for each in searches:
        await each.start(until=None)
    return searches


async def opened(agreed: AgreedCluster, search: SealedSearch, phases: int) -> dict[int, Opened]:
    """The plans of a group, which are the twin's."""
    course = course_of(agreed.agreement, search.searches[0], seed=search.seed)
    assert isinstance(course, ForestCourse)
    clear = SimulatedExact(agreed.problem, course, WEIGHTINGS)
    clear.advance(phases, phases, until=None)
    found = {}
    for number in search.searches:
        plan, twin = await search.open(number, until=None), clear.open(number, until=None)
        assert (plan.plan, plan.value, plan.outcome) == (twin.plan, twin.value, twin.outcome)
        found[number] = plan
    return found


def test_a_killed_node_comes_back_to_the_phase_before(own_cluster: LocalCluster) -> None:
    agreed = exact(own_cluster)

    async def work() -> list[OpenedPlan]:
        async with agreed.coordinator() as coordinator:
            first, second = await begun(agreed, coordinator)
            await first.advance(5, 5, until=None)
            plans = await opened(agreed, first, 5)
            await second.advance(2, 5, until=None)
            own_cluster.kill(1)
            with pytest.raises(MpcError):
                await second.advance(3, 5, until=time.monotonic() + 1)
            mend(own_cluster)
            await second.advance(3, 5, until=time.monotonic() + 90)
            plans |= await opened(agreed, second, 5)
            return [
                OpenedPlan(k, each.plan, each.value, each.parts, each.unchecked, each.outcome)
                for k, each in plans.items()
            ]

    ledger = run(work())
    assert [plan.outcome for plan in ledger] == ["optimum"] * 5
    logs = [agreed.log(node) for node in range(3)]
    assert "only 5 plans were opened, as 15 parts" in check_opened(agreed.agreement, logs, ledger)
    assert check_generations_asked(logs) == 10


def test_rounds_and_bytes_are_those_declared_for_the_group(cluster: LocalCluster) -> None:
    agreed = exact(cluster)
    course = courses_of(agreed.agreement, seed=0)[1]
    assert isinstance(course, ForestCourse)
    made, shape = course.phases[1:3], course.shape
    assert shape.weightings == 3

    async def work() -> tuple[int, int]:
        async with agreed.coordinator() as coordinator:
            _, second = await begun(agreed, coordinator)
            await second.advance(1, 5, until=None)
            await second.advance(2, 5, until=None)
            return second.rounds, second.sent

    cost = greeting_cost(3, phases.first_letters(3, made[0], shape))
    for phase in made:
        cost = cost.then(phases.cost(3, phase, shape))
    cost = cost.then(outcome.cost(3, course.layout, shape))
    assert run(work()) == (cost.rounds, max(cost.sent))


def test_four_nodes_hand_the_state_of_a_group_over(four: LocalCluster) -> None:
    agreed = exact(four, on_loss="three")

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            _, search = await begun(agreed, coordinator)
            await search.advance(1, 5, until=None)
            four.kill(2)
            by_three = await search.advance(1, 5, until=time.monotonic() + 60)
            assert by_three.without == 2
            mend(four)
            until = time.monotonic() + 60
            while coordinator.loss.without is not None and time.monotonic() < until:
                coordinator.end_epoch()
                with suppress(RefusedError):  # while not all know that it is back
                    await coordinator.persist(coordinator.epoch, until=until)
            by_all = await search.advance(3, 5, until=time.monotonic() + 60)
            assert by_all.without is None
            await opened(agreed, search, 5)

    run(work())
    assert len(agreed.events(2, BuiltOnThree)) == 1


def test_a_group_is_bound_as_one_and_asked_for_by_its_first(cluster: LocalCluster) -> None:
    agreed = exact(cluster)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            first, _ = await begun(agreed, coordinator)
            await first.advance(1, 5, until=None)
            before = first._last
            await first.advance(1, 5, until=None)
            await first.open(1, until=None)
            # Search 0 goes on with search 1, so its plan is of the same phase.
            for client in coordinator.clients:
                request = OpenPlan(agreement=coordinator.hash, search=0, attempt=before)
                with pytest.raises(RefusedError, match="another plan"):
                    await ask(client, request)
            with pytest.raises(RefusedError, match="was opened"):
                await first.advance(1, 5, until=None)
            alone = Advance(
                agreement=coordinator.hash,
                search=1,
                first=2,
                count=1,
                horizon=5,
                epoch=await coordinator.epoch(),
                attempt=900,
                parent_attempt=first._last,
            )
            with pytest.raises(RefusedError, match="goes on together with 0"):
                await ask(coordinator.clients[0], alone)
            again = SealedSearch(coordinator, 0)
            coordinator.end_epoch()
            await again.start(until=None)
            assert again.opened
            again.seed = first.seed
            await opened(agreed, again, 2)

    run(work())
    bound = [(event.search, event.attempt.number) for event in agreed.events(0, PlanBound)]
    assert bound == [(0, 2), (1, 2)]


def test_solve_opens_a_plan_for_each_weighting(cluster: LocalCluster) -> None:
    problem = sealed(generate_assignment(3, rows=6, objectives=2))
    found = solve(
        problem,
        limits=Limits(generations=5),
        settings=SolveSettings(parameters=SETTINGS, weightings=WEIGHTINGS),
        engine=EngineChoice(cluster=cluster.folder / "cluster.toml"),
    )
    assert found.proved
    assert found.parameters["groups"] == [list(group) for group in GROUPS]
    assert len(found.best_known.plans) == 5
    assert found.generations == 10
