"""Everything that the API does, through the client, on the real server with TLS."""

from __future__ import annotations

import asyncio
import gc
import inspect
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tacit.agreement import read_agreement, sign_agreement
from tacit.client import PlatformClient, RunView, connection
from tacit.client.connection import Connection
from tacit.errors import (
    CredentialError,
    ForbiddenError,
    InputError,
    NotThereError,
    PlatformError,
    RunEndedError,
    ServiceError,
    WaitingError,
    WrongStateError,
)
from tacit.service.access.permissions import PERMISSIONS
from tacit.service.api import watching
from tests.client.conftest import Served
from tests.service.example_terms import plain_terms


def terms(**changes: Any) -> dict[str, Any]:
    return {**plain_terms(), **changes}


def test_a_run_from_its_draft_to_its_result(platform: Served, op: PlatformClient) -> None:
    world = platform.world
    run = op.runs.new(terms(name="morning"))
    assert (run.state, run.created_by, run.has_ended) == ("draft", "op", False)
    assert op.runs.change(run.id, terms(name="evening")).name == "evening"
    invited = op.runs.invite(run.id)
    assert [each.name for each in invited.members] == ["north", "south"]
    for name, code in invited.invitations.items():
        world.join(name, code, key=True)
    for name in ("north", "south"):
        with platform.client(name) as member:
            agreement = read_agreement(member.runs.agreement(run.id))
            signed = member.runs.sign(run.id, sign_agreement(agreement, world.keys[name].signing))
            assert {each.name: each.signed for each in signed.members}[name]
            assert member.me().role == "participant"
    assert op.runs.show(run.id).state == "agreed"
    for name in ("north", "south"):
        world.ok("POST", f"/runs/{run.id}/submission", name, json=world.sealed(run.id, name))
    with pytest.raises(WrongStateError, match="the run is submitted; to have a result it must be"):
        op.runs.result(run.id)
    world.run_to(run.id, "finished")
    assert op.runs.wait_for_end(run.id, timeout=30).state == "finished"
    found = op.runs.result(run.id)
    assert found.plan is not None
    assert (found.plan.items, found.plan.named) == ([1, 0, 3, 2], None)
    assert op.runs.result_csv(run.id).startswith("row,column\n0,1\n")
    assert op.runs.progress_csv(run.id).startswith("generation,")
    assert [each.node for each in op.runs.logs(run.id, bytes(16)).logs] == [0, 1, 2]
    assert op.runs.ledger(run.id) == b""
    assert op.runs.public_weights(run.id).objectives == {}
    with platform.client("south") as south:
        assert [each.state for each in south.runs.submissions(run.id)] == ["accepted"]
        assert [each.id for each in south.runs.all()] == [run.id]


def test_lists_are_fetched_page_by_page(platform: Served, op: PlatformClient) -> None:
    drafts = [platform.world.draft(name=f"paged {i}") for i in range(5)]
    found = op.runs.each(search="paged", mine=True, page_size=2)
    assert [each.id for each in found] == drafts[::-1]
    assert [each.id for each in op.runs.each(states=["draft"], search="AGED 1")] == [drafts[1]]
    assert list(op.runs.each(states=["running", "failed"], search="paged")) == []
    assert op.runs.find("paged 2") == drafts[2]
    with pytest.raises(InputError, match="no run has"):
        op.runs.find("paged")


def test_the_rest_of_the_api(platform: Served, op: PlatformClient) -> None:
    assert op.health().status == "ok"
    assert len(op.clusters()[0].nodes) == 3
    drawn = op.generate({"kind": "ap", "rows": 3, "columns": 3})
    draft = op.runs.new(drawn)
    op.runs.discard(draft.id)
    with pytest.raises(NotThereError, match="there is no such run for you"):
        op.runs.show(draft.id)
    invited = op.accounts.add("auditor", "viewer")
    again = op.accounts.invite("auditor")
    assert invited.invitation != again.invitation
    with PlatformClient(platform.world.url, ca=platform.ca) as auditor:
        with pytest.raises(CredentialError):
            auditor.join(invited.invitation)
        assert auditor.join(again.invitation).role == "viewer"
        assert auditor.me().account == "auditor"
        with pytest.raises(ForbiddenError, match="a viewer may not POST /runs"):
            auditor.runs.new(terms())
        auditor.give_back_token()
        with pytest.raises(CredentialError):
            auditor.me()
    assert "auditor" in [each.name for each in op.accounts.all()]
    op.accounts.shut_out("auditor")
    assert "tacit" in op.metrics()
    with pytest.raises(ServiceError, match="population"):
        op.runs.new(terms(parameters={"population": "many"}))
    with pytest.raises(NotThereError):
        op.runs.show("../accounts")


