"""Event streams over a real server: in order, from where one left off, only what one may see."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tacit.service.access.credentials import revoke_all
from tacit.service.api import watching
from tacit.service.server.settings import Settings
from tacit.service.storage import set_progress
from tests.service.example_terms import progress_at
from tests.service.world import API, World, served

pytestmark = pytest.mark.slow


@pytest.fixture
def world(settings: Settings) -> Iterator[World]:
    with served(settings) as made:
        made.add("op", "operator")
        made.add("outsider", "participant")
        yield made


def read_events(
    world: World,
    path: str,
    who: str,
    *,
    count: int,
    after: int | None = None,
    here: threading.Event | None = None,
    found: list[dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """The next events of a stream, and all that it said if it ends before.

    `here` is set when the stream misses nothing any more, and `found` grows meanwhile.
    """
    headers = {"Authorization": f"Bearer {world.tokens[who]}"}
    if after is not None:
        headers["Last-Event-ID"] = str(after)
    found = [] if found is None else found
    with (
        httpx.Client(verify=False, timeout=120) as client,
        client.stream("GET", f"{world.url}{API}{path}", headers=headers) as answer,
    ):
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        event: dict[str, Any] = {}
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if line == ": here" and here is not None:
                here.set()
            if name in ("id", "event"):
                event[name] = value
            elif name == "data":
                event.update(json.loads(value))
                found.append(event)
                event = {}
                if len(found) == count:
                    break
    return found


@contextmanager
def reading(
    world: World, path: str, who: str, *, count: int, found: list[Any], after: int | None = None
) -> Iterator[threading.Thread]:
    """Read a stream beside the block, which begins when the stream misses nothing any more."""
    here = threading.Event()
    thread = threading.Thread(
        target=lambda: read_events(
            world, path, who, count=count, after=after, here=here, found=found
        )
    )
    thread.start()
    assert here.wait(120)
    yield thread
    thread.join(120)
    assert not thread.is_alive()


def test_a_stream_tells_what_was_missed_and_what_comes_once_and_in_order(world: World) -> None:
    run_id = world.ended("finished")
    whole = read_events(world, f"/runs/{run_id}/events", "north", count=14, after=0)
    numbers = [int(each["id"]) for each in whole]
    assert numbers == sorted(set(numbers))
    states = [each["state"] for each in whole if each["event"] == "state"]
    assert list(dict.fromkeys(states))[:4] == ["draft", "invited", "agreed", "submitted"]
    rest = read_events(world, f"/runs/{run_id}/events", "north", count=5, after=numbers[8])
    assert [int(each["id"]) for each in rest] == numbers[9:14]

    later = world.submitted()
    last = numbers[-1]
    got: list[dict[str, Any]] = []
    with reading(world, f"/runs/{later}/events", "south", count=4, found=got):
        world.run_to(later, "finished")
    assert [each["event"] for each in got] == ["state", "progress", "progress", "progress"]
    assert all(int(each["id"]) > last for each in got)


def test_one_sees_the_events_of_ones_own_runs_alone(world: World) -> None:
    run_id = world.ended("finished")
    everything = read_events(world, "/events", "op", count=10, after=0)
    assert {each["run"] for each in everything} == {run_id}
    got: list[dict[str, Any]] = []
    with reading(world, "/events", "outsider", count=2, after=0, found=got):
        world.ended("finished")
        # Becomes a member while it listens.
        mine = world.draft(participants={"outsider": [0, 1], "north": [2, 3]})
        world.ok("POST", f"/runs/{mine}/invite", "op")
    assert len(got) == 2
    assert {each["run"] for each in got} == {mine}
    refused = world.call("GET", f"/runs/{run_id}/events", "outsider")
    assert refused.status_code == 404
    wrong = world.call("GET", "/events", "op", headers={"Last-Event-ID": "x"})
    assert wrong.status_code == 400


def test_a_stream_ends_with_its_token_however_much_it_has_to_tell(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "BEAT_SECONDS", 0.2)
    run_id = world.ended("running")
    got: list[dict[str, Any]] = []
    path = f"/runs/{run_id}/events"
    with reading(world, path, "north", count=10**6, found=got) as thread:
        until = time.monotonic() + 120
        while thread.is_alive() and time.monotonic() < until:
            with world.platform.database.writing() as session:
                set_progress(session, run_id, progress_at(1))
                if len(got) > 3:
                    revoke_all(session, "north")
            time.sleep(0.02)
    assert len(got) > 3


def test_an_account_has_so_many_streams_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "MOST_STREAMS", 0)
    answer = world.call("GET", "/events", "op")
    assert answer.status_code == 429


def test_the_server_stops_although_somebody_watches(world: World) -> None:
    # The fixture's end asserts that it does; here is the watcher.
    here = threading.Event()
    threading.Thread(target=lambda: read_events(world, "/events", "op", count=1, here=here)).start()
    assert here.wait(120)
    assert world.platform.streams["op"] == 1
