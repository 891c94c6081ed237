"""Curves are fetched seldom, and once for all who look."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tacit.client.models import RunProgress
from tacit.service.dashboard.run_page import MOST_CURVES, Curves
from tacit.service.dashboard.sessions import ApiClient, BrowserSession
from tests.service.example_terms import run_about
from tests.service.world import World

pytestmark = pytest.mark.slow


class Counted(ApiClient):
    fetched = 0

    async def fetch(self, path: str, /) -> httpx.Response:
        self.fetched += 1
        return await super().fetch(path)


def test_one_fetch_for_all_who_look(world: World) -> None:
    run_id = world.submitted()
    world.run_to(run_id, "running")
    now = 0.0
    curves = Curves(clock=lambda: now)
    api = Counted(world.app, BrowserSession(world.tokens["eye"], is_kept=True))

    async def look(times: int, state: str, seconds: float) -> list[tuple[float, float]]:
        progress = RunProgress(
            generation=1, evaluations=1, evaluations_per_second=1.0, best=[], seconds=seconds
        )
        run = run_about(id=run_id, state=state, progress=progress)
        seen = await asyncio.gather(*(curves.points(api, run) for _ in range(times)))
        assert all(each == seen[0] for each in seen)
        return seen[0]

    assert world.portal is not None
    points = world.portal.call(look, 5, "running", 0.2)
    assert [value for _, value in points] == [90.0, 89.0, 88.0]
    assert api.fetched == 1
    for _ in range(100):
        now += 1.0
        world.portal.call(look, 2, "running", now)
    assert 10 <= api.fetched <= 25
    before = api.fetched
    for _ in range(3):
        now += 100.0
        world.portal.call(look, 2, "finished", 100.0)
    assert api.fetched == before + 1


def test_refusals_are_not_asked_for_every_time_and_few_curves_are_kept(world: World) -> None:
    now = 0.0
    curves = Curves(clock=lambda: now)
    api = Counted(world.app, BrowserSession(None, is_kept=True))

    async def look(run_id: str) -> list[tuple[float, float]]:
        return await curves.points(api, run_about(id=run_id, state="failed"))

    assert world.portal is not None
    for _ in range(5):
        assert world.portal.call(look, "r-aaaaaaaaaa") == []
    assert api.fetched == 1
    for i in range(MOST_CURVES):
        world.portal.call(look, f"r-{i}")
    world.portal.call(look, "r-aaaaaaaaaa")
    assert api.fetched == MOST_CURVES + 2
