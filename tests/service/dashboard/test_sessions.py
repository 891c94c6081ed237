"""Signing in and out, the gate before the pages and their web socket: as plain clients see them."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from urllib.parse import urlencode

import httpx
import msgspec
import pytest
from nicegui import Client
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tacit.service.access.credentials import invite
from tacit.service.access.limits import RateLimit
from tacit.service.api.intake import SMALL_BYTES
from tacit.service.dashboard.log_check import verdict_markup
from tacit.service.workflow.large_input import verdict_of
from tacit.verify import Verdict
from tests.service.dashboard.conftest import PER_MINUTE
from tests.service.dashboard.plain_browser import FORM, browser, sign_in
from tests.service.world import World

pytestmark = pytest.mark.slow


def new_code(world: World, name: str) -> str:
    with world.platform.database.writing() as session:
        return invite(session, name, hours=1)[0]


def counts(world: World, token: str) -> bool:
    headers = {"Authorization": f"Bearer {token}"}
    return world.request("GET", "/api/v1/me", headers=headers).is_success


def page_of(client: httpx.Client, path: str = "/") -> str:
    """Load a page, and its number."""
    answer = client.get(path)
    assert answer.status_code == 200
    found = re.search(r"""client_id['"]?: ?['"]([0-9a-f-]{36})""", answer.text)
    assert found, answer.text[-3000:]
    return found[1]


@contextmanager
def socket(
    client: httpx.Client, page: str, *, origin: str | None = None, cookies: bool = True
) -> Iterator[ClientConnection]:
    base, held = str(client.base_url).rstrip("/"), dict(client.cookies)
    query = {
        "client_id": page,
        "document_id": "d",
        "tab_id": "t",
        "next_message_id": 0,
        "implicit_handshake": "true",
        "EIO": 4,
        "transport": "websocket",
    }
    headers = {"X-Forwarded-For": client.headers["X-Forwarded-For"]}
    if cookies:
        headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in held.items())
    with connect(
        f"{base.replace('http', 'ws', 1)}/_nicegui_ws/socket.io/?{urlencode(query)}",
        origin=Origin(origin or base),
        additional_headers=headers,
    ) as opened:
        assert str(opened.recv(timeout=120)).startswith("0{")
        opened.send("40")
        yield opened


def answer_of(opened: ClientConnection) -> str:
    return str(opened.recv(timeout=120))


def test_the_cookie_is_a_random_number_and_the_token_stays_here(dashboard: World) -> None:
    with browser(dashboard) as client:
        assert sign_in(client, dashboard.tokens["op"], next="/people") == "/people"
        (cookie,) = client.cookies.jar
        assert cookie.value is not None
        assert len(cookie.value) == 43
        assert dashboard.tokens["op"] not in cookie.value
        assert cookie.has_nonstandard_attr("HttpOnly")
        assert cookie.get_nonstandard_attr("SameSite") == "lax"
        assert "Set-Cookie" not in client.get("/").headers
        assert dashboard.tokens["op"] not in client.get("/access").text
        again = client.cookies["tacit"]
        assert sign_in(client, dashboard.tokens["op"]) == "/"
        assert client.cookies["tacit"] != again
        client.cookies.set("tacit", again)
        assert client.get("/").headers["location"] == "/sign-in?next=/&why=expired"


def test_signing_out_ends_the_token_of_a_code(dashboard: World) -> None:
    with browser(dashboard) as client:
        assert sign_in(client, new_code(dashboard, "op")) == "/access"
        session = Client.instances[page_of(client)].request.scope["tacit_session"]
        token, held = session.token, client.cookies["tacit"]
        assert counts(dashboard, token)
        # A used-up code is this operator's only way in, which the page says before it closes it.
        assert client.post("/sign-out").headers["location"] == "/sign-out"
        said = client.get("/sign-out").text
        assert "used up" in said
        assert "Keep a token first" in said
        assert counts(dashboard, token)
        assert client.post("/sign-out", data={"sure": "yes"}).headers["location"] == "/sign-in"
        assert not client.cookies
        assert not counts(dashboard, token)
        client.cookies.set("tacit", held)
        assert client.get("/").status_code == 303


