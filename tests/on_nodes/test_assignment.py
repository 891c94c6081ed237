"""Sealed assignments on real nodes: the states of the twin, and a plan that is proved."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tacit.coordinator.sealed_search import OpenedByNodes, SealedSearch
from tacit.errors import MpcError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.mpc.assignment import iterations, minima, proof
from tacit.mpc.epoch import greeting_cost
from tacit.problems import Problem
from tacit.runs import EngineChoice, Limits, solve
from tacit.search import weighted_values
from tacit.search.moves import AssignmentParameters
from tests.on_nodes.agreed_cluster import SOON_THREE, AgreedCluster, run
from tests.on_nodes.sealed_agreed_cluster import (
    PROBLEMS,
    assignment_group,
    assignment_twin,
    begin,
    draft,
    sealed,
    wide_costs,
    with_decimals,
)
from tests.on_nodes.test_loss import back
from tests.support.mending import mend

pytestmark = pytest.mark.processes
KINDS = ["balanced", "imbalanced", "forbidden", "capacitated"]
ENOUGH = AssignmentParameters(generations=2, iterations=14)
"""Twice as many iterations as the largest of the problems has places."""


def best_value(problem: Problem) -> int:
    """The optimum, from another solver."""
    values = weighted_values(problem, (1,)).astype(float)
    if problem.forbidden is not None:
        values[problem.forbidden] = -1e12
    values = values[:, problem.sealed_items]
    rows, columns = linear_sum_assignment(values, maximize=True)
    return int(values[rows, columns].sum())


async def follow(
    agreed: AgreedCluster, search: SealedSearch, batches: list[int]
) -> tuple[OpenedByNodes, int]:
    """Go on in batches, compare every state with the twin's, and open the plan."""
    clear = assignment_twin(agreed, search.seed)
    clear.check_state(agreed)
    for count in batches:
        await search.advance(count, sum(batches), until=None)
        clear.advance(count)
        clear.check_state(agreed)
    opened = await search.open(until=None)
    assert (opened.plan, opened.outcome) == (clear.plan(), clear.outcome)
    assert opened.value in (None, clear.value)
    agreed.problem.check_plan(opened.plan)
    return opened, clear.value


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("name", KINDS)
def test_three_nodes_have_the_states_of_the_twin_and_prove_the_optimum(
    cluster: LocalCluster, name: str, lag: int
) -> None:
    problem = sealed(PROBLEMS[name](), "value")
    agreed = draft(cluster, problem, replace(ENOUGH, lag=lag))

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            # The second batch has a generation of the descent and two iterations.
            opened, _ = await follow(agreed, search, [1, 3, 1, 11])
            assert (opened.outcome, opened.value) == ("optimum", best_value(problem))

    run(work())


@pytest.mark.parametrize(("name", "lag"), [("balanced", 1), ("forbidden", 0)])
def test_four_nodes_have_them_too(four: LocalCluster, name: str, lag: int) -> None:
    problem = sealed(PROBLEMS[name]())
    agreed = draft(four, problem, replace(ENOUGH, lag=lag))

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            opened, value = await follow(agreed, search, [2, 2, 12])
            assert (opened.outcome, opened.value, value) == ("optimum", None, best_value(problem))

    run(work())


@pytest.mark.parametrize("problem", [with_decimals(), wide_costs()], ids=lambda each: each.name)
def test_decimals_and_words_of_64_bits(cluster: LocalCluster, problem: Problem) -> None:
    agreed = draft(cluster, sealed(problem, "value"), ENOUGH)
    group = assignment_group(agreed.agreement)
    assert group.shape.word == (np.uint64 if problem.name == "wide" else np.uint32)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            opened, _ = await follow(agreed, search, [16])
            assert (opened.outcome, opened.value) == ("optimum", best_value(problem))

    run(work())


def test_a_public_start_is_a_plan_of_allowed_pairs_and_can_be_opened(
    cluster: LocalCluster,
) -> None:
    problem = sealed(PROBLEMS["forbidden"]())
    agreed = draft(cluster, problem)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            opened, _ = await follow(agreed, search, [])
            assert opened.outcome == "feasible"

    run(work())
    group = assignment_group(agreed.agreement)
    assert group.start is not None
    problem.check_plan([group.layout.columns[place] for place in group.start[: problem.rows]])


def test_rounds_and_bytes_are_those_declared(four: LocalCluster) -> None:
    agreed = draft(four, sealed(PROBLEMS["balanced"]()), ENOUGH)
    group = assignment_group(agreed.agreement)

    async def work() -> tuple[int, int]:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            await search.advance(2, 16, until=None)
            await search.advance(3, 16, until=None)
            return search.rounds, search.sent

    shape = group.shape
    cost = greeting_cost(4, minima.letters_of_paid(4, shape))
    cost = cost.then(iterations.cost_of_iterations(4, shape, count=3))
    cost = cost.then(proof.cost_of_end(4, shape))
    assert run(work()) == (cost.rounds, max(cost.sent))


def test_a_killed_node_and_a_new_coordinator_change_nothing(own_cluster: LocalCluster) -> None:
    """A node is killed in the descent and in the iterations; then another coordinator goes on."""
    agreed = draft(own_cluster, sealed(PROBLEMS["balanced"]()), replace(ENOUGH, lag=1))

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            clear = assignment_twin(agreed, search.seed)
            for node, count in ((1, 1), (2, 4)):
                own_cluster.kill(node)
                with pytest.raises(MpcError):
                    await search.advance(count, 16, until=time.monotonic() + 1)
                mend(own_cluster)
                await search.advance(count, 16, until=time.monotonic() + 60)
                clear.advance(count)
                clear.check_state(agreed)
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=60)
            again = SealedSearch(coordinator, 0)
            await again.start(until=None)
            assert again.step == 5
            await again.advance(11, 16, until=None)
            clear.advance(11)
            clear.check_state(agreed)
            opened = await again.open(until=None)
            assert (opened.plan, opened.outcome) == (clear.plan(), "optimum")

    run(work())


def test_a_node_that_is_back_gets_its_share_of_the_state(four: LocalCluster) -> None:
    agreed = draft(four, sealed(PROBLEMS["imbalanced"]()), ENOUGH, **SOON_THREE)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            clear = assignment_twin(agreed, search.seed)
            await search.advance(3, 16, until=None)
            four.kill(1)
            by_three = await search.advance(4, 16, until=time.monotonic() + 60)
            assert by_three.without == 1
            four.restart(1)
            await back(coordinator)
            by_all = await search.advance(4, 16, until=time.monotonic() + 60)
            assert (by_all.without, by_all.unchecked) == (None, True)
            clear.advance(11)
            clear.check_state(agreed)
            opened = await search.open(until=time.monotonic() + 60)
            assert (opened.plan, opened.outcome) == (clear.plan(), clear.outcome)

    run(work())


def test_there_are_no_more_steps_than_agreed(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["balanced"]()), AssignmentParameters(iterations=3))

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            with pytest.raises(RefusedError, match="allows 3"):
                await search.advance(4, 4, until=None)

    run(work())


@pytest.mark.parametrize("name", ["balanced", "forbidden"])
def test_only_its_owners_get_it(four: LocalCluster, name: str) -> None:
    problem = PROBLEMS[name]()
    found = solve(
        problem,
        disclose="sealed",
        limits=Limits(deadline=60),
        engine=EngineChoice(cluster=four.folder / "cluster.toml", plan="owners"),
    )
    assert found.proved
    assert found.percent_of_optimum == 100
