"""What takes long is done for a few at a time, and not at all costs."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tacit.client.models import CarriedLogs
from tacit.service.access.limits import background_priority
from tacit.service.api import convergence
from tacit.service.api.gate import LOGS_AT_ONCE
from tests.service.world import World


@pytest.mark.processes
def test_a_plot_is_drawn_once_for_all_who_ask(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convergence, "DRAW_SECONDS", 600)
    monkeypatch.setattr(world.platform.plots._limit, "_within", 600)
    path = f"/runs/{world.ended('finished')}/convergence.png"
    asking = [who for who in ("op", "eye", "north", "south") for _ in range(4)]
    with ThreadPoolExecutor(len(asking)) as threads:
        answers = list(threads.map(lambda who: world.call("GET", path, who), asking))
    told = Counter(answer.status_code for answer in answers)
    assert set(told) <= {200, 429}
    assert told[200] >= 4
    assert world.platform.plots.drawn == 1
    assert world.call("GET", path, "eye").content[1:4] == b"PNG"
    assert world.platform.plots.drawn == 1


@pytest.mark.processes
def test_a_plot_that_takes_too_long_is_given_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convergence, "DRAW_SECONDS", 0.01)
    answer = world.call("GET", f"/runs/{world.ended()}/convergence.png", "op")
    assert (answer.status_code, answer.json()["error"]) == (503, "busy")


@pytest.mark.processes
def test_whoever_draws_steps_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "draws"
    behind = background_priority()
    wait = f"while [ $(nice) != {behind} ]; do sleep 0.01; done"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\n{wait}\nnice\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    picture = asyncio.run(convergence.Plots().convergence("desk", "", []))
    assert int(picture) == behind


def test_logs_are_fetched_for_a_few_at_a_time(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = world.ended("finished")
    monkeypatch.setattr(world.platform.logs, "_within", 600)
    at_once, most, refused = 0, 0, 0

    async def slow(_run: str, _nonce: bytes, **_: object) -> CarriedLogs:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        # Until everybody has asked twice.
        async with asyncio.timeout(120):
            while refused < 4:
                await asyncio.sleep(0.01)
        at_once -= 1
        return CarriedLogs(logs=[], manifests=[])

    monkeypatch.setattr(world.execution, "fetch_logs", slow)
    world.add("deputy", "operator")
    asking = [who for who in ("op", "deputy", "north", "south") for _ in range(2)]

    def ask(who: str) -> int:
        nonlocal refused
        body = {"nonce": "ab" * 16}
        status = world.call("POST", f"/runs/{run_id}/logs", who, json=body).status_code
        refused += status == 429
        return status

    with ThreadPoolExecutor(len(asking)) as threads:
        assert Counter(threads.map(ask, asking)) == {200: 4, 429: 4}
    assert most == LOGS_AT_ONCE
