"""Checkpoints of sealed assignments, early openings, and the gap that is opened with a plan."""

from __future__ import annotations

import time

import msgspec
import pytest

from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.sealed_search import SealedSearch
from tacit.errors import LogError, MpcError, RefusedError, UnprovenError
from tacit.local.cluster import LocalCluster
from tacit.mpc.assignment import iterations, minima, proof
from tacit.mpc.epoch import greeting_cost
from tacit.records import Disclosed, DisclosedProof, DisclosureKind, Log, LogEvent, Sent
from tacit.records.ballots import Phase
from tacit.records.events import Voted
from tacit.records.messages import Advance, CastVote
from tacit.records.requests import Attempt
from tacit.runs import EngineChoice, Limits, solve
from tacit.runs.limits import StopReason
from tacit.search.moves import AssignmentParameters
from tacit.verify.disclosed import check_disclosed
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, outcomes, run
from tests.on_nodes.altered_nodes import ClockedCluster
from tests.on_nodes.ballots import PLAN
from tests.on_nodes.entries import lying
from tests.on_nodes.sealed_agreed_cluster import (
    PROBLEMS,
    assignment_group,
    assignment_twin,
    begin,
    draft,
    sealed,
)
from tests.support.mending import mend

pytestmark = pytest.mark.processes
SETTINGS = AssignmentParameters(iterations=20, checkpoints="1:4:5")
"""The problem begins with a public plan, and is proved by its fourth iteration for any seed."""


def agreed_on(cluster: LocalCluster) -> AgreedCluster:
    return draft(cluster, sealed(PROBLEMS["forbidden"]()), SETTINGS)


def told_in(log: Log) -> set[tuple[int, bool]]:
    """After which step the node heard what."""
    lines = (line for line in log if isinstance(line, Sent))
    return {
        (line.attempt.number, line.known.finished)
        for line in lines
        if isinstance(line.known, DisclosedProof)
    }


def test_it_ends_where_all_is_proved_also_after_a_crash(own_cluster: LocalCluster) -> None:
    agreed = agreed_on(own_cluster)

    async def work() -> list[Disclosed]:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            clear = assignment_twin(agreed, search.seed)
            first = await search.advance(9, 20, until=None)
            assert (first.number, first.payload) == (1, DisclosedProof(False))
            own_cluster.kill(1)
            with pytest.raises(MpcError):
                await search.advance(9, 20, until=time.monotonic() + 1)
            mend(own_cluster)
            second = await search.advance(9, 20, until=time.monotonic() + 60)
            assert (second.number, second.payload) == (4, DisclosedProof(True))
            with pytest.raises(RefusedError, match="all was proved after step 4"):
                await search.advance(1, 20, until=None)
            again = SealedSearch(coordinator, 0)
            coordinator.end_epoch()
            await again.start(until=None)
            assert again.finished
            opened = await search.open(until=None)
            clear.advance(4)
            assert (opened.plan, opened.outcome) == (clear.plan(), "optimum")
            return [first.entry(0), second.entry(0), opened.entry]

    ledger = run(work())
    logs = [agreed.log(node) for node in range(3)]
    report = check_disclosed(agreed.agreement, logs, ledger)
    assert "2 of 3 agreed times whether all was proved, 1 times yes" in report
    first, second, plan = ledger
    assert [told_in(log) for log in logs] == [{(1, False), (4, True)}] * 3
    replace = msgspec.structs.replace
    elsewhere = Attempt.of(2, second.attempt.epoch, 1)
    lies: list[tuple[list[Disclosed], str]] = [
        ([first, plan], "step 4 of search 0, which the ledger leaves out"),
        ([first, lying(second, finished=False), plan], "something else as step 4"),
        ([first, replace(second, attempt=elsewhere), plan], "step 2 of search 0, which was not"),
        ([first, replace(second, parts=first.parts), plan], "something else as step 4"),
    ]
    for changed, words in lies:
        with pytest.raises(LogError, match=words):
            check_disclosed(agreed.agreement, logs, changed)
    # Cut off between the bit and its line, the nodes have nothing to say of it.

    def is_silenced(event: LogEvent) -> bool:
        if not isinstance(event, Sent):
            return False
        return (event.kind, event.attempt) == (DisclosureKind.PROVED, second.attempt)

    silent = [[event for event in log if not is_silenced(event)] for log in logs]
    for shown in ([first, plan], ledger):
        with pytest.raises(UnprovenError, match=r"with step 4, .* no log says what was told"):
            check_disclosed(agreed.agreement, silent, shown)
    with pytest.raises(UnprovenError, match="1 are not proven"):
        check_disclosed(agreed.agreement, [*silent[:2], logs[2]], ledger)
    (last,) = (event for event in logs[2] if isinstance(event, Sent) and is_silenced(event))
    for other, words in (
        (replace(last, known=DisclosedProof(False)), "one of them lies"),
        (replace(last, known=None), "does not say whether"),
        (replace(last, attempt=elsewhere), "which was not agreed"),
    ):
        with pytest.raises(LogError, match=words):
            check_disclosed(agreed.agreement, [*logs[:2], [*logs[2], other]], ledger)


