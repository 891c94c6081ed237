"""A node that tells each other node what it likes, and signs it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from tacit.mpc import Session
from tacit.mpc.letters import Letter
from tacit.mpc.told import Told, tell_signed


async def tell_each(session: Session, messages: Mapping[int, bytes]) -> dict[int, bytes]:
    """As `Session.tell`, but to each node another message."""
    size = len(next(iter(messages.values())))
    nodes = range(session.nodes)
    letters = [
        Letter((sender,), to, (size,), np.dtype(np.uint8))
        for sender in nodes
        for to in nodes
        if sender != to
    ]
    mine = {
        k: np.frombuffer(messages[letter.to], dtype=np.uint8)
        for k, letter in enumerate(letters)
        if letter.senders == (session.me,)
    }
    heard = await session.exchange(letters, mine)
    return {letters[k].senders[0]: data.tobytes() for k, data in heard.items()}


def signed_word(session: Session, message: bytes, *, ahead: int = 1) -> bytes:
    """A message as it is told in the next round, or in a later one, with this node's signature."""
    place = session._place(session.exchanges + ahead)
    signer = session._shared.teller
    assert signer is not None
    digest = hashlib.sha256(message).digest()
    told = Told(place.about, session.me, place.substream, place.exchange, digest)
    return message + signer.sign(told.encode())


async def tell_two(session: Session, message: bytes, other: bytes, *, to: int) -> dict[int, bytes]:
    """As `Session.tell_alike`, but one node is told something else; all of it is signed."""
    messages = dict.fromkeys(session.peers, signed_word(session, message))
    messages[to] = signed_word(session, other)

    async def tell(message: bytes) -> dict[int, bytes]:
        del session.tell
        return await tell_each(session, messages)

    session.tell = tell  # type: ignore[method-assign]
    place, signer = session._place(session.exchanges + 1), session._shared.teller
    assert signer is not None
    return await tell_signed(session, message, place=place, signer=signer)
