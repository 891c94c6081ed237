"""A node's links to the other nodes: kept up, and made again when they break.

The node with the higher number dials. A peer that it does not reach is tried through the others,
and itself again from time to time. A link that breaks ends every epoch of both its ends. An
evaluation that stalls does not break a link: that takes a peer that no longer answers on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from tacit.errors import MpcError, PeerLostError
from tacit.identity.config import NodeConfig, parse_address
from tacit.mpc import party_name
from tacit.mpc.transport import Identity, Mux, TlsLink, connect, delayed
from tacit.node.links.peer_line import ANSWER_SECONDS, Binder, PeerLine
from tacit.node.links.relays import Relays
from tacit.records.events import Event
from tacit.records.node_events import Connected, LinkLost, LinkRelayed

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
        log: Callable[[Event], None],
        lost: Callable[[int], None],
        bind: Binder,
    ) -> None:
        self._config, self._identity = config, identity
        self._frame_limit, self._log, self._lost, self._bind = frame_limit, log, lost, bind
        self._lines: dict[int, PeerLine] = {}
        self._asking: set[PeerLine] = set()
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._started = 0.0
        self._gone_since: dict[int, float] = {}
        """When the link to a peer was lost."""
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
        """Dial the peers with lower numbers, for as long as the node runs."""
        self._started = asyncio.get_running_loop().time()
        for peer in self._config.peers:
            if peer.node < self._config.node:
                self._spawn(self._keep_linked(peer.node, peer.address))

    def _spawn(self, work: asyncio._CoroutineLike[None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _keep_linked(self, peer: int, address: str) -> None:
        while True:
            link, through = await self._reach(peer, address)
            using = self._spawn(self._use(peer, link, through=through))
            direct: TlsLink | None = None
            while through is not None and direct is None and not using.done():
                await asyncio.wait({using}, timeout=DIRECT_SECONDS)
                direct = None if using.done() else await self._dial(peer, address, DIAL_SECONDS)
            if direct is not None:
                using = self._spawn(self._use(peer, direct))
            await asyncio.wait({using})

    async def _reach(self, peer: int, address: str) -> tuple[TlsLink, int | None]:
        """A link to a peer, and whom it goes through if the peer itself is not reached."""
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
                # So it is there, and may have been starting until now.
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
        """A peer with a higher number has dialled us; its newest link counts."""
        self._spawn(self._use(peer, link, through=through))

    async def _use(self, peer: int, link: TlsLink, *, through: int | None = None) -> None:
        mux = Mux(
            delayed(link, self._config.delay_ms),
            early_seconds=EARLY_PATIENCE * self._config.timeout_seconds,
        )
        line = PeerLine(
            mux,
            self._bind,
            relays=lambda said: self.relays.hear(peer, said),
            through=through,
        )
        # The new link is in its place before anything is waited for: nobody finds a gap, and of
        # two links that arrive together each finds the other.
        old = self._lines.get(peer)
        self._lines[peer] = line
        self._changed.set()
        if through is None:
            self._log(Connected(party_name(peer)))
        else:
            self._log(LinkRelayed(party_name(peer), f"through {party_name(through)}"))
        if old is not None:
            self._lost(peer)
            self._spawn(old.mux.close())
        measuring = self._spawn(line.measure())
        reason = await line.listen()
        measuring.cancel()
        self._log(LinkLost(party_name(peer), reason))
        if self._lines.get(peer) is line:
            del self._lines[peer]
            self._gone_since[peer] = asyncio.get_running_loop().time()
            self._lost(peer)
        await mux.close()

    def check(self, name: str) -> None:
        """Ask a peer that kept somebody waiting whether it is there; if not, close its link."""
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
        """The links that are up."""
        return {peer: line.mux for peer, line in self._lines.items()}

    @property
    def relayed(self) -> int:
        """How many of the links go through others."""
        return sum(line.through is not None for line in self._lines.values())

    @property
    def round_trip(self) -> float | None:
        """Seconds there and back to the farthest peer, as far as it is known."""
        known = [line.round_trip for line in self._lines.values()]
        return max((each for each in known if each is not None), default=None)

    def lines(self) -> dict[int, PeerLine]:
        """The links that are up, by peer, for questions to them."""
        return dict(self._lines)

    async def is_gone(self, peer: int, *, grace: float) -> bool:
        """Whether a peer neither answers within so many seconds, nor comes back."""
        deadline = self._gone_since.get(peer, self._started) + grace
        while (left := deadline - asyncio.get_running_loop().time()) > 0:
            line = self._lines.get(peer)
            if line is not None:
                break
            self._changed.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._changed.wait()
        line = self._lines.get(peer)
        return line is None or not await line.answers(timeout=grace)

    async def all(self, *, timeout: float, without: int | None = None) -> dict[int, Mux]:
        """The links to all peers; waits for them, and names the one that is missing."""
        deadline = asyncio.get_running_loop().time() + timeout
        wanted = [peer.node for peer in self._config.peers if peer.node != without]
        while missing := [peer for peer in wanted if peer not in self._lines]:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                raise PeerLostError(party_name(missing[0]), "is not connected; start it")
            self._changed.clear()
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                continue
        return {peer: self._lines[peer].mux for peer in wanted}

    async def close(self) -> None:
        """Close all links."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for line in self._lines.values():
            await line.mux.close()
