"""A coordinator's link to one node: requests out, replies and log pages in, signs of life.

Before an agreement is drafted, the nodes draw the keys that its participants will seal to.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from tacit.agreement.signatures import is_offered
from tacit.agreement.terms import NodeTerms
from tacit.equity import FIRST_HEAD
from tacit.errors import (
    EngineError,
    FrameError,
    MismatchError,
    PeerError,
    PeerLostError,
    PeerTimeoutError,
    RefusedError,
    TacitError,
    VersionError,
)
from tacit.identity.certificates import CertificateFiles, PinnedCertificates
from tacit.identity.config import ClusterConfig, parse_address
from tacit.mpc import party_name
from tacit.mpc.transport import Conversation, Identity, Mux, connect, delayed
from tacit.records.messages import (
    TALK,
    Allowed,
    Cancel,
    End,
    Failed,
    FetchLog,
    LogPage,
    Message,
    OfferSealingKey,
    Ping,
    Refused,
    Reply,
    Request,
    decode_reply,
    encode_message,
    reply_type,
)

R = TypeVar("R", bound=Message)

CONNECT_SECONDS = 2.0
SEND_SECONDS = 5.0
LONGEST_SETTING = 40
"""Characters of the name of a node's setting."""


@dataclass(slots=True)
class _Line:
    """An open link and its conversation."""

    mux: Mux
    talk: Conversation
    reader: asyncio.Task[None]


