"""One search opens one plan: to a platform with a curious node, and after a disk was set back."""

from __future__ import annotations

import asyncio
import shutil
import signal
import time
from pathlib import Path

import pytest

from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.sealed_search import SealedSearch
from tacit.errors import PeerError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.records.ballots import Phase
from tacit.records.events import BatchBegun, Connected, PlanDecided, Sent
from tacit.records.messages import RefusalKind
from tacit.records.requests import Attempt
from tacit.runs.pace import OPENING_SECONDS
from tacit.search.moves import AssignmentParameters
from tests.on_nodes.agreed_cluster import AgreedCluster, run
from tests.on_nodes.altered_nodes import restart_changed
from tests.on_nodes.ballots import cast, decide, open_at, voted, willing
from tests.on_nodes.deadlines import AMPLE, raises_in_time, takes_at_most
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed, start_of, twin

PRESENCE = "tacit.node.presence"
OTHER_PLAN = "another plan of this search"
NO_QUORUM = "no quorum is bound"


async def two_states(
    agreed: AgreedCluster, coordinator: Coordinator
) -> tuple[SealedSearch, Attempt, Attempt]:
    """A search, and the two states of it that every node keeps."""
    search = await begin(agreed, coordinator)
    early = search._last
    await search.advance(10, 10, until=None)
    return search, early, search._last


def decided(agreed: AgreedCluster) -> list[list[Attempt]]:
    """Per node, the attempts whose plans it knows to be opened."""
    nodes = range(len(agreed.agreement.nodes))
    return [[event.attempt for event in agreed.events(node, PlanDecided)] for node in nodes]


def test_nodes_that_are_asked_for_different_plans_open_one(cluster: LocalCluster) -> None:
    """With what the third node holds anyway, one part each would make two plans."""
    agreed = draft(cluster, sealed(PROBLEMS["balanced"]()))

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            search, early, late = await two_states(agreed, coordinator)
            votes = await willing(coordinator, {0: late, 1: early, 2: late})
            for value in (early, late):
                for node in range(3):
                    with pytest.raises(
                        RefusedError, match=r"of 3 nodes are willing|can be reached"
                    ):
                        await cast(coordinator, node, Phase.BOUND, value, votes)
                    with pytest.raises(RefusedError, match=NO_QUORUM):
                        await open_at(coordinator, node, value, votes)
            # Nothing is lost by it: the platform begins another ballot.
            search._last = early
            assert (await search.open(until=None)).plan == start_of(agreed).tolist()
            for node in range(3):
                with pytest.raises(RefusedError, match=OTHER_PLAN):
                    await open_at(coordinator, node, late)
            assert decided(agreed) == [[early]] * 3

    run(attack())


def test_platforms_that_ask_for_two_plans_at_once_get_one(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["balanced"]()))

    async def attack() -> set[str]:
        async with agreed.coordinator() as coordinator, agreed.coordinator() as other:
            _, early, late = await two_states(agreed, coordinator)
            found = await asyncio.gather(decide(coordinator, early), decide(other, late))
            return {each.value for each in found}

    assert len(run(attack())) == 1


def test_a_disk_that_was_set_back_opens_no_second_plan(fresh_cluster: LocalCluster) -> None:
    """Node 0 was down when the others opened the end, and node 2 forgot that it did."""
    agreed = draft(fresh_cluster, sealed(PROBLEMS["balanced"]()))
    data = fresh_cluster.folder / "node-2.data"
    backup = Path(f"{data}.backup")

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            search, early, late = await two_states(agreed, coordinator)
            shutil.copytree(data, backup)
            fresh_cluster.kill(0)
            await search.open(until=None)
            assert decided(agreed)[1:] == [[late]] * 2
            fresh_cluster.kill(2)
            shutil.rmtree(data)
            backup.rename(data)
            # A peer that answers late is there all the same.
            for node in (2, 0):
                restart_changed(fresh_cluster, node, {f"{PRESENCE}.ABSENT_SECONDS": AMPLE})
            await connected(agreed, 3)
            votes = await willing(coordinator, {0: early, 2: early})
            assert {each.value for each in voted(coordinator, votes)} == {early}
            for node in (0, 2):
                with pytest.raises(RefusedError, match="node 1 can be reached") as refused:
                    await cast(coordinator, node, Phase.BOUND, early, votes)
                assert refused.value.kind == RefusalKind.ABSENT

    run(attack())


