"""Open the plan of a sealed search, once, after enough nodes have bound themselves to it.

Each node binds itself once per search, on its disk, and releases its part only if all of its peers
but one are bound to the same attempt. Of three nodes, any two such groups have a node in common; of
four, two, and so an honest one even if another lies. So no two plans of a search are ever released,
whoever is asked for what and whichever links are down. A peer that is bound to another attempt
objects. It is heard if it answers about as fast as the others, also where one node's disk was set
back; a peer that hangs delays nothing for longer.

A plan for its owners only leaves a node in boxes::

    bind        to one attempt, on the disk
    seal        commitments to every row's components, a box per participant; both into the log
    compare     the others are bound to the same attempt, and to the same common components
    release     the log names the boxes of all who were heard; only then a box leaves the node
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tacit.agreement.plan_parts import PlanContext, PlanHeads, seal_plan
from tacit.errors import LogError, PeerTimeoutError, RefusedError
from tacit.mpc import Session, left_without, party_name
from tacit.node.agreement_state import BINDING_PART, AgreementState
from tacit.node.computation import EPOCH_SECONDS
from tacit.node.links import PeerLine
from tacit.node.policy import refuse
from tacit.node.sealed_progress import KeptState, StoredParts
from tacit.records.events import NodeFault
from tacit.records.ledger import DisclosureKind
from tacit.records.messages import OpenPlan, PlanOpened
from tacit.records.peer_messages import Bind, Bound
from tacit.records.recording_mux import sent_digest
from tacit.records.requests import NO_ATTEMPT, Attempt, plan_hash

if TYPE_CHECKING:
    from tacit.node.server import Node

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
    """The boxes of the plan of a state that this node is bound to; sealed once."""
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


def as_reply(parts: StoredParts, number: int, /) -> PlanOpened:
    return PlanOpened(id=number, components=parts.value, sealed=parts.sealed)


OBJECTION_SECONDS = 0.15
"""How long the others may still object after enough peers have confirmed."""
_LOOK_AGAIN_SECONDS = 0.02
"""How often links that came up meanwhile are looked for."""


async def confirm_binding(
    node: Node,
    state: AgreementState,
    search: int,
    attempt: Attempt,
    /,
    *,
    differs: Callable[[int, Bound], str] = lambda _peer, _said: "",
) -> dict[int, Bound]:
    """Return once all peers but one are bound to this node's attempt, and none has objected.

    `differs` says in what a peer differs; that peer does not count. Returns what others are bound
    to.
    """
    loop = asyncio.get_running_loop()
    latest, missing = loop.time() + EPOCH_SECONDS, len(state.agreement.nodes) - 2
    asked: dict[PeerLine, asyncio.Task[Bound]] = {}
    peers: dict[asyncio.Task[Bound], int] = {}
    waiting: set[asyncio.Task[Bound]] = set()
    confirmed: dict[int, Bound] = {}
    trouble = "the peers", "did not confirm the plan to open; start one of them"
    try:
        while (waiting or missing > 0) and loop.time() < latest:
            lines = _lines(node, state).items()
            for peer, line in [(peer, line) for peer, line in lines if line not in asked]:
                question = line.bind(state.hash, search, attempt, timeout=EPOCH_SECONDS)
                asked[line] = loop.create_task(question)
                peers[asked[line]] = peer
                waiting.add(asked[line])
            # A link may come up meanwhile, to the peer whose binding is still missing.
            if not waiting:
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
                continue
            done, waiting = await asyncio.wait(
                waiting, timeout=_LOOK_AGAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                peer, said = peers[task], task.result()
                # One objection is enough: its node may have released another plan already.
                if said.attempt not in (attempt, NO_ATTEMPT):
                    raise refuse("a peer is bound to another plan of this search; one is opened")
                if said.attempt == attempt:
                    if how := differs(peer, said):
                        trouble = party_name(peer), how
                        continue
                    # A peer counts once, over however many links it says so.
                    missing -= peer not in confirmed
                    confirmed[peer] = said
                    # Enough. The others may object for a moment longer, but not hold this up.
                    if missing == 0:
                        latest = loop.time() + OBJECTION_SECONDS
    finally:
        for task in waiting:
            task.cancel()
    if missing > 0:
        raise PeerTimeoutError(*trouble)
    return confirmed


def _lines(node: Node, state: AgreementState) -> dict[int, PeerLine]:
    """The links to the peers whose word counts: not to one that is proven to cheat."""
    epochs = state.epochs
    cheat = epochs.lost if epochs.evidence else None
    return {peer: line for peer, line in node.peers.lines().items() if peer != cheat}


async def bind_for_peer(node: Node, asked: Bind, peer: str, /) -> Bound:
    """Bind this node as a peer requests; return what it is bound to now, none if it cannot be.

    Only to a state that is here: otherwise a peer could end a search with a plan that nobody has.
    And only if this node would open it by its own clock.
    """
    nothing = Bound(asked.number, NO_ATTEMPT)
    state = node.agreement_states.get(asked.agreement)
    if state is None or state.ended:
        return nothing
    epochs = state.epochs
    if epochs.evidence and epochs.lost is not None and peer == party_name(epochs.lost):
        return nothing  # it is proven to have cheated
    progress = state.group_with(asked.search)
    if progress is None or (progress.opened is None and asked.attempt not in progress.names):
        return nothing
    if progress.opened is None:
        try:
            state.check_long_enough(asked.search, asked.attempt, now=time.time(), part=BINDING_PART)
        except RefusedError:
            return nothing
    try:
        attempt = await progress.bind(asked.attempt)
        if not state.agreement.for_owners or attempt not in progress.names:
            return Bound(asked.number, attempt)
        kept = progress.state(attempt)
        parts = await sealed_parts(node, state, asked.search, kept)
        return Bound(asked.number, attempt, parts.sealed.heads)
    except (LogError, RefusedError) as error:
        # The peer sees that this node is not bound, and asks another; the operator sees why.
        node.note(NodeFault(what=str(error)))
        return nothing


async def open_for_owners(
    node: Node, state: AgreementState, request: OpenPlan, kept: KeptState, /
) -> PlanOpened:
    """The node's boxes, once enough peers are bound to theirs and to the same components."""
    search = request.search
    parts = await sealed_parts(node, state, search, kept)
    ours, context = parts.sealed.heads, context_of_plan(state, search, kept)

    def differs(peer: int, said: Bound) -> str:
        if peer not in context.members:
            return ""  # it holds no part of this plan, and its binding counts all the same
        if said.heads is None:
            return "has not sealed its part of the plan; ask again"
        component = differing(context, ours, node.number, said.heads, peer)
        if component is None:
            return ""
        return f"and {node.name} are bound to different numbers as component {component}"

    heard = await confirm_binding(node, state, search, request.attempt, differs=differs)
    roots = {peer: said.heads.boxes for peer, said in heard.items() if said.heads is not None}
    roots[node.number] = ours.boxes
    nodes = range(len(state.agreement.nodes))
    state.plan_boxes[search].release(parts, [roots.get(each, "") for each in nodes])
    return as_reply(parts, request.id)