class NodeClient:
    """One node as the coordinator sees it."""

    def __init__(self, number: int, address: str, identity: Identity, delay_ms: float) -> None:
        self.number, self.name = number, party_name(number)
        self._address, self._identity, self._delay = address, identity, delay_ms
        self._line: _Line | None = None
        self._waiting: dict[int, tuple[asyncio.Future[Any], type[Message]]] = {}
        """Per request, who waits for its reply, and which type that has."""
        self._last_id = 0
        self._asked_at: float | None = None
        self._leaving: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self.clock_offset: float | None = None
        """How much later the node's clock is than ours, in seconds, once it has sent its time."""
        self.round_trip: float | None = None
        """Seconds there and back between it and the farthest of the other nodes, as it says."""
        self.room_used: float | None = None
        """Which part of its room for us is taken, as it says, and of which setting."""
        self.scarcest = ""
        self.is_other_version = False
        """Whether it speaks another version of the nodes' protocol, so that there is no link."""

    @property
    def connected(self) -> bool:
        """Return whether the link is up, as far as we know."""
        return self._line is not None and self._line.mux.failure is None

    @property
    def mux(self) -> Mux:
        if self._line is None:
            raise PeerLostError(self.name, "is not connected; start it")
        return self._line.mux

    def silent_for(self) -> float:
        """Return the seconds since a ping that was not answered yet, or 0; from any thread."""
        asked_at = self._asked_at
        return 0.0 if asked_at is None else time.monotonic() - asked_at

    async def connect(self) -> None:
        async with self._connecting:
            await self._connect()

    async def _connect(self) -> None:
        if self._leaving is not None:
            # Shielded: whoever gives up waiting must not cancel it for those who come next.
            await asyncio.shield(self._leaving)
            self._leaving = None
        if self.connected:
            return
        await self.disconnect()
        host, port = parse_address(self._address)
        self.is_other_version = False
        try:
            link = await connect(
                host, port, peer=self.name, identity=self._identity, timeout=CONNECT_SECONDS
            )
        except VersionError:
            self.is_other_version = True
            raise
        mux = Mux(delayed(link, self._delay))
        talk = mux.open(TALK)
        reader = asyncio.get_running_loop().create_task(self._read(talk))
        self._line = _Line(mux, talk, reader)
        self._asked_at = None

    async def disconnect(self) -> None:
        """Drop the link; whoever waits for a reply gets an error."""
        line, self._line = self._line, None
        if line is not None:
            line.reader.cancel()
        self._fail_all(PeerLostError(self.name, "the link was closed"))
        if line is not None:
            await asyncio.gather(line.reader, return_exceptions=True)
            await line.mux.close()

    def give_up(self) -> None:
        """Drop the link without waiting for a node that does not answer."""
        self._leaving = asyncio.get_running_loop().create_task(self.disconnect())

    async def _read(self, talk: Conversation) -> None:
        while True:
            try:
                # A link is idle between requests for as long as there are none; `ping` finds out
                # who is gone.
                frame = await talk.receive(timeout=3600.0)
                reply = decode_reply(frame.payload, peer=self.name)
            except PeerTimeoutError:
                continue
            except PeerError as error:
                self._fail_all(error)
                return
            self._asked_at = None
            self._settle(reply)

    def _settle(self, reply: Reply) -> None:
        future, expected = self._waiting.pop(reply.id, (None, Message))
        # The reply to a request that was cancelled meanwhile.
        if future is None or future.done():
            return
        match reply:
            case Refused(reason=reason, kind=kind, participants=names):
                future.set_exception(RefusedError(self.name, reason, kind=kind, participants=names))
            case Failed():
                future.set_exception(_error_of(reply, self.name))
            case _ if isinstance(reply, expected):
                future.set_result(reply)
            case _:
                what = f"sent a {type(reply).__name__} in place of a {expected.__name__}"
                future.set_exception(FrameError(self.name, what))

    def _fail_all(self, error: PeerError) -> None:
        waiting, self._waiting = self._waiting, {}
        for future, _ in waiting.values():
            if not future.done():
                future.set_exception(type(error)(error.peer, error.what))

    async def ask(self, request: Request[R], /, *, fence: int = 0) -> asyncio.Future[R]:
        """Send a request; the future has the reply, or a `RefusedError` or `PeerError`."""
        if self._line is None:
            raise PeerLostError(self.name, "is not connected; start it")
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        # Whoever gave up waiting does not come back for the error.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._last_id = number = self._last_id + 1
        self._waiting[number] = future, reply_type(type(request))
        try:
            message = encode_message(replace(request, id=number, fence=fence))
            await self._line.talk.send(1, message, timeout=SEND_SECONDS)
        except BaseException:
            self._waiting.pop(number, None)  # nobody will answer
            raise
        return future

    async def answer(self, request: Request[R], /, *, fence: int = 0) -> R:
        """Send a request and return the reply, or raise what came in its place."""
        return await (await self.ask(request, fence=fence))

    async def ping(self) -> None:
        """Ask whether the node is there, unless a question is still open."""
        if self._asked_at is not None or self._line is None:
            return
        self._asked_at = time.monotonic()
        try:
            await self.ask(Ping())
        except TacitError:
            return  # a broken link shows where its replies are awaited

    async def compare_clocks(self, *, within: float) -> float:
        """Ask the node for its time; gives how much later its clock is than ours.

        It is right to half of the time that the question took, so a slow answer is imprecise.
        """
        async with asyncio.timeout(within):
            await self.connect()
            asked, started = time.time(), time.monotonic()
            pong = await (await self.ask(Ping()))
            took = time.monotonic() - started
        self.clock_offset = pong.clock - (asked + took / 2)
        said = pong.round_trip
        self.round_trip = said if said is not None and math.isfinite(said) else None
        self.room_used = pong.used if math.isfinite(pong.used) else 1.0
        self.scarcest = pong.scarcest[:LONGEST_SETTING]
        return self.clock_offset

    async def cancel(self, reply: asyncio.Future[Any], /) -> None:
        """Tell the node to stop working on the request that this is the reply to."""
        waiting = [number for number, (future, _) in self._waiting.items() if future is reply]
        if self._line is None or not waiting:
            return
        try:
            cancel = Cancel(target=waiting[0])
            # Whatever the node still replies to it is dropped.
            del self._waiting[waiting[0]]
            await self._line.talk.send(1, encode_message(cancel), timeout=SEND_SECONDS)
        except TacitError:
            return  # nothing is left to stop


def _error_of(reply: Failed, name: str) -> PeerError:
    source = "" if reply.peer == name else f" (says {name})"
    if reply.voucher:
        evidence = reply.evidence
        return MismatchError(reply.peer, reply.voucher, evidence=evidence, source=source)
    return PeerError(reply.peer, f"{reply.what}{source}")


