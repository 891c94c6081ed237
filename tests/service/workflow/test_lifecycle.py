"""States: whatever is tried, a run goes only where it may, and the database agrees."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import WrongStateError
from tacit.service.storage import (
    Database,
    create_account,
    create_run,
    events_after,
    read_run,
    set_state,
)
from tacit.service.storage.states import BEFORE_RUNNING, ENDS, TRANSITIONS, State

NORMAL_WAY = [State.DRAFT, State.INVITED, State.AGREED, State.SUBMITTED, State.RUNNING]


def test_every_state_has_its_row_and_ends_are_where_nothing_but_resuming_follows() -> None:
    assert set(TRANSITIONS) == set(State)
    for state in State:
        later = TRANSITIONS[state]
        assert state not in later
        if state in ENDS:
            assert later == ({State.SUBMITTED} if state is State.INTERRUPTED else frozenset())
        else:
            assert State.CANCELLED in later
    assert BEFORE_RUNNING.isdisjoint(ENDS | {State.RUNNING})


def test_every_state_can_be_reached() -> None:
    reached, new = set(), {State.DRAFT}
    while new:
        reached |= new
        new = {after for state in new for after in TRANSITIONS[state]} - reached
    assert reached == set(State)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Database:
    made = Database(f"sqlite:///{tmp_path_factory.mktemp('states')}/tacit.db")
    with made.writing() as session:
        create_account(session, "op", "operator")
    return made


@given(tries=st.lists(st.sampled_from(State), max_size=25))
@settings(max_examples=60)
def test_whatever_is_tried_a_run_follows_the_table(database: Database, tries: list[State]) -> None:
    with database.writing() as session:
        run_id = create_run(session, "x", {}, by="op").id
    was = [State.DRAFT]
    for state in tries:
        allowed = state in TRANSITIONS[was[-1]]
        try:
            with database.writing() as session:
                set_state(session, run_id, state, reason=f"to {state}")
        except WrongStateError:
            moved = False
        else:
            moved = True
            was.append(state)
        assert moved == allowed
    with database.reading() as session:
        run = read_run(session, run_id)
        told = [each.data["state"] for each in events_after(session, 0, run=run_id)]
    assert run.where is was[-1]
    assert told == was
    assert (run.ended is not None) == run.where.is_end
    # Nobody skips a step of the way to running.
    if State.RUNNING in was:
        assert was[: was.index(State.RUNNING) + 1] == NORMAL_WAY


def test_of_two_who_move_a_run_at_once_one_alone_succeeds(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    database = Database(f"sqlite:///{tmp_path}/tacit.db")
    with database.writing() as session:
        create_account(session, "op", "operator")
        run_id = create_run(session, "x", {}, by="op").id

    def move(_: int) -> bool:
        try:
            with database.writing() as session:
                set_state(session, run_id, State.INVITED)
        except WrongStateError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(move, range(16))) == 1
    database.close()
