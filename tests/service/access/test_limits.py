"""Long work is done for a few at a time, and what one account sends is limited."""

from __future__ import annotations

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tacit.client.models import CarriedLogs
from tacit.service.api.gate import LOGS_AT_ONCE
from tests.service.world import World


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