@pytest.mark.parametrize("brought", [True, False])
def test_signing_out_leaves_a_token_that_somebody_keeps(dashboard: World, brought: bool) -> None:
    with browser(dashboard) as client:
        token = dashboard.tokens["op"]
        sign_in(client, token if brought else new_code(dashboard, "op"))
        session = Client.instances[page_of(client)].request.scope["tacit_session"]
        if not brought:
            token = asyncio.run(session.keep())
        assert asyncio.run(session.keep()) is None
        held = client.cookies["tacit"]
        assert client.post("/sign-out").headers["location"] == "/sign-in"
        assert counts(dashboard, token)
        client.cookies.set("tacit", held)
        assert client.get("/").status_code == 303


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"code=",
        b"code=%ff%fe",
        b"code=\xff\xfe",
        b"code=" + "tct_gehe\u00efm \u0416".encode(),
        b"code=tct_%D0%96",
        b"code=" + b"x" * 1000,
        b"code=tct_" + b"x" * 60_000,
        b"&" * 3000,
    ],
)
def test_nonsense_is_refused_without_an_echo(dashboard: World, body: bytes) -> None:
    with browser(dashboard) as client:
        answer = client.post("/sign-in", content=body, headers={"Content-Type": FORM})
        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/sign-in?why=wrong")
        assert not client.cookies
        assert "not valid" in client.get(answer.headers["location"]).text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_forms_of_other_sites_are_refused(dashboard: World, headers: dict[str, str]) -> None:
    with browser(dashboard) as client:
        data = {"code": dashboard.tokens["op"]}
        assert client.post("/sign-in", data=data, headers=headers).status_code == 403
        assert not client.cookies
        sign_in(client, dashboard.tokens["op"])
        assert client.post("/sign-out", headers=headers).status_code == 403
        assert client.get("/").status_code == 200


def test_without_a_session_there_is_only_the_sign_in(dashboard: World) -> None:
    with browser(dashboard) as client:
        pages = set(Client.instances)
        for path in ("/", "/new", "/runs/r-aaaaaaaaaa", "/no-such"):
            assert client.get(path).headers["location"] == f"/sign-in?next={path}"
        file = client.get("/runs/r-a/files/result.csv")
        assert file.headers["location"] == "/sign-in?next=/runs/r-a"
        assert client.get("/_nicegui/3/static/nicegui.js").status_code == 401
        shown = client.get("/sign-in?why=expired&next=//evil.example")
        assert "<script" not in shown.text
        assert "has ended" in shown.text
        assert "evil.example" not in shown.text
        assert "script-src" not in shown.headers["Content-Security-Policy"]
        assert set(Client.instances) <= pages
        sign_in(client, dashboard.tokens["eye"])
        missing = client.get("/no-such")
        assert missing.status_code == 404
        assert "<script" not in missing.text
        for path in ("/new", "/people", "/series/new"):
            assert client.get(path).headers["location"] == "/"
        for path in ("/runs/r-aaaaaaaaaa/edit", "/runs/r-aaaaaaaaaa/copy", "/series/s-a/copy"):
            assert client.get(path).headers["location"] == path.rpartition("/")[0]
        assert "This series is not there" in client.get("/series/s-aaaaaaaaaa").text


