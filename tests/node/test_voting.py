"""What a node votes: once in each phase, by the votes of a quorum, and on its disk before."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.errors import RefusedError
from tacit.node.agreement_state import AgreementState
from tacit.node.inputs import Inputs
from tacit.node.store import Store
from tacit.node.voting import cast_vote, decided_state
from tacit.records.ballots import Phase, Subject, SubjectKind, Vote, read_vote
from tacit.records.messages import CastVote, RefusalKind, VoteCast
from tacit.records.node_log import NodeLog
from tests.node.test_agreement_state import EARLY, ENOUGH, SETTINGS, kept
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.owners_cast import owners_cast

PLAN = Subject(SubjectKind.PLAN, 0)


@pytest.fixture(autouse=True)
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs are no subject of this file."""
    monkeypatch.setattr(Inputs, "check_frozen", lambda *_: None)


class Voter:
    """Node 0 with two states that it may open, and the keys of all nodes."""

    def __init__(self, folder: Path, *, nodes: int = 4, reached: bool = False) -> None:
        self.cast = owners_cast(nodes, parameters=SETTINGS, plan_for="everybody")
        self._store = Store.create(folder, self.cast.agreement, {})
        self._reached = reached
        self.state = self.opened_again()
        self.state.searches[0].begin_start(EARLY)

    def opened_again(self) -> AgreementState:
        store = Store(self._store.folder)
        self.state = AgreementState(
            store, node=0, key=X25519PrivateKey.from_private_bytes(bytes(32))
        )
        return self.state

    async def keeps_both(self) -> None:
        for number in (6, 7):
            await self.state.searches[0].keep(kept(number))

    @property
    def node(self) -> Any:
        def ask(_: int) -> asyncio.Future[bool]:
            answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            answer.set_result(self._reached)
            return answer

        keys = SimpleNamespace(signing=lambda _: self.cast.nodes[0].signing)
        return SimpleNamespace(number=0, own_keys=keys, presence=SimpleNamespace(ask=ask))

    def signed(self, nodes: list[int], phase: Phase, value: str, ballot: int = 0) -> list[bytes]:
        """What these nodes have voted."""
        return [
            Vote(k, PLAN, ballot, phase, value).sign(self.cast.nodes[k].signing, self.state.hash)
            for k in nodes
        ]

    async def asked(
        self, phase: Phase, value: str = "", shown: list[bytes] | None = None, ballot: int = 0
    ) -> VoteCast:
        request = CastVote(
            agreement=self.state.hash,
            subject=PLAN,
            ballot=ballot,
            phase=phase,
            value=value,
            votes=shown or [],
        )
        return await cast_vote(self.node, self.state, request)

    async def vote(self, *asked: Any, **options: Any) -> Vote:
        return read_vote(self.cast.agreement, (await self.asked(*asked, **options)).vote)


def test_a_vote_is_on_the_disk_before_it_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    sync = NodeLog.sync

    def noted(log: NodeLog) -> None:
        sync(log)
        synced.append(len(log.recent()))

    async def work() -> None:
        voter = Voter(tmp_path)
        await voter.keeps_both()
        monkeypatch.setattr(NodeLog, "sync", noted)
        for _ in range(2):  # also where the line was there: that time the disk may have failed
            synced.clear()
            await voter.asked(Phase.WILLING, ENOUGH)
            assert synced[-1:] == [len(voter.state.store.log.recent())]

    run(work())


def test_two_that_ask_at_once_get_the_same_vote(tmp_path: Path) -> None:
    async def work() -> None:
        voter = Voter(tmp_path)
        await voter.keeps_both()
        # Both wait for the computation under way to end.
        async with voter.state.searches[0].computing:
            asked = [
                asyncio.ensure_future(voter.vote(Phase.WILLING, value))
                for value in (ENOUGH, "7:1:1")
            ]
            await asyncio.sleep(0.01)
            assert not any(each.done() for each in asked)
        assert len({each.value for each in await asyncio.gather(*asked)}) == 1

    run(work())


def test_a_node_is_bound_by_a_quorum_and_shows_it_also_after_a_restart(tmp_path: Path) -> None:
    """A status whose lock is not proven counts for nothing, and another value may be decided."""

    async def work() -> None:
        voter = Voter(tmp_path)
        await voter.keeps_both()
        willing = voter.signed([1, 2, 3], Phase.WILLING, ENOUGH)
        others = voter.signed([1, 2, 3], Phase.WILLING, "7:1:1")
        for shown in (willing[:2], [*willing[:2], others[2]], [willing[0]] * 3):
            with pytest.raises(RefusedError, match="of 4 nodes are willing"):
                await voter.asked(Phase.BOUND, ENOUGH, shown)
        assert not voter.state.searches[0].is_over
        assert (await voter.vote(Phase.BOUND, ENOUGH, [*willing, *others])).value == ENOUGH
        assert voter.opened_again().searches[0].is_over
        status = await voter.asked(Phase.STATUS, ballot=3)
        vote = read_vote(voter.cast.agreement, status.vote)
        assert (vote.locked, vote.value) == (0, ENOUGH)
        assert sorted(status.proof) == sorted(willing)

    run(work())


def test_after_a_vote_nothing_is_computed_and_what_is_decided_stays(tmp_path: Path) -> None:
    async def work() -> None:
        voter = Voter(tmp_path)
        await voter.keeps_both()
        await voter.asked(Phase.STATUS, ballot=1)
        with pytest.raises(RefusedError, match="its end"):
            voter.state.searches[0].begin_start(EARLY)
        bound = voter.signed([1, 2, 3], Phase.BOUND, ENOUGH, 1)
        await decided_state(voter.node, voter.state, 0, ENOUGH, bound)
        statuses = voter.signed([1, 2, 3], Phase.STATUS, "", 1)
        for phase, shown in (
            (Phase.WILLING, statuses),
            (Phase.BOUND, voter.signed([1, 2, 3], Phase.WILLING, "7:1:1", 1)),
        ):
            with pytest.raises(RefusedError, match="another plan of this search was opened"):
                await voter.asked(phase, "7:1:1", shown, ballot=1)

    run(work())


@pytest.mark.parametrize("reached", [False, True])
def test_two_of_three_nodes_vote_without_the_third_if_it_is_away(
    tmp_path: Path, reached: bool
) -> None:
    """Its disk may be the only one that was not set back."""

    async def work() -> None:
        voter = Voter(tmp_path, nodes=3, reached=reached)
        await voter.keeps_both()
        own = (await voter.asked(Phase.WILLING, ENOUGH)).vote
        two = [own, *voter.signed([1], Phase.WILLING, ENOUGH)]
        if not reached:
            assert (await voter.vote(Phase.BOUND, ENOUGH, two)).value == ENOUGH
            return
        with pytest.raises(RefusedError) as refused:
            await voter.asked(Phase.BOUND, ENOUGH, two)
        assert refused.value.kind == RefusalKind.ABSENT
        # And not by two others, while it is there itself.
        with pytest.raises(RefusedError) as refused:
            await voter.asked(Phase.BOUND, ENOUGH, voter.signed([1, 2], Phase.WILLING, ENOUGH))
        assert refused.value.kind == RefusalKind.ABSENT

    run(work())
