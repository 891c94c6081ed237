"""What a plan may lack to the optimum is opened with it, where that is agreed."""

from __future__ import annotations

import msgspec
import pytest

from tacit.engine.agreement.exact import ForestCourse
from tacit.engine.agreement.sealed import course_of, pin_sealed
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.records.ledger import OpenedPlan
from tacit.errors import AgreementError, LogError
from tacit.runs import EngineChoice, Limits, solve
from tacit.runs.sealed.exact import SimulatedExact
from tacit.search.moves import ExactParameters, SealedParameters
from tacit.verify.sealed.opened import check_opened
from tests.engine.agreed_cluster import run
from tests.engine.sealed_agreed_cluster import SEVEN, begin, draft, sealed

pytestmark = pytest.mark.processes
SETTINGS = ExactParameters(phases=6, gap=4)


def test_three_nodes_open_the_gap_of_the_twin(cluster: LocalCluster) -> None:
    problem = sealed(SEVEN["balanced"](), "value")
    agreed = draft(cluster, problem, search=pin_sealed(SETTINGS), evaluations=6)

    async def work() -> OpenedPlan:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            await search.advance(1, 6, until=None)
            opened = await search.open(until=None)
            course = course_of(agreed.agreement, 0, seed=search.seed)
            assert isinstance(course, ForestCourse)
            clear = SimulatedExact(agreed.problem, course, [(1,)])
            clear.advance(1, 6, until=None)
            twin = clear.open(until=None)
            assert twin.gap in course.ladder
            assert (opened.plan, opened.gap, opened.value) == (twin.plan, twin.gap, twin.value)
            assert opened.outcome == "feasible"
            return OpenedPlan(
                0, opened.plan, opened.value, opened.parts, False, opened.outcome, opened.gap
            )

    entry = run(work())
    logs = [agreed.log(node) for node in range(3)]
    assert "only the plan was opened" in check_opened(agreed.agreement, logs, [entry])
    with pytest.raises(LogError, match="another plan than the ledger says"):
        check_opened(agreed.agreement, logs, [msgspec.structs.replace(entry, gap=0)])


def test_four_nodes_open_it_after_a_search_to_owners_too(four: LocalCluster) -> None:
    found = solve(
        SEVEN["balanced"](),
        disclose="sealed",
        limits=Limits(generations=3),
        settings=SealedParameters(block=4, finish=4, gap=10),
        engine=EngineChoice(cluster=four.folder / "cluster.toml", plan="owners"),
    )
    assert found.proved
    assert found.gaps == [0]


def test_a_search_alone_has_no_gap(cluster: LocalCluster) -> None:
    with pytest.raises(AgreementError, match="does not know what its plan lacks"):
        draft(
            cluster,
            sealed(SEVEN["balanced"]()),
            search=pin_sealed(SealedParameters(gap=2)),
            evaluations=6,
        )