def released_before(state: AgreementState, request: OpenPlan) -> PlanOpened | None:
    boxes = state.plan_boxes.get(request.search)
    parts = None if boxes is None else boxes.released(request.attempt)
    return None if parts is None else as_reply(parts, request.id)


async def open_plan(node: Node, state: AgreementState, request: OpenPlan) -> PlanOpened:
    """The node's shares of the best plan, once; of its value too where that was agreed.

    The components of a plan are fresh and uniform but for their sum, which the coordinator is to
    know; so it may see all of them. Two nodes hold all of them, so one may be gone.
    """
    state.check_counted()
    kept = await state.begin_open(request.search, request.attempt)
    run = state.agreement.sealed_run
    if run.for_owners:
        return await open_for_owners(node, state, request, kept)
    plan = state.plan_of(request.search, kept)
    await confirm_binding(node, state, request.search, request.attempt)
    parts = [
        np.ascontiguousarray(plan.parts[c][run.heads - run.opened_heads :]).tobytes()
        for c in context_of_plan(state, request.search, kept).held_by(node.number)
    ]
    # Before the reply, with which the part leaves: what is out and in no log could be denied.
    # After a crash in between the plan is asked for again, and the log has two lines about it.
    state.store.log_sent(
        DisclosureKind.PLAN,
        request.search,
        request.attempt,
        plan_hash(request.search, request.attempt),
        lambda salt: sent_digest(salt, [(0, parts)]),
    )
    return PlanOpened(id=request.id, components=parts)
