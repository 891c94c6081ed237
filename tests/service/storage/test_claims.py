"""Who gets which run: claims, leases and fences, on SQLite as on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select, text

from tacit.client import RunState, RunTerms, converted
from tacit.errors import FencedError
from tacit.service.storage import (
    Database,
    Run,
    RunClaim,
    add_members,
    check_fence,
    claim_work,
    claims,
    create_account,
    create_run,
    fences_held,
    loads,
    release,
    release_all,
    renew_leases,
    set_state,
    workers_seen,
)
from tests.service.example_terms import plain_terms
from tests.service.storage.test_database import BOTH, empty_database

SLOTS = {"main": 1}


class Clock:
    """The time by the database's clock, as a test says."""

    now = 1000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(claims, "database_time", lambda _: made.now)
    return made


@pytest.fixture(params=BOTH)
def database(request: pytest.FixtureRequest, tmp_path: Any, clock: Clock) -> Iterator[Database]:
    opened = Database(empty_database(request, tmp_path))
    with opened.writing() as session:
        for name in ("op", "other"):
            create_account(session, name, "operator")
        for name in ("north", "south"):
            create_account(session, name, "participant")
    yield opened
    opened.close()


def add(
    database: Database, state: RunState, *, by: str = "op", cluster: str = "main", **columns: Any
) -> str:
    with database.writing() as session:
        run = create_run(session, converted(plain_terms(), RunTerms), by=by)
        add_members(session, run.id, {"north": [0, 1], "south": [2, 3]})
        run.state, run.cluster, run.nonce = state, cluster, "00"
        for name, value in columns.items():
            setattr(run, name, value)
        return run.id


def claim(database: Database, owner: str = "a", **options: Any) -> RunClaim | None:
    with database.writing() as session:
        return claim_work(session, owner, options.pop("slots", SLOTS), **options)


def must_claim(database: Database, owner: str = "a", **options: Any) -> RunClaim:
    found = claim(database, owner, **options)
    assert found is not None
    return found


def give_back(database: Database, held: RunClaim, again_in: float | None = None) -> None:
    with database.writing() as session:
        release(session, held, again_in=again_in)


def set_to(database: Database, run_id: str, state: RunState) -> None:
    with database.writing() as session:
        set_state(session, run_id, state)


def test_a_run_belongs_to_one_until_its_lease_expires(database: Database, clock: Clock) -> None:
    run_id = add(database, "running", deadline_at=2000.0)
    first = must_claim(database)
    assert (first.run_id, first.work) == (run_id, "take up")
    assert claim(database, "b") is None
    clock.now += claims.LEASE_SECONDS - 1
    with database.writing() as session:
        assert renew_leases(session, "a", {run_id: first.fence}) == {run_id}
    clock.now += claims.LEASE_SECONDS - 1
    assert claim(database, "b") is None
    clock.now += 2
    assert claim(database, "b", takes_over=False) is None, "it was away from the database itself"
    assert claim(database, "a", held=[run_id]) is None, "it has it already"
    second = must_claim(database, "b")
    assert second.fence > first.fence
    with database.writing() as session:
        assert renew_leases(session, "a", {run_id: first.fence}) == set()
        assert fences_held(session, {run_id: first.fence}) == set()
        with pytest.raises(FencedError):
            check_fence(session, first)
        with pytest.raises(FencedError):
            release(session, first)
        check_fence(session, second)


def test_a_run_that_is_late_is_anybodys(database: Database, clock: Clock) -> None:
    run_id = add(database, "running", deadline_at=clock.now + 1.0)
    must_claim(database)
    clock.now += 1.0 + claims.GRACE_SECONDS / 2
    assert claim(database, "b") is None
    clock.now += claims.GRACE_SECONDS
    assert claim(database, "a", held=[run_id]) is None
    assert must_claim(database, "b").work == "take up"


def test_a_claim_whose_confirmation_was_lost_is_taken_again(
    database: Database, clock: Clock
) -> None:
    run_id = add(database, "submitted")
    before = must_claim(database)
    clock.now += claims.LEASE_SECONDS - 1
    assert claim(database) is None
    clock.now += 2
    assert claim(database, held=[run_id]) is None
    assert must_claim(database).fence > before.fence


@pytest.mark.parametrize("takes_over", [False, True])
def test_a_run_that_was_given_back_with_a_pause_is_answered_in_time(
    database: Database, clock: Clock, takes_over: bool
) -> None:
    run_id = add(database, "running", deadline_at=clock.now + 10)
    give_back(database, must_claim(database), again_in=30.0)
    assert claim(database, takes_over=takes_over) is None
    with database.reading() as session:
        assert claims.next_late(session, "a", []) == pytest.approx(10 + claims.GRACE_SECONDS)
    clock.now += 11
    assert must_claim(database, takes_over=takes_over).run_id == run_id


