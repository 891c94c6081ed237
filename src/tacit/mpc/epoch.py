"""Connection epochs: pair keys that are agreed afresh, never stored, and used once per context.

Each pair of nodes exchanges ephemeral X25519 keys over its authenticated link [rfc7748] and
derives the key of the component that both hold [rfc5869]. 1 round; each node sends 32 bytes to
each of the two others. A node learns the keys of its own two components only. The keys are never
stored, which gives forward secrecy.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from tacit.errors import AbortError, MaskReuseError, PeerError
from tacit.mpc.cost import Cost
from tacit.mpc.masks import KeyedMasks, expand
from tacit.mpc.session import DEFAULT_TIMEOUT, Context, Session, Wire
from tacit.mpc.shares import COORDINATOR, NODES
from tacit.mpc.transport.frame import Channel, Kind
from tacit.mpc.transport.link import Link
from tacit.mpc.transport.mux import Conversation, Mux

_NOTICE_TIMEOUT = 0.01


class SessionMux(Protocol):
    """What a session needs of the link to a party; a `Mux` is one."""

    @property
    def link(self) -> Link:
        """The link itself."""
        ...

    def open(self, channel: Channel, *, tag: bytes) -> Wire:
        """Open a conversation."""
        ...

    def watch(self, channel: Channel, handler: Callable[[PeerError], None] | None) -> None:
        """Listen for the other side giving up."""
        ...

    async def notify(self, channel: Channel, culprit: str, *, timeout: float) -> None:
        """Tell the other side that the evaluation failed."""
        ...

    def finish(self, channel: Channel) -> None:
        """Drop what may still arrive for the evaluation."""
        ...


class Epoch:
    """A node's two component keys, from one agreement until the first abort.

    >>> epoch = Epoch({0: bytes(32), 1: bytes(32)})
    >>> context = Context(b"agreement", 0, 1, 0, b"request")
    >>> _ = epoch.masks(context)
    >>> epoch.masks(context)
    Traceback (most recent call last):
    tacit.errors.MaskReuseError: evaluation 1, attempt 0 was computed before; use the next attempt
    """

    def __init__(self, keys: Mapping[int, bytes]) -> None:
        self._keys = dict(keys)
        self._used: set[bytes] = set()

    @property
    def closed(self) -> bool:
        """Whether the keys are gone."""
        return not self._keys

    def masks(self, context: Context) -> KeyedMasks:
        """The masks of one evaluation; a second call for the same one is rejected."""
        if self.closed:
            raise MaskReuseError("this epoch has ended; agree on new keys")
        info = context.info()
        if info in self._used:
            which = f"evaluation {context.evaluation}, attempt {context.attempt}"
            raise MaskReuseError(f"{which} was computed before; use the next attempt")
        self._used.add(info)
        return KeyedMasks({c: expand(key, b"evaluation" + info) for c, key in self._keys.items()})

    def close(self) -> None:
        """Forget the keys: after an abort or a reconnect nothing may be drawn from them."""
        self._keys.clear()


def cost() -> Cost:
    """The cost of agreeing on keys."""
    return Cost.of(1, [32, 32], [32, 32], [32, 32])


async def agree_epoch(
    me: int,
    muxes: Mapping[int, Mux],
    *,
    number: int = 0,
    agreement: bytes = bytes(16),
    timeout: float = DEFAULT_TIMEOUT,
) -> Epoch:
    """Agree on fresh keys with both other nodes; `number` distinguishes epochs on one link.

    `agreement` (16 bytes) names the agreement of the epoch, so that agreements do not interfere.
    """
    channel = Channel(agreement, evaluation=number, kind=Kind.EPOCH)
    secrets = {peer: X25519PrivateKey.generate() for peer in NODES if peer != me}
    keys: dict[int, bytes] = {}
    async with open_conversations({peer: muxes[peer] for peer in secrets}, channel) as talks:
        for peer, secret in secrets.items():
            await talks[peer].send(1, secret.public_key().public_bytes_raw(), timeout=timeout)
        for peer, secret in secrets.items():
            theirs = bytes((await talks[peer].receive(timeout=timeout)).payload)
            component = peer if peer == (me + 1) % 3 else me
            keys[component] = _pair_key(me, peer, secret, theirs, name=muxes[peer].link.peer)
    return Epoch(keys)


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
        await _notify_all({peer: muxes[peer] for peer in talks}, channel, "")
        raise
    finally:
        for talk in talks.values():
            talk.close()


def _pair_key(me: int, peer: int, secret: X25519PrivateKey, theirs: bytes, *, name: str) -> bytes:
    ours = secret.public_key().public_bytes_raw()
    try:
        shared = secret.exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError as error:
        raise AbortError(name, f"sent no X25519 key ({error})") from error
    # Both sides hash the two public keys in the order of the nodes.
    ordered = ours + theirs if me < peer else theirs + ours
    salt = hashlib.sha256(b"tacit pair key" + bytes(sorted((me, peer))) + ordered).digest()
    return hmac.digest(salt, shared, "sha256")


@asynccontextmanager
async def open_session(
    context: Context,
    *,
    me: int,
    muxes: Mapping[int, SessionMux],
    epoch: Epoch | None,
    timeout: float = DEFAULT_TIMEOUT,
) -> AsyncIterator[Session]:
    """A session over real links. If it fails, the epoch ends with it and all peers get a notice.

    Who gets the notice fails at once and names the party that the first one to fail waited for.

    `muxes` has the links by party, with `COORDINATOR` for the platform. The coordinator itself
    passes no epoch.
    """
    if epoch is None and me != COORDINATOR:
        raise MaskReuseError("a node needs the keys of an epoch; call agree_epoch first")
    masks = epoch.masks(context) if epoch is not None else None
    session = Session(
        me,
        masks=masks,
        wire=lambda peer, substream: muxes[peer].open(context.channel(substream), tag=context.tag),
        timeout=timeout,
        names={peer: mux.link.peer for peer, mux in muxes.items()},
    )
    for mux in muxes.values():
        mux.watch(context.channel(0), session.fail)
    try:
        yield session
    except BaseException as error:
        if epoch is not None:
            epoch.close()
        if session.failure is None:  # what a notice ended needs no further notice
            # Only a node knows which peer it waited for; the coordinator just gave up.
            blames = isinstance(error, PeerError) and me != COORDINATOR
            culprit = getattr(error, "peer", "") if blames else ""
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
    await _notify_all(muxes, context.channel(0), "")
    for mux in muxes.values():
        mux.finish(context.channel(0))


async def _notify_all(muxes: Mapping[int, SessionMux], channel: Channel, culprit: str) -> None:
    for mux in muxes.values():
        # A link that is gone or full must not hide the error that is being handled.
        with suppress(PeerError):
            await mux.notify(channel, culprit, timeout=_NOTICE_TIMEOUT)
