"""Notices: who is told what, signed, retried, lost by no crash, and never into our own network."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.client import check_webhook
from tacit.client.models import ClusterView, NodeView
from tacit.errors import ServiceError, TrustError
from tacit.local import free_addresses
from tacit.service.api import accounts
from tacit.service.notices import notifier
from tacit.service.notices.delivery import NOT_DELIVERED, checked_webhook_url, is_public
from tacit.service.notices.notifier import WATCHED, Notifier
from tacit.service.server.app import make_app
from tacit.service.server.settings import MailSettings, Settings
from tacit.service.storage import Database, Notice, create_account, set_state
from tacit.service.storage.accounts import add_webhook, due_notices, unread_events
from tests.service.notices.test_delivery import Inbox, Receiver, mail_server, receiving
from tests.service.stand_in import StandIn
from tests.service.world import World, opened


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving(None) as server:
        yield server


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "LOOK_EVERY_SECONDS", 0.02)


@pytest.fixture
def open_settings(settings: Settings) -> Settings:
    return replace(settings, webhooks_over_http=True, webhooks_to_private_addresses=True)


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


def with_webhook(world: World, who: str, url: str) -> dict[str, Any]:
    made: dict[str, Any] = world.ok("POST", "/me/webhooks", who, json={"url": url})
    return made


def test_everybody_is_told_what_needs_them_and_nothing_else(
    open_settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "MISSING_SECONDS", 1e9)  # a stand-in has no nodes
    with opened(make_app(open_settings, execution=StandIn)) as world:
        world.add("op", "operator")
        hook = with_webhook(world, "op", receiver.url)
        world.add("north", "participant")
        mine = with_webhook(world, "north", receiver.url.replace("/hook", "/north"))
        run_id = world.invited(name="the secret merger")
        until(lambda: len(receiver.calls) == 2)  # whoever has signed is not told to sign
        for name in ("north", "south"):
            signed = {"signature": world.signature(run_id, name)}
            world.ok("POST", f"/runs/{run_id}/signature", name, json=signed)
        for name in ("north", "south"):
            sealed = world.sealed(run_id, name)
            world.ok("POST", f"/runs/{run_id}/submission", name, json=sealed)
        world.run_to(run_id, "finished")
        until(lambda: len(receiver.calls) == 6)
        assert receiver.kinds() == ["all_signed", "finished"]
        assert receiver.kinds("/north") == ["invited", "to_sign", "inputs_needed", "finished"]
        assert world.ok("GET", "/me/notifications", "op")["webhooks"][0]["error"] is None
    for path, signature, body in receiver.calls:
        secret = hook["secret"] if path == "/hook" else mine["secret"]
        check_webhook(secret, signature, body, now=time.time())
        with pytest.raises(TrustError):
            check_webhook(secret + "x", signature, body, now=time.time())
        assert set(json.loads(body)) == {"id", "kind", "at", "run", "platform"}
        assert b"merger" not in body
    numbers = [json.loads(body)["id"] for _, _, body in receiver.calls]
    assert len(set(numbers)) == len(numbers)
    assert hook["secret"] not in Path(open_settings.place("tacit.db")).read_bytes().decode("latin1")


def test_what_fails_is_tried_again_and_redirects_are_not_followed(
    open_settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "PAUSES_SECONDS", (0.0,) * 3)
    receiver.answers += [500, 302]
    with opened(make_app(open_settings, execution=StandIn)) as world:
        world.add("op", "operator")
        with_webhook(world, "op", receiver.url)
        run_id = world.draft()
        world.ok("POST", f"/runs/{run_id}/invite", "op")
        world.ok("POST", f"/runs/{run_id}/cancel", "op")
        until(lambda: len(receiver.calls) >= 3)
    assert receiver.kinds() == ["cancelled"] * 3
    assert len({body for _, _, body in receiver.calls}) == 1, "under the same number"
    assert [path for path, _, _ in receiver.calls] == ["/hook"] * 3


def test_a_crash_loses_no_notice(open_settings: Settings, receiver: Receiver) -> None:
    with opened(make_app(open_settings, execution=StandIn)) as world:
        world.add("op", "operator")
        run_id = world.draft()
    # As if the process had ended right after the run's end was written.
    database = Database(open_settings.database_url)
    with database.writing() as session:
        add_webhook(session, "op", receiver.url)
    with database.writing() as session:
        set_state(session, run_id, "cancelled", reason="x")
    database.close()
    with opened(make_app(open_settings, execution=StandIn)):
        until(lambda: receiver.kinds() == ["cancelled"])


def test_no_webhook_reaches_into_the_platforms_own_network(
    open_settings: Settings, receiver: Receiver
) -> None:
    settings = replace(open_settings, webhooks_to_private_addresses=False)
    with opened(make_app(settings, execution=StandIn)) as world:
        world.add("op", "operator")
        with_webhook(world, "op", receiver.url)
        run_id = world.draft()
        world.ok("POST", f"/runs/{run_id}/invite", "op")
        world.ok("POST", f"/runs/{run_id}/cancel", "op")

        def error() -> str | None:
            found: str | None = world.ok("GET", "/me/notifications", "op")["webhooks"][0]["error"]
            return found

        until(lambda: error() is not None)
        assert error() == NOT_DELIVERED
        hook = world.ok("GET", "/me/notifications", "op")["webhooks"][0]["id"]
        assert world.call("DELETE", f"/me/webhooks/{hook}", "op").status_code == 204
    assert receiver.calls == []


def test_a_webhook_does_not_tell_which_names_the_platform_finds(
    open_settings: Settings, receiver: Receiver
) -> None:
    """Nor which of them are in its own network, and what answers there."""
    closed = free_addresses(1)[0]
    urls = ["http://no-such-host.invalid/", receiver.url, f"http://{closed}/", "http://0.0.0.0:1/"]
    settings = replace(open_settings, webhooks_to_private_addresses=False)
    with opened(make_app(settings, execution=StandIn)) as world:
        world.add("op", "operator")
        for url in urls:
            with_webhook(world, "op", url)
        run_id = world.draft()
        world.ok("POST", f"/runs/{run_id}/invite", "op")
        world.ok("POST", f"/runs/{run_id}/cancel", "op")

        def errors() -> list[str | None]:
            hooks = world.ok("GET", "/me/notifications", "op")["webhooks"]
            return [each["error"] for each in hooks]

        until(lambda: None not in errors())
        assert errors() == [NOT_DELIVERED] * len(urls)
    assert receiver.calls == []


@pytest.mark.parametrize(
    "url", ["http://h/", "ftp://h/", "https://", "https://a:b@h/", "https://h:0/", "https://h:x/"]
)
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(ServiceError):
        checked_webhook_url(url, over_http=False)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "::1",
     "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::",
     "64:ff9b:1::a00:1", "fec0::1", "::10.0.0.1"],
)  # fmt: skip
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)
    assert is_public("93.184.215.14")


def test_a_missing_node_is_told_once_and_that_it_is_back(open_settings: Settings) -> None:
    database = Database(open_settings.database_url)
    with database.writing() as session:
        create_account(session, "op", "operator")
        add_webhook(session, "op", "http://127.0.0.1:9/")
    here = {"reachable": False}

    def clusters() -> list[ClusterView]:
        node = NodeView(
            host="n0",
            port=1,
            signing_key="",
            certificate="",
            reachable=here["reachable"],
            clock_offset_seconds=None,
        )
        return [ClusterView(name="c", nodes=[node], slots=1, running=0, waiting=0)]

    async def looks() -> list[str]:
        telling = Notifier(replace(open_settings, webhooks_over_http=True), database, clusters)
        now = time.time()
        for later, reachable in ((0, False), (29, False), (31, False), (60, False), (61, True)):
            here["reachable"] = reachable
            await telling.watch_nodes(now + later)
        with database.reading() as session:
            found: list[Notice] = due_notices(session, now + 100, limit=9)
            return [f"{each.kind} {each.data['node']}" for each in found]

    try:
        assert asyncio.run(looks()) == ["node_missing n0:1", "node_back n0:1"]
    finally:
        database.close()


@pytest.fixture
def inbox() -> Iterator[tuple[Inbox, int]]:
    with mail_server(None) as made:
        yield made


def unread(world: World) -> bool:
    """Whether something has happened of which no notices were made yet."""
    with world.platform.database.reading() as session:
        return bool(unread_events(session, WATCHED, limit=1))


def test_mail_says_what_is_needed(open_settings: Settings, inbox: tuple[Inbox, int]) -> None:
    received, port = inbox
    mail = MailSettings(host="127.0.0.1", port=port, security="none", sender="tacit@example.org")
    settings = replace(open_settings, mail=mail)
    with opened(make_app(settings, execution=StandIn)) as world:
        world.add("op", "operator")
        run_id = world.draft(name="the secret merger")
        world.ok("POST", f"/runs/{run_id}/invite", "op")
        # Nobody has an address yet, so that what has happened until now is mailed to nobody.
        until(lambda: not unread(world))
        world.ok("PUT", "/me/notifications", "op", json={"mail": "op@example.org"})
        bad = world.call("PUT", "/me/notifications", "op", json={"mail": "a@b\r\nBcc: c@d"})
        assert bad.status_code == 400
        world.ok("PUT", "/accounts/north/mail", "op", json={"mail": "north@example.org"})
        # Whoever has joined, or was shut out, is not for an operator to have mail sent for.
        world.add("eye", "viewer")
        for name in ("eye", "south"):
            world.ok("DELETE", "/accounts/south", "op")
            body = {"mail": "mallory@example.org"}
            world.refused("wrong_state", "PUT", f"/accounts/{name}/mail", "op", json=body)
        world.ok("POST", f"/runs/{run_id}/cancel", "op")
        until(lambda: len(received.mail) == 2)
    texts = [text for _, text in received.mail]
    for text in texts:
        assert f"Subject: tacit: run {run_id} was cancelled; see why" in text
        assert "merger" not in text
    to = sorted(line for text in texts for line in text.splitlines() if line[:3] == "To:")
    assert to == ["To: north@example.org", "To: op@example.org"]


def test_a_test_says_of_each_way_whether_it_arrived(
    open_settings: Settings,
    receiver: Receiver,
    inbox: tuple[Inbox, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    received, port = inbox
    mail = MailSettings(host="127.0.0.1", port=port, security="none", sender="tacit@example.org")
    settings = replace(open_settings, mail=mail)
    with opened(make_app(settings, execution=StandIn)) as world:
        world.add("op", "operator")
        world.refused("wrong_state", "POST", "/me/notifications/test", "op")
        world.ok("PUT", "/me/notifications", "op", json={"mail": "op@example.org"})
        hook = with_webhook(world, "op", receiver.url)["id"]
        bad = with_webhook(world, "op", receiver.url.replace("/hook", "/bad"))["id"]

        def tested() -> dict[str | None, tuple[bool, bool]]:
            """By way, whether the test arrived, and whether it did not."""
            seen = world.ok("GET", "/me/notifications", "op")["tests"]
            return {
                each["webhook"]: (each["sent"] is not None, each["error"] is not None)
                for each in seen
            }

        for number, answers in enumerate(([500, 500], [500, 200])):
            receiver.answers += answers
            monkeypatch.setattr(accounts, "TEST_SECONDS", 0.0)
            world.ok("POST", "/me/notifications/test", "op")
            until(lambda: all(map(any, tested().values())))
            assert set(tested()) == {None, hook, bad}
            assert tested()[None] == (True, False)
            assert sorted(tested()[each] for each in (hook, bad)) == [
                (False, True),
                (bool(number), not number),
            ]
        monkeypatch.setattr(accounts, "TEST_SECONDS", 60.0)
        world.refused("too_many", "POST", "/me/notifications/test", "op")
        with world.platform.database.reading() as session:
            assert due_notices(session, time.time() + 9e9, limit=9) == [], "none is tried again"
    assert receiver.kinds() + receiver.kinds("/bad") == ["test"] * 4
    assert ["this is a test" in text for _, text in received.mail] == [True] * 2


def test_no_mail_goes_out_in_the_open_unless_the_file_says_so(
    open_settings: Settings, inbox: tuple[Inbox, int]
) -> None:
    received, port = inbox
    mail = MailSettings(host="127.0.0.1", port=port, sender="tacit@example.org")
    with opened(make_app(replace(open_settings, mail=mail), execution=StandIn)) as world:
        world.add("op", "operator")
        world.ok("PUT", "/me/notifications", "op", json={"mail": "op@example.org"})
        run_id = world.draft()
        world.ok("POST", f"/runs/{run_id}/invite", "op")
        world.ok("POST", f"/runs/{run_id}/cancel", "op")

        def error() -> str | None:
            with world.platform.database.reading() as session:
                return next(
                    (each.error for each in due_notices(session, time.time() + 60, limit=9)), None
                )

        until(lambda: error() is not None)
        assert "STARTTLS" in str(error())
    assert received.mail == []


def test_a_platform_without_mail_says_so(open_settings: Settings) -> None:
    with opened(make_app(open_settings, execution=StandIn)) as world:
        world.add("op", "operator")
        assert "sends no mail" in world.refused(
            "wrong_state", "PUT", "/me/notifications", "op", json={"mail": "op@example.org"}
        )
        assert world.ok("PUT", "/me/notifications", "op", json={"mail": None})["mail"] is None
