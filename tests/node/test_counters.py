"""`improvement` discloses no comparison but that of each population with all before it."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement.terms import Agreement
from tacit.errors import RefusedError
from tacit.local.cluster import LocalCluster
from tacit.mpc import ArithmeticShare
from tacit.node.agreement_state import AgreementState
from tacit.node.policy import Asked
from tacit.node.store import Store
from tacit.records.events import EvaluationBegun, EvaluationRepeated
from tacit.records.log import verify_log
from tacit.records.requests import NO_ATTEMPT, REVEAL_NUMBER, Attempt
from tests.on_nodes.agreed_cluster import AgreedCluster, populations, problem, run
from tests.on_nodes.fixtures import Cast, example_cast


@pytest.fixture
def cast() -> Cast:
    return example_cast()


def improving(cast: Cast) -> Agreement:
    terms = replace(cast.agreement.objectives[0], best="improvement")
    return replace(cast.agreement, objectives=[terms])


def agreement_state(cast: Cast, root: Path) -> AgreementState:
    store = Store.create(root, improving(cast), cast.signatures)
    made = AgreementState(store, node=0, key=cast.sealing[0])
    made.inputs.seed_contributions[0] = "00"
    return made


def compute(held: AgreementState, number: int, parent: Attempt, *, attempt: int = 0) -> Attempt:
    """What a node does for one evaluation, without the others; the name of what it leaves."""
    plans = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    name = Attempt.of(number, 1, attempt)
    held.counters.best_before(0, number, parent)
    asked = Asked(0, number, "top:1", "improvement", bytes([number]) * 32, plans)
    held.counters.begin(asked, attempt=name, parent_attempt=parent)
    share = np.array([number], dtype=np.uint64)
    held.counters.bests[0].keep(number, name, ArithmeticShare({1: share, 2: share}))
    return name


def evaluated(held: AgreementState, count: int) -> list[Attempt]:
    names = [NO_ATTEMPT]
    for number in range(1, count + 1):
        names.append(compute(held, number, names[-1]))
    return names


def test_no_old_evaluation_is_repeated(cast: Cast, tmp_path: Path) -> None:
    held = agreement_state(cast, tmp_path)
    names = evaluated(held, 6)
    for is_restarted in (False, True):
        again = agreement_state(cast, tmp_path) if is_restarted else held
        for number in range(1, 6):
            for parent in (NO_ATTEMPT, *names):
                with pytest.raises(RefusedError):
                    compute(again, number, parent, attempt=1)
        # The last one, and on the state that it was computed on: as often as need be.
        for attempt in (1, 2, 3):
            with pytest.raises(RefusedError, match="best so far is not here"):
                compute(again, 6, NO_ATTEMPT, attempt=attempt)
            compute(again, 6, names[5], attempt=attempt)
    compute(again, 7, Attempt("6:1:3"))


def test_each_rule_refuses_by_itself(cast: Cast, tmp_path: Path) -> None:
    held = agreement_state(cast, tmp_path)
    names = evaluated(held, 1)
    plans = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    second, third = (Asked(0, n, "top:1", "improvement", bytes([n]) * 32, plans) for n in (2, 3))
    for asked in (second, third):  # neither came so far as to leave a state
        held.counters.begin(asked)
    with pytest.raises(RefusedError, match="only the last evaluation, 3, is repeated"):
        compute(held, 2, names[1])
    compute(held, 3, names[1])
    with pytest.raises(RefusedError, match="a later best so far"):
        held.counters.best_before(0, 2, names[1])


def test_each_computation_is_logged_with_what_it_builds_on(cast: Cast, tmp_path: Path) -> None:
    held = agreement_state(cast, tmp_path)
    names = evaluated(held, 2)
    compute(held, 2, names[1], attempt=5)
    events = verify_log(held.store.log.path.read_bytes())
    logged = [e for e in events if isinstance(e, EvaluationBegun | EvaluationRepeated)]
    assert [(e.name, e.attempt, e.parent_attempt) for e in logged] == [
        ("evaluate", "1:1:0", ""),
        ("evaluate", "2:1:0", "1:1:0"),
        ("repeat", "2:1:5", "1:1:0"),
    ]


@pytest.mark.parametrize("here", [True, False])
def test_what_was_begun_is_not_left_out(cast: Cast, tmp_path: Path, here: bool) -> None:
    """Whether its answer got out before the node was killed, nobody can tell afterwards."""
    held = agreement_state(cast, tmp_path)
    names = evaluated(held, 1)
    if here:
        plans = np.array([[0, 1], [1, 0]], dtype=np.uint8)
        held.counters.begin(Asked(0, 2, "top:1", "improvement", bytes([2]) * 32, plans))
    else:  # a peer says so when an epoch begins
        held.counters.adopt({0: [(2, bytes([2]) * 32)]})
    for again in (held, agreement_state(cast, tmp_path)):
        with pytest.raises(RefusedError, match="evaluation 2 was begun, and left no best so far"):
            compute(again, 3, names[1])
    compute(again, 3, compute(again, 2, names[1]))


def test_a_power_cut_does_not_take_back_what_was_begun(
    cast: Cast, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line is on the disk before anything is computed, where the next builds on it."""
    held = agreement_state(cast, tmp_path)
    synced: list[bytes] = []
    log = held.store.log
    monkeypatch.setattr(log, "sync", lambda: synced.append(log.path.read_bytes()))
    evaluated(held, 1)
    assert b'"evaluate"' in synced[0]


