"""Phases at which it is agreed to tell whether all is proved, on real nodes."""

from __future__ import annotations

import time

import msgspec
import pytest

from tacit.engine.agreement import checkpoints_of
from tacit.engine.agreement.exact import ForestCourse
from tacit.engine.agreement.sealed import course_of, pin_sealed
from tacit.engine.coordinator.sealed_search import Advanced, SealedSearch
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.records.events import FinishedTold
from tacit.engine.records.ledger import FinishedBit, LedgerEntry, OpenedPlan
from tacit.engine.wire.messages import Advance
from tacit.errors import AgreementError, LogError, MpcError, RefusedError, UnprovenError
from tacit.mpc.epoch import greeting_cost
from tacit.mpc.forest import outcome, phases
from tacit.mpc.forest.told import checkpoint
from tacit.runs import EngineChoice, Limits, solve
from tacit.runs.limits import StopReason
from tacit.runs.sealed.exact import SimulatedExact
from tacit.search.moves import ExactParameters
from tacit.verify.sealed.opened import check_opened
from tests.engine.agreed_cluster import AgreedCluster, ask, run
from tests.engine.sealed_agreed_cluster import SEVEN, begin, draft, sealed
from tests.support.mending import mend

pytestmark = pytest.mark.processes
SETTINGS = ExactParameters(phases=20, checkpoints="1:3:5")


def agreed_on(cluster: LocalCluster) -> AgreedCluster:
    problem = sealed(SEVEN["balanced"]())
    return draft(cluster, problem, search=pin_sealed(SETTINGS), evaluations=20)


def entry(done: Advanced) -> FinishedBit:
    assert done.told.finished is not None
    return FinishedBit(0, done.batch.end, done.request.hex(), done.told.finished, done.parts)


def twin(agreed: AgreedCluster, search: SealedSearch) -> SimulatedExact:
    course = course_of(agreed.agreement, 0, seed=search.seed)
    assert isinstance(course, ForestCourse)
    return SimulatedExact(agreed.problem, course, [(1,)])


def test_it_stops_where_all_is_proved_also_after_a_crash(own_cluster: LocalCluster) -> None:
    agreed = agreed_on(own_cluster)

    async def work() -> list[LedgerEntry]:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            clear = twin(agreed, search)
            first = await search.advance(9, 20, until=None)
            clear.advance(9, 20, until=None)
            assert (first.batch.end, first.told.finished) == (1, clear.finished) == (1, False)
            own_cluster.kill(1)
            with pytest.raises(MpcError):
                await search.advance(9, 20, until=time.monotonic() + 1)
            mend(own_cluster)
            second = await search.advance(9, 20, until=time.monotonic() + 60)
            clear.advance(9, 20, until=None)
            assert (second.batch.end, second.told.finished) == (3, clear.finished) == (3, True)
            with pytest.raises(RefusedError, match="all was proved after phase 3"):
                await search.advance(1, 20, until=None)
            again = SealedSearch(coordinator, 0)
            coordinator.end_epoch()
            await again.start(until=None)
            assert again.finished
            opened = await search.open(until=None)
            assert (opened.plan, opened.outcome) == (clear.open(until=None).plan, "optimum")
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
    assert {(event.number, event.finished) for event in told} == {(1, False), (3, True)}
    replace = msgspec.structs.replace
    lies: list[tuple[list[LedgerEntry], str]] = [
        ([first, plan], "after phase 3, which the ledger leaves out"),
        ([first, replace(second, finished=False), plan], "another word after phase 3"),
        ([first, replace(second, number=2), plan], "another word after phase 2"),
        ([first, replace(second, parts=first.parts), plan], "another word after phase 3"),
    ]
    for changed, words in lies:
        with pytest.raises(LogError, match=words):
            check_opened(agreed.agreement, logs, changed)
    # Cut off between the bit and its line, the nodes have nothing to say of it.
    silent = [
        [e for e in log if not (isinstance(e, FinishedTold) and e.number == 3)] for log in logs
    ]
    for shown in ([first, plan], ledger):
        with pytest.raises(UnprovenError, match=r"with phase 3, .* no log says what was told"):
            check_opened(agreed.agreement, silent, shown)
    assert check_opened(agreed.agreement, [*silent[:2], logs[2]], ledger) == report
    for number, finished, words in (
        (3, False, "one of them lies"),
        (2, True, "which was not agreed"),
    ):
        other = replace(told[-1], number=number, finished=finished)
        with pytest.raises(LogError, match=words):
            check_opened(agreed.agreement, [*logs[:2], [*logs[2], other]], ledger)


def test_four_nodes_tell_at_the_declared_cost_and_never_pass_by(four: LocalCluster) -> None:
    agreed = agreed_on(four)
    course = course_of(agreed.agreement, 0, seed=0)
    assert isinstance(course, ForestCourse)

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
            with pytest.raises(RefusedError, match="told after phase 1 whether all is proved"):
                await ask(coordinator.clients[0], beyond)
            done = await search.advance(1, 20, until=None)
            made = course.phases[:1]
            cost = greeting_cost(4, phases.first_letters(4, made[0], course.shape))
            cost = cost.then(phases.cost(4, made[0], course.shape))
            cost = cost.then(outcome.cost(4, course.layout, course.shape))
            cost = cost.then(checkpoint.cost(4, 1))
            assert (search.rounds, search.sent) == (cost.rounds, max(cost.sent))
            return entry(done)

    told = run(work())
    logs = [agreed.log(node) for node in range(4)]
    said = check_opened(agreed.agreement, logs, [told])
    assert "no plan was opened; besides, 1 of 3 agreed times whether all was proved" in said


def test_a_checkpoint_with_the_plan_or_later_is_refused(cluster: LocalCluster) -> None:
    late = pin_sealed(ExactParameters(phases=6, checkpoints="3:6"))
    with pytest.raises(AgreementError, match="after phase 6 of 6"):
        draft(cluster, sealed(SEVEN["balanced"]()), search=late, evaluations=6)
    agreed = agreed_on(cluster)
    assert checkpoints_of(agreed.agreement, 0) == (1, 3, 5)


def test_solve_stops_early(cluster: LocalCluster) -> None:
    found = solve(
        SEVEN["balanced"](),
        disclose="sealed",
        limits=Limits(deadline=60),
        settings=SETTINGS,
        engine=EngineChoice(cluster=cluster.folder / "cluster.toml"),
    )
    assert found.proved
    assert (found.generations, found.stopped) == (3, StopReason.OPTIMAL)
