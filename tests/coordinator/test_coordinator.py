"""What the coordinator takes over from nodes, and what it makes of their answers, without nodes."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tacit.agreement.signatures import sign_offer
from tacit.coordinator.coordinator import Coordinator, count_run
from tacit.coordinator.membership import _Phase
from tacit.coordinator.node_client import (
    NodeClient,
    NodeOffer,
    ask_for_sealing_keys,
    head_of_series,
)
from tacit.coordinator.secure import SecureEngine, SecureObjective, SecureSealedSearch
from tacit.equity import FIRST_HEAD
from tacit.errors import AbortError, EngineError, MismatchError
from tacit.evaluators import ObjectiveEvaluation
from tacit.mpc import Session
from tacit.records.ledger import DisclosedLabels, Ledger
from tacit.records.messages import (
    AgreementTaken,
    EpochOpened,
    Evaluate,
    Failed,
    OfferSealingKey,
    Ping,
    RunAccounted,
    SealingKeyOffered,
)
from tacit.records.requests import NO_ATTEMPT, Attempt
from tests.on_nodes.entries import evaluation, opened_plan
from tests.on_nodes.fixtures import example_cast

CAST = example_cast()


def opened(**known: Any) -> EpochOpened:
    empty: dict[str, Any] = {"numbers": {}, "parent_attempts": {}, "kept": {}, "states": {}}
    return EpochOpened(id=1, **{**empty, **known})


# Epochs and attempts.


def test_a_number_is_used_as_soon_as_one_node_says_so() -> None:
    coordinator = Coordinator(CAST.agreement, [])
    coordinator._learn([opened(numbers={0: 3}), opened(numbers={0: 5}), opened()])
    assert coordinator.numbers == {0: 5}
    coordinator._learn([opened(numbers={0: 4})] * 3)
    assert coordinator.numbers == {0: 5}


def test_one_node_of_four_uses_up_no_number() -> None:
    """Else the others refuse the next one: it would leave a gap."""
    coordinator = Coordinator(CAST.agreement, [])
    coordinator._learn([opened(numbers={0: number}) for number in (3, 1 << 40, 4, 4)])
    assert coordinator.numbers == {0: 4}


def test_what_not_all_nodes_keep_is_not_gone_on_from() -> None:
    coordinator = Coordinator(CAST.agreement, [])
    one, two = Attempt("1:1:1"), Attempt("2:1:2")
    parents = {"parent_attempts": {0: one}, "states": {0: [one, two]}}
    other = {"parent_attempts": {0: two}, "states": {0: [two]}}
    coordinator._learn([opened(**parents), opened(**other), opened(**parents)])
    assert coordinator.parent_attempts == {}
    assert coordinator.states == {0: [two]}
    coordinator._learn([opened(**parents)] * 3)
    assert coordinator.parent_attempts == {0: one}


@pytest.mark.parametrize("liar", range(4))
def test_a_node_that_names_only_what_another_missed_steers_nobody(liar: int) -> None:
    """Else two honest nodes and the liar decide on a state that too few can open."""
    coordinator = Coordinator(CAST.agreement, [])
    early, late = Attempt("9:1:1"), Attempt("10:1:2")
    honest = [[early, late], [early, late], [early]]
    for claim, common in (([late], [early]), ([], [early]), ([early], [early])):
        said = [*honest[:liar], claim, *honest[liar:]]
        coordinator._learn([opened(states={0: each}) for each in said])
        assert coordinator.states == {0: common}
    everybody = [opened(states={0: [early, late]})] * 3
    coordinator._learn([*everybody[:liar], opened(), *everybody[liar:]])
    assert {*coordinator.states[0]} == {early, late}


def request(**changes: Any) -> Evaluate:
    made = Evaluate(
        agreement=CAST.agreement.digest,
        objective=0,
        number=1,
        epoch=7,
        attempt=1,
        disclosure="top:1",
        best="value",
        parent_attempt=NO_ATTEMPT,
        candidates=b"",
    )
    return replace(made, **changes)


async def nothing(session: Session) -> None:
    """Nobody is asked, so nothing comes."""


def epoch_of(coordinator: Coordinator) -> int | None:
    return coordinator._epoch


def signs(coordinator: Coordinator) -> bool:
    return coordinator._signs


def test_an_attempt_that_fails_leaves_its_keys_to_nobody() -> None:
    async def fail(session: Session) -> None:
        raise AbortError("node 1", "is gone")

    async def attempt() -> None:
        coordinator = Coordinator(CAST.agreement, [])
        coordinator._epoch = 7
        await coordinator.attempt(request(), b"digest", nothing)
        assert epoch_of(coordinator) == 7
        with pytest.raises(AbortError):
            await coordinator.attempt(request(), b"digest", fail)
        assert epoch_of(coordinator) is None
        # One that another attempt has opened meanwhile stays.
        coordinator._epoch = 8
        with pytest.raises(AbortError):
            await coordinator.attempt(request(), b"digest", fail)
        assert epoch_of(coordinator) == 8

    asyncio.run(attempt())


def test_what_builds_on_three_nodes_is_not_checked_and_nothing_is_signed_then() -> None:
    async def unchecked(coordinator: Coordinator, parent: Attempt) -> bool:
        made = request(parent_attempt=parent)
        return (await coordinator.attempt(made, b"digest", nothing)).unchecked

    async def check() -> None:
        coordinator = Coordinator(CAST.agreement, [])
        coordinator.naming.signed = True
        assert signs(coordinator)
        assert not await unchecked(coordinator, Attempt("1:1:1"))
        coordinator.loss._phase = _Phase(2, None)
        assert not signs(coordinator)
        assert await unchecked(coordinator, Attempt("1:1:1"))
        assert not await unchecked(coordinator, NO_ATTEMPT)

    asyncio.run(check())


def test_nodes_that_counted_different_runs_are_noticed() -> None:
    def coordinator(*heads: str) -> Any:
        async def epoch(*, everybody: bool) -> int:
            assert everybody
            return 1

        async def same(*_: object) -> Any:
            return [RunAccounted(id=1, sent=0, rounds=1, head=head) for head in heads]

        async def persist(once: Any, *, until: float | None) -> Any:
            return await once()

        return SimpleNamespace(
            epoch=epoch,
            hash=CAST.agreement.digest,
            new_attempt=lambda: 1,
            attempt=same,
            replies=same,
            persist=persist,
        )

    assert asyncio.run(count_run(coordinator("aa", "aa", "aa"), until=None)).head == "aa"
    with pytest.raises(AbortError, match="different runs"):
        asyncio.run(count_run(coordinator("aa", "aa", "bb"), until=None))


def test_inputs_are_prepared_by_everybody() -> None:
    asked: list[bool] = []

    class Recording(Coordinator):
        async def epoch(self, *, everybody: bool = False) -> int:
            asked.append(everybody)
            raise EngineError("that is enough")

    with pytest.raises(EngineError, match="that is enough"):
        asyncio.run(Recording(CAST.agreement, []).prepare(0, until=1e9))
    assert asked == [True]


# Single nodes.


class Offering:
    """A node that offers a key, signed as it should be or not."""

    name = "node 0"

    def __init__(self, **lies: Any) -> None:
        self.lies = lies

    async def connect(self) -> None:
        pass

    async def ask(self, asked: Any) -> asyncio.Future[Any]:
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        answer.set_result(None if isinstance(asked, Ping) else self.offered(asked))
        return answer

    def offered(self, asked: OfferSealingKey) -> SealingKeyOffered:
        said = {
            "nonce": asked.nonce,
            "platform": asked.platform,
            "sealing_key": "ab" * 32,
            **self.lies,
        }
        signature = sign_offer(CAST.nodes[0].signing, **said)
        return SealingKeyOffered(id=1, sealing_key="ab" * 32, signature=signature)


@pytest.mark.parametrize("lie", ["nonce", "platform", "sealing_key"])
def test_a_sealing_key_is_signed_by_its_node_for_what_was_asked(lie: str) -> None:
    async def ask(node: Offering) -> list[NodeOffer]:
        terms = CAST.agreement.nodes[:1]
        return await ask_for_sealing_keys(
            cast(Any, [node]), terms, nonce="cd" * 16, platform="ef" * 32, within=60.0
        )

    assert asyncio.run(ask(Offering()))[0].node.sealing_key == "ab" * 32
    with pytest.raises(EngineError, match="did not sign its sealing key"):
        asyncio.run(ask(Offering(**{lie: "00" * 32})))


def test_a_run_follows_what_the_node_says_that_has_counted_most() -> None:
    node = CAST.agreement.nodes[0]
    offers = [NodeOffer(node, None, head, n) for head, n in (("aa", 1), ("bb", 2), ("", 0))]
    assert head_of_series(offers) == "bb"
    assert head_of_series(offers[2:]) == FIRST_HEAD


def test_what_a_node_shows_as_evidence_is_passed_on() -> None:
    async def failed() -> BaseException | None:
        client = NodeClient(0, "127.0.0.1:1", cast(Any, None), 0.0)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        client._waiting[1] = future, EpochOpened
        client._settle(Failed(id=1, peer="node 1", what="", voucher="node 2", evidence=[b"proof"]))
        return future.exception()

    error = asyncio.run(failed())
    assert isinstance(error, MismatchError)
    assert (error.peer, error.voucher, [*error.evidence]) == ("node 1", "node 2", [b"proof"])


# The ledger, and agreements that are entered again.


def engine_with(answer: Any) -> Any:
    """An engine whose work is done."""
    evaluations = SimpleNamespace(evaluate=lambda *_, **__: None)
    return SimpleNamespace(
        agreement=CAST.agreement,
        ledger=Ledger(),
        owners={},
        evaluations=lambda _: evaluations,
        submit=lambda _: answer,
        wait=lambda future, *, until: future,
    )


def test_an_answer_is_in_the_ledger_before_the_search_has_it() -> None:
    entry = evaluation(1, [1, 0], 9)
    answer = SimpleNamespace(payload=DisclosedLabels([1, 0], 9), entry=lambda _: entry)
    engine = engine_with(answer)
    told = SecureObjective(engine, 0).evaluate(cast(Any, None), until=None)
    assert isinstance(told, ObjectiveEvaluation)
    assert engine.ledger.entries == [entry]


def test_a_plan_is_in_the_ledger_before_anybody_sees_it() -> None:
    entry = opened_plan(0, [1, 0])
    engine = engine_with(SimpleNamespace(entry=entry, sealed=[]))
    search: Any = SimpleNamespace(open=lambda *_, **__: None)
    SecureSealedSearch(engine, search).open(0, until=None)
    assert engine.ledger.entries == [entry]


@pytest.mark.parametrize(
    ("contributions", "fits"),
    [
        ([{0: "aa"}] * 3, True),
        ([{}] * 3, False),
        ([{0: "aa"}, {0: "aa"}, {0: "bb"}], False),
        ([{0: "bb"}, {0: "aa"}, {0: "aa"}, {0: "aa"}], True),
        ([{0: "bb"}, {0: "aa"}, {0: "bb"}, {0: "aa"}], False),
    ],
)
def test_an_agreement_is_entered_if_all_nodes_drew_the_same(
    contributions: list[dict[int, str]], fits: bool
) -> None:
    taken = [
        AgreementTaken(id=1, frozen=[0], epoch=1, seed_contributions=each, states={}, clock=0.0)
        for each in contributions
    ]

    class Entered(Coordinator):
        async def start_agreement(self, *_: Any, **__: Any) -> list[AgreementTaken]:
            return taken

        async def epoch(self, *, everybody: bool = False) -> int:
            return 1 + everybody

    async def enter() -> dict[int, str]:
        loop = asyncio.get_running_loop()
        engine: Any = SimpleNamespace(
            agreement=CAST.agreement, _coordinator=Entered(CAST.agreement, []), _loop=loop
        )
        return await SecureEngine._enter(engine, {}, 60.0)

    if fits:
        assert asyncio.run(enter()) == {0: "aa"}
        return
    with pytest.raises(EngineError, match="not all nodes"):
        asyncio.run(enter())
