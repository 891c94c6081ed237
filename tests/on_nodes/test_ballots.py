"""One of four nodes lies in ballots, also with the platform: no plan is lost, nor two opened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tacit.coordinator.sealed_search import SealedSearch
from tacit.errors import RefusedError
from tacit.local.cluster import LocalCluster
from tacit.records.ballots import Phase, Vote
from tacit.records.events import PlanDecided
from tacit.records.requests import Attempt
from tacit.verify.logs import check_evidence
from tests.on_nodes.agreed_cluster import AgreedCluster, run
from tests.on_nodes.altered_nodes import restart_voting
from tests.on_nodes.ballots import PLAN, cast, forged, open_at, voted, willing
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, draft, sealed, start_of, twin
from tests.on_nodes.test_one_plan import two_states

pytestmark = pytest.mark.processes
FOUR, LIAR = 4, 3


@pytest.fixture(autouse=True)
def honest_again(four: LocalCluster) -> Iterator[None]:
    """The node that lied is started anew for other tests."""
    yield
    four.kill(LIAR)


def decided(agreed: AgreedCluster) -> list[set[Attempt]]:
    """Per honest node, the attempts whose plans it knows to be opened."""
    return [{each.attempt for each in agreed.events(k, PlanDecided)} for k in range(LIAR)]


def lies(agreed: AgreedCluster, phase: Phase, value: str, ballot: int = 0) -> bytes:
    return forged(agreed, LIAR, Vote(LIAR, PLAN, ballot, phase, value))


def test_a_split_of_three_honest_nodes_heals(four: LocalCluster) -> None:
    """The liar is bound with each of two honest nodes to another state, as far as it can be."""
    agreed = draft(four, sealed(PROBLEMS["balanced"]()))

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            search, early, late = await two_states(agreed, coordinator)
            votes = await willing(coordinator, {0: early, 1: late, 2: late})
            for node, value in ((0, early), (1, late)):
                helped = [*votes, lies(agreed, Phase.WILLING, value)]
                if value == late:
                    # Two honest nodes and the liar are a quorum: this one is bound to it.
                    votes.append(await cast(coordinator, node, Phase.BOUND, value, helped))
                    continue
                with pytest.raises(RefusedError, match="2 of 4 nodes are willing"):
                    await cast(coordinator, node, Phase.BOUND, value, helped)
            # Neither is it decided on one honest word.
            for value in (early, late):
                shown = [*votes, lies(agreed, Phase.BOUND, value)]
                with pytest.raises(RefusedError, match="no quorum is bound"):
                    await open_at(coordinator, 0, value, shown)
            four.kill(LIAR)
            # A platform that wants the early state gets the late one, on which node 1 is locked.
            search._last = early
            clear = twin(agreed, search.seed)
            clear.advance(10, horizon=10)
            assert (await search.open(until=None)).plan == clear.plan()
            assert decided(agreed) == [{late}] * 3

    run(attack())


def test_a_status_without_the_votes_behind_its_lock_counts_for_nothing(four: LocalCluster) -> None:
    agreed = draft(four, sealed(PROBLEMS["balanced"]()))

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            _, early, late = await two_states(agreed, coordinator)
            statuses = [await cast(coordinator, node, Phase.STATUS, ballot=1) for node in range(2)]
            locked = forged(agreed, LIAR, Vote(LIAR, PLAN, 1, Phase.STATUS, late, 0))
            with pytest.raises(RefusedError, match="2 of 4 nodes"):
                await cast(coordinator, 0, Phase.WILLING, early, [*statuses, locked], ballot=1)
            # After a status no earlier ballot goes on.
            (earlier,) = voted(coordinator, [await cast(coordinator, 0, Phase.WILLING, late)])
            assert (earlier.ballot, earlier.phase) == (1, Phase.STATUS)
            statuses.append(await cast(coordinator, 2, Phase.STATUS, ballot=1))
            shown = [*statuses, locked]
            (vote,) = voted(
                coordinator, [await cast(coordinator, 0, Phase.WILLING, early, shown, ballot=1)]
            )
            assert vote.value == early

    run(attack())


@pytest.mark.parametrize("how", ["otherwise", "twice", "far ahead", "refuses"])
def test_one_node_that_votes_as_it_likes_stops_no_opening(four: LocalCluster, how: str) -> None:
    agreed = draft(four, sealed(PROBLEMS["balanced"]()))
    restart_voting(four, LIAR, how)

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            search, _, late = await two_states(agreed, coordinator)
            clear = twin(agreed, search.seed)
            clear.advance(10, horizon=10)
            assert (await search.open(until=None)).plan == clear.plan()
            assert decided(agreed) == [{late}] * 3
            # Whoever resumes the run finds the same plan.
            again = SealedSearch(coordinator, 0)
            coordinator.end_epoch()
            await again.start(until=None)
            assert (await again.open(until=None)).plan == clear.plan()

    run(search())


def test_two_votes_of_a_node_name_it_to_platform_nodes_and_participants(
    four: LocalCluster,
) -> None:
    """A platform that is with the liar shows each of its votes to another honest node."""
    agreed = draft(four, sealed(PROBLEMS["balanced"]()), on_loss="three")

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            search, early, late = await two_states(agreed, coordinator)
            honest = await willing(coordinator, {0: late, 1: late, 2: early})
            two = [lies(agreed, Phase.WILLING, value) for value in (late, early)]
            await cast(coordinator, 0, Phase.BOUND, late, [*honest[:2], two[0]])
            statuses = [await cast(coordinator, node, Phase.STATUS, ballot=1) for node in (1, 2)]
            statuses.append(lies(agreed, Phase.STATUS, "", 1))
            more = [
                await cast(coordinator, node, Phase.WILLING, early, statuses, ballot=1)
                for node in (1, 2)
            ]
            for value, node in ((early, 1), (early, 2)):
                shown = [*more, lies(agreed, Phase.WILLING, value, 1)]
                await cast(coordinator, node, Phase.BOUND, value, shown, ballot=1)
            coordinator.examine(two)
            assert coordinator.naming.named == LIAR
            assert [each.number for each in coordinator.loss.members] == [0, 1, 2]
            await coordinator.epoch()
            assert (await search.open(until=None)).plan == start_of(agreed).tolist()
            assert decided(agreed) == [{early}] * 3

    run(attack())
    logs = [agreed.log(node) for node in range(FOUR)]
    assert "node 3 departed from the protocol" in check_evidence(agreed.agreement, logs)
