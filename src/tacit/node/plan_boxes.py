"""Seal the boxes of a plan for its owners, and keep them: what of such a plan leaves a node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tacit.agreement.plan_parts import PlanContext, PlanHeads, SealedParts, seal_plan
from tacit.mpc import Session, left_without
from tacit.node.policy import refuse
from tacit.node.sealed_progress import KeptState
from tacit.node.store import Store, Stored, decoder_of, encode_stored
from tacit.node.threads import to_the_end
from tacit.records.events import PlanSealed, Sent
from tacit.records.ledger import DisclosureKind, HeardBoxes
from tacit.records.recording_mux import sent_digest
from tacit.records.requests import Attempt, plan_hash

if TYPE_CHECKING:
    from tacit.node.agreement_state import AgreementState
    from tacit.node.server import Node


class StoredParts(Stored, frozen=True, tag="plan boxes/1"):
    """The boxes with this node's part of a plan, and what else it releases of it."""

    attempt: Attempt
    sealed: SealedParts
    value: list[bytes]
    """Its components of the plan's value, where that is disclosed."""


_READ_PARTS = decoder_of(list[StoredParts])


class PlanBoxes:
    """The boxes of one sealed search, where its plan is for its owners only.

    They are sealed when the node is bound to a state, and always the same bytes leave the node: on
    the disk before the log says what they are, in the log before anybody hears of them. A later
    ballot may bind the node to another state, and one after that to the first again. So the boxes
    of each state are sealed once and stay: a node that was bound to two kinds of boxes of one state
    would look like one that lies. No more than `KEPT_STATES` are here once a node votes. What is in
    them are shares that only their owners open, so they stay when the agreement has ended, too: an
    owner whose box was lost on the way gets it again.
    """

    def __init__(self, store: Store, search: int, /) -> None:
        self._store, self._search = store, search
        self._sealing = asyncio.Lock()
        self._logged: dict[Attempt, PlanSealed] = {}
        """The lines that say what the boxes are."""
        self._released: Attempt | None = None
        """The one of which boxes have left the node."""
        self._parts: dict[Attempt, StoredParts] | None = None
        for event in store.log.recent():
            match event:
                case PlanSealed(search=k) if k == search:
                    self._logged[event.attempt] = event
                case Sent(kind=DisclosureKind.OWNERS_PLAN, about=k) if k == search:
                    self._released = event.attempt

    def released(self, attempt: Attempt, /) -> StoredParts | None:
        """The parts that were released of this attempt's plan; they are given out at any time."""
        return self._load().get(attempt) if self._released == attempt else None

    async def sealed(self, attempt: Attempt, seal: Callable[[], StoredParts], /) -> StoredParts:
        """The parts of the plan of a state that this node is bound to; sealed now if they were not.

        Run to the end: a cancelled call must leave no thread that writes other boxes later.
        """
        return await to_the_end(self._sealed(attempt, seal))

    async def _sealed(self, attempt: Attempt, seal: Callable[[], StoredParts]) -> StoredParts:
        async with self._sealing:
            if self._released not in (None, attempt):
                raise refuse("the boxes here are of another plan of this search; one is opened")
            parts, logged = self._load().get(attempt), self._logged.get(attempt)
            if parts is None and logged is not None:
                raise refuse("the boxes of this plan are in the log and gone from the disk")
            # Boxes on the disk that the log does not name were sealed just before a crash.
            if parts is None:
                parts = await asyncio.to_thread(seal)
                kept = {**self._load(), attempt: parts}
                data = encode_stored([*kept.values()])
                await asyncio.to_thread(self._store.save_parts, self._search, data)
                self._parts = kept
            heads = parts.sealed.heads
            if logged is None:
                event = PlanSealed(self._search, attempt, heads.commitments, heads.boxes)
                self._store.log.append(event)
                self._logged[attempt] = event
            elif (logged.commitments, logged.boxes) != (heads.commitments, heads.boxes):
                raise refuse("the boxes of this plan are not those that the log names")
            self._store.log.sync()
            return parts

    def release(self, parts: StoredParts, boxes: list[str], /) -> None:
        """Log that the boxes leave this node, and to which ones the nodes were bound by then.

        `boxes` are the hashes of the nodes' lists of boxes. Synced, since afterwards the node gives
        its boxes out without comparing with the peers again.
        """
        self._store.log_sent(
            DisclosureKind.OWNERS_PLAN,
            self._search,
            parts.attempt,
            plan_hash(self._search, parts.attempt),
            lambda salt: sent_digest(salt, [(0, parts.value)]),
            known=HeardBoxes(boxes),
        )
        self._store.log.sync()
        self._released = parts.attempt
        if len(self._load()) > 1:
            # Those of other states are of no use any more.
            self._store.save_parts(self._search, encode_stored([parts]))
            self._parts = {parts.attempt: parts}

    def _load(self) -> dict[Attempt, StoredParts]:
        if self._parts is None:
            data = self._store.load_parts(self._search)
            found = [] if data is None else _READ_PARTS.decode(data)
            self._parts = {each.attempt: each for each in found}
        return self._parts


_KEY_BYTES = 32


def draw_plan_keys(session: Session, /) -> dict[int, bytes]:
    """Draw a fresh key per component, the same at all its holders, without communication.

    It outlives the epoch in the encrypted state, and serves for commitments to this state's plan
    alone.
    """
    keys = {c: session.words("plan keys", c, _KEY_BYTES, np.uint8) for c in session.held}
    return {component: words.tobytes() for component, words in keys.items()}


def context_of_plan(state: AgreementState, search: int, kept: KeptState, /) -> PlanContext:
    nodes = len(state.agreement.nodes)
    # A state that all nodes computed has components of all, even if a node was lost since.
    of_all = len(kept.plans.parts) == nodes - 1
    members = left_without(nodes, None if of_all else state.epochs.lost)
    return PlanContext(state.hash, search, str(kept.attempt), members)


async def sealed_parts(
    node: Node, state: AgreementState, search: int, kept: KeptState, /
) -> StoredParts:
    """The boxes with this node's part of the plan of a state that it is bound to."""
    agreement = state.agreement
    signing = node.own_keys.signing(agreement)
    context = context_of_plan(state, search, kept)

    def seal() -> StoredParts:
        plan = state.plan_of(search, kept).parts
        heads = agreement.sealed_run.heads
        rows = {component: part[heads:] for component, part in plan.items()}
        sealed = seal_plan(agreement, context, node.number, rows, kept.plan_keys, signing=signing)
        value, first = [], 0 if agreement.sealed_run.opens_value else 1
        if first < heads:
            held = context.held_by(node.number)
            value = [np.ascontiguousarray(plan[c][first:heads]).tobytes() for c in held]
        return StoredParts(kept.attempt, sealed, value)

    return await state.plan_boxes[search].sealed(kept.attempt, seal)


def differing(
    context: PlanContext, ours: PlanHeads, me: int, theirs: PlanHeads, peer: int, /
) -> int | None:
    """A component that two nodes hold and have different commitments to; None if there is none."""
    own, known = context.held_by(me), context.held_by(peer)
    if len(theirs.commitments) != len(known):
        return known[0]
    roots = dict(zip(known, theirs.commitments, strict=True))
    for component, root in zip(own, ours.commitments, strict=True):
        if roots.get(component, root) != root:
            return component
    return None
