"""A node opens the plan of an assignment after the least iterations, or by its own clock."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.errors import LogError, RefusedError
from tacit.mpc import ArithmeticShare
from tacit.node.agreement_state import AgreementState
from tacit.node.inputs import Inputs
from tacit.node.sealed_progress import KeptState
from tacit.node.store import Store
from tacit.node.voting import cast_vote
from tacit.problems import Problem, generate_assignment
from tacit.records.ballots import Phase, Subject, SubjectKind, Vote
from tacit.records.events import InputTaken, LogEvent, Voted
from tacit.records.ledger import DisclosedProof, DisclosureKind
from tacit.records.messages import Advance, CastVote, RefusalKind
from tacit.records.node_log import NodeLog
from tacit.records.requests import Attempt
from tacit.search.moves import AssignmentParameters
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.owners_cast import owners_cast

SETTINGS = AssignmentParameters(generations=2, iterations=12, least=4, seconds=100)
EARLY, ENOUGH = Attempt("5:1:1"), Attempt("6:1:1")


def held(
    root: Path, settings: AssignmentParameters = SETTINGS, problem: Problem | None = None, **of: Any
) -> AgreementState:
    """The state of a node whose start was drawn just now."""
    cast = owners_cast(problem=problem, parameters=settings, plan_for="everybody", **of)
    state = opened_again(Store.create(root, cast.agreement, {}))
    for progress in state.searches.values():
        progress.begin_start(Attempt("0:1:1"))
    return state


def opened_again(store: Store) -> AgreementState:
    return AgreementState(store, node=0, key=X25519PrivateKey.from_private_bytes(bytes(32)))


def begun(state: AgreementState, search: int = 0) -> float:
    started = state.searches[search].started
    assert started is not None
    return started


def opens(state: AgreementState, attempt: Attempt, seconds: float, **of: Any) -> bool:
    """Whether the plan may be opened so long after the start."""
    search = of.pop("search", 0)
    try:
        state.check_long_enough(search, attempt, now=begun(state) + seconds, **of)
    except RefusedError:
        return False
    return True


def kept(number: int) -> KeptState:
    words = np.zeros((1, 2), dtype=np.uint32)
    return KeptState(number, Attempt.of(number, 1, 1), [ArithmeticShare({1: words, 2: words})], {})


def test_a_plan_is_opened_after_the_least_iterations_or_when_time_is_over(tmp_path: Path) -> None:
    state = held(tmp_path)
    assert opens(state, ENOUGH, 0)
    assert not opens(state, EARLY, 0)
    assert not opens(state, EARLY, 69)
    assert opens(state, EARLY, 70)
    with pytest.raises(RefusedError, match="5 steps were made, and no plan is opened before 6"):
        state.check_long_enough(0, EARLY, now=begun(state))


def test_without_a_deadline_no_time_is_ever_over(tmp_path: Path) -> None:
    state = held(tmp_path, replace(SETTINGS, seconds=0))
    assert not opens(state, EARLY, 1e9)
    assert opens(state, ENOUGH, 0)


def test_without_a_least_number_a_plan_is_opened_at_any_time(tmp_path: Path) -> None:
    state = held(tmp_path, replace(SETTINGS, least=0))
    assert opens(state, Attempt("0:1:1"), 0)


def test_the_clock_goes_on_over_a_restart_and_a_start_that_is_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many starts somebody makes fail, a restart does not set the clock forward."""
    now = count(1_000_000, 10)
    monkeypatch.setattr("time.time", lambda: float(next(now)))
    state = held(tmp_path)
    first = begun(state)
    for attempt in range(2, 60):
        state.searches[0].begin_start(Attempt.of(0, 1, attempt))
    assert begun(state) == first
    again = opened_again(state.store)
    # The line is written a little before the clock starts.
    assert first - 20 <= begun(again) <= first
    assert not opens(again, EARLY, 69)
    assert opens(again, EARLY, 70)


