"""Several weightings in the same messages, on real nodes."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.sealed_search import OpenedByNodes, SealedSearch
from tacit.errors import MpcError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.mpc.assignment import descent, iterations, proof
from tacit.mpc.epoch import greeting_cost
from tacit.problems import generate_assignment
from tacit.records import Disclosed
from tacit.records.events import BuiltOnThree, PlanDecided
from tacit.records.messages import Advance
from tacit.runs import EngineChoice, Limits, SolveSettings, solve
from tacit.search.moves import AssignmentParameters
from tacit.verify.disclosed import check_disclosed
from tacit.verify.sealed import check_generations_asked
from tests.on_nodes.agreed_cluster import SOON_THREE, AgreedCluster, ask, run
from tests.on_nodes.ballots import open_at
from tests.on_nodes.sealed_agreed_cluster import (
    AssignmentTwin,
    assignment_group,
    assignment_twin,
    draft,
    sealed,
)
from tests.support.mending import mend

pytestmark = pytest.mark.processes
WEIGHTINGS = [(0, 1), (1, 3), (1, 1), (3, 1), (1, 0)]
SETTINGS = AssignmentParameters(generations=2, iterations=18, together=3)
GROUPS = [(0, 1), (2, 3, 4)]
Twins = dict[int, AssignmentTwin]


def agreed_on(cluster: LocalCluster, **changes: object) -> AgreedCluster:
    problem = sealed(generate_assignment(3, rows=6, objectives=2), "value")
    agreed = draft(cluster, problem, SETTINGS, weightings=WEIGHTINGS, **changes)
    assert [each.searches for each in agreed.agreement.sealed_run.groups] == GROUPS
    return agreed


async def begun(
    agreed: AgreedCluster, coordinator: Coordinator
) -> tuple[list[SealedSearch], Twins]:
    """Both groups, and the twin of each weighting."""
    await coordinator.start(agreed.signatures, agreed.sealed(), within=20)
    searches, twins = [SealedSearch(coordinator, group[0]) for group in GROUPS], {}
    for each in searches:
        await each.start(until=None)
        for number in each.searches:
            twins[number] = assignment_twin(agreed, each.seed, number, group=each.searches[0])
    return searches, twins


async def opened(search: SealedSearch, twins: Twins, steps: int) -> dict[int, OpenedByNodes]:
    """The plans of a group, which are the twins'."""
    found = {}
    for number in search.searches:
        clear = twins[number]
        clear.advance(steps - clear.clear.step)
        plan = await search.open(number, until=None)
        assert (plan.plan, plan.value, plan.outcome) == (clear.plan(), clear.value, clear.outcome)
        found[number] = plan
    return found


def test_a_killed_node_comes_back_to_the_step_before(own_cluster: LocalCluster) -> None:
    agreed = agreed_on(own_cluster)

    async def work() -> list[Disclosed]:
        async with agreed.coordinator() as coordinator:
            (first, second), twins = await begun(agreed, coordinator)
            await first.advance(20, 20, until=None)
            plans = await opened(first, twins, 20)
            await second.advance(5, 20, until=None)
            own_cluster.kill(1)
            with pytest.raises(MpcError):
                await second.advance(15, 20, until=time.monotonic() + 1)
            mend(own_cluster)
            await second.advance(15, 20, until=time.monotonic() + 90)
            plans |= await opened(second, twins, 20)
            for number in second.searches:
                twins[number].check_state(agreed, group=second.searches[0])
            return [each.entry for each in plans.values()]

    ledger = run(work())
    outcomes = [getattr(entry.payload, "outcome", None) for entry in ledger]
    assert outcomes == ["optimum"] * 5
    logs = [agreed.log(node) for node in range(3)]
    assert "only 5 plans were opened, as 15 parts" in check_disclosed(
        agreed.agreement, logs, ledger
    )
    assert check_generations_asked(logs) == 40


def test_rounds_and_bytes_are_those_declared_for_the_group(cluster: LocalCluster) -> None:
    agreed = agreed_on(cluster)
    group = assignment_group(agreed.agreement, 2)
    shape, blocks = group.shape, group.descent
    assert shape.weightings == 3

    async def work() -> tuple[int, int]:
        async with agreed.coordinator() as coordinator:
            (_, second), _ = await begun(agreed, coordinator)
            await second.advance(1, 20, until=None)
            await second.advance(3, 20, until=None)
            return second.rounds, second.sent

    # One generation of the descent is left, then two iterations.
    cost = greeting_cost(3, descent.first_letters(3, blocks.generation(2), shape.word))
    cost = cost.then(
        descent.cost_of_generations(
            3,
            shape,
            blocks.generation(2),
            bits=blocks.key_bits,
            count=1,
            levels=blocks.levels,
        )
    )
    cost = cost.then(iterations.cost_of_iterations(3, shape, count=2))
    cost = cost.then(proof.cost_of_end(3, shape))
    assert run(work()) == (cost.rounds, max(cost.sent))


def test_four_nodes_hand_the_state_of_a_group_over(four: LocalCluster) -> None:
    agreed = agreed_on(four, **SOON_THREE)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            (_, search), twins = await begun(agreed, coordinator)
            await search.advance(3, 20, until=None)
            four.kill(2)
            by_three = await search.advance(2, 20, until=time.monotonic() + 60)
            assert by_three.without == 2
            mend(four)
            until = time.monotonic() + 60
            while coordinator.loss.without is not None and time.monotonic() < until:
                coordinator.end_epoch()
                with suppress(RefusedError):  # while not all know that it is back
                    await coordinator.persist(coordinator.epoch, until=until)
            by_all = await search.advance(3, 20, until=time.monotonic() + 60)
            assert by_all.without is None
            await opened(search, twins, 8)

    run(work())
    assert len(agreed.events(2, BuiltOnThree)) == 1


def test_a_group_is_bound_as_one_and_asked_for_by_its_first(cluster: LocalCluster) -> None:
    agreed = agreed_on(cluster)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            (first, _), twins = await begun(agreed, coordinator)
            await first.advance(1, 20, until=None)
            before = first._last
            await first.advance(1, 20, until=None)
            await first.open(1, until=None)
            # Search 0 goes on with search 1, so its plan is of the same step.
            for client in coordinator.clients:
                with pytest.raises(RefusedError, match="another plan"):
                    await open_at(coordinator, client.number, before)
            with pytest.raises(RefusedError, match="its end"):
                await first.advance(1, 20, until=None)
            alone = Advance(
                agreement=coordinator.hash,
                search=1,
                first=2,
                count=1,
                horizon=20,
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
            await opened(again, twins, 2)

    run(work())
    decided = [(each.searches, each.attempt.number) for each in agreed.events(0, PlanDecided)]
    assert decided == [([0, 1], 2)]


@pytest.mark.parametrize(("together", "groups"), [(3, GROUPS), (1, [(k,) for k in range(5)])])
def test_solve_opens_a_plan_for_each_weighting(
    cluster: LocalCluster, together: int, groups: list[tuple[int, ...]]
) -> None:
    found = solve(
        sealed(generate_assignment(3, rows=6, objectives=2)),
        limits=Limits(deadline=120),
        settings=SolveSettings(
            parameters=AssignmentParameters(iterations=15, together=together), weightings=WEIGHTINGS
        ),
        engine=EngineChoice(cluster=cluster.folder / "cluster.toml"),
    )
    assert found.proved
    alone = [[k] for k in range(5)]
    assert found.parameters.get("groups", alone) == [list(group) for group in groups]
    assert len(found.best_known.plans) == 5
