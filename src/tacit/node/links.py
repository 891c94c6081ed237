"""Keep the links to the other nodes up: dial, accept, relay, and make them again when they break.

The node with the higher number dials. A peer that it does not reach is tried through the others,
and directly again from time to time (`PeerLinks`). A link that breaks ends every epoch of both its
ends. An evaluation that stalls does not mean that a link is broken: perhaps the platform requested
it from one of the nodes only. So a link is given up only if the peer does not answer on the link
itself (`PeerLine`).

A relayed link goes through a third node that both ends reach (`Relays`). Inside is the TLS of the
two ends, with their pinned certificates: the third knows keys that would open letters, and sees
ciphertext only. It can cut the link, as a network can. One link of each pair goes through a node at
a time, and none goes through two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec.structs import replace

from tacit.errors import MpcError, PeerError, PeerLostError, PeerTimeoutError
from tacit.identity.config import NodeConfig, parse_address
from tacit.mpc import party_name
from tacit.mpc.transport import (
    Carrier,
    Channel,
    EarlyLimits,
    FrameKind,
    Identity,
    Mux,
    Passage,
    TlsLink,
    connect,
    delayed,
    link_inside,
)
from tacit.records.events import Connected, LinkLost, LogEvent, RelayBegun, RelayEnded
from tacit.records.messages import TALK
from tacit.records.node_log import LineLimit
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
        self._relays = relays
        self._talk = mux.open(TALK)
        self._asked: asyncio.Future[None] | None = None
        self._asked_at = 0.0

    async def listen(self) -> str:
        while True:
            try:
                frame = await self._talk.receive(timeout=QUIET_SECONDS)
                await self._heard(decode_peer_message(frame.payload, peer=self.mux.link.peer))
            except PeerTimeoutError:
                continue
            except PeerError as error:
                return error.what

    async def _heard(self, said: PeerMessage) -> None:
        match said:
            case There():
                await self._say(Here(), timeout=ANSWER_SECONDS)
            case Here():
                self._is_here()
            case RelayWanted() | RelayComes():
                self._relays(said)

    def _is_here(self) -> None:
        if self._asked is None or self._asked.done():
            return
        took = asyncio.get_running_loop().time() - self._asked_at
        self.round_trip = took if self.round_trip is None else min(took, self.round_trip)
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


DIAL_SECONDS = 3.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
RELAY_SECONDS, SURE_SECONDS, DIRECT_SECONDS = 0.5, 1.0, 30.0
"""After so long without a link a way through others is looked for; while there is one, the peer
itself is tried once more for so long at first, and again so much later."""
EARLY_PATIENCE = 3.0
"""What a peer sends early is kept for so many times as long as an evaluation waits."""


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
        self._config, self._identity, self._supervisor = config, identity, tasks
        self._frame_limit, self._log, self._lost = frame_limit, log, lost
        self._lines: dict[int, PeerLine] = {}
        self._asking: set[PeerLine] = set()
        self._changed = asyncio.Event()
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
        self._changed.set()
        if through is None:
            self._log(Connected(party_name(peer)))
        else:
            self._log(Connected(party_name(peer), f"through {party_name(through)}"))
        if old is not None:
            self._lost(peer)
            self._spawn(old.mux.close())
        measuring = self._spawn(line.measure())
        reason = await line.listen()
        measuring.cancel()
        self._log(LinkLost(party_name(peer), reason))
        if self._lines.get(peer) is line:
            del self._lines[peer]
            self._gone_since[peer] = line.silent_since
            self._lost(peer)
        await mux.close()

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
                raise PeerLostError(party_name(missing[0]), "is not connected; start it")
            await self._change(left)
        return {peer: self._lines[peer].mux for peer in wanted}

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for line in self._lines.values():
            await line.mux.close()
