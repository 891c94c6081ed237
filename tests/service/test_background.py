"""Large input is read in processes of its own, within bounds of time and memory."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from tacit.errors import FileError, InputError, MalformedError, ServiceError
from tacit.service import background
from tacit.service.background import Background

pytestmark = pytest.mark.processes


def computed(work: Callable[[bytes], bytes], given: bytes = b"", **bounds: Any) -> bytes:
    async def compute() -> bytes:
        made = Background()
        try:
            return await made.compute(work, given, **{"within": 60.0, **bounds})
        finally:
            await made.close()

    return asyncio.run(compute())


def reverse(given: bytes) -> bytes:
    return given[::-1]


def identify(_given: bytes) -> bytes:
    return f"{os.getpid()} {os.nice(0)}".encode()


def refuse(_given: bytes) -> bytes:
    raise MalformedError("this is not it")


def refuse_file(_given: bytes) -> bytes:
    raise FileError("a", None, "is wrong", "correct it")


def hoard(given: bytes) -> bytes:
    return bytes(int(given))


def compute(_given: bytes) -> bytes:
    while True:
        pass


def linger(_given: bytes) -> bytes:
    time.sleep(600)
    return b""


def crash(_given: bytes) -> bytes:
    os._exit(3)


def test_work_is_done_in_another_process_at_a_low_priority() -> None:
    given = bytes(range(256)) * 40_000
    assert computed(reverse, given) == given[::-1]
    number, priority = map(int, computed(identify).split())
    assert number != os.getpid()
    assert priority > os.nice(0)


def test_its_errors_are_those_of_the_request() -> None:
    with pytest.raises(MalformedError, match="this is not it"):
        computed(refuse)
    with pytest.raises(InputError, match="a: is wrong; correct it"):
        computed(refuse_file)


def test_what_takes_too_much_memory_or_crashes_is_refused() -> None:
    assert len(computed(hoard, b"1000000", most_memory=1 << 28)) == 10**6
    with pytest.raises(ServiceError, match="more time or memory"):
        computed(hoard, b"1000000000", most_memory=1 << 28)
    with pytest.raises(ServiceError, match="more time or memory"):
        computed(crash)


@pytest.mark.parametrize(("work", "within"), [(compute, 1.0), (linger, 0.1)])
def test_what_takes_too_long_is_ended(work: Callable[[bytes], bytes], within: float) -> None:
    """Of the processor, or of the clock."""
    with pytest.raises(ServiceError, match="more time or memory"):
        computed(work, within=within)


def test_others_wait_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "WAIT_SECONDS", 0.05)

    async def crowd() -> list[BaseException | bytes]:
        made = Background()
        works = [asyncio.ensure_future(made.compute(linger, b"", within=600.0)) for _ in range(3)]
        refused = (await asyncio.wait(works, return_when=asyncio.FIRST_COMPLETED))[0]
        for each in works:
            each.cancel()
        await asyncio.gather(*works, return_exceptions=True)
        await made.close()
        return [each.exception() for each in refused]  # type: ignore[misc]

    (error,) = asyncio.run(crowd())
    assert isinstance(error, ServiceError)
    assert error.code == "busy"
