"""A node's link to another on which it says something else than the protocol has it say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit.mpc.transport.frame import Buffer
from tacit.mpc.transport.mux import Conversation, Mux

Lie = Callable[[int, bytes], bytes]
"""What is sent in place of a frame, from its depth and its payload."""


class _LyingTalk:
    def __init__(self, talk: Conversation, lie: Lie) -> None:
        self._talk, self._lie = talk, lie

    def __getattr__(self, name: str) -> Any:
        return getattr(self._talk, name)

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        await self._talk.send(depth, self._lie(depth, bytes(payload)), timeout=timeout)


class LyingMux:
    """A `Mux` that changes what is sent through its conversations."""

    def __init__(self, mux: Mux, lie: Lie) -> None:
        self._mux, self._lie = mux, lie

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mux, name)

    def open(self, *args: Any, **options: Any) -> _LyingTalk:
        return _LyingTalk(self._mux.open(*args, **options), self._lie)


def lying(muxes: dict[int, Mux], to: int, lie: Lie) -> dict[int, Any]:
    """The links of a node that lies to one other."""
    return {**muxes, to: LyingMux(muxes[to], lie)}