def test_two_evaluations_at_once_take_turns(cluster: LocalCluster) -> None:
    """Asked for while the one before is computed, the second cannot build on the state before."""
    agreed = AgreedCluster.draft(cluster, problem("top:3", "improvement"))
    plans = populations(2)

    async def attack() -> None:
        async with agreed.ready() as (coordinator, _):
            epoch = await coordinator.epoch()
            asked = [
                [
                    await client.ask(
                        agreed.request(each, epoch=epoch, number=number, attempt=number)
                    )
                    for client in coordinator.clients
                ]
                for number, each in enumerate(plans, start=1)
            ]
            await asyncio.gather(*asked[0])
            refused = await asyncio.gather(*asked[1], return_exceptions=True)
            assert all("best so far is not here" in str(each) for each in refused)

    run(attack())


def test_a_cancelled_evaluation_is_made_up_for(cluster: LocalCluster) -> None:
    """A coordinator whose time ran out in mid-answer goes on where it stopped."""
    agreed = AgreedCluster.draft(cluster, problem("top:3", "improvement"))
    plans = populations(3)

    async def evaluate() -> list[tuple[int, int | None]]:
        async with agreed.ready() as (_, evaluations):
            told = [await evaluations.evaluate(plans[0], until=None)]
            for wait in (0.0, 0.004, 0.008, 0.012):
                waiting = asyncio.ensure_future(evaluations.evaluate(plans[1], until=None))
                await asyncio.sleep(wait)
                waiting.cancel()
                await asyncio.gather(waiting, return_exceptions=True)
            told.append(await evaluations.evaluate(plans[2], until=time.monotonic() + 60))
            return [(each.number, each.payload.best) for each in told]

    (_, first), (_, last) = run(evaluate())
    bests = [int(agreed.problem.fitness(0, each).max()) for each in plans]
    assert first is True
    assert last in {bests[2] > max(bests[:2]), bests[2] > bests[0]}


def test_what_is_told_at_the_end_is_told_once_also_after_a_restart(
    cast: Cast, tmp_path: Path
) -> None:
    plans = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    first = Asked(0, 1, "top:1", "improvement", bytes(32), plans)
    revealed, other = (
        Asked(0, REVEAL_NUMBER, "top:1", "nothing", bytes([n]) * 32, plans) for n in (1, 2)
    )
    held = agreement_state(cast, tmp_path)
    with pytest.raises(RefusedError, match="never evaluated"):
        held.counters.check_reveal(revealed)
    held.counters.begin(first)
    asyncio.run(held.counters.finish(first))
    held.counters.check_reveal(other)
    held.counters.check_reveal(revealed)
    held.counters.begin_reveal(revealed)
    assert held.store.log.is_synced
    for again in (held, agreement_state(cast, tmp_path)):
        again.counters.check_reveal(revealed)
        with pytest.raises(RefusedError, match="happens once"):
            again.counters.check_reveal(other)


@pytest.mark.parametrize("request_known", [True, False])
def test_a_number_that_peers_used_is_used_here(
    cast: Cast, tmp_path: Path, request_known: bool
) -> None:
    """Also where they have lost what was asked for under it."""
    plans = np.array([[0, 1], [1, 0]], dtype=np.uint8)
    asked, other = (Asked(0, 1, "top:1", "improvement", bytes([n]) * 32, plans) for n in (1, 2))
    held = agreement_state(cast, tmp_path)
    held.counters.adopt({0: [(1, asked.request if request_known else b"")]})
    for again in (held, agreement_state(cast, tmp_path)):
        with pytest.raises(RefusedError, match="was used for another request"):
            again.counters.begin(other)
    if request_known:
        held.counters.begin(asked)
