"""What a plan may lack to the optimum is opened with it, where that is agreed."""

from __future__ import annotations

import pytest

from tacit.errors import LogError
from tacit.local.cluster import LocalCluster
from tacit.records.ledger import Disclosed
from tacit.runs import EngineChoice, Limits, solve
from tacit.search.moves import AssignmentParameters
from tacit.verify.disclosed import check_disclosed
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.entries import lying
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, assignment_twin, begin, draft, sealed

pytestmark = pytest.mark.processes


def test_three_nodes_open_the_gap_of_the_twin(cluster: LocalCluster) -> None:
    problem = sealed(PROBLEMS["forbidden"](), "value")
    agreed = draft(cluster, problem, AssignmentParameters(iterations=6, gap=4))

    async def work() -> Disclosed:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            clear = assignment_twin(agreed, search.seed)
            await search.advance(2, 6, until=None)
            opened = await search.open(until=None)
            clear.advance(2)
            assert clear.clear.gap in clear.clear.group.ladder[1:]
            assert (opened.plan, opened.gap, opened.value) == (
                clear.plan(),
                clear.clear.gap,
                clear.value,
            )
            assert opened.outcome == "feasible"
            return opened.entry

    entry = run(work())
    logs = [agreed.log(node) for node in range(3)]
    assert "only the plan was opened" in check_disclosed(agreed.agreement, logs, [entry])
    with pytest.raises(LogError, match="disclosed something else"):
        check_disclosed(agreed.agreement, logs, [lying(entry, gap=0)])


def test_before_the_first_iteration_nothing_is_said_of_the_gap(cluster: LocalCluster) -> None:
    """Its bound is then the largest that there can be."""
    agreed = draft(
        cluster,
        sealed(PROBLEMS["balanced"]()),
        AssignmentParameters(generations=2, iterations=6, gap=4),
    )

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            clear = assignment_twin(agreed, search.seed)
            await search.advance(2, 8, until=None)
            clear.advance(2)
            opened = await search.open(until=None)
            assert (opened.plan, opened.gap) == (clear.plan(), clear.clear.gap)
            assert opened.gap == clear.clear.group.ladder[-1]

    run(work())


def test_four_nodes_open_it_with_a_plan_for_its_owners_too(four: LocalCluster) -> None:
    found = solve(
        PROBLEMS["balanced"](),
        disclose="sealed",
        limits=Limits(generations=50),
        settings=AssignmentParameters(gap=10),
        engine=EngineChoice(cluster=four.folder / "cluster.toml", plan="owners"),
    )
    assert found.proved
    assert found.gaps == [0]
