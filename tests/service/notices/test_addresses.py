"""A name that stands for several addresses leads nowhere private."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tacit.service.notices.delivery import UndeliveredError, address_of, webhook_secret

PUBLIC, PRIVATE = "1.1.1.1", "10.0.0.1"


@pytest.mark.parametrize(
    ("addresses", "allowed"),
    [
        ([PUBLIC], True),
        ([PRIVATE], False),
        ([PUBLIC, PRIVATE], False),
        ([PRIVATE, PUBLIC], False),
        ([PUBLIC, "::1"], False),
    ],
)
def test_every_address_of_a_name_is_public(addresses: list[str], allowed: bool) -> None:
    async def resolved(*_: object, **__: object) -> Any:
        return [(0, 0, 0, "", (address, 443)) for address in addresses]

    async def look_up(*, to_private: bool) -> str:
        loop: Any = asyncio.get_running_loop()
        loop.getaddrinfo = resolved
        return await address_of("example.org", 443, to_private=to_private)

    assert asyncio.run(look_up(to_private=True)) == addresses[0]
    if allowed:
        assert asyncio.run(look_up(to_private=False)) == addresses[0]
        return
    with pytest.raises(UndeliveredError):
        asyncio.run(look_up(to_private=False))


def test_each_webhook_has_a_secret_of_its_own() -> None:
    secrets = {webhook_secret(key, name) for key in (b"a", b"b") for name in ("w-1", "w-2")}
    assert len(secrets) == 4
