"""Sessions in the database: they go on in every process, and a copy of the rows opens none."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fastapi import FastAPI, Response
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from tacit.client import Me
from tacit.errors import CredentialError
from tacit.service.access.credentials import issue_token, requester_of
from tacit.service.dashboard.sessions import (
    CHECK_SECONDS,
    MOST_PER_ACCOUNT,
    ApiClient,
    BrowserSession,
    Sessions,
)
from tacit.service.storage import Database, create_account
from tacit.service.storage.models import Base, StoredSession
from tests.service.storage.test_database import BOTH, empty_database


@pytest.fixture(params=BOTH)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return empty_database(request, tmp_path)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    with closing(Database(url)) as opened:
        with opened.writing() as session:
            create_account(session, "desk", "operator")
        yield opened


def brought(database: Database, *, is_kept: bool = True) -> BrowserSession:
    """A session with a fresh token of an account."""
    with database.writing() as session:
        token, expires = issue_token(session, "desk", days=1.0, label="")
    return BrowserSession(token, is_kept=is_kept, account="desk", expires=expires)


async def begun(sessions: Sessions, session: BrowserSession) -> str:
    """Begin a session, and return the cookie that its browser sends."""
    response = Response()
    await sessions.begin(session, response)
    return response.headers["set-cookie"].split(";")[0]


def is_valid(database: Database, token: str | None) -> bool:
    with database.reading() as session:
        return has_token(session, token or "")


def has_token(session: Session, token: str) -> bool:
    try:
        return bool(requester_of(session, token))
    except CredentialError:
        return False


def test_under_https_the_cookie_is_secure_and_this_hosts_own(database: Database) -> None:
    response, session = Response(), brought(database)
    sessions = Sessions(database, https=True, clock=lambda: session.expires - 100.0)
    asyncio.run(sessions.begin(session, response))
    said = response.headers["set-cookie"]
    assert re.fullmatch(
        r"__Host-tacit=\S{43}; HttpOnly; Max-Age=100; Path=/; SameSite=lax; Secure", said
    )


def test_sessions_end_with_their_tokens_and_make_room(database: Database) -> None:
    now = time.time()

    async def use() -> None:
        nonlocal now
        sessions = Sessions(database, https=False, clock=lambda: now)
        made, cookies = [], []
        for number in range(MOST_PER_ACCOUNT + 3):
            now += 1.0
            made.append(brought(database, is_kept=number != 1))
            cookies.append(await begun(sessions, made[-1]))
        found = [await sessions.find(each) for each in cookies]
        assert found == [None] * 3 + made[3:]
        assert [each.token for each in made[:3]] == [None] * 3
        assert await sessions.find("") is await sessions.find('tacit="\\') is None
        assert await sessions.find("tacit=" + "A" * 43) is None
        now = made[-1].expires
        assert await sessions.find(cookies[-1]) is None

    asyncio.run(use())


def test_a_session_goes_on_and_ends_in_every_process(url: str, database: Database) -> None:
    """What a code gave and nobody keeps ends with the session, wherever that is ended."""
    now = time.time()

    async def use() -> None:
        nonlocal now
        here = Sessions(database, https=False, clock=lambda: now)
        first = brought(database, is_kept=False)
        token, cookie = first.token, await begun(here, first)
        with closing(Database(url)) as other:
            there = Sessions(other, https=False, clock=lambda: now)
            second = await there.find(cookie)
            assert second is not None
            assert second is not first
            assert second is await there.find(cookie)
            assert (second.token, second.account, second.is_kept) == (token, "desk", False)
            assert await second.keep() == token
            assert await first.keep() is None
            with database.writing() as session:
                session.execute(update(StoredSession).values(is_kept=False))
            await there.end(second)
            assert await there.find(cookie) is None
        assert not is_valid(database, token)
        now += CHECK_SECONDS
        client = ApiClient(FastAPI(), first)
        with pytest.raises(CredentialError, match="signed out"):
            await client.get("/me", Me)
        assert await here.find(cookie) is None

    asyncio.run(use())


def test_a_copy_of_the_database_opens_no_session(database: Database) -> None:
    async def use() -> None:
        sessions = Sessions(database, https=False)
        session = brought(database, is_kept=False)
        token, number = str(session.token), (await begun(sessions, session)).partition("=")[2]
        with database.reading() as reading:
            rows = [
                str(row)
                for table in Base.metadata.sorted_tables
                for row in reading.execute(table.select())
            ]
        assert not [row for row in rows if token in row or number in row]
        # Nor does a token that was moved to another row.
        other = await begun(sessions, brought(database))
        fresh = Sessions(database, https=False)
        with database.writing() as writing:
            mine, theirs = writing.scalars(
                select(StoredSession).order_by(StoredSession.created)
            ).all()
            theirs.sealed_token = mine.sealed_token
        assert await fresh.find(other) is None
        assert await fresh.find(f"tacit={number}") is not None

    asyncio.run(use())
