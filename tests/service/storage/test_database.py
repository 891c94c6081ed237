"""The contract of every database, SQLite as PostgreSQL: one suite for both."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

from tacit.client import ENDS, FoundPlans, Plan, RunState, RunTerms, converted
from tacit.errors import InputError, NotThereError, WrongStateError
from tacit.service.api.answers import run_view
from tacit.service.storage import (
    Database,
    StoredBoxes,
    add_members,
    add_trouble,
    add_warning,
    create_account,
    create_run,
    end_trouble,
    events_after,
    members_of,
    read_run,
    set_agreement,
    set_progress,
    set_state,
    set_submission_state,
    store_sealed,
)
from tacit.service.storage.database import SERVER_TIMEOUTS, WriteLock
from tacit.service.storage.states import BEFORE_RUNNING, TRANSITIONS
from tests.service.example_terms import plain_terms, progress_at
from tests.service.postgres import new_database
from tests.service.world import MakeWorld

STATES: tuple[RunState, ...] = get_args(RunState)
NORMAL_WAY: list[RunState] = ["draft", "invited", "agreed", "submitted", "running"]
BOTH = ["sqlite", pytest.param("postgres", marks=pytest.mark.processes)]


def empty_database(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{folder}/tacit.db"
    return new_database(request.getfixturevalue("postgres_server"))


@pytest.fixture(params=BOTH)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return empty_database(request, tmp_path)


@pytest.fixture(scope="module", params=BOTH)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    opened = Database(empty_database(request, tmp_path_factory.mktemp("storage")))
    with opened.writing() as session:
        create_account(session, "op", "operator")
        for name in ("north", "south"):
            create_account(session, name, "participant")
    yield opened
    opened.close()


@pytest.fixture
def run_id(database: Database) -> str:
    """A draft of two objectives, whose participants are not in the order of their names."""
    terms = plain_terms()
    (objective,) = terms["objectives"]
    terms["objectives"] = [objective, {**objective, "name": "noise"}]
    return new_run(database, terms)


def new_run(database: Database, terms: dict[str, object] | None = None) -> str:
    with database.writing() as session:
        run = create_run(session, converted(terms or plain_terms(), RunTerms), by="op")
        add_members(session, run.id, {"south": [2, 3], "north": [0, 1]})
        return run.id


# Opening.


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////no/such/folder/tacit.db",
        "nonsense",
        "nosuchkind://u:hush@h/d",
        "postgresql+psycopg://u:hush@127.0.0.1:1/d",
        "postgresql+nodriver://u:hush@h/d",
    ],
)
def test_a_database_that_cannot_be_opened_is_one_sentence_without_a_password(url: str) -> None:
    with pytest.raises(InputError, match="cannot be opened") as caught:
        Database(url)
    assert "hush" not in str(caught.value)


@pytest.mark.processes
def test_connections_to_a_server_break_soon_after_its_host_is_gone(postgres_server: str) -> None:
    url = new_database(postgres_server)
    for address, expected in ((url, "5000"), (f"{url}&tcp_user_timeout=9000", "9000")):
        database = Database(address)
        with database.reading() as session:
            info = session.connection().connection.dbapi_connection.info  # type: ignore[union-attr]
            parameters = info.get_parameters()
        assert parameters.items() >= {**SERVER_TIMEOUTS, "tcp_user_timeout": expected}.items()
        # The connection that waits for events has them, too.
        assert database.server is not None
        assert database.server["tcp_user_timeout"] == expected
        database.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, but long enough to look at" * 20)
    with pytest.raises(InputError, match="cannot be opened"):
        Database(f"sqlite:///{tmp_path}/text.db")


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/tacit.db")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    database.close()
    assert "tacit.db" in modes
    assert set(modes.values()) == {0o600}


def test_a_database_is_opened_again_and_one_of_another_version_refused(url: str) -> None:
    for _ in range(2):
        Database(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InputError, match="9999"):
        Database(url)
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == "9999"
    engine.dispose()


def test_many_open_a_new_database_at_once(url: str) -> None:
    with ThreadPoolExecutor(4) as threads:
        for opened in threads.map(lambda _: Database(url), range(4)):
            opened.close()


# Rows.


def begin(database: Database, run_id: str) -> None:
    for state in NORMAL_WAY[1:]:
        with database.writing() as session:
            set_state(session, run_id, state)


def test_rows_have_the_records_that_were_stored(database: Database, run_id: str) -> None:
    found = FoundPlans(plan=Plan(items=[1, 0]), disclosed=[3.0], proved=True)
    begin(database, run_id)
    with database.writing() as session:
        set_progress(session, run_id, progress_at(4))
        set_state(session, run_id, "failed", result=found)
    with database.reading() as session:
        run = read_run(session, run_id)
    assert [each.name for each in run.terms.objectives] == ["delay", "noise"]
    assert (run.progress, run.result) == (progress_at(4), found)


def test_trouble_ends_with_its_cause_and_with_the_state(database: Database, run_id: str) -> None:
    def shown() -> list[str]:
        with database.reading() as session:
            return run_view(session, run_id).warnings

    def write(change: Callable[..., object], *about: str) -> list[str]:
        with database.writing() as session:
            change(session, run_id, *about)
        return shown()

    clock, away = "the clock of node 1 is behind", "node 1 is not connected"
    assert write(add_warning, clock) == [clock]
    assert write(add_trouble, "node 2 is not connected") == [clock, "node 2 is not connected"]
    assert write(add_trouble, away) == [clock, away]
    assert write(end_trouble) == [clock]
    write(add_trouble, away)
    assert write(set_state, "invited") == [clock]
    write(add_trouble, away)
    with database.writing() as session:
        set_agreement(session, run_id, b"{}", "ab" * 32)
    assert shown() == [clock]


def test_a_submission_is_as_far_as_its_last_objective(database: Database, run_id: str) -> None:
    def submit(session: Session, objective: int) -> None:
        parts = dict.fromkeys(("manifest", "signature", "box0", "box1", "box2"), b"x")
        row = StoredBoxes(run=run_id, participant="north", objective=objective, **parts)
        store_sealed(session, row)

    def check(session: Session, state: str, **of: int) -> None:
        set_submission_state(session, run_id, "north", state, **of)  # type: ignore[arg-type]

    states = []
    steps: list[Callable[[Session], None]] = [
        lambda session: submit(session, 0),
        lambda session: check(session, "accepted"),
        lambda session: submit(session, 1),
        lambda session: check(session, "refused", objective=1),
        lambda session: check(session, "accepted"),
    ]
    for step in steps:
        with database.writing() as session:
            step(session)
        with database.reading() as session:
            south, north = members_of(session, run_id)
        assert (south.participant, south.submission_state) == ("south", "missing")
        states.append(north.submission_state)
    assert states == ["missing", "missing", "waiting", "refused", "accepted"]


def test_of_progress_only_the_last_minute_is_kept_and_at_the_end_the_last_report(
    database: Database, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    begin(database, run_id)
    for second in range(0, 200, 10):
        monkeypatch.setattr("time.time", lambda second=second: now + second)
        with database.writing() as session:
            set_progress(session, run_id, progress_at(second))

    def kept() -> list[int]:
        with database.reading() as session:
            events = events_after(session, 0, run=run_id)
            return [e.data["generation"] for e in events if e.kind == "progress"]

    assert kept() == [130, 140, 150, 160, 170, 180, 190]
    with database.writing() as session:
        set_progress(session, run_id, progress_at(191))
        set_state(session, run_id, "cancelled")
    # An answer is written before a report that waited longer.
    with database.writing() as session:
        set_progress(session, run_id, progress_at(190))
    assert kept() == [191]
    with database.reading() as session:
        assert read_run(session, run_id).progress == progress_at(191)


# States.


def test_every_state_is_reached_and_of_the_ends_only_interrupted_is_left() -> None:
    assert set(TRANSITIONS) == set(STATES)
    reached: set[str] = {"draft"}
    for _ in STATES:
        reached |= {after for state in STATES if state in reached for after in TRANSITIONS[state]}
    assert reached == set(STATES)
    for state in STATES:
        assert state not in TRANSITIONS[state]
        if state not in ENDS:
            assert "cancelled" in TRANSITIONS[state]
        elif state != "interrupted":
            assert not TRANSITIONS[state]
    assert BEFORE_RUNNING.isdisjoint(ENDS | {"running"})


@given(tries=st.lists(st.sampled_from(STATES), max_size=25))
@settings(max_examples=40)
def test_whatever_is_tried_a_run_follows_the_table(
    database: Database, tries: list[RunState]
) -> None:
    run_id = new_run(database)
    was: list[RunState] = ["draft"]
    for state in tries:
        try:
            with database.writing() as session:
                set_state(session, run_id, state, reason=f"to {state}")
        except WrongStateError:
            assert state not in TRANSITIONS[was[-1]]
        else:
            assert state in TRANSITIONS[was[-1]]
            was.append(state)
    with database.reading() as session:
        run = read_run(session, run_id)
        events = [each.data["state"] for each in events_after(session, 0, run=run_id)]
    assert run.state == was[-1]
    assert events == was
    assert (run.ended is not None) == (run.state in ENDS)
    # Nobody skips a step of the way to running.
    if "running" in was:
        assert was[: was.index("running") + 1] == NORMAL_WAY


def test_of_many_who_move_a_run_at_once_one_alone_succeeds(database: Database, run_id: str) -> None:
    def move(_: int) -> bool:
        try:
            with database.writing() as session:
                set_state(session, run_id, "invited")
        except WrongStateError:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(move, range(16))) == 1


# Transactions and writers.


def test_a_failed_query_changes_nothing_and_tells_nobody(
    database: Database, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bool] = []
    monkeypatch.setattr(database, "on_events", lambda: heard.append(True))

    def warn_and_fail(session: Session) -> None:
        add_warning(session, run_id, "clocks differ")
        read_run(session, "r-none")

    with pytest.raises(NotThereError):
        asyncio.run(database.write(warn_and_fail))
    with database.writing() as session:
        assert read_run(session, run_id).warnings == []
        add_warning(session, run_id, "clocks differ")
        add_warning(session, run_id, "clocks differ")
    assert len(heard) == 1


def test_many_readers_and_writers_at_once_lose_nothing(url: str) -> None:
    database, other = Database(url), Database(url)
    with database.writing() as session:
        for name, role in (("op", "operator"), ("north", "participant"), ("south", "participant")):
            create_account(session, name, role)
    run_id = new_run(database)
    begin(database, run_id)

    async def work() -> None:
        async def one(number: int) -> None:
            await database.write(set_progress, run_id, progress_at(number))
            await database.read(events_after, 0, run=run_id)

        await asyncio.gather(*(one(number) for number in range(100)))

    def from_another_process(number: int) -> None:
        with other.writing() as session:
            create_account(session, f"viewer-{number}", "viewer")

    with ThreadPoolExecutor(2) as threads:
        writes = [threads.submit(from_another_process, number) for number in range(20)]
        asyncio.run(work())
        for each in writes:
            each.result()
    with database.reading() as session:
        events = events_after(session, 0, run=run_id, limit=None)
    reports = [each.data["generation"] for each in events if each.kind == "progress"]
    assert sorted(reports) == list(range(100))
    other.close()
    database.close()


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not what():
        assert time.monotonic() < until
        time.sleep(0.001)


def test_answers_are_written_before_whatever_else_waits(database: Database, run_id: str) -> None:
    order: list[str] = []
    go = threading.Event()
    begin(database, run_id)

    def long_read(_: Session) -> None:
        go.wait(120)

    def slow_write(session: Session) -> None:
        if len(order) == 3:  # by then there is an answer to be written
            wait_for(lambda: database._write_lock._urgent > 0 or "answer" in order)
        set_progress(session, run_id, progress_at(len(order)))
        order.append("other")

    async def work() -> None:
        others = [database.read(long_read) for _ in range(20)]
        others += [database.write(slow_write) for _ in range(20)]
        waiting = [asyncio.ensure_future(each) for each in others]
        await asyncio.sleep(0)
        await database.write_first(lambda _: order.append("answer"))
        go.set()
        await asyncio.gather(*waiting)

    asyncio.run(work())
    assert order.index("answer") <= 4


def test_an_urgent_writer_is_next_although_others_waited_longer() -> None:
    lock = WriteLock()
    order: list[str] = []

    def take(name: str, first: bool) -> None:
        with lock.held(first=first):
            order.append(name)

    with lock.held():
        threads = []
        for count, name in enumerate(("other", "another", "answer"), start=1):
            threads.append(threading.Thread(target=take, args=(name, name == "answer")))
            threads[-1].start()
            wait_for(lambda count=count: len(lock._changed._waiters) == count)  # type: ignore[attr-defined, misc]
    for thread in threads:
        thread.join(120)
    assert order[0] == "answer"
    assert set(order) == {"answer", "other", "another"}


def test_the_whole_way_on_postgresql(make_world: MakeWorld, postgres_server: str) -> None:
    world = make_world(database=new_database(postgres_server))
    world.add("op", "operator")
    run_id = world.ended("finished")
    assert world.ok("GET", f"/runs/{run_id}/result", "north")["plan"]["items"] == [1, 0, 3, 2]
    code = world.first_code("late", "viewer")
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(
            lambda _: world.call("POST", "/join", json={"code": code}).status_code, range(8)
        )
        assert sorted(answers) == [200] + [401] * 7
    world.platform.database.close()
