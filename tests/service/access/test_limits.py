"""Long work is done for a few at a time, at a low priority, and given up in the end."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tacit.client.models import CarriedLogs
from tacit.errors import BusyError
from tacit.service.access.limits import background_priority, compute_in_background
from tacit.service.api.gate import LOGS_AT_ONCE
from tests.service.world import World


@pytest.mark.processes
def test_work_in_the_background_has_a_low_priority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "computes"
    behind = background_priority()
    wait = f"while [ $(nice) != {behind} ]; do sleep 0.01; done"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\n{wait}\nnice\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    said = asyncio.run(compute_in_background("any", b"", within=600, failed="it failed"))
    assert int(said) == behind


@pytest.mark.processes
def test_work_in_the_background_that_takes_too_long_is_given_up() -> None:
    with pytest.raises(BusyError, match="it failed"):
        asyncio.run(compute_in_background("timeit", b"", within=0.01, failed="it failed"))


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
