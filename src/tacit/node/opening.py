"""How a node opens a plan for its owners only: bound, sealed, compared with the others, released.

::

    bind        to one attempt, on the disk
    seal        commitments to every row's components, a box per participant; both into the log
    compare     the others are bound to the same attempt, and to the same common components
    release     the log names the boxes of all who were heard; only then a box leaves the node

All nodes but one bind themselves to the same plan before a part of it leaves any of them.

Each node binds itself once per search, on its disk, and releases its part only if all of its peers
but one are bound to the same attempt. Of three nodes, any two such groups have a node in common; of
four, two, and so an honest one even if another lies. So no two plans of a search are ever released,
whoever is asked for what and whichever links are down. A peer that is bound to another attempt
objects, and is heard if it answers about as fast as the others; that also holds where one node's
disk was set back. A peer that hangs holds nothing up for longer than that.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import numpy as np

from tacit.agreement.plan_parts import PlanContext, PlanHeads, seal_plan
from tacit.errors import LogError, PeerTimeoutError, RefusedError
from tacit.mpc import Session, left_without, party_name
from tacit.node.agreement_state import BINDING_PART, AgreementState
from tacit.node.computation import EPOCH_SECONDS, ComputingNode
from tacit.node.links import PeerLine
from tacit.node.policy import refuse
from tacit.node.sealed_progress import KeptState, StoredParts
from tacit.records.events import NodeFault
from tacit.records.messages import OpenPlan, PlanOpened
from tacit.records.peer_messages import Bind, Bound
from tacit.records.requests import NO_ATTEMPT, Attempt

_KEY_BYTES = 32


def draw_plan_keys(session: Session, /) -> dict[int, bytes]:
    """Per component a fresh key that its holders draw alike, without communication.

    It outlives the epoch in the encrypted state, and serves for commitments to this state's plan
    alone.
    """
    drawn = {c: session.words("plan keys", c, _KEY_BYTES, np.uint8) for c in session.held}
    return {component: words.tobytes() for component, words in drawn.items()}


def context_of_plan(
    agreement_state: AgreementState, search: int, kept: KeptState, /
) -> PlanContext:
    """Which plan a state has, and who holds it."""
    nodes = len(agreement_state.agreement.nodes)
    # A state of all nodes stays one, whoever was lost since.
    of_all = len(kept.plans.parts) == nodes - 1
    members = left_without(nodes, None if of_all else agreement_state.epochs.lost)
    return PlanContext(agreement_state.hash, search, str(kept.attempt), members)


async def sealed_parts(
    node: ComputingNode, agreement_state: AgreementState, search: int, kept: KeptState, /
) -> StoredParts:
    """What this node releases of the plan of a state that it is bound to: sealed once."""
    agreement = agreement_state.agreement
    signing = node.own_keys.signing(agreement)
    context = context_of_plan(agreement_state, search, kept)

    def seal() -> StoredParts:
        plan = agreement_state.plan_of(search, kept).parts
        heads = agreement.sealed_run.heads
        rows = {component: part[heads:] for component, part in plan.items()}
        sealed = seal_plan(agreement, context, node.number, rows, kept.plan_keys, signing=signing)
        value, first = [], 0 if agreement.sealed_run.opens_value else 1
        if first < heads:
            held = context.held_by(node.number)
            value = [np.ascontiguousarray(plan[c][first:heads]).tobytes() for c in held]
        return StoredParts(kept.attempt, sealed, value)

    return await agreement_state.plan_boxes[search].sealed(kept.attempt, seal)


def differing(
    context: PlanContext, ours: PlanHeads, me: int, theirs: PlanHeads, peer: int, /
) -> int | None:
    """A component that two nodes hold and are bound to otherwise; None if there is none."""
    held, known = context.held_by(me), context.held_by(peer)
    if len(theirs.commitments) != len(known):
        return known[0]
    said = dict(zip(known, theirs.commitments, strict=True))
    for component, root in zip(held, ours.commitments, strict=True):
        if said.get(component, root) != root:
            return component
    return None


def as_reply(parts: StoredParts, number: int, /) -> PlanOpened:
    """The boxes as the platform gets them."""
    return PlanOpened(id=number, components=parts.value, sealed=parts.sealed)


OBJECTION_SECONDS = 0.15
"""So long after enough peers have confirmed, the others may still object."""
_LOOK_AGAIN_SECONDS = 0.02
"""How often we look for links that came up meanwhile."""


async def confirm_binding(
    node: ComputingNode,
    agreement_state: AgreementState,
    search: int,
    attempt: Attempt,
    /,
    *,
    differs: Callable[[int, Bound], str] = lambda _peer, _said: "",
) -> dict[int, Bound]:
    """Return once all peers but one are bound to the attempt that we are, and none has objected.

    A peer that `differs`, which says how, does not count. Returns what the others are bound to.
    """
    loop = asyncio.get_running_loop()
    latest, missing = loop.time() + EPOCH_SECONDS, len(agreement_state.agreement.nodes) - 2
    asked: dict[PeerLine, asyncio.Task[Bound]] = {}
    peers: dict[asyncio.Task[Bound], int] = {}
    waiting: set[asyncio.Task[Bound]] = set()
    confirmed: dict[int, Bound] = {}
    trouble = "the peers", "did not confirm the plan to open; start one of them"
    try:
        while (waiting or missing > 0) and loop.time() < latest:
            lines = _lines(node, agreement_state).items()
            for peer, line in [(peer, line) for peer, line in lines if line not in asked]:
                question = line.bind(agreement_state.hash, search, attempt, timeout=EPOCH_SECONDS)
                asked[line] = loop.create_task(question)
                peers[asked[line]] = peer
                waiting.add(asked[line])
            if not waiting:
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)
                continue
            done, waiting = await asyncio.wait(
                waiting, timeout=_LOOK_AGAIN_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                peer, said = peers[task], task.result()
                if said.attempt not in (attempt, NO_ATTEMPT):
                    raise refuse("a peer is bound to another plan of this search; one is opened")
                if said.attempt == attempt:
                    if how := differs(peer, said):
                        trouble = party_name(peer), how
                        continue
                    # A peer counts once, over however many links it says so.
                    missing -= peer not in confirmed
                    confirmed[peer] = said
                    if missing == 0:
                        latest = loop.time() + OBJECTION_SECONDS
    finally:
        for task in waiting:
            task.cancel()
    if missing > 0:
        raise PeerTimeoutError(*trouble)
    return confirmed


def _lines(node: ComputingNode, agreement_state: AgreementState) -> dict[int, PeerLine]:
    """The links to the peers whose word counts: one that is proven to cheat has none."""
    epochs = agreement_state.epochs
    cheat = epochs.lost if epochs.evidence else None
    return {peer: line for peer, line in node.peers.lines().items() if peer != cheat}


async def bind_for_peer(node: ComputingNode, asked: Bind, peer: str, /) -> Bound:
    """Bind this node as a peer asks; returns what it is bound to now, none if it cannot be.

    Only to a state that is here: otherwise a peer could end a search with a plan that nobody has.
    And only where this node would open it: each node looks at its own clock.
    """
    nothing = Bound(asked.number, NO_ATTEMPT)
    agreement_state = node.agreement_states.get(asked.agreement)
    if agreement_state is None or agreement_state.ended:
        return nothing
    epochs = agreement_state.epochs
    if epochs.evidence and epochs.lost is not None and peer == party_name(epochs.lost):
        return nothing  # it is proven to have cheated
    progress = agreement_state.group_with(asked.search)
    if progress is None or (progress.opened is None and asked.attempt not in progress.names):
        return nothing
    if progress.opened is None:
        try:
            agreement_state.check_long_enough(
                asked.search, asked.attempt, now=time.time(), part=BINDING_PART
            )
        except RefusedError:
            return nothing
    try:
        attempt = await progress.bind(asked.attempt)
        if not agreement_state.agreement.for_owners or attempt not in progress.names:
            return Bound(asked.number, attempt)
        kept = progress.state(attempt)
        parts = await sealed_parts(node, agreement_state, asked.search, kept)
        return Bound(asked.number, attempt, parts.sealed.heads)
    except (LogError, RefusedError) as error:
        node.note(NodeFault(what=str(error)))
        return nothing


async def open_for_owners(
    node: ComputingNode, agreement_state: AgreementState, request: OpenPlan, kept: KeptState, /
) -> PlanOpened:
    """The node's boxes, once it is bound to them, and enough peers to theirs and to the same."""
    search = request.search
    parts = await sealed_parts(node, agreement_state, search, kept)
    ours, context = parts.sealed.heads, context_of_plan(agreement_state, search, kept)

    def differs(peer: int, said: Bound) -> str:
        if peer not in context.members:
            return ""  # it holds nothing of this plan, and confirms that it is the one
        if said.heads is None:
            return "has not sealed its part of the plan; ask again"
        component = differing(context, ours, node.number, said.heads, peer)
        if component is None:
            return ""
        return f"and {node.name} are bound to different numbers as component {component}"

    heard = await confirm_binding(node, agreement_state, search, request.attempt, differs=differs)
    roots = {peer: said.heads.boxes for peer, said in heard.items() if said.heads is not None}
    roots[node.number] = ours.boxes
    nodes = range(len(agreement_state.agreement.nodes))
    agreement_state.plan_boxes[search].release(parts, [roots.get(each, "") for each in nodes])
    return as_reply(parts, request.id)