def test_those_without_a_session_are_limited_and_others_are_not(
    dashboard: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    monkeypatch.setattr(dashboard.platform.by_address, "_clock", lambda: now)
    with browser(dashboard) as client, browser(dashboard) as other:
        sign_in(client, dashboard.tokens["eye"])
        pages = [other.get("/sign-in").status_code for _ in range(PER_MINUTE + 5)]
        assert pages.count(429) >= 4
        late = other.get("/")
        assert late.status_code == 429
        assert int(late.headers["Retry-After"]) >= 1
        assert other.post("/sign-in", data={"code": dashboard.tokens["eye"]}).status_code == 429
        with pytest.raises(InvalidStatus), socket(other, "x"):
            pass
        for _ in range(PER_MINUTE + 5):
            assert client.get("/sign-out").status_code == 200


def test_who_may_open_the_socket_of_a_page(dashboard: World) -> None:
    with browser(dashboard) as client, browser(dashboard) as viewer:
        sign_in(client, dashboard.tokens["op"])
        sign_in(viewer, dashboard.tokens["eye"])
        page = page_of(client)
        for origin in ("https://evil.example", "null"):
            with pytest.raises(InvalidStatus), socket(client, page, origin=origin):
                pass
        with socket(client, page, cookies=False) as opened:
            assert answer_of(opened).startswith("44")
        with socket(viewer, page) as opened:
            assert answer_of(opened).startswith("44")
        polled = client.get(f"/_nicegui_ws/socket.io/?EIO=4&transport=polling&client_id={page}")
        assert polled.status_code == 403
        assert viewer.post(f"/_nicegui/client/{page}/upload/5").status_code == 401
        with socket(client, page) as opened:
            assert answer_of(opened).startswith("40{")


def test_messages_are_about_pages_of_their_own_session(
    dashboard: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with browser(dashboard) as client, browser(dashboard) as viewer:
        sign_in(client, dashboard.tokens["op"])
        sign_in(viewer, dashboard.tokens["eye"])
        page, other = page_of(client), page_of(viewer)
        heard: list[dict[str, object]] = []
        with socket(client, page) as opened, socket(viewer, other) as stranger:
            assert answer_of(opened).startswith("40{")
            assert answer_of(stranger).startswith("40{")
            monkeypatch.setattr(Client.instances[page], "handle_event", heard.append)
            message = f'["event",{{"client_id":"{page}","id":1}}]'
            # Numbered, so that they are answered.
            stranger.send(f"421{message}")
            assert until_answered(stranger) == "431[false]"
            assert not heard
            opened.send(f"421{message}")
            assert until_answered(opened) == "431[]"
            assert len(heard) == 1
            client.post("/sign-out")
            opened.send(f"421{message}")
            assert until_answered(opened) == "431[false]"
            assert len(heard) == 1


def test_a_page_that_sends_more_than_people_do_loses_its_socket(
    dashboard: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = RateLimit(5, clock=lambda: 0.0)

    def take(_limit: RateLimit, account: str, count: int = 1) -> None:
        of_all(limited, account, count)

    with browser(dashboard) as client, browser(dashboard) as viewer:
        sign_in(client, dashboard.tokens["op"])
        sign_in(viewer, dashboard.tokens["eye"])
        page, other = page_of(client), page_of(viewer)
        with socket(client, page) as opened, socket(viewer, other) as stranger:
            assert answer_of(opened).startswith("40{")
            assert answer_of(stranger).startswith("40{")
            of_all = RateLimit.take
            monkeypatch.setattr(RateLimit, "take", take)
            with pytest.raises(ConnectionClosed):
                flood(opened, f'["ack",{{"client_id":"{page}","next_message_id":0}}]')
            # Others have limits of their own.
            stranger.send(f'421["ack",{{"client_id":"{other}","next_message_id":0}}]')
            assert until_answered(stranger).startswith("431[")


def test_no_message_of_a_page_is_large(dashboard: World) -> None:
    with browser(dashboard) as client:
        sign_in(client, dashboard.tokens["op"])
        with socket(client, page_of(client)) as opened:
            assert answer_of(opened).startswith("40{")
            opened.send("42" + "[" * (SMALL_BYTES + 1))
            until_closed(opened)


def test_pages_and_files_count_for_their_account(
    dashboard: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with browser(dashboard) as client:
        sign_in(client, dashboard.tokens["outsider"])
        page = page_of(client)
        sizes: list[int] = []
        monkeypatch.setattr(
            dashboard.platform.intake.by_account, "take", lambda _, count: sizes.append(count)
        )
        # There is no such upload, and it has cost its sender what it would have been.
        answer = client.post(
            f"/_nicegui/client/{page}/upload/1",
            content=b"x" * 5000,
            headers={"Origin": str(client.base_url).rstrip("/")},
        )
        assert (answer.status_code, sizes) == (404, [5000])
        monkeypatch.setattr(dashboard.platform.by_account, "_per_minute", 1)
        assert [client.get("/").status_code for _ in range(2)][-1] == 429


def flood(opened: ClientConnection, message: str) -> None:
    for number in count(1):
        opened.send(f"42{number}{message}")
        until_answered(opened)


def until_closed(opened: ClientConnection) -> None:
    with pytest.raises(ConnectionClosed):
        list(iter(lambda: answer_of(opened), None))


def until_answered(opened: ClientConnection) -> str:
    for _ in range(50):
        said = answer_of(opened)
        if said.startswith("43"):
            return said
    raise AssertionError("no answer")


def test_who_sees_which_files(dashboard: World) -> None:
    run = dashboard.ended()
    with browser(dashboard) as client:
        assert sign_in(client, dashboard.tokens["outsider"]) == "/"
        assert client.get(f"/runs/{run}/files/result.json").status_code == 404
        assert client.get(f"/runs/{run}/files/audit.zip").status_code == 404
        sign_in(client, dashboard.tokens["north"])
        assert client.get(f"/runs/{run}/files/result.json").json()["state"] == "finished"
        assert client.get(f"/runs/{run}/files/secrets").status_code == 404
        bundle = client.get(f"/runs/{run}/files/audit.zip").content
        sign_in(client, dashboard.tokens["eye"])
        assert client.get(f"/runs/{run}/files/audit.zip").status_code == 403
    # Made-up logs, as this platform without nodes has them, are noticed.
    verdict = msgspec.json.decode(verdict_of(bundle), type=Verdict)
    assert not verdict.ok
    verdict.notes.append("<b>")
    said = verdict_markup(verdict)
    assert "Something is off" in said
    assert "is not an audit bundle" in verdict_markup(
        msgspec.json.decode(verdict_of(b"PK"), type=Verdict)
    )
    assert "&lt;b&gt;" in said


def test_a_participant_joins_from_its_own_computer(dashboard: World) -> None:
    with browser(dashboard) as client:
        code = dashboard.first_code("newcomer", "participant")
        answer = client.get(sign_in(client, code, next="/people"))
        assert "tacit participant join" in answer.text
        assert 'value="/people"' in answer.text
        assert not client.cookies