async def connected(agreed: AgreedCluster, links: int) -> None:
    """Wait until node 1 has made so many links to its peers again."""
    async with asyncio.timeout(AMPLE):
        while True:
            made = [e for e in agreed.node_log(1) if isinstance(e, Connected)]
            if sum(e.peer.startswith("node") for e in made) > links:
                return
            await asyncio.sleep(0.02)


def test_nodes_tell_which_plan_is_opened_when_an_epoch_begins(own_cluster: LocalCluster) -> None:
    agreed = draft(own_cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            searching, early, late = await two_states(agreed, coordinator)
            own_cluster.kill(0)
            opened = await searching.open(until=None)
            own_cluster.restart(0)
        assert decided(agreed)[0] == []
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=60)
            await coordinator.epoch()
            assert decided(agreed) == [[late]] * 3
            with pytest.raises(RefusedError, match=OTHER_PLAN):
                await cast(coordinator, 0, Phase.WILLING, early)
            with pytest.raises(RefusedError, match=OTHER_PLAN):
                await open_at(coordinator, 0, early)
            again = SealedSearch(coordinator, 0)
            await again.start(until=None)
            assert (await again.open(until=None)).plan == opened.plan

    run(search())


def test_a_node_alone_opens_nothing(own_cluster: LocalCluster) -> None:
    agreed = draft(own_cluster, sealed(PROBLEMS["balanced"]()))

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            _, _, late = await two_states(agreed, coordinator)
            own_cluster.kill(0)
            own_cluster.kill(1)
            votes = await willing(coordinator, {2: late})
            with pytest.raises(RefusedError, match="1 of 3 nodes are willing"):
                await cast(coordinator, 2, Phase.BOUND, late, votes)
            with pytest.raises(RefusedError, match=NO_QUORUM):
                await open_at(coordinator, 2, late, votes)

    run(attack())
    assert not agreed.events(2, Sent)


@pytest.mark.parametrize("computing", [False, True])
def test_a_node_that_hangs_does_not_hold_up_the_opening(
    own_cluster: LocalCluster, computing: bool
) -> None:
    agreed = draft(own_cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(10, 30, until=None)
            own_cluster.processes[1].send_signal(signal.SIGSTOP)
            try:
                if computing:
                    await raises_in_time(
                        lambda until: on_nodes.advance(20, 30, until=until), "node 1", seconds=0.4
                    )
                with takes_at_most(3 * OPENING_SECONDS):
                    opened = await on_nodes.open(until=time.monotonic() + AMPLE)
            finally:
                own_cluster.processes[1].send_signal(signal.SIGCONT)
            clear.advance(10, horizon=30)
            assert opened.plan == clear.plan()

    run(search())


def test_nothing_is_told_or_kept_after_the_opening(cluster: LocalCluster) -> None:
    """The plan is asked for during steps at whose end it is told whether all is proved."""
    settings = AssignmentParameters(iterations=1001, checkpoints="1000")
    agreed = draft(cluster, sealed(PROBLEMS["balanced"]()), settings)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            early = search._last
            # Many, so that they are not over before we come to ask.
            waiting = asyncio.ensure_future(search.advance(1000, 1000, until=None))
            async with asyncio.timeout(AMPLE):
                while not agreed.events(2, BatchBegun):
                    assert not waiting.done()
                    await asyncio.sleep(0.02)
            assert not waiting.done()
            votes = (await decide(coordinator, early)).votes
            await asyncio.gather(*(open_at(coordinator, node, early, votes) for node in range(3)))
            with pytest.raises((RefusedError, PeerError)):
                await waiting

    run(attack())
    for node in range(3):
        events = [event.name for event in agreed.log(node)]
        assert events.count("sent") == 1
        states = agreed.folder_at(node).glob("sealed-*")
        assert [path.name for path in states] == ["sealed-0-0"]
