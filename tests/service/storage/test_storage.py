"""The database, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from tacit.errors import InputError, NotThereError
from tacit.service.storage import (
    Database,
    Sealed,
    add_members,
    add_warning,
    create_account,
    create_run,
    events_after,
    members_of,
    read_run,
    set_progress,
    set_state,
    set_submission_state,
    store_sealed,
)
from tacit.service.storage.database import WritersTurn
from tacit.service.storage.states import State
from tests.service.postgres import new_database
from tests.service.world import MakeWorld


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


def test_a_file_that_is_no_database_and_one_of_a_later_version(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, but long enough to look at" * 20)
    with pytest.raises(InputError, match="cannot be opened"):
        Database(f"sqlite:///{tmp_path}/text.db")
    database = Database(f"sqlite:///{tmp_path}/later.db")
    with database.writing() as session:
        session.execute(text("update alembic_version set version_num = '9999'"))
    database.close()
    with pytest.raises(InputError, match="9999"):
        Database(f"sqlite:///{tmp_path}/later.db")


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/tacit.db")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    database.close()
    assert "tacit.db" in modes
    assert set(modes.values()) == {0o600}


def filled(url: str) -> tuple[Database, str]:
    database = Database(url)
    with database.writing() as session:
        create_account(session, "op", "operator")
        for name in ("north", "south"):
            create_account(session, name, "participant")
        run = create_run(session, "x", {"objectives": [{}, {}]}, by="op")
        add_members(session, run.id, {"south": [1], "north": [0]})
    return database, run.id


def sealed(run_id: str, objective: int) -> Sealed:
    parts = dict.fromkeys(("manifest", "signature", "box0", "box1", "box2"), b"x")
    return Sealed(run=run_id, participant="north", objective=objective, **parts)


def test_a_submission_is_as_far_as_its_last_objective(tmp_path: Path) -> None:
    database, run_id = filled(f"sqlite:///{tmp_path}/tacit.db")

    def state() -> str:
        with database.reading() as session:
            found = members_of(session, run_id)
        assert [each.participant for each in found] == ["south", "north"]
        return found[1].submission_state

    steps = []
    with database.writing() as session:
        store_sealed(session, sealed(run_id, 0))
    steps.append(state())
    with database.writing() as session:
        set_submission_state(session, run_id, "north", "accepted")
    steps.append(state())
    with database.writing() as session:
        store_sealed(session, sealed(run_id, 1))
    steps.append(state())
    with database.writing() as session:
        set_submission_state(session, run_id, "north", "refused", reason="r", objective=1)
    steps.append(state())
    with database.writing() as session:
        set_submission_state(session, run_id, "north", "accepted")
    steps.append(state())
    assert steps == ["missing", "missing", "waiting", "refused", "accepted"]
    database.close()


def test_a_failed_query_changes_nothing_and_tells_nobody(tmp_path: Path) -> None:
    database, run_id = filled(f"sqlite:///{tmp_path}/tacit.db")
    told: list[object] = []
    database.on_events = told.extend

    def warn_and_fail(session: Session) -> None:
        add_warning(session, run_id, "clocks differ")
        read_run(session, "r-none")

    with pytest.raises(NotThereError):
        asyncio.run(database.write(warn_and_fail))
    with database.writing() as session:
        assert read_run(session, run_id).warnings == []
        add_warning(session, run_id, "clocks differ")
        add_warning(session, run_id, "clocks differ")
    assert len(told) == 1
    database.close()


def test_many_readers_and_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    database, run_id = filled(f"sqlite:///{tmp_path}/tacit.db")
    other = Database(f"sqlite:///{tmp_path}/tacit.db")
    numbers: list[int] = []
    database.on_events = lambda events: numbers.extend(each.id for each in events)

    async def work() -> None:
        async def one(number: int) -> None:
            await database.write(set_progress, run_id, {"generation": number})
            await database.read(events_after, 0, run=run_id)

        await asyncio.gather(*(one(number) for number in range(100)))

    def from_another_process(number: int) -> None:
        with other.writing() as session:
            create_account(session, f"viewer-{number}", "viewer")

    with ThreadPoolExecutor(2) as threads:
        done = [threads.submit(from_another_process, number) for number in range(20)]
        asyncio.run(work())
        for each in done:
            each.result()
    with database.reading() as session:
        events = events_after(session, 0, run=run_id, limit=None)
        reports = [each for each in events if each.kind == "progress"]
    assert sorted(each.data["generation"] for each in reports) == list(range(100))
    assert numbers == sorted(numbers)
    other.close()
    database.close()


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not what():
        assert time.monotonic() < until
        time.sleep(0.001)


def test_answers_are_written_before_whatever_else_waits(tmp_path: Path) -> None:
    database, run_id = filled(f"sqlite:///{tmp_path}/tacit.db")
    order: list[str] = []
    go = threading.Event()

    def long_read(_: Session) -> None:
        go.wait(120)

    def slow_write(session: Session) -> None:
        if len(order) == 3:  # by then there is an answer to be written
            wait_for(lambda: database._turn._urgent > 0 or "answer" in order)
        set_progress(session, run_id, {"generation": len(order)})
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
    database.close()


def test_whoever_is_urgent_has_the_next_turn_although_others_waited_longer() -> None:
    turn = WritersTurn()
    order: list[str] = []

    def take(name: str, first: bool) -> None:
        with turn.taken(first=first):
            order.append(name)

    with turn.taken():
        threads = []
        for count, name in enumerate(("other", "another", "answer"), start=1):
            threads.append(threading.Thread(target=take, args=(name, name == "answer")))
            threads[-1].start()
            wait_for(lambda count=count: len(turn._changed._waiters) == count)  # type: ignore[attr-defined, misc]
    for thread in threads:
        thread.join(120)
    assert order[0] == "answer"
    assert set(order) == {"answer", "other", "another"}


def test_of_progress_only_the_last_minute_is_kept_and_at_the_end_the_last_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, run_id = filled(f"sqlite:///{tmp_path}/tacit.db")
    now = time.time()
    for second in range(0, 200, 10):
        monkeypatch.setattr("time.time", lambda second=second: now + second)
        with database.writing() as session:
            set_progress(session, run_id, {"generation": second})

    def kept() -> list[int]:
        with database.reading() as session:
            events = events_after(session, 0)
            return [e.data["generation"] for e in events if e.kind == "progress"]

    assert kept() == [130, 140, 150, 160, 170, 180, 190]
    with database.writing() as session:
        set_progress(session, run_id, {"generation": 191})
        set_state(session, run_id, State.CANCELLED)
    assert kept() == [191]
    database.close()


def test_the_whole_way_on_postgresql(make_world: MakeWorld, postgres_server: str) -> None:
    world = make_world(database=new_database(postgres_server))
    world.add("op", "operator")
    run_id = world.ended(State.FINISHED)
    assert world.ok("GET", f"/runs/{run_id}/result", "north")["plan"]["items"] == [1, 0, 3, 2]
    code = world.first_code("late", "viewer")
    with ThreadPoolExecutor(8) as threads:
        answers = threads.map(
            lambda _: world.call("POST", "/join", json={"code": code}).status_code, range(8)
        )
        assert sorted(answers) == [200] + [401] * 7
    world.platform.database.close()
