"""Timeouts between parties do not depend on how busy the machine is."""

from __future__ import annotations

import asyncio

import pytest

from tests.mpc.waiting_clock import WaitingLoop


@pytest.fixture(autouse=True)
def waiting_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever makes an event loop in these tests gets one whose clock counts its waits alone."""
    monkeypatch.setattr(asyncio.events, "new_event_loop", WaitingLoop)
