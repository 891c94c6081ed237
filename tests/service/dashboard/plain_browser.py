"""Somebody at the dashboard with a plain client: forms, cookies, an address of their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.service.world import World

addresses = (f"192.0.2.{i}" for i in itertools.count(1))
FORM = "application/x-www-form-urlencoded"


@contextmanager
def browser(world: World, **headers: str) -> Iterator[httpx.Client]:
    """Somebody at an address of their own, who sends what a browser sends."""
    sent = {"X-Forwarded-For": next(addresses), "Origin": world.url, **headers}
    with httpx.Client(base_url=world.url, headers=sent, timeout=120) as client:
        yield client


def sign_in(client: httpx.Client, secret: str, **more: str) -> str:
    """Where signing in leads to."""
    answer = client.post("/sign-in", data={"code": secret, **more})
    assert answer.status_code == 303
    return answer.headers["location"]
