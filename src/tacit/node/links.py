"""Keep the links to the other nodes up: dial, accept, relay, and make them again when they break.

The node with the higher number dials. A peer that it does not reach is tried through the others,
and directly again from time to time (`PeerLinks`). A link that breaks ends every epoch of both its
ends. An evaluation that stalls does not mean that a link is broken: perhaps the platform requested
it from one of the nodes only. So a link is given up only if the peer does not answer on the link
itself (`PeerLine`).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from tacit.errors import (
    LinkClosedError,
    MpcError,
    PeerError,
    PeerLostError,
    PeerTimeoutError,
    VersionError,
)
from tacit.identity.config import NodeConfig, parse_address
from tacit.mpc import party_name
from tacit.mpc.transport import (
    EarlyLimits,
    Identity,
    Mux,
    TlsLink,
    connect,
    delayed,
)
from tacit.node.own_log import shorten
from tacit.node.relays import Relays
from tacit.records.events import (
    Connected,
    LinkClosed,
    LinkLost,
    LinkRejected,
    LogEvent,
)
from tacit.records.messages import TALK
from tacit.records.peer_messages import (
    Here,
    PeerMessage,
    RelayComes,
    RelayWanted,
    There,
    decode_peer_message,
    encode_peer_message,
)
from tacit.supervisor import Supervisor

QUIET_SECONDS = 3600.0
ANSWER_SECONDS = 5.0
QUESTIONS = 5
"""A peer with a link counts as gone after so many without an answer, over the agreed time."""
PRECISE_SECONDS = 1.0
"""An answer that took longer says too little about the peer's clock."""
ROUND_TRIPS = 3
"""How many are measured when a link is new; the shortest counts, since the ends add delays."""
Relayer = Callable[[RelayWanted | RelayComes], None]
"""Receives what peers say about links that go through another node."""