def clients_of(cluster: ClusterConfig, /) -> list[NodeClient]:
    """Make a client for each node of a cluster, not yet connected.

    Certificates are read when a link is made, so those that are rotated meanwhile are found.
    """
    folder = Path(cluster.folder)
    pinned = PinnedCertificates(
        {party_name(i): folder / node.certificate for i, node in enumerate(cluster.nodes)}
    )
    files = CertificateFiles(folder / cluster.certificate, folder / cluster.tls_key)
    identity = files.identity(pinned)
    return [
        NodeClient(i, node.address, identity, cluster.delay_ms)
        for i, node in enumerate(cluster.nodes)
    ]


async def fetched_log(client: NodeClient, agreement: bytes, nonce: bytes, /) -> LogPage:
    """Fetch a log page by page; the signature of the last page is that of the whole."""
    log = bytearray()
    while True:
        request = FetchLog(agreement=agreement, offset=len(log), nonce=nonce)
        page = await (await client.ask(request))
        log += page.log
        if not page.more or not page.log:
            return msgspec.structs.replace(page, log=bytes(log))


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """A node with the sealing key that it offers, and which agreements it would take."""

    node: NodeTerms
    allows: Allowed | None
    """None for a node that does not say it."""
    head: str = ""
    """Of the counted runs of the series that was asked for; empty if the node does not know it."""
    counted: int = 0
    """The last run that it has counted there."""


def head_of_series(offers: Iterable[NodeOffer], /) -> str:
    """Return the head that the next run has to name: that of the node which has counted most.

    A node that lacks the last run has prepared it, and counts it when it hears of the next.
    """
    # The heads are those that each node counted itself; the node that lacks a run catches up.
    known = [each for each in offers if each.head]
    return max(known, key=lambda each: each.counted).head if known else FIRST_HEAD


async def ask_for_sealing_keys(
    clients: Iterable[NodeClient],
    nodes: Sequence[NodeTerms],
    /,
    *,
    nonce: str,
    platform: str,
    within: float,
    series: str | None = None,
    text: int = 0,
    rows: int = 0,
) -> list[NodeOffer]:
    """Ask the nodes for sealing keys for the agreement with this nonce.

    `platform` is the fingerprint of the certificate that the agreement will name, and `series` the
    one that it is a run of, where balances count. The nodes keep room for so many bytes of its text
    and of its rows.
    """
    request = OfferSealingKey(
        nonce=nonce, platform=platform, signing_key="0" * 64, series=series, text=text, rows=rows
    )
    until = asyncio.get_running_loop().time() + within
    async with asyncio.timeout_at(until):
        pairs = list(zip(clients, nodes, strict=True))
        # Nobody is asked before all answer: each key that is drawn takes a place until it is
        # claimed or given back.
        await asyncio.gather(*(_reach(client, until) for client, _ in pairs))
        return list(await asyncio.gather(*(_ask(*pair, request) for pair in pairs)))


async def end_at_nodes(clients: Iterable[NodeClient], request: End, /, *, within: float) -> None:
    """Tell all nodes that a run is over; raise if one does not confirm, after all were asked."""

    async def end(client: NodeClient) -> None:
        async with asyncio.timeout(within):
            await client.connect()
            await (await client.ask(request))

    results = await asyncio.gather(*map(end, clients), return_exceptions=True)
    failures = [result for result in results if isinstance(result, BaseException)]
    if failures:
        raise failures[0]


async def _reach(client: NodeClient, until: float) -> None:
    # A node that does not answer may only be busy: it has all of the time.
    loop = asyncio.get_running_loop()
    while True:
        try:
            await client.connect()
            # A node that hangs keeps its links.
            await (await client.ask(Ping()))
            return
        except PeerTimeoutError:
            if loop.time() + CONNECT_SECONDS > until:
                raise  # it names the node


async def _ask(client: NodeClient, node: NodeTerms, request: OfferSealingKey) -> NodeOffer:
    nonce, platform = request.nonce, request.platform
    request = replace(request, signing_key=node.signing_key)
    offer = await (await client.ask(request))
    # Participants check the same signature; here a wrong key in cluster.toml is found before
    # anybody is asked to sign.
    made = replace(node, sealing_key=offer.sealing_key, sealing_signature=offer.signature)
    if not is_offered(made, nonce=nonce, platform=platform):
        raise EngineError(
            f"{client.name} did not sign its sealing key with the key that cluster.toml gives it; "
            "compare signing_key with what tacit keys show prints at the node"
        )
    return NodeOffer(made, offer.allows, offer.head, offer.counted)
