"""The boxes of a plan for its owners at one node: sealed once, then always the same bytes.

They are on the disk before the log says what they are, and in the log before anybody hears of them.
What is in them are shares that only their owners open, so they stay when the agreement has ended:
an owner whose box was lost on the way gets it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from tacit.agreement.plan_parts import SealedParts
from tacit.node.state.policy import refuse
from tacit.node.state.store import Store
from tacit.node.state.stored import Stored
from tacit.node.state.to_the_end import to_the_end
from tacit.records.disclosed import HeardBoxes, Kind
from tacit.records.events import PlanSealed, Sent
from tacit.wire.attempt import Attempt, decode_attempt, encode_attempt
from tacit.wire.recording_mux import sent_digest
from tacit.wire.request import plan_hash


class StoredParts(Stored, frozen=True, tag="plan boxes/1"):
    """What this node releases of a plan."""

    attempt: Attempt
    sealed: SealedParts
    value: list[bytes]
    """Its components of the plan's value, where that is disclosed."""


_ENCODER = msgspec.msgpack.Encoder(enc_hook=encode_attempt)
_READ = msgspec.msgpack.Decoder(StoredParts, dec_hook=decode_attempt)


class PlanBoxes:
    """The boxes of one sealed search."""

    def __init__(self, store: Store, search: int, /) -> None:
        self._store, self._search = store, search
        self._sealing = asyncio.Lock()
        self._logged: PlanSealed | None = None
        self._is_released = False
        self._parts: StoredParts | None = None
        for event in store.log.recent():
            match event:
                case PlanSealed(search=k) if k == search:
                    self._logged = event
                case Sent(kind=Kind.OWNERS_PLAN, about=k) if k == search:
                    self._is_released = True

    def released(self, attempt: Attempt, /) -> StoredParts | None:
        """What was released before of this attempt's plan; it may be had again at any time."""
        parts = self._load() if self._is_released else None
        return parts if parts is not None and parts.attempt == attempt else None

    async def sealed(self, attempt: Attempt, seal: Callable[[], StoredParts], /) -> StoredParts:
        """The parts of the plan that this node is bound to; they are sealed if they were not.

        Whoever is cancelled meanwhile leaves no thread behind that writes other ones later.
        """
        return await to_the_end(self._sealed(attempt, seal))

    async def _sealed(self, attempt: Attempt, seal: Callable[[], StoredParts]) -> StoredParts:
        async with self._sealing:
            parts = self._load()
            if parts is None and self._logged is not None:
                raise refuse("the boxes of this plan are in the log and gone from the disk")
            if parts is None or (self._logged is None and parts.attempt != attempt):
                parts = await asyncio.to_thread(seal)
                await asyncio.to_thread(
                    self._store.save_parts, self._search, _ENCODER.encode(parts)
                )
                self._parts = parts
            if parts.attempt != attempt:
                raise refuse("the boxes here are of another plan of this search; one is opened")
            heads = parts.sealed.heads
            event = PlanSealed(self._search, attempt, heads.commitments, heads.boxes)
            if self._logged is None:
                self._store.log.append(event)
                self._logged = event
            elif (self._logged.commitments, self._logged.boxes) != (heads.commitments, heads.boxes):
                raise refuse("the boxes of this plan are not those that the log names")
            self._store.log.sync()
            return parts

    def release(self, parts: StoredParts, boxes: list[str], /) -> None:
        """Log that the boxes leave this node, and which ones nodes were bound to by then.

        `boxes` are the hashes of the nodes' lists of boxes. Synced, since afterwards the node gives
        its boxes to whoever asks, without another look at the peers.
        """
        self._store.log_sent(
            Kind.OWNERS_PLAN,
            self._search,
            parts.attempt,
            plan_hash(self._search, parts.attempt),
            lambda salt: sent_digest(salt, [(0, parts.value)]),
            known=HeardBoxes(boxes),
        )
        self._store.log.sync()
        self._is_released = True

    def _load(self) -> StoredParts | None:
        if self._parts is None:
            data = self._store.load_parts(self._search)
            self._parts = None if data is None else _READ.decode(data)
        return self._parts
