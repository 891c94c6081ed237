"""Sealed searches on real nodes: the clear search's plan, what is refused, nodes that die."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from tacit.engine.agreement import PinnedSearch, agreement_hash
from tacit.engine.coordinator import Coordinator
from tacit.engine.ledger import LedgerEntry
from tacit.engine.local_cluster import LocalCluster
from tacit.engine.messages import Advance, Message, OpenPlan
from tacit.engine.request import REVEAL_NUMBER
from tacit.engine.sealed_answers import check_sealed_answers
from tacit.engine.sealed_search import Opened, SealedSearch
from tacit.errors import AgreementError, LogError, MpcError, PeerTimeoutError, RefusedError
from tacit.problems import generate_assignment
from tacit.search.sealed import ClearSealedSearch
from tests.engine.sealed_trio import PROBLEMS, begin, draft, sealed, start_of, twin
from tests.engine.trio import ask, outcomes, populations, run

LATE = 0.1


@pytest.mark.parametrize(
    ("name", "best"),
    [*((name, "nothing") for name in PROBLEMS), ("tour", "value"), ("imbalanced", "improvement")],
)
def test_nodes_and_clear_search_find_the_same(cluster: LocalCluster, name: str, best: str) -> None:
    trio = draft(cluster, sealed(PROBLEMS[name](), best))

    async def search() -> tuple[Opened, list[bool], ClearSealedSearch]:
        async with trio.coordinator() as coordinator:
            on_nodes = await begin(trio, coordinator)
            clear = twin(trio, start_of(trio), on_nodes.seed)
            first = await on_nodes.advance(7, 40, until=None)
            second = await on_nodes.advance(33, 40, until=None)
            opened = await on_nodes.open(until=None)
            return opened, first.improved + second.improved, clear

    opened, told, clear = run(search())
    improved = clear.advance(40, horizon=40)
    assert opened.plan == clear.plan().tolist()
    assert opened.generation == 40
    assert opened.value == (clear.best_value if best == "value" else None)
    assert told == (improved if best == "improvement" else [])
    trio.problem.check_plan(opened.plan)


def test_each_weighting_is_a_search_of_its_own(cluster: LocalCluster) -> None:
    problem = sealed(generate_assignment(3, rows=8, objectives=2))
    trio = draft(cluster, problem, weightings=[(3, 1), (1, 3)])

    def rows() -> list[Any]:
        from tacit.engine.sealing import seal_rows

        return [
            seal_rows(
                trio.agreement,
                owner.participant,
                k,
                np.asarray(problem.objectives[k].weights)[owner.rows],
                key=trio.keys[owner.participant],
            )
            for k in range(2)
            for owner in trio.agreement.objectives[k].owners
        ]

    async def search() -> None:
        async with trio.coordinator() as coordinator:
            await coordinator.start(trio.signatures, rows(), within=20)
            for number in range(2):
                on_nodes = SealedSearch(coordinator, number)
                await on_nodes.start(until=None)
                clear = twin(trio, start_of(trio, number), on_nodes.seed, number)
                await on_nodes.advance(15, 15, until=None)
                clear.advance(15, horizon=15)
                assert (await on_nodes.open(until=None)).plan == clear.plan().tolist()

    run(search())


def test_what_a_node_refuses(cluster: LocalCluster) -> None:
    trio = draft(cluster, sealed(PROBLEMS["balanced"]()), evaluations=50)

    async def attack() -> list[str]:
        reasons = []
        async with trio.coordinator() as coordinator:
            search = await begin(trio, coordinator)
            first = search._last
            await search.advance(10, 50, until=None)
            last = search._last
            epoch = await coordinator.epoch()

            async def refused(make: Callable[[Any], Message]) -> None:
                for result in await outcomes(coordinator.clients, make):
                    assert isinstance(result, RefusedError)
                    reasons.append(result.reason)
                coordinator._epoch = None
                nonlocal epoch
                epoch = await coordinator.epoch()

            def advance(**changes: Any) -> Callable[[Any], Message]:
                def make(client: Any) -> Message:
                    honest = Advance(
                        id=client.new_id(),
                        agreement=coordinator.hash,
                        search=0,
                        first=10,
                        count=10,
                        horizon=50,
                        epoch=epoch,
                        attempt=900 + len(reasons),
                        basis=last,
                    )
                    return msgspec.structs.replace(honest, **changes)

                return make

            plans = populations(1, rows=12)[0]
            await refused(lambda c: trio.request(c, plans, epoch=epoch))
            await refused(advance(search=1))
            await refused(advance(count=41))
            await refused(advance(first=0, count=0, basis=""))
            await refused(advance(first=0, basis=first, horizon=49))
            await refused(advance(first=0, count=5, basis=first))
            await refused(advance(basis=first))
            await refused(advance(basis="nonsense"))
            opened = await search.open(until=None)
            assert (await search.open(until=None)).plan == opened.plan
            await refused(advance())
            await refused(
                lambda c: OpenPlan(id=c.new_id(), agreement=coordinator.hash, search=0, basis=first)
            )
        return reasons[::3]

    reasons = run(attack())
    expected = [
        "is sealed: nothing of it is evaluated",
        "there is no sealed search 1",
        "allows 50 generations",
        "does not start again",
        "were begun otherwise",
        "do not follow those done before",
        "ended at generation 0, not 10",
        "is not here",
        "which is its end",
        "which happens once",
    ]
    assert len(reasons) == len(expected)
    for reason, words in zip(reasons, expected, strict=True):
        assert words in reason


def test_logs_tell_generations_and_one_opening(cluster: LocalCluster) -> None:
    trio = draft(cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with trio.coordinator() as coordinator:
            on_nodes = await begin(trio, coordinator)
            await on_nodes.advance(4, 9, until=None)
            await on_nodes.advance(5, 9, until=None)
            await on_nodes.open(until=None)

    run(search())
    for node in range(3):
        told = [
            (e["event"], e.get("first"), e.get("count"))
            for e in trio.log(node)
            if e["event"] in ("secret start", "generations", "open plan", "opened", "sent")
        ]
        assert told == [
            ("secret start", None, None),
            ("generations", 0, 4),
            ("generations", 4, 5),
            ("open plan", None, None),
            ("opened", None, None),
        ]
        name = agreement_hash(trio.agreement).hex()[:32]
        folder = trio.cluster.folder / f"node-{node}.data" / name
        assert sorted(p.name for p in folder.glob("sealed-*")) == ["sealed-0-4", "sealed-0-9"]


def test_logs_and_ledger_are_compared(cluster: LocalCluster) -> None:
    trio = draft(cluster, sealed(PROBLEMS["balanced"](), "improvement"))

    async def search() -> list[LedgerEntry]:
        async with trio.coordinator() as coordinator:
            on_nodes = await begin(trio, coordinator)
            first = await on_nodes.advance(2, 9, until=None)
            told = await on_nodes.advance(4, 6, until=None)
            opened = await on_nodes.open(until=None)
            return [
                *(
                    LedgerEntry(
                        0,
                        each.batch.first + 1,
                        each.request.hex(),
                        [int(bit) for bit in each.improved],
                        None,
                        each.parts,
                    )
                    for each in (first, told)
                ),
                LedgerEntry(0, REVEAL_NUMBER, "", opened.plan, None, opened.parts),
            ]

    before, bits, opening = run(search())
    logs = [trio.log(node) for node in range(3)]
    report = check_sealed_answers(trio.agreement, logs, [before, bits, opening])
    assert (report.generations, report.plans, report.improvements) == (6, 1, 6)
    assert report.senders == 3
    assert report.horizons == (9, 6)
    swapped = [opening.disclosed[1], opening.disclosed[0], *opening.disclosed[2:]]
    other = [[(0, [p[::-1] for p in frames]) for _, frames in s] for s in opening.parts]
    cut = [[(0, [p[:-1] for p in frames]) for _, frames in s] for s in opening.parts]
    forged = [[(k, [bytes(len(f)) for f in frames]) for k, frames in s] for s in bits.parts]
    for changed, words in (
        ([msgspec.structs.replace(opening, disclosed=swapped)], "another plan than the ledger"),
        ([msgspec.structs.replace(opening, parts=other)], "another plan than the ledger"),
        ([msgspec.structs.replace(opening, parts=cut)], "no part of a plan"),
        ([opening, msgspec.structs.replace(opening, disclosed=swapped)], "two plans of one search"),
        ([bits], "opened the plan of search 0, which the ledger leaves out"),
        ([opening], "improvements after generation 0, which the ledger leaves out"),
        ([msgspec.structs.replace(bits, parts=forged), opening], "other improvements"),
    ):
        with pytest.raises(LogError, match=words):
            check_sealed_answers(trio.agreement, logs, changed)
    again = check_sealed_answers(trio.agreement, logs, [before, bits, opening, opening])
    assert again == report  # heard twice by a coordinator that was interrupted
    fewer = [line for line in logs[1] if line["event"] != "generations"]
    with pytest.raises(LogError, match="different generations"):
        check_sealed_answers(trio.agreement, [logs[0], fewer], [opening])
    # Two nodes send all components: what the third sent need not be kept, and is still compared.
    fewer_parts = msgspec.structs.replace(opening, parts=[*opening.parts[:2], []])
    assert check_sealed_answers(trio.agreement, logs, [before, bits, fewer_parts]).senders == 3
    (other_basis,) = [
        {**line, "basis": "0:1:1"} for line in logs[0] if line["event"] == "open plan"
    ]
    with pytest.raises(LogError, match="two plans of search 0"):
        check_sealed_answers(
            trio.agreement, [*logs[:2], [*logs[2], other_basis]], [before, bits, opening]
        )
    (other_part,) = [{**line, "salt": "00"} for line in logs[2] if line["event"] == "opened"]
    for entry in (opening, fewer_parts):
        with pytest.raises(LogError, match="another part of the plan"):
            check_sealed_answers(trio.agreement, [*logs[:2], [*logs[2], other_part]], [bits, entry])


def test_another_coordinator_goes_on_with_what_was_begun(cluster: LocalCluster) -> None:
    trio = draft(cluster, sealed(PROBLEMS["balanced"]()))

    async def taken_up(coordinator: Coordinator) -> SealedSearch:
        await coordinator.start_agreement(trio.signatures, within=20)
        search = SealedSearch(coordinator, 0)
        await search.start(until=None)
        return search

    async def search() -> tuple[list[list[int]], ClearSealedSearch]:
        async with trio.coordinator() as coordinator:
            first = await begin(trio, coordinator)
            clear = twin(trio, start_of(trio), first.seed)
            await first.advance(20, 90, until=None)
            with pytest.raises(PeerTimeoutError):  # in mid-batch
                await first.advance(60, 80, until=time.monotonic() + 0.05)
        async with trio.coordinator() as coordinator:
            second = await taken_up(coordinator)
            assert not second.opened
            assert second.generation in (20, 80)
            if second.generation == 20:
                assert (await second.advance(3, 33, until=None)).batch.count == 60
            plans = [(await second.open(until=None)).plan]
        async with trio.coordinator() as coordinator:
            third = await taken_up(coordinator)
            assert (third.opened, third.generation) == (True, 80)
            plans.append((await third.open(until=None)).plan)
        return plans, clear

    plans, clear = run(search())
    clear.advance(20, horizon=90)
    clear.advance(60, horizon=80)
    assert plans == [clear.plan().tolist()] * 2


@pytest.mark.parametrize("all_at_once", [False, True])
def test_killed_nodes_come_back_and_the_search_goes_on(
    own_cluster: LocalCluster, all_at_once: bool
) -> None:
    trio = draft(own_cluster, sealed(PROBLEMS["balanced"](), "improvement"))

    async def search() -> tuple[list[int], list[bool], ClearSealedSearch]:
        async with trio.coordinator() as coordinator:
            on_nodes = await begin(trio, coordinator)
            clear = twin(trio, start_of(trio), on_nodes.seed)
            told: list[bool] = []
            for number in range(4):
                waiting = asyncio.ensure_future(
                    on_nodes.advance(20, 80, until=time.monotonic() + 30)
                )
                if number in (1, 2):  # in mid-batch
                    await asyncio.sleep(0.04 * number)
                    for node in range(3) if all_at_once else [number]:
                        own_cluster.kill(node)
                        own_cluster.restart(node)
                told += (await waiting).improved
            return (await on_nodes.open(until=None)).plan, told, clear

    plan, told, clear = run(search())
    assert told == clear.advance(80, horizon=80)
    assert plan == clear.plan().tolist()


def test_a_stopped_node_is_named_by_the_deadline_and_welcome_back(
    own_cluster: LocalCluster,
) -> None:
    trio = draft(own_cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with trio.coordinator() as coordinator:
            on_nodes = await begin(trio, coordinator)
            clear = twin(trio, start_of(trio), on_nodes.seed)
            await on_nodes.advance(10, 60, until=None)
            await on_nodes.advance(10, 60, until=None)
            own_cluster.processes[1].send_signal(signal.SIGSTOP)
            until = time.monotonic() + 0.7
            with pytest.raises(PeerTimeoutError, match="node 1"):
                await on_nodes.advance(30, 60, until=until)
            assert time.monotonic() - until < LATE
            own_cluster.processes[1].send_signal(signal.SIGCONT)
            # What was begun is brought to its end, whatever is asked for instead.
            done = await on_nodes.advance(5, 60, until=time.monotonic() + 20)
            assert (done.batch.first, done.batch.end) == (20, 50)
            await on_nodes.advance(10, 60, until=time.monotonic() + 20)
            clear.advance(60, horizon=60)
            assert (await on_nodes.open(until=None)).plan == clear.plan().tolist()

    run(search())


def test_a_new_coordinator_goes_on_where_the_old_one_left(cluster: LocalCluster) -> None:
    trio = draft(cluster, sealed(PROBLEMS["tour"]()))

    async def search() -> None:
        async with trio.coordinator() as coordinator:
            first = await begin(trio, coordinator)
            clear = twin(trio, start_of(trio), first.seed)
            await first.advance(10, 30, until=None)
        async with trio.coordinator() as coordinator:
            await coordinator.start_agreement(trio.signatures, within=20)
            second = SealedSearch(coordinator, 0)
            await second.start(until=None)
            assert second.generation == 10
            await second.advance(20, 30, until=None)
            clear.advance(30, horizon=30)
            assert (await second.open(until=None)).plan == clear.plan().tolist()

    run(search())


@pytest.mark.parametrize("node", [0, 1, 2])
def test_two_nodes_open_what_all_three_found(own_cluster: LocalCluster, node: int) -> None:
    trio = draft(own_cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with trio.coordinator() as coordinator:
            on_nodes = await begin(trio, coordinator)
            clear = twin(trio, start_of(trio), on_nodes.seed)
            await on_nodes.advance(10, 20, until=None)
            own_cluster.kill(node)
            until = time.monotonic() + 0.6
            with pytest.raises((MpcError, PeerTimeoutError), match=f"node {node}"):
                await on_nodes.advance(10, 20, until=until)
            assert time.monotonic() - until < LATE
            opened = await on_nodes.open(until=time.monotonic() + 2)
            assert opened.generation == 10
            clear.advance(10, horizon=20)
            assert opened.plan == clear.plan().tolist()
            # One node alone opens nothing.
            own_cluster.kill((node + 1) % 3)
            with pytest.raises(MpcError):
                await on_nodes.open(until=time.monotonic() + 0.5)

    run(search())


def test_shares_that_do_not_fit_together_are_noticed(cluster: LocalCluster) -> None:
    trio = draft(cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with trio.coordinator() as coordinator:
            on_nodes = await begin(trio, coordinator)
            await on_nodes.advance(3, 3, until=None)
            dones = [
                await ask(
                    client,
                    OpenPlan(
                        id=client.new_id(),
                        agreement=coordinator.hash,
                        search=0,
                        basis=on_nodes._last,
                    ),
                )
                for client in coordinator.clients
            ]
            answers = {i: done.components for i, done in enumerate(dones)}
            on_nodes._put_together(answers)
            changed = bytes([answers[1][0][0] ^ 1]) + answers[1][0][1:]
            with pytest.raises(MpcError, match="another plan"):
                on_nodes._put_together({**answers, 1: [changed, answers[1][1]]})
            with pytest.raises(MpcError, match="no plan"):
                on_nodes._put_together({**answers, 1: [b"", b""]})

    run(search())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"search": PinnedSearch("genetic", {}, 1)}, "pins the search 'genetic'"),
        ({"search": PinnedSearch("sealed", {}, 7)}, "seed left out"),
        ({"search": PinnedSearch("sealed", {"block": 1, "weightings": "1"}, None)}, "no moves"),
        ({"search": PinnedSearch("sealed", {"weightings": "1:2"}, None)}, "does not fit"),
        ({"search": PinnedSearch("sealed", {"weightings": "0"}, None)}, "not all 0"),
        ({"search": PinnedSearch("sealed", {"weightings": "1 2 1"}, None)}, "same weighting"),
        ({"search": PinnedSearch("sealed", {"weightings": "x"}, None)}, "are wrong"),
        ({"search": PinnedSearch("sealed", {"speed": 9, "weightings": "1"}, None)}, "'speed'"),
        ({"search": PinnedSearch("sealed", {}, None)}, "0 weightings"),
        ({"reveal_best": True}, "leave reveal_best out"),
    ],
)
def test_agreements_that_make_no_sense_are_refused(
    cluster: LocalCluster, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(AgreementError, match=words):
        draft(cluster, sealed(PROBLEMS["balanced"]()), **changes)
