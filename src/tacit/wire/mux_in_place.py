"""What stands in place of a link's mux, and does one thing otherwise: how conversations open."""

from __future__ import annotations

from collections.abc import Callable

from tacit.errors import PeerError
from tacit.mpc import SessionMux
from tacit.mpc.transport import Channel, Link


class MuxInPlace:
    """All that is passed on to the mux unchanged."""

    def __init__(self, mux: SessionMux, /) -> None:
        self._mux = mux

    @property
    def link(self) -> Link:
        """The link itself."""
        return self._mux.link

    def watch(self, channel: Channel, handler: Callable[[PeerError], None] | None) -> None:
        """Listen for the other side giving up."""
        self._mux.watch(channel, handler)

    async def notify(self, channel: Channel, culprit: str, *, timeout: float) -> None:
        """Tell the other side that the evaluation failed."""
        await self._mux.notify(channel, culprit, timeout=timeout)

    def finish(self, channel: Channel) -> None:
        """Drop what may still arrive for the evaluation."""
        self._mux.finish(channel)