def test_a_line_that_nobody_replays_stops_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a restart would silently forget what a new kind of event says."""
    store = held(tmp_path).store
    unknown: list[LogEvent] = [InputTaken(0, "north", "ab")]
    monkeypatch.setattr(NodeLog, "recent", lambda _: unknown)
    with pytest.raises(AssertionError):
        opened_again(store)


def test_a_node_that_gets_a_state_from_its_peers_begins_with_it(tmp_path: Path) -> None:
    cast = owners_cast(parameters=SETTINGS, plan_for="everybody")
    state = opened_again(Store.create(tmp_path, cast.agreement, {}))
    progress = state.searches[0]
    assert progress.started is None
    with pytest.raises(RefusedError):
        state.check_long_enough(0, EARLY, now=1e12)
    progress.from_peers = [Attempt("3:1:1")]
    request = Advance(
        agreement=state.hash,
        epoch=2,
        attempt=1,
        search=0,
        first=3,
        count=2,
        horizon=14,
        parent_attempt=Attempt("3:1:1"),
    )
    progress.begin(request, Attempt("5:2:1"), state.agreement.sealed_run)
    for each in (state, opened_again(state.store)):
        assert not opens(each, Attempt("5:2:1"), 69)
        assert opens(each, Attempt("5:2:1"), 70)


def test_what_is_proved_is_opened_at_once_and_nothing_before_it(tmp_path: Path) -> None:
    """The state before the proof is still here, and its plan may be another one."""
    state = held(tmp_path, replace(SETTINGS, checkpoints="2:3"))

    def sent(attempt: Attempt, finished: bool) -> None:
        known = DisclosedProof(finished)
        state.store.log_sent(DisclosureKind.PROVED, 0, attempt, b"", bytes.hex, known=known)

    sent(Attempt("4:1:1"), False)
    assert not opens(opened_again(state.store), Attempt("4:1:1"), 0)
    sent(EARLY, True)
    again = opened_again(state.store)
    assert opens(again, EARLY, 0)
    assert not opens(again, Attempt("4:1:1"), 0)


def test_each_group_of_weightings_has_its_part_of_the_time(tmp_path: Path) -> None:
    problem = generate_assignment(1, rows=4, objectives=2, participants=3)
    settings = replace(SETTINGS, together=2)
    state = held(tmp_path, settings, problem, weightings=[(1, 0), (1, 1), (1, 2), (0, 1)])
    assert [*state.searches] == [0, 2]
    for search, due in ((0, 35), (1, 35), (2, 70), (3, 70)):
        assert not opens(state, EARLY, due - 1, search=search)
        assert opens(state, EARLY, due + 1, search=search)


async def vote(state: AgreementState, value: str, ballot: int = 0) -> Vote:
    """What the node votes if it is asked whether it is willing."""
    asked = CastVote(
        agreement=state.hash,
        subject=Subject(SubjectKind.PLAN, 0),
        ballot=ballot,
        phase=Phase.WILLING,
        value=value,
    )
    here: Any = SimpleNamespace(
        number=0,
        own_keys=SimpleNamespace(signing=lambda _: Ed25519PrivateKey.generate()),
        presence=SimpleNamespace(ask=lambda _: None),
    )
    signed = (await cast_vote(here, state, asked)).vote
    return msgspec.json.decode(signed[:-64], type=Vote)


def test_a_node_votes_for_an_early_plan_by_its_own_clock_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a platform, and one node that is with it, open none before it is due."""
    state = held(tmp_path)
    now = [begun(state)]
    monkeypatch.setattr("tacit.node.voting.time.time", lambda: now[0])
    monkeypatch.setattr(Inputs, "check_frozen", lambda *_: None)

    async def work() -> None:
        for number in (5, 6):
            await state.searches[0].keep(kept(number))
        now[0] += 69
        with pytest.raises(RefusedError, match="no plan is opened before") as refused:
            await vote(state, EARLY)
        assert refused.value.kind == RefusalKind.EARLY
        with pytest.raises(RefusedError, match="is not here"):
            await vote(state, "7:1:1")
        # Whatever is not voted for does not end the search.
        assert not state.searches[0].is_over
        now[0] += 1
        assert (await vote(state, EARLY)).value == EARLY
        now[0] -= 1e6
        # Its vote stands, whatever the time is, and in this ballot there is no other.
        for each in (state, opened_again(state.store)):
            assert each.searches[0].is_over
            assert (await vote(each, EARLY)).value == EARLY
            assert (await vote(each, ENOUGH)).value == EARLY

    run(work())


def test_a_vote_stands_where_the_disk_failed_to_sync_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its line may be there: a node that thought itself free could vote otherwise."""
    state = held(tmp_path)
    monkeypatch.setattr(Inputs, "check_frozen", lambda *_: None)
    failing = [True]
    sync = NodeLog.sync

    def full(log: NodeLog) -> None:
        if failing[0]:
            raise LogError("the log cannot be synced (No space left on device)")
        sync(log)

    async def work() -> None:
        for number in (6, 7):
            await state.searches[0].keep(kept(number))
        monkeypatch.setattr(NodeLog, "sync", full)
        with pytest.raises(LogError):
            await vote(state, ENOUGH)
        failing[0] = False
        assert (await vote(state, "7:1:1")).value == ENOUGH
        assert [e.value for e in state.store.log.recent() if isinstance(e, Voted)] == [ENOUGH]

    run(work())


def test_a_vote_that_could_not_be_written_was_not_cast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group of searches is voted on in one line: all of it is there, or nothing."""
    problem = generate_assignment(1, rows=4, objectives=2, participants=3)
    settings = replace(SETTINGS, together=2)
    state = held(tmp_path, settings, problem, weightings=[(1, 0), (1, 1)])
    monkeypatch.setattr(Inputs, "check_frozen", lambda *_: None)
    write, written = os.write, [0]

    def full(file: int, data: bytes) -> int:
        # The second line of this test finds the disk full in its middle.
        written[0] += 1
        return write(file, data) if written[0] > 1 else write(file, data[: len(data) // 2])

    async def work() -> None:
        for number in (6, 7):
            await state.searches[0].keep(kept(number))
        monkeypatch.setattr("tacit.records.node_log.os.write", full)
        with pytest.raises(LogError, match="cannot be written"):
            await vote(state, ENOUGH)
        for each in (state, opened_again(state.store)):
            assert not each.searches[0].is_over
        assert (await vote(state, "7:1:1")).value == "7:1:1"
        assert opened_again(state.store).searches[0].is_over

    run(work())