def test_a_transaction_that_hangs_keeps_nobody_from_other_runs(
    database: Database, clock: Clock
) -> None:
    if database.server is None:
        pytest.skip("SQLite has one writer at a time")
    first, second = add(database, "agreed"), add(database, "agreed", cluster="main")
    with database._engine.begin() as another:
        # Whoever waits for it gets on after a while, so that this fails and does not hang.
        another.execute(text("SET LOCAL idle_in_transaction_session_timeout = 5000"))
        another.execute(select(Run.id).where(Run.id == first).with_for_update())
        assert must_claim(database).run_id == second
        assert claim(database, held=[second]) is None
    assert must_claim(database, held=[second]).run_id == first


def test_a_fence_is_never_lower_than_the_time(database: Database, clock: Clock) -> None:
    """A database that was restored has forgotten the last fences."""
    run_id = add(database, "running", deadline_at=2000.0)
    assert must_claim(database).fence == clock.now * 1000
    with database.writing() as session:
        session.get_one(Run, run_id).fence = 10**15
        release_all(session, "a")
    assert must_claim(database, "b").fence == 10**15 + 2


def test_slots_are_kept_and_go_round_between_operators(database: Database, clock: Clock) -> None:
    runs = {}
    for name, by in (("a1", "op"), ("a2", "op"), ("a3", "op"), ("b1", "other")):
        clock.now += 1.0
        runs[add(database, "submitted", by=by, created=clock.now)] = name
    elsewhere = add(database, "submitted", cluster="second", created=clock.now)
    order = []
    for _ in range(len(runs)):
        clock.now += 1.0
        held = must_claim(database)
        assert held.work == "run"
        assert claim(database, "b") is None, "there is one slot"
        order.append(runs[held.run_id])
        set_to(database, held.run_id, "running")
        assert claim(database, "b") is None
        with database.reading() as session:
            assert loads(session)["main"] == (1, len(runs) - len(order))
        with database.writing() as session:
            session.get_one(Run, held.run_id).work_left = False
            release(session, held)
    assert order == ["a1", "b1", "a2", "a3"]
    assert claim(database) is None
    assert must_claim(database, slots={"second": 1}).run_id == elsewhere


def test_what_failed_is_looked_at_again_later(database: Database, clock: Clock) -> None:
    add(database, "submitted")
    give_back(database, must_claim(database), again_in=5.0)
    assert claim(database) is None
    clock.now += 6.0
    give_back(database, must_claim(database))
    must_claim(database)


def test_a_run_is_handed_over_when_there_is_news_for_its_nodes(
    database: Database, clock: Clock
) -> None:
    run_id = add(database, "agreed")
    held = must_claim(database)
    assert held.work == "hand over"
    with database.writing() as session:
        session.get_one(Run, run_id).at_nodes = True
    # Its process dies before it has given it back: nobody knows how far it came.
    clock.now += claims.LEASE_SECONDS + 1
    held = must_claim(database, "b")
    give_back(database, held)
    assert claim(database) is None, "nothing is new"


def test_a_run_is_drafted_once_all_have_joined(database: Database) -> None:
    run_id = add(database, "invited")
    assert claim(database) is None
    from tacit.service.storage import Account

    with database.writing() as session:
        for number, name in enumerate(("north", "south")):
            session.get_one(Account, name).signing_key = f"{number:064x}"
    held = must_claim(database)
    assert (held.run_id, held.work) == (run_id, "draft")


def test_nodes_are_told_of_an_end_and_then_nothing_is_left(database: Database) -> None:
    run_id = add(database, "finished")
    add(database, "interrupted")
    held = must_claim(database)
    assert (held.run_id, held.work) == (run_id, "end")
    with database.writing() as session:
        session.get_one(Run, run_id).work_left = False
        release(session, held)
    assert claim(database) is None


def test_many_who_claim_at_once_get_different_runs_and_no_slot_too_many(
    database: Database,
) -> None:
    for _ in range(12):
        add(database, "submitted")
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda k: claim(database, f"w{k}", slots={"main": 5}), range(16)))
    got = [each.run_id for each in found if each is not None]
    assert len(got) == len(set(got)) == 5


def test_it_is_known_which_workers_are_there(database: Database, clock: Clock) -> None:
    with database.writing() as session:
        renew_leases(session, "b", {})
        renew_leases(session, "a", {})
    clock.now += claims.LEASE_SECONDS - 1
    with database.writing() as session:
        renew_leases(session, "b", {})
        assert [each.name for each in workers_seen(session)] == ["a", "b"]
    clock.now += 2
    with database.reading() as session:
        assert [each.name for each in workers_seen(session)] == ["b"]
