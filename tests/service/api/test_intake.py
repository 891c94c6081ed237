"""Bodies: what is too large is not read, what is large is decoded elsewhere, what is slow ends."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import pytest

from tacit.client import RunTerms
from tacit.client.terms import read_request
from tacit.errors import TooManyError
from tacit.service.access.permissions import LARGE_BODIES, PERMISSIONS
from tacit.service.api import middleware
from tacit.service.api.intake import SMALL_BYTES, may_be_large
from tests.service.example_terms import plain_terms
from tests.service.world import API, MakeWorld, World

HELD_SECONDS = 0.15
"""Of the processor, for one step of the loop. Reading such a body there took 2 s and more."""
LARGE = 14_500_000
PLAIN = json.dumps(plain_terms())[:-1]


def hostile(fill: str) -> bytes:
    return f"{PLAIN},{fill}}}".encode()


BODIES = {
    "keys": lambda: hostile(",".join(f'"k{number}":0' for number in range(LARGE // 12))),
    "lists": lambda: hostile('"x":[' + ",".join(["[]"] * (LARGE // 3)) + "]"),
    "objects": lambda: hostile('"x":[' + ",".join(['{"a":0}'] * (LARGE // 8)) + "]"),
    "known keys": lambda: hostile(
        '"parameters":{' + ",".join(f'"k{number}":0' for number in range(LARGE // 12)) + "}"
    ),
    "deep": lambda: hostile('"x":' + "[" * LARGE),
    "long text": lambda: hostile('"preset":"' + "x" * LARGE + '"'),
    "marks": lambda: hostile('"\u0316' + "\u0301\u0316" * (LARGE // 4) + '":0'),
    "a participant of marks": lambda: hostile(
        '"participants":{"' + "\u0301\u0316" * (LARGE // 4) + '":[0]}'
    ),
    "numbers": lambda: hostile('"participants":{"a":[' + ",".join("9" * (LARGE // 2)) + "]}"),
}


@contextmanager
def longest_step(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """Measure what each step of each event loop computes; the list has the longest."""
    longest, run = [0.0], asyncio.Handle._run

    def measured(handle: asyncio.Handle) -> None:
        begun = time.thread_time()
        run(handle)
        longest[0] = max(longest[0], time.thread_time() - begun)

    with monkeypatch.context() as patched:
        patched.setattr(asyncio.Handle, "_run", measured)
        yield longest


async def in_chunks(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 65_536):
        yield body[start : start + 65_536]


@pytest.mark.processes
@pytest.mark.parametrize("what", BODIES)
def test_no_body_holds_the_loop(world: World, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    body = BODIES[what]()
    with longest_step(monkeypatch) as longest:
        answer = world.call("POST", "/runs", "op", content=in_chunks(body))
    assert answer.status_code == 400, answer.text
    assert len(answer.text) < 1000
    assert longest[0] < HELD_SECONDS


@pytest.mark.parametrize("what", BODIES)
def test_no_small_body_holds_the_loop(
    world: World, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    body = BODIES[what]()[: SMALL_BYTES - 2] + b'"}'
    with longest_step(monkeypatch) as longest:
        world.call("POST", "/runs", "op", content=body)
        world.call("POST", "/join", content=b'{"code":"x","account":"' + body[1000:] + b'"}')
    assert longest[0] < HELD_SECONDS


def test_the_first_trouble_ends_the_reading() -> None:
    """Before anything is built of a field that nobody knows."""
    body = BODIES["lists"]()
    begun = time.process_time()
    with pytest.raises(ValueError, match="unknown field"):
        read_request(body, RunTerms)
    assert time.process_time() - begun < 0.5


def test_a_known_body_is_read_as_it_was(world: World) -> None:
    large = {**plain_terms(), "name": "large"}
    text = json.dumps(large).replace("{", "{" + " " * (2 * SMALL_BYTES), 1)
    assert read_request(text.encode(), RunTerms) == read_request(
        json.dumps(large).encode(), RunTerms
    )


@pytest.mark.processes
def test_a_large_draft_is_taken(world: World) -> None:
    text = json.dumps(plain_terms()).replace("{", "{" + " " * (2 * SMALL_BYTES), 1)
    run_id = world.ok("POST", "/runs", "op", content=text.encode())["id"]
    assert world.ok("PUT", f"/runs/{run_id}", "op", content=text.encode())["state"] == "draft"
    spoilt = text.replace('"north"', '"n\u043erth"').encode()
    assert "mixes" in world.refused("malformed", "POST", "/runs", "op", content=spoilt)


def test_public_weights_are_bounded_together() -> None:
    (only,) = plain_terms()["objectives"]
    public = {**only, "confidential": False, "weights": [[1] * 60_000] * 40}
    terms = {**plain_terms(), "objectives": [public, {**public, "name": "other"}]}
    assert len(json.dumps(terms, separators=(",", ":"))) < LARGE
    with pytest.raises(ValueError, match="public weights exceed"):
        read_request(json.dumps(terms).encode(), RunTerms)


def test_only_drafts_and_submissions_may_be_large(world: World) -> None:
    run_id = world.draft()
    read = []

    async def watched() -> AsyncIterator[bytes]:
        read.append(1)
        yield b" " * (SMALL_BYTES + 1)

    announced = {"Content-Length": str(SMALL_BYTES + 1)}
    for method, path in PERMISSIONS:
        if method in ("GET", "DELETE"):
            continue
        place = path.replace("{run_id}", run_id).replace("{name}", "north")
        is_large = (method, path) in LARGE_BODIES
        assert may_be_large(method, API + place) == is_large
        if not is_large:
            answer = world.call(method, place, "op", content=watched(), headers=announced)
            assert (answer.status_code, answer.json()["error"]) == (413, "too_large"), path
    assert not read
    for path in ("/sign-in", "/", "/_nicegui_ws/", "/runs", "/_nicegui/client/x/uploads/1"):
        assert not may_be_large("POST", path)
    assert may_be_large("POST", "/_nicegui/client/ab-cd/upload/12")


def test_one_account_may_send_so_many_bytes_a_minute(
    make_world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(mb_per_minute=0.2)
    monkeypatch.setattr(world.platform.intake.by_account, "_clock", lambda: 0.0)
    world.add("op", "operator")
    world.add("deputy", "operator")
    body = b" " * 60_000

    async def chunked() -> AsyncIterator[bytes]:
        yield body

    for _ in range(3):
        world.refused("malformed", "POST", "/accounts", "op", content=body)
    assert "bytes in a minute" in world.refused("too_many", "POST", "/accounts", "op", content=body)
    world.refused("too_many", "POST", "/accounts", "op", content=chunked())
    world.refused("malformed", "POST", "/accounts", "deputy", content=body)
    with pytest.raises(TooManyError):
        world.platform.intake.by_account.take("op", 60_000)


def test_a_body_that_trickles_is_not_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "BODY_SECONDS", 0.2)

    async def trickle() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" "
            await asyncio.sleep(0.01)

    answer = world.call("POST", "/runs", "op", content=trickle())
    assert (answer.status_code, answer.json()["error"]) == (408, "too_slow")
