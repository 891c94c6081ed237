"""Requests and slots are limited for each account, and given back whatever happens."""

from __future__ import annotations

import asyncio

import pytest

from tacit.errors import BusyError, TooManyError
from tacit.service.access import limits
from tacit.service.access.limits import ConcurrencyLimit, RateLimit


def test_requests_are_counted_for_each_and_refused_ones_cost_nothing() -> None:
    now = 0.0
    limit = RateLimit(2, clock=lambda: now)
    for _ in range(2):
        limit.take("north")
    limit.take("south")
    for _ in range(9):
        with pytest.raises(TooManyError):
            limit.take("north")
    now = 30.0
    limit.take("north")


def test_invented_names_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_BUCKETS", 3)
    limit = RateLimit(2, clock=lambda: 0.0)
    for number in range(9):
        limit.take(f"192.0.2.{number}")
    assert [*limit._buckets] == ["192.0.2.6", "192.0.2.7", "192.0.2.8"]


def test_an_account_has_so_many_slots_and_leaves_them_to_others() -> None:
    async def ask() -> None:
        limit = ConcurrencyLimit("logs", at_once=1, each=1, within=0.05)
        async with limit.slot("north"):
            with pytest.raises(TooManyError):
                async with limit.slot("north"):
                    pass
            with pytest.raises(BusyError):
                async with limit.slot("south"):
                    pass
        # Free again, also after an error inside, and for whoever gave up waiting.
        with pytest.raises(ZeroDivisionError):
            async with limit.slot("north"):
                raise ZeroDivisionError
        for who in ("north", "south"):
            async with limit.slot(who):
                pass
        assert not limit._requests

    asyncio.run(ask())
