"""Iterations after which it is agreed to open whether all is proved, on real nodes."""

from __future__ import annotations

import time

import msgspec
import pytest

from tacit.engine.agreement.assignment import AssignmentCourse
from tacit.engine.agreement.sealed import course_of
from tacit.engine.coordinator.sealed_search import Advanced, SealedSearch
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.records.events import FinishedTold
from tacit.engine.records.ledger import FinishedBit, LedgerEntry, OpenedPlan
from tacit.engine.wire.messages import Advance
from tacit.errors import LogError, MpcError, RefusedError, UnprovenError
from tacit.mpc.assignment import checkpoint, iterations, outcome
from tacit.mpc.epoch import greeting_cost
from tacit.runs import EngineChoice, Limits, solve
from tacit.runs.limits import StopReason
from tacit.search.moves import AssignmentParameters
from tacit.verify.sealed.opened import check_opened
from tests.engine.agreed_cluster import AgreedCluster, ask, run
from tests.engine.sealed_agreed_cluster import PROBLEMS, assignment_twin, begin, draft, sealed
from tests.support.mending import mend

pytestmark = pytest.mark.processes
SETTINGS = AssignmentParameters(iterations=20, checkpoints="1:4:5")
"""The problem begins with a public plan, and is proved by its fourth iteration for any seed."""


def agreed_on(cluster: LocalCluster) -> AgreedCluster:
    return draft(cluster, sealed(PROBLEMS["forbidden"]()), SETTINGS)


def entry(done: Advanced) -> FinishedBit:
    assert done.finished is not None
    return FinishedBit(0, done.batch.end, done.request.hex(), done.finished, done.parts)


def test_it_ends_where_all_is_proved_also_after_a_crash(own_cluster: LocalCluster) -> None:
    agreed = agreed_on(own_cluster)

    async def work() -> list[LedgerEntry]:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            clear = assignment_twin(agreed, search.seed)
            first = await search.advance(9, 20, until=None)
            assert (first.batch.end, first.finished) == (1, False)
            own_cluster.kill(1)
            with pytest.raises(MpcError):
                await search.advance(9, 20, until=time.monotonic() + 1)
            mend(own_cluster)
            second = await search.advance(9, 20, until=time.monotonic() + 60)
            assert (second.batch.end, second.finished) == (4, True)
            with pytest.raises(RefusedError, match="all was proved after step 4"):
                await search.advance(1, 20, until=None)
            again = SealedSearch(coordinator, 0)
            coordinator.end_epoch()
            await again.start(until=None)
            assert again.finished
            opened = await search.open(until=None)
            clear.advance(4)
            assert (opened.plan, opened.outcome) == (clear.plan(), "optimum")
            plan = OpenedPlan(0, opened.plan, None, opened.parts, outcome=opened.outcome)
            return [entry(first), entry(second), plan]

    ledger = run(work())
    logs = [agreed.log(node) for node in range(3)]
    report = check_opened(agreed.agreement, logs, ledger)
    assert "2 of 3 agreed times whether all was proved, 1 times yes" in report
    first, second, plan = ledger
    assert isinstance(first, FinishedBit)
    assert isinstance(second, FinishedBit)
    told = agreed.events(0, FinishedTold)
    assert {(event.number, event.finished) for event in told} == {(1, False), (4, True)}
    replace = msgspec.structs.replace
    lies: list[tuple[list[LedgerEntry], str]] = [
        ([first, plan], "after step 4, which the ledger leaves out"),
        ([first, replace(second, finished=False), plan], "another word after step 4"),
        ([first, replace(second, number=2), plan], "another word after step 2"),
        ([first, replace(second, parts=first.parts), plan], "another word after step 4"),
    ]
    for changed, words in lies:
        with pytest.raises(LogError, match=words):
            check_opened(agreed.agreement, logs, changed)
    # Cut off between the bit and its line, the nodes have nothing to say of it.
    silent = [
        [e for e in log if not (isinstance(e, FinishedTold) and e.number == 4)] for log in logs
    ]
    for shown in ([first, plan], ledger):
        with pytest.raises(UnprovenError, match=r"with step 4, .* no log says what was told"):
            check_opened(agreed.agreement, silent, shown)
    assert check_opened(agreed.agreement, [*silent[:2], logs[2]], ledger) == report
    for number, finished, words in (
        (4, False, "one of them lies"),
        (2, True, "which was not agreed"),
    ):
        other = replace(told[-1], number=number, finished=finished)
        with pytest.raises(LogError, match=words):
            check_opened(agreed.agreement, [*logs[:2], [*logs[2], other]], ledger)


def test_four_nodes_open_it_at_the_declared_cost_and_never_pass_by(four: LocalCluster) -> None:
    agreed = agreed_on(four)
    course = course_of(agreed.agreement, 0, seed=0)
    assert isinstance(course, AssignmentCourse)
    shape = course.shape

    async def work() -> FinishedBit:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            beyond = Advance(
                agreement=coordinator.hash,
                search=0,
                first=0,
                count=2,
                horizon=20,
                epoch=await coordinator.epoch(),
                attempt=900,
                parent_attempt=search._last,
            )
            with pytest.raises(RefusedError, match="opened after step 1 whether all is proved"):
                await ask(coordinator.clients[0], beyond)
            done = await search.advance(1, 20, until=None)
            cost = greeting_cost(4, iterations.first_letters(4, shape))
            cost = cost.then(iterations.cost(4, shape, iterations=1))
            cost = cost.then(outcome.cost(4, shape))
            cost = cost.then(checkpoint.cost(4, 1))
            assert (search.rounds, search.sent) == (cost.rounds, max(cost.sent))
            return entry(done)

    told = run(work())
    logs = [agreed.log(node) for node in range(4)]
    said = check_opened(agreed.agreement, logs, [told])
    assert "no plan was opened; besides, 1 of 3 agreed times whether all was proved" in said


def test_solve_stops_early(cluster: LocalCluster) -> None:
    found = solve(
        PROBLEMS["forbidden"](),
        disclose="sealed",
        limits=Limits(deadline=60),
        settings=AssignmentParameters(iterations=20, checkpoints="6:12"),
        engine=EngineChoice(cluster=cluster.folder / "cluster.toml"),
    )
    assert found.proved
    assert found.stopped == StopReason.OPTIMAL
    assert found.generations == found.parameters["generations"] + 6