def test_four_nodes_open_it_at_the_declared_cost_and_never_pass_by(four: LocalCluster) -> None:
    agreed = agreed_on(four)
    group = assignment_group(agreed.agreement)
    shape = group.shape

    async def work() -> Disclosed:
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
            cost = greeting_cost(4, minima.letters_of_paid(4, shape))
            cost = cost.then(iterations.cost_of_iterations(4, shape, count=1))
            cost = cost.then(proof.cost_of_end(4, shape))
            cost = cost.then(proof.cost_of_checkpoint(4, 1))
            assert (search.rounds, search.sent) == (cost.rounds, max(cost.sent))
            return done.entry(0)

    told = run(work())
    logs = [agreed.log(node) for node in range(4)]
    said = check_disclosed(agreed.agreement, logs, [told])
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


SETTINGS_EARLY_OPENING = AssignmentParameters(iterations=12, least=4, seconds=1000)


async def refused_by_all(
    agreed: AgreedCluster, coordinator: Coordinator, search: SealedSearch
) -> None:
    """No node votes for what there is, whoever else is asked."""
    request = CastVote(
        agreement=coordinator.hash,
        subject=PLAN,
        ballot=0,
        phase=Phase.WILLING,
        value=search._last,
    )
    for client in coordinator.clients:
        await client.disconnect()  # one of them may just have been killed
        await client.connect()
    for answer in await outcomes(coordinator.clients, lambda _: request):
        assert isinstance(answer, RefusedError)
        assert "no plan is opened before 4 unless the deadline has come" in str(answer)
    voted = [event for node in range(3) for event in agreed.events(node, Voted)]
    assert not [event for event in voted if event.kind is PLAN.kind]


def test_a_plan_is_opened_after_few_steps_only_when_time_is_over(
    clocked: ClockedCluster,
) -> None:
    agreed = draft(clocked, sealed(PROBLEMS["forbidden"]()), SETTINGS_EARLY_OPENING)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            clear = assignment_twin(agreed, search.seed)
            await refused_by_all(agreed, coordinator, search)
            await search.advance(1, 12, until=None)
            clocked.kill(1)
            mend(clocked)
            for seconds in (0, 650, -5000):
                clocked.set_ahead(seconds)
                await refused_by_all(agreed, coordinator, search)
            clocked.set_ahead(850)
            opened = await search.open(until=None)
            clear.advance(1)
            assert (opened.plan, opened.step) == (clear.plan(), 1)

    run(work())


def test_a_plan_is_opened_after_the_least_iterations_at_any_time(clocked: ClockedCluster) -> None:
    agreed = draft(clocked, sealed(PROBLEMS["forbidden"]()), SETTINGS_EARLY_OPENING)

    async def work() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            await search.advance(3, 12, until=None)
            await refused_by_all(agreed, coordinator, search)
            await search.advance(1, 12, until=None)
            assert (await search.open(until=None)).outcome == "optimum"

    run(work())


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
