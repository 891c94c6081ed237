"""Reach peers through a third node, and pass on the links of others (`Relays`).

Inside a relayed link is the TLS of the two ends, with their pinned certificates: the third knows
keys that would open letters, and sees ciphertext only. It can cut the link, as a network can. One
link of each pair goes through a node at a time, and none goes through two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tacit.errors import MpcError, PeerError
from tacit.identity.config import NodeConfig
from tacit.mpc import party_name
from tacit.mpc.transport import Carrier, Channel, FrameKind, Identity, Passage, TlsLink, link_inside
from tacit.records.events import LogEvent, RelayBegun, RelayEnded
from tacit.records.node_log import LineLimit
from tacit.records.peer_messages import RelayComes, RelayWanted

if TYPE_CHECKING:
    from tacit.node.links import PeerLine

HANDSHAKE_SECONDS = 3.0


def _channel(number: int, origin: int, to: int) -> Channel:
    return Channel(bytes(16), objective=origin << 8 | to, evaluation=number, kind=FrameKind.RELAY)


class Relays:
    """The links of a node that go through others, and those of others that go through it."""

    def __init__(
        self,
        config: NodeConfig,
        identity: Identity,
        lines: Mapping[int, PeerLine],
        /,
        *,
        frame_limit: int,
        log: Callable[[LogEvent], None],
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        accept: Callable[[int, TlsLink, int], None],
    ) -> None:
        """`accept` gets a link that has come, its peer, and the node that it goes through."""
        self._config, self._identity, self._lines = config, identity, lines
        self._frame_limit, self._log, self._spawn = frame_limit, log, spawn
        self._accept = accept
        self._numbers = 0
        self._passages: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._arriving: dict[int, asyncio.Task[None]] = {}
        self._tried_last: dict[int, int] = {}
        self._lines_left = LineLimit(burst=100, per_minute=10)

    @property
    def passing(self) -> int:
        return len(self._passages)

    def hear(self, peer: int, said: RelayWanted | RelayComes, /) -> None:
        """Take a peer's request to pass a link on, or its notice of a link to this node."""
        match said:
            case RelayWanted():
                self._wanted(peer, said)
            case RelayComes():
                self._comes(peer, said)

    def _note(self, event: RelayBegun | RelayEnded) -> None:
        """Log what goes through this node; a peer may cause so many lines."""
        left_out = self._lines_left.admit()
        if left_out is not None:
            self._log(replace(event, left_out=left_out) if left_out else event)

    def _direct(self, peer: int) -> PeerLine | None:
        line = self._lines.get(peer)
        return line if line is not None and line.through is None else None

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    async def reach(self, peer: int, /, *, last: int | None = None) -> tuple[TlsLink, int] | None:
        """A link to a peer through one of the others, and that one; None if there is no way.

        The node `last` comes last, or else the one that was tried last: it may be the one that
        cuts the links.
        """
        last = self._tried_last.get(peer) if last is None else last
        others = [node for node in sorted(self._lines) if node != peer and self._direct(node)]
        for third in sorted(others, key=lambda node: node == last):
            self._tried_last[peer] = third
            link = await self._through(third, peer)
            if link is not None:
                return link, third
        return None

    async def _through(self, third: int, peer: int) -> TlsLink | None:
        line = self._direct(third)
        if line is None:
            return None
        number = self._next_number()
        try:
            carrier = Carrier(line.mux.open(_channel(number, self._config.node, peer)))
            await line.say(RelayWanted(number, peer))
            return await self._link(carrier, peer, server=False)
        except (MpcError, PeerError):
            return None

    async def _link(self, carrier: Carrier, peer: int, *, server: bool) -> TlsLink:
        return await link_inside(
            carrier,
            peer=party_name(peer),
            identity=self._identity,
            server=server,
            timeout=HANDSHAKE_SECONDS,
            limit=self._frame_limit,
        )

    def _comes(self, third: int, said: RelayComes) -> None:
        """Accept a peer that dials this node through another; one at a time through each."""
        line, origin = self._direct(third), said.origin
        known = any(peer.node == origin for peer in self._config.peers)
        if line is None or not known or origin in (third, self._config.node):
            return
        old = self._arriving.pop(third, None)
        if old is not None:
            old.cancel()
        self._arriving[third] = self._spawn(self._arrive(line, third, said))

    async def _arrive(self, line: PeerLine, third: int, said: RelayComes) -> None:
        try:
            talk = line.mux.open(_channel(said.number, said.origin, self._config.node))
            link = await self._link(Carrier(talk), said.origin, server=True)
        except (MpcError, PeerError):
            return  # the peer that dials notices, and tries another way
        finally:
            if self._arriving.get(third) is asyncio.current_task():
                del self._arriving[third]
        self._accept(said.origin, link, third)

    def _wanted(self, origin: int, said: RelayWanted) -> None:
        """Pass on what two peers send each other, unless the operator has forbidden that."""
        here, there = self._direct(origin), self._direct(said.to)
        if here is None:
            return
        old = self._passages.pop((origin, said.to), None)
        if old is not None:
            old.cancel()
        able = self._config.relay and there is not None and origin != said.to
        work = self._pass_on(here, there if able else None, origin, said)
        self._passages[origin, said.to] = self._spawn(work)

    async def _pass_on(
        self, here: PeerLine, there: PeerLine | None, origin: int, said: RelayWanted
    ) -> None:
        begun, name, to = False, party_name(origin), party_name(said.to)
        try:
            one = here.mux.open(_channel(said.number, origin, said.to))
            if there is None:
                # An end in place of silence: the peer tries the next node at once.
                await Carrier(one).close()
                return
            number = self._next_number()
            other = there.mux.open(_channel(number, origin, said.to))
            passage = Passage(one, other)
            await there.say(RelayComes(number, origin))
            begun = True
            self._note(RelayBegun(peer=name, what=f"to {to}"))
            why = await passage.run()
            self._note(RelayEnded(peer=name, what=f"to {to}, {passage.passed} bytes: {why}"))
            begun = False
        except (MpcError, PeerError):
            return
        finally:
            if begun:
                self._note(RelayEnded(peer=name, what=f"to {to}: ended here"))
            if self._passages.get((origin, said.to)) is asyncio.current_task():
                del self._passages[origin, said.to]
