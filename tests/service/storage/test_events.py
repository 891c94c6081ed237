"""Events reach every listener, once and in order, whichever process has committed them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager

import pytest
from sqlalchemy import create_engine, event, text

from tacit.service.storage import (
    Database,
    Event,
    add_event,
    add_warning,
    create_account,
    events_after,
    read_run,
)
from tacit.service.storage.events import MOST_UNREAD, Announcer
from tests.service.postgres import PostgresServer, new_database
from tests.service.postgres import postgres_server as a_server
from tests.service.storage.test_database import BOTH, empty_database, new_run

PATIENCE_SECONDS = 60.0
postgres_alone = pytest.mark.parametrize("url", BOTH[1:], indirect=True)


@pytest.fixture(params=BOTH)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return empty_database(request, tmp_path_factory.mktemp("events"))


@pytest.fixture
def run_id(url: str) -> str:
    with closing(Database(url)) as database:
        return filled(database)


def filled(database: Database) -> str:
    """A run in a database."""
    with database.writing() as session:
        create_account(session, "op", "operator")
        for name in ("north", "south"):
            create_account(session, name, "participant")
    return new_run(database)


def warn(database: Database, run_id: str, message: str) -> None:
    with database.writing() as session:
        add_warning(session, run_id, message)


def stored(database: Database, after: int = 0) -> list[int]:
    with database.reading() as session:
        return [each.id for each in events_after(session, after, limit=None)]


def warnings_in(events: list[Event]) -> list[str]:
    return [each.data["message"] for each in events if each.kind == "warning"]


@asynccontextmanager
async def announcing(url: str) -> AsyncIterator[tuple[Database, Announcer]]:
    with closing(Database(url)) as database:
        announcer = Announcer(database)
        await announcer.start()
        try:
            yield database, announcer
        finally:
            await announcer.close()


async def next_events(queue: asyncio.Queue[Event | None], count: int) -> list[Event]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        found = [await queue.get() for _ in range(count)]
    return [each for each in found if each is not None]


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < until
        time.sleep(0.005)


def waits_for_a_lock(url: str) -> bool:
    engine = create_engine(url)
    with engine.connect() as connection:
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        found = connection.scalar(text(waiting))
    engine.dispose()
    return bool(found)


def test_a_listener_gets_what_is_committed_once_and_in_order(url: str, run_id: str) -> None:
    async def listen() -> list[Event]:
        async with announcing(url) as (database, announcer):
            before = announcer.newest()
            with announcer.listening() as queue:
                write = database.write
                await asyncio.gather(*(write(add_warning, run_id, str(n)) for n in range(20)))
                found = await next_events(queue, 20)
            assert before == 1  # the draft's, which nobody listened to
            assert announcer.newest() == announcer.newest(run_id) == found[-1].id
            assert announcer.newest("r-other") == 0
            return found

    found = asyncio.run(listen())
    assert [each.id for each in found] == list(range(2, 22))
    assert set(warnings_in(found)) == {str(n) for n in range(20)}


def test_a_listener_that_does_not_read_is_dropped_and_told(url: str, run_id: str) -> None:
    async def listen() -> None:
        async with announcing(url) as (database, announcer):
            with announcer.listening() as slow, announcer.listening() as quick:

                def write(session: object) -> None:
                    for number in range(MOST_UNREAD + 1):
                        add_event(session, run_id, "warning", {"message": str(number)})  # type: ignore[arg-type]

                await database.write(write)
                await next_events(quick, MOST_UNREAD)
                last = await next_events(quick, 1)
                assert warnings_in(last) == [str(MOST_UNREAD)]
                assert [await slow.get() for _ in range(MOST_UNREAD)][-1] is None

    asyncio.run(listen())


@contextmanager
def other_process(url: str, run_id: str) -> Iterator[Callable[[str], None]]:
    """Another process that commits a warning whenever it is asked to."""
    command = [sys.executable, "-m", "tests.service.storage.committer", url, run_id]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

        def commit(message: str) -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{message}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "committed\n"

        yield commit
        process.stdin.close()
        assert process.wait(PATIENCE_SECONDS) == 0


def cut_listeners(url: str) -> int:
    """End the connections that listen, as a network or a restart would; how many there were."""
    engine = create_engine(url)
    with engine.begin() as connection:
        ended = connection.scalars(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE query LIKE 'LISTEN %' AND datname = current_database()"
            )
        ).all()
    engine.dispose()
    return len(ended)


@pytest.mark.processes
@postgres_alone
def test_what_another_process_commits_is_heard_also_after_the_connection_was_lost(
    url: str, run_id: str
) -> None:
    async def listen(commit: Callable[[str], None]) -> None:
        async with announcing(url) as (database, announcer):
            with announcer.listening() as queue:
                await asyncio.to_thread(commit, "first")
                assert warnings_in(await next_events(queue, 1)) == ["first"]
                # While nobody listens, and nothing in this process is committed.
                assert await asyncio.to_thread(cut_listeners, url) == 1
                await asyncio.to_thread(commit, "second")
                assert warnings_in(await next_events(queue, 1)) == ["second"]
                wait = asyncio.to_thread(wait_for, lambda: listens(url))
                await wait
                await asyncio.to_thread(commit, "third")
                warn(database, run_id, "own")
                assert set(warnings_in(await next_events(queue, 2))) == {"third", "own"}
                assert queue.empty()

    with other_process(url, run_id) as commit:
        asyncio.run(listen(commit))


def listens(url: str) -> bool:
    engine = create_engine(url)
    with engine.connect() as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN %'"
        found = connection.scalar(text(query))
    engine.dispose()
    return bool(found)


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    with a_server() as server:
        yield server


@pytest.mark.processes
def test_a_server_that_restarts_loses_no_event(own_server: PostgresServer) -> None:
    url = new_database(own_server.url)

    async def listen() -> list[Event]:
        async with announcing(url) as (database, announcer):
            run_id = await asyncio.to_thread(filled, database)
            with announcer.listening() as queue:
                await next_events(queue, 1)
                await asyncio.to_thread(own_server.stop)
                await asyncio.to_thread(own_server.start)
                with closing(Database(url)) as other:
                    await asyncio.to_thread(warn, other, run_id, "while nobody listened")
                return await next_events(queue, 1)

    assert warnings_in(asyncio.run(listen())) == ["while nobody listened"]


@pytest.mark.processes
@postgres_alone
def test_an_event_with_a_lower_number_never_appears_after_a_higher_one(
    url: str, run_id: str
) -> None:
    """One writer has its number and is slow to commit; another one must not overtake it."""
    with closing(Database(url)) as slow, closing(Database(url)) as quick:
        other_run = new_run(quick)
        seen = stored(quick)
        is_committing, go = threading.Event(), threading.Event()

        @event.listens_for(slow._engine, "commit")
        def hold(_connection: object) -> None:
            is_committing.set()
            assert go.wait(PATIENCE_SECONDS)

        with ThreadPoolExecutor(2) as threads:
            first = threads.submit(warn, slow, run_id, "slow")
            assert is_committing.wait(PATIENCE_SECONDS)
            second = threads.submit(warn, quick, other_run, "quick")
            wait_for(lambda: second.done() or waits_for_a_lock(url))
            seen += stored(quick, after=seen[-1])  # as whoever reads on does
            go.set()
            first.result(PATIENCE_SECONDS)
            second.result(PATIENCE_SECONDS)
        seen += stored(quick, after=seen[-1])
        assert seen == stored(quick)
        assert len(seen) == 4


@pytest.mark.processes
@postgres_alone
def test_who_has_a_run_locked_and_who_adds_an_event_to_it_do_not_wait_for_each_other(
    url: str, run_id: str
) -> None:
    def add(database: Database) -> None:
        with database.writing() as session:
            add_event(session, run_id, "member", {"participant": "north"})

    with closing(Database(url)) as one, closing(Database(url)) as other:
        with ThreadPoolExecutor(1) as threads, one.writing() as session:
            read_run(session, run_id, for_update=True)
            second = threads.submit(add, other)
            wait_for(lambda: waits_for_a_lock(url))
            add_event(session, run_id, "member", {"participant": "south"})
            # The block's end commits, which PostgreSQL would end by an error in a deadlock.
        second.result(PATIENCE_SECONDS)
        assert len(stored(one)) == 3
