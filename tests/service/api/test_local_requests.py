"""Metrics are for this machine; through a proxy everybody seems to be on it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tacit.service.api.gate import _is_local


@pytest.mark.parametrize(
    ("address", "headers", "behind_proxy", "local"),
    [
        ("127.0.0.1", {}, False, True),
        ("::1", {}, False, True),
        ("192.0.2.1", {}, False, False),
        ("unknown", {}, False, False),
        ("127.0.0.1", {}, True, False),
        ("127.0.0.1", {"forwarded": "for=192.0.2.1"}, False, False),
        ("127.0.0.1", {"x-forwarded-for": "192.0.2.1"}, False, False),
        ("127.0.0.1", {"via": "1.1 proxy"}, False, False),
        ("127.0.0.1", {"authorization": "Bearer x"}, False, False),
    ],
)
def test_a_request_is_local_if_nothing_speaks_against_it(
    address: str, headers: dict[str, str], behind_proxy: bool, local: bool
) -> None:
    request: Any = SimpleNamespace(headers=headers)
    platform: Any = SimpleNamespace(settings=SimpleNamespace(behind_proxy=behind_proxy))
    assert _is_local(request, platform, address) is local
