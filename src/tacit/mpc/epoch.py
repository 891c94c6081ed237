"""Epochs and sessions on real links: keys agreed afresh, never stored, used once per context.

Every holder of a component contributes to its key, over its authenticated link to each other
holder; the key follows from all contributions [rfc5869]. Then each node sends each other a hash of
every key that it holds, and goes on only if all are the same: so no node can have given two others
different keys. The links have forward secrecy and the keys are never stored, so what was masked
stays masked.

Learns   a node the keys of its own components; the coordinator nothing
Rounds   2
Bytes    400 per node (four nodes: 792), frame headers included
Paper    [rfc5869, Section 2] for the derivation of keys
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from typing import Protocol

import numpy as np

from tacit.errors import AbortError, MaskReuseError, ParameterError, PeerError
from tacit.mpc.cost import Cost
from tacit.mpc.letters import Letter
from tacit.mpc.masks import KeyedMasks, expand
from tacit.mpc.session import DEFAULT_TIMEOUT, Session, Wire
from tacit.mpc.shares import COORDINATOR, held_by
from tacit.mpc.signed_letters import Signer
from tacit.mpc.transport.frame import Channel, FrameKind
from tacit.mpc.transport.link import Link
from tacit.mpc.transport.mux import Conversation, Mux, NoticeHandler


@dataclass(frozen=True, slots=True)
class Context:
    """What identifies an evaluation: every subkey is derived from all of it."""

    agreement: bytes
    objective: int
    evaluation: int
    attempt: int
    request: bytes

    def __post_init__(self) -> None:
        for name, limit in (("objective", 16), ("evaluation", 64), ("attempt", 16)):
            if not 0 <= getattr(self, name) < 1 << limit:
                raise ParameterError(
                    f"{name} is {getattr(self, name)}; frames hold 0..2^{limit} - 1"
                )

    def info(self) -> bytes:
        """All fields in one unambiguous string of bytes."""
        agreement = hashlib.sha256(self.agreement).digest()
        request = hashlib.sha256(self.request).digest()
        numbers = self.objective.to_bytes(2, "little"), self.evaluation.to_bytes(8, "little")
        return agreement + b"".join(numbers) + self.attempt.to_bytes(4, "little") + request

    @property
    def tag(self) -> bytes:
        """What frames carry, so that nodes with different requests notice at once."""
        return hashlib.sha256(b"tag" + self.info()).digest()[:8]

    def channel(self, substream: int) -> Channel:
        """The conversation of one substream of this evaluation."""
        name = hashlib.sha256(self.agreement).digest()[:16]
        return Channel(name, self.objective, self.evaluation, self.attempt, substream)


KEY_BYTES = 32
_NOTICE_TIMEOUT = 0.01


class SessionMux(Protocol):
    """What a session needs of the link to a party; a `Mux` is one."""

    @property
    def link(self) -> Link: ...

    def open(self, channel: Channel, *, tag: bytes) -> Wire: ...

    def watch(self, channel: Channel, handler: NoticeHandler | None) -> None: ...

    async def notify(self, channel: Channel, culprit: int | None, *, timeout: float) -> None: ...

    def finish(self, channel: Channel) -> None: ...


class Epoch:
    """A node's component keys, from one agreement until the first abort.

    `transcript` is a hash of what all nodes must have in common, the same at all of them.

    >>> epoch = Epoch({0: bytes(32), 1: bytes(32)})
    >>> context = Context(b"agreement", 0, 1, 0, b"request")
    >>> _ = epoch.masks(context)
    >>> epoch.masks(context)
    Traceback (most recent call last):
    tacit.errors.MaskReuseError: evaluation 1, attempt 0 was computed before; use the next attempt
    """

    def __init__(
        self,
        keys: Mapping[int, bytes],
        *,
        members: tuple[int, ...] = (),
        transcript: bytes = b"",
    ) -> None:
        self.members = members or tuple(range(len(keys) + 1))
        """The nodes that take part, by their numbers; components go by positions in this."""
        self._keys = dict(keys)
        self._transcript = transcript
        self._used: set[bytes | Channel] = set()

    @property
    def closed(self) -> bool:
        """Whether the keys are gone."""
        return not self._keys

    @property
    def nodes(self) -> int:
        return len(self.members)

    def greeting(self, context: Context, state: bytes = b"") -> bytes:
        """A hash of all that the nodes must agree on before they speak."""
        whole = b"tacit greeting/1" + self._transcript + context.info() + state
        return hashlib.sha256(whole).digest()

    def masks(self, context: Context, state: bytes = b"") -> KeyedMasks:
        """The masks of one evaluation; a second call for the same one is rejected."""
        if self.closed:
            raise MaskReuseError("this epoch has ended; agree on new keys")
        info = context.info()
        # An attempt is one name for one computation, whatever is asked under it: two would leave
        # states of the same name that differ.
        names = (info, context.channel(0))
        if any(name in self._used for name in names):
            which = f"evaluation {context.evaluation}, attempt {context.attempt}"
            raise MaskReuseError(f"{which} was computed before; use the next attempt")
        self._used.update(names)
        # The state goes into the key: nodes in different states draw unrelated masks, so what they
        # send each other is noise and not the difference of two states.
        about = b"evaluation" + info + hashlib.sha256(state).digest()
        return KeyedMasks({c: expand(key, about) for c, key in self._keys.items()})

    def close(self) -> None:
        """Forget the keys: after an abort or a reconnect nothing may be drawn from them."""
        # Others may have drawn masks of a broken-off evaluation: none of them is used again.
        self._keys.clear()


def _letters(nodes: int, keys: int) -> list[Letter]:
    shape, byte = (KEY_BYTES * keys,), np.dtype(np.uint8)
    return [Letter((a,), b, shape, byte) for a, b in permutations(range(nodes), 2)]


def cost(nodes: int) -> Cost:
    return Cost.of(nodes, _letters(nodes, nodes - 2), _letters(nodes, nodes - 1))


def greeting_cost(nodes: int, first: Sequence[Letter]) -> Cost:
    """What the greeting adds to a protocol whose first round has these letters.

    It goes to every other node in the first frame, which is an empty one otherwise where no letter
    goes there. What goes to the coordinator, or is opened, waits for the greetings: 1 round,
    unless the first round is one between nodes.

    >>> greeting_cost(3, [Letter((1,), 0, (4,))]).sent  # node 1 sends one frame of two anyway
    (168, 116, 168)
    """
    among = [letter for letter in first if letter.to != COORDINATOR]
    greetings = _letters(nodes, 1)
    whole, without = Cost.of(nodes, [*among, *greetings]), Cost.of(nodes, among)
    sent = tuple(a - b for a, b in zip(whole.sent, without.sent, strict=True))
    return Cost((Cost.free(nodes) if among else whole).chains, sent)


async def agree_epoch(
    me: int,
    muxes: Mapping[int, Mux],
    *,
    number: int = 0,
    agreement: bytes = bytes(16),
    timeout: float = DEFAULT_TIMEOUT,
) -> Epoch:
    """Agree on fresh keys with all nodes that there are links to; `number` tells epochs apart.

    `agreement` (16 bytes) names the agreement of the epoch, so that agreements do not interfere.
    """
    numbers = {peer: mux for peer, mux in muxes.items() if peer != COORDINATOR}
    members = tuple(sorted([me, *numbers]))
    peers = {members.index(peer): mux for peer, mux in numbers.items()}
    me, nodes = members.index(me), len(members)
    # Each epoch has a channel of its own, so frames of one that was broken off go nowhere.
    channel = Channel(agreement, evaluation=number, kind=FrameKind.EPOCH)
    about = agreement + number.to_bytes(8, "little") + bytes(members)
    held = sorted(held_by(me, nodes))
    # Fresh at every epoch: keys of an earlier one may have masked other values under the same
    # labels.
    ours = {c: secrets.token_bytes(KEY_BYTES) for c in held}
    async with open_conversations(peers, channel) as talks:
        swap = _Swap(talks, timeout)
        heard = await swap(
            {peer: b"".join(ours[c] for c in held if c != peer) for peer in peers}, depth=1
        )
        # Of each component only its holders contribute, over links that the node without it cannot
        # read.
        given: dict[int, dict[int, bytes]] = {c: {me: ours[c]} for c in held}
        for peer, data in heard.items():
            common = [c for c in held if c != peer]
            for at, c in enumerate(common):
                given[c][peer] = data[KEY_BYTES * at : KEY_BYTES * (at + 1)]
        keys = {c: _component_key(about, c, given[c]) for c in held}
        # A node could give two others different contributions. Their masks would then differ, and
        # what they send would tell more than one value under a mask; so all compare first.
        hashes = {c: expand(key, b"tacit key hash/1") for c, key in keys.items()}
        said = await swap(dict.fromkeys(peers, b"".join(hashes[c] for c in held)), depth=2)
    for peer, data in said.items():
        for at, c in enumerate(sorted(held_by(peer, nodes))):
            theirs = data[KEY_BYTES * at : KEY_BYTES * (at + 1)]
            if not hmac.compare_digest(hashes.setdefault(c, theirs), theirs):
                # Whoever differs may be honest, and have been given something else by a third.
                others = [peers[i].link.peer for i in sorted(peers) if i != c]
                what = f"do not all have the same key of component {c}; begin again"
                raise AbortError(" and ".join(others), what)
    # All nodes have the same transcript, also for the component that they lack: they were sent its
    # hash.
    agreed = b"".join(hashes[c] for c in range(nodes))
    transcript = hashlib.sha256(b"tacit epoch/2" + about + agreed).digest()
    return Epoch(keys, members=members, transcript=transcript)


class _Swap:
    """Send each peer something, and hear as much from each."""

    def __init__(self, talks: Mapping[int, Conversation], timeout: float) -> None:
        self._talks, self._timeout = talks, timeout

    async def __call__(self, messages: Mapping[int, bytes], *, depth: int) -> dict[int, bytes]:
        for peer, message in messages.items():
            await self._talks[peer].send(depth, message, timeout=self._timeout)
        heard = {}
        for peer, message in messages.items():
            data = bytes((await self._talks[peer].receive(timeout=self._timeout)).payload)
            # Cut by fixed lengths below: a short message would shift keys between components.
            if len(data) != len(message):
                what = f"sent {len(data)} bytes for keys where {len(message)} were due"
                raise AbortError(self._talks[peer].peer, what)
            heard[peer] = data
        return heard


def _component_key(about: bytes, component: int, given: Mapping[int, bytes]) -> bytes:
    """The key from the contributions of all holders: uniform if one of them is honest."""
    # The salt binds the key to agreement, epoch, members and component.
    salt = hashlib.sha256(b"tacit component key/1" + about + bytes([component])).digest()
    # In the order of the nodes, so that all holders derive the same key.
    return hmac.digest(salt, b"".join(given[node] for node in sorted(given)), "sha256")


@asynccontextmanager
async def open_conversations(
    muxes: Mapping[int, Mux], channel: Channel
) -> AsyncIterator[dict[int, Conversation]]:
    """One conversation with each peer, closed at the end in any case.

    If it fails, the peers get a notice, so that they discard what was sent to them.
    """
    talks: dict[int, Conversation] = {}
    try:
        for peer, mux in muxes.items():
            talks[peer] = mux.open(channel)
        yield talks
    except BaseException:
        await _notify_all({peer: muxes[peer] for peer in talks}, channel, None)
        raise
    finally:
        for talk in talks.values():
            talk.close()


@asynccontextmanager
async def open_session(
    context: Context,
    *,
    me: int,
    muxes: Mapping[int, SessionMux],
    epoch: Epoch | None,
    state: bytes = b"",
    signer: Signer | None = None,
    teller: Signer | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> AsyncIterator[Session]:
    """A session over real links. If it fails, the epoch ends with it and all peers get a notice.

    Who gets the notice fails at once and names the party that the first one to fail waited for.

    `muxes` has the links by party, with `COORDINATOR` for the platform. The coordinator itself
    passes no epoch. `state` is what the nodes must agree on beyond the context. With a `signer`
    frames between nodes are signed, with a `teller` what a node tells all others.
    """
    if epoch is None and me != COORDINATOR:
        raise MaskReuseError("a node needs the keys of an epoch; call agree_epoch first")
    # Marks the evaluation as used in this epoch before anything can be sent.
    masks = epoch.masks(context, state) if epoch is not None else None
    session = Session(
        me,
        nodes=epoch.nodes if epoch is not None else len(muxes),
        masks=masks,
        greeting=epoch.greeting(context, state) if epoch is not None else b"",
        signer=signer,
        teller=teller,
        wire=lambda peer, substream: muxes[peer].open(context.channel(substream), tag=context.tag),
        timeout=timeout,
        names={peer: mux.link.peer for peer, mux in muxes.items()},
    )
    for peer, mux in muxes.items():
        # Before the first letter: a peer that has already failed gave notice, which is waiting.
        mux.watch(context.channel(0), partial(_notice_of, session, peer))
    try:
        yield session
    except BaseException as error:
        if epoch is not None:
            epoch.close()
        if session.failure is None:  # what a notice ended needs no further notice
            # Only a node knows which peer it waited for; the coordinator just gave up.
            blamed = error.peer if isinstance(error, PeerError) and me != COORDINATOR else None
            named = [peer for peer in session.peers if session.name_of(peer) == blamed]
            culprit = named[0] if named else None
            await _notify_all(muxes, context.channel(0), culprit)
        raise
    finally:
        session.close()
        for mux in muxes.values():
            mux.finish(context.channel(0))


async def refuse_session(context: Context, *, muxes: Mapping[int, SessionMux]) -> None:
    """Say no to an evaluation that the others may have begun: they fail at once, and name us.

    What they sent for it, or still send, is discarded.
    """
    await _notify_all(muxes, context.channel(0), None)
    for mux in muxes.values():
        mux.finish(context.channel(0))


def _notice_of(session: Session, peer: int, culprit: int | None) -> None:
    """End a session whose peer gave notice; it may name another node, by its number in the session.

    A number and not a name: what a peer writes must not appear in anybody's errors.
    """
    says = session.name_of(peer)
    named = session.name_of(culprit) if culprit in session.peers else says
    session.fail(AbortError(named, f"failed in this evaluation, says {says}"))


async def _notify_all(
    muxes: Mapping[int, SessionMux], channel: Channel, culprit: int | None
) -> None:
    for mux in muxes.values():
        # A link that is gone or full must not hide the error that is being handled.
        with suppress(PeerError):
            await mux.notify(channel, culprit, timeout=_NOTICE_TIMEOUT)