class PeerLine:
    """A link between two nodes. `listen` must run for as long as it is used."""

    def __init__(
        self,
        mux: Mux,
        *,
        relays: Relayer = lambda _: None,
        through: int | None = None,
    ) -> None:
        self.mux = mux
        self.through = through
        """The node that the link goes through, if it is not direct."""
        self.round_trip: float | None = None
        """The shortest so far, in seconds; None before the peer has answered."""
        self.clock_ahead: float | None = None
        """How much later the peer's clock is than ours, in seconds, as it last said."""
        self._relays = relays
        self._talk = mux.open(TALK)
        self._asked: asyncio.Future[None] | None = None
        self._asked_at = 0.0

    async def listen(self) -> PeerError:
        """Answer and hear what the peer says, until the link ends; return why it did."""
        while True:
            try:
                frame = await self._talk.receive(timeout=QUIET_SECONDS)
                await self._heard(decode_peer_message(frame.payload, peer=self.mux.link.peer))
            except PeerTimeoutError:
                continue
            except PeerError as error:
                return error

    async def _heard(self, said: PeerMessage) -> None:
        match said:
            case There():
                await self._say(Here(time.time()), timeout=ANSWER_SECONDS)
            case Here(clock=clock):
                self._is_here(clock)
            case RelayWanted() | RelayComes():
                self._relays(said)

    def _is_here(self, clock: float) -> None:
        if self._asked is None or self._asked.done():
            return
        took = asyncio.get_running_loop().time() - self._asked_at
        self.round_trip = took if self.round_trip is None else min(took, self.round_trip)
        # It answered half of the way ago, which says nothing if that took long: a node that was
        # suspended meanwhile would seem to have another time.
        if math.isfinite(clock) and took <= PRECISE_SECONDS:
            self.clock_ahead = clock - (time.time() - took / 2)
        self._asked.set_result(None)

    @property
    def silent_since(self) -> float:
        """When the question was sent that is still unanswered; now, if there is none."""
        if self._asked is not None and not self._asked.done():
            return self._asked_at
        return asyncio.get_running_loop().time()

    async def measure(self) -> None:
        for _ in range(ROUND_TRIPS):
            if not await self.answers():
                return

    async def say(self, message: RelayWanted | RelayComes, /) -> None:
        await self._say(message, timeout=ANSWER_SECONDS)

    async def _say(self, message: PeerMessage, *, timeout: float) -> None:
        await self._talk.send(1, encode_peer_message(message), timeout=timeout)

    async def answers(self, *, timeout: float = ANSWER_SECONDS) -> bool:
        """Whether the peer answers in time a question that is sent from now on, by any caller."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._asked is not None and not self._asked.done() and self._asked_at < now:
            # The answer to an earlier question says nothing of the time since.
            # It is waited for all the same, since answers come in order.
            done, _ = await asyncio.wait([self._asked], timeout=timeout)
            if not done:
                return False
        if self._asked is None or self._asked.done():
            self._asked, self._asked_at = loop.create_future(), loop.time()
            try:
                await self._say(There(), timeout=timeout)
            except PeerError:
                return False
        done, _ = await asyncio.wait([self._asked], timeout=timeout)
        return bool(done)


def end_of_link(peer: str, ended: PeerError, /) -> LinkLost | LinkClosed:
    """Return the line about the end of a link."""
    kind = LinkClosed if isinstance(ended, LinkClosedError) else LinkLost
    return kind(peer, shorten(ended.what))


DIAL_SECONDS = 3.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
RELAY_SECONDS, SURE_SECONDS, DIRECT_SECONDS = 0.5, 1.0, 30.0
"""After so long without a link a way through others is looked for; while there is one, the peer
itself is tried once more for so long at first, and again so much later."""
EARLY_PATIENCE = 3.0
"""What a peer sends early is kept for so many times as long as an evaluation waits."""


class Refusals:
    """Parties of another version, whose links are refused.

    They try again every second or two; each is logged once, until it is connected.
    """

    def __init__(self, log: Callable[[LogEvent], None], /) -> None:
        self._log, self._why = log, dict[str, str]()

    def why(self, party: str, /) -> str | None:
        return self._why.get(party)

    def add(self, party: str, why: str, /) -> None:
        if self._why.get(party) != why:
            self._why[party] = why
            self._log(LinkRejected(party, why))

    def clear(self, party: str, /) -> None:
        self._why.pop(party, None)


class PeerLinks:
    """The links of one node to its peers."""

    def __init__(
        self,
        config: NodeConfig,
        identity: Identity,
        *,
        frame_limit: int,
        log: Callable[[LogEvent], None],
        lost: Callable[[int], None],
        tasks: Supervisor,
    ) -> None:
        self.refusals = Refusals(log)
        self._config, self._identity, self._supervisor = config, identity, tasks
        self._frame_limit, self._log, self._lost = frame_limit, log, lost
        self._lines: dict[int, PeerLine] = {}
        self._asking: set[PeerLine] = set()
        self._changed = asyncio.Event()
        self.measured = asyncio.Event()
        """Set when a link is new, and its peer has told its time."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._started = 0.0
        self._gone_since: dict[int, float] = {}
        """Since when a peer without a link has been silent, by the loop's clock."""
        self.relays = Relays(
            config,
            identity,
            self._lines,
            frame_limit=frame_limit,
            log=log,
            spawn=self._spawn,
            accept=lambda peer, link, through: self.accept(peer, link, through=through),
        )

    def start(self) -> None:
        self._started = asyncio.get_running_loop().time()
        for peer in self._config.peers:
            if peer.node < self._config.node:
                keep = partial(self._keep_linked, peer.node, peer.address)
                self._keep(self._supervisor.until_done("links to peers", keep))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._keep(self._supervisor.once("use of links", work))

    def _keep(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _keep_linked(self, peer: int, address: str) -> None:
        while True:
            link, through = await self._reach(peer, address)
            using = self._spawn(self._use(peer, link, through=through))
            direct: TlsLink | None = None
            # A relayed link is used while the peer is tried directly: the third node can cut it.
            while through is not None and direct is None and not using.done():
                await asyncio.wait({using}, timeout=DIRECT_SECONDS)
                direct = None if using.done() else await self._dial(peer, address, DIAL_SECONDS)
            if direct is not None:
                using = self._spawn(self._use(peer, direct))
            await asyncio.wait({using})

    async def _reach(self, peer: int, address: str) -> tuple[TlsLink, int | None]:
        """A link to a peer, and the node that it goes through if the peer is not reached."""
        loop, pause = asyncio.get_running_loop(), SHORTEST_PAUSE
        since = loop.time()
        while True:
            link = await self._dial(peer, address, DIAL_SECONDS)
            if link is not None:
                return link, None
            found = None
            if loop.time() - since >= RELAY_SECONDS:
                found = await self.relays.reach(peer)
            if found is not None:
                # The peer is there, and may have been starting until now: a direct link is better.
                link = await self._dial(peer, address, SURE_SECONDS)
                if link is None:
                    return found
                found[0].abort()
                return link, None
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _dial(self, peer: int, address: str, timeout: float) -> TlsLink | None:
        host, port = parse_address(address)
        try:
            return await connect(
                host,
                port,
                peer=party_name(peer),
                identity=self._identity,
                timeout=timeout,
                limit=self._frame_limit,
            )
        except VersionError as error:
            self.refusals.add(party_name(peer), error.what)
            return None
        except MpcError:
            return None

    def accept(self, peer: int, link: TlsLink, *, through: int | None = None) -> None:
        """Use a link that a peer with a higher number has dialled; its newest one counts."""
        self._spawn(self._use(peer, link, through=through))

    async def _use(self, peer: int, link: TlsLink, *, through: int | None = None) -> None:
        mux = Mux(
            delayed(link, self._config.delay_ms),
            early=EarlyLimits(seconds=EARLY_PATIENCE * self._config.timeout_seconds),
        )
        line = PeerLine(mux, relays=lambda said: self.relays.hear(peer, said), through=through)
        # The new link is in its place before anything is awaited: nobody finds a gap, and of two
        # links that arrive together each finds the other.
        old = self._lines.get(peer)
        self._lines[peer] = line
        self.refusals.clear(party_name(peer))
        self._changed.set()
        if through is None:
            self._log(Connected(party_name(peer)))
        else:
            self._log(Connected(party_name(peer), f"through {party_name(through)}"))
        if old is not None:
            self._lost(peer)
            self._spawn(old.mux.close())
        measuring = self._spawn(self._measure(line))
        ended = await line.listen()
        measuring.cancel()
        is_replaced = self._lines.get(peer) is not line
        if is_replaced:
            self._log(LinkClosed(party_name(peer), "a newer one takes its place"))
        else:
            self._log(end_of_link(party_name(peer), ended))
        if not is_replaced:
            del self._lines[peer]
            self._gone_since[peer] = line.silent_since
            self._lost(peer)
        await mux.close()

    async def _measure(self, line: PeerLine) -> None:
        await line.measure()
        self.measured.set()

    def check(self, name: str) -> None:
        """Ask a peer that let a computation time out whether it is there; else close its link."""
        for peer, line in self._lines.items():
            if party_name(peer) == name and line not in self._asking:
                self._asking.add(line)
                self._spawn(self._close_unless_it_answers(line))

    async def _close_unless_it_answers(self, line: PeerLine) -> None:
        try:
            if not await line.answers(timeout=ANSWER_SECONDS):
                await line.mux.close()
        finally:
            self._asking.discard(line)

    def current(self) -> dict[int, Mux]:
        return {peer: line.mux for peer, line in self._lines.items()}

    @property
    def relayed(self) -> int:
        return sum(line.through is not None for line in self._lines.values())

    @property
    def round_trip(self) -> float | None:
        known = [line.round_trip for line in self._lines.values()]
        return max((each for each in known if each is not None), default=None)

    def lines(self) -> dict[int, PeerLine]:
        return dict(self._lines)

    async def is_gone(self, peer: int, *, grace: float) -> bool:
        """Whether a peer gives no sign of life for so long, neither here nor through others.

        With a link it is gone after `QUESTIONS` in a row without an answer, and a new link counts
        anew. Without one, `grace` seconds after it went silent.
        """
        asked, line = 0, None
        while asked < QUESTIONS:
            now, current = asyncio.get_running_loop().time(), self._lines.get(peer)
            if current is not line:
                asked, line = 0, current
            if line is None:
                left = self._gone_since.get(peer, self._started) + grace - now
                if left <= 0:
                    break
                await self._change(left)
                continue
            # A link that is up proves nothing, since a node that hangs keeps its connections. One
            # question proves nothing either: perhaps this node could not read the answer in time.
            if await line.answers(timeout=grace / QUESTIONS):
                return False
            asked += 1
            await self._change(now + grace / QUESTIONS - asyncio.get_running_loop().time())
        return not await self._answers_through_others(peer, within=2 * grace / QUESTIONS)

    async def _answers_through_others(self, peer: int, *, within: float) -> bool:
        """Whether a peer answers through one of the others; that is its link from now on.

        Only the peer itself has the key for the handshake inside, so no word of others counts.
        """
        line = self._lines.get(peer)
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                found = await self.relays.reach(peer, last=None if line is None else line.through)
                if found is not None:
                    self.accept(peer, found[0], through=found[1])
                    return True
        return False

    async def _change(self, within: float) -> None:
        """Wait until there is a new link, at most for so long."""
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, within)):
                await self._changed.wait()

    async def all(self, *, timeout: float, without: int | None = None) -> dict[int, Mux]:
        """The links to all peers but `without`; waits for them, and names one that is missing."""
        deadline = asyncio.get_running_loop().time() + timeout
        wanted = [peer.node for peer in self._config.peers if peer.node != without]
        while missing := [peer for peer in wanted if peer not in self._lines]:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                name = party_name(missing[0])
                raise PeerLostError(name, self.refusals.why(name) or "is not connected; start it")
            await self._change(left)
        return {peer: self._lines[peer].mux for peer in wanted}

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for line in self._lines.values():
            await line.mux.close()