def test_series(platform: Served, op: PlatformClient) -> None:
    made = op.series.new({"name": "daily", "run": terms()})
    assert [each.id for each in op.series.all()] == [made.id]
    assert op.series.show(made.id).state in ("invited", "agreed")
    with pytest.raises(WrongStateError, match="not everybody has signed"):
        op.series.next_run(made.id)
    assert op.series.end(made.id, reason="over").reason == "ended by op: over"


class AskedError(Exception):
    """Raised in place of a request, with its method and path."""


GIVEN: dict[str, Any] = {
    "str": "x", "bytes": b"x", "int": 0, "float": 1.0, "bool": True, "Sequence[str]": ("x",),
    "Sequence[RunState]": ("draft",),
    "Sequence[bytes]": (b"x",), "Mapping[str, Any]": {}, "RunTerms": {}, "SeriesTerms": {},
    "Callable[[RunView], bool]": bool, "Callable[[str], bytes]": str.encode,
}  # fmt: skip


def _requests_of(method: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """The first request of a method, called with what it needs and with all that it takes."""
    for everything in (False, True):
        positional, named = [], {}
        for name, each in inspect.signature(method).parameters.items():
            value = GIVEN[str(each.annotation).removesuffix(" | None").split(" | ")[0]]
            if each.kind is inspect.Parameter.KEYWORD_ONLY:
                if everything or each.default is inspect.Parameter.empty:
                    named[name] = value
            elif everything or each.default is inspect.Parameter.empty:
                positional.append(value)
        try:
            answer = method(*positional, **named)
            next(answer)  # a stream asks when it is read
        except AskedError as asked:
            yield asked.args[0], asked.args[1].partition("?")[0]


def test_every_endpoint_has_a_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the table of permissions has, some method of the client asks for, and nothing else."""

    def send(_: Connection, method: str, path: str, *_body: object, **_how: object) -> bytes:
        raise AskedError(method, path)

    def stream(_: Connection, path: str, *_body: object, **_how: object) -> Iterator[bytes]:
        raise AskedError("GET", path)

    monkeypatch.setattr(Connection, "send", send)
    monkeypatch.setattr(Connection, "stream", stream)
    with PlatformClient("https://platform.example") as client:
        parts = (client, client.runs, client.series, client.accounts, client.notifications)
        methods = [
            getattr(part, name)
            for part in parts
            for name, each in vars(type(part)).items()
            if inspect.isfunction(each) and not name.startswith("_")
        ]
        asked = {request for each in methods for request in _requests_of(each)}
    patterns = {(method, path): re.sub(r"\{\w+\}", "[^/]+", path) for method, path in PERMISSIONS}
    met = {
        endpoint
        for endpoint, pattern in patterns.items()
        if any(how == endpoint[0] and re.fullmatch(pattern, path) for how, path in asked)
    }
    # The client follows one run at a time; /events is of all.
    assert set(PERMISSIONS) - met == {("GET", "/events")}
    assert len(asked) == len(met)


def test_waiting(platform: Served, op: PlatformClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BEAT_SECONDS", 0.05)
    world = platform.world
    run = op.runs.new(terms()).id
    with pytest.raises(WaitingError, match="it did not happen in time"):
        op.runs.wait_for_end(run, timeout=0.3)
    seen: list[RunView] = []
    waiting = threading.Thread(
        target=lambda: seen.append(_waited(platform, run, lambda view: view.state == "invited"))
    )
    waiting.start()
    op.runs.invite(run)
    waiting.join(60)
    assert [each.state for each in seen] == ["invited"]
    op.runs.cancel(run, reason="enough")
    with pytest.raises(RunEndedError, match=r"is cancelled \(cancelled by op: enough\); there is"):
        op.runs.wait(run, lambda view: view.state == "running", timeout=60)
    events = op.runs.watch(run, after=0, timeout=60)
    kinds = [next(events).kind for _ in range(4)]
    assert kinds == ["here", "state", "state", "state"]
    assert world.tokens  # the same platform for all of this file


def _waited(platform: Served, run: str, done: Any) -> RunView:
    with platform.client("op") as client:
        return client.runs.wait(run, done, timeout=60)


def test_a_run_that_never_was_is_not_waited_for(op: PlatformClient) -> None:
    with pytest.raises(PlatformError, match="there is no such run"):
        op.runs.wait_for_end("r-aaaaaaaaaa", timeout=60)


def test_what_closes_a_left_stream_is_waited_for(
    platform: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has heard enough hangs up, and asyncio has nothing to complain about."""
    monkeypatch.setattr(connection, "CLOSING_SECONDS", 120.0)
    closed = threading.Event()

    async def close() -> None:
        # Closing a stream takes several turns of the event loop, and now and then was cut short.
        await asyncio.sleep(0.2)
        closed.set()

    with platform.client("op") as client:
        assert client.health().status == "ok"
        asyncio.run_coroutine_threadsafe(close(), client._loop)
    gc.collect()
    assert closed.is_set()
    assert [each.getMessage() for each in caplog.records if each.name == "asyncio"] == []
