"""Open the plans of a sealed search, once a quorum of nodes is bound to one state of it.

The nodes decide by ballots (`tacit.records.ballots`, `node.voting`) which state that is. A node
releases its part only when it is shown the votes of a quorum. So no two plans of a search are ever
released, whoever is asked for what and whichever links are down.

A plan for its owners only leaves a node in boxes::

    vote        to be bound: boxes and commitments are sealed, in the log, and named by the vote
    compare     the votes of the others name the same commitments to common components
    release     the log names the boxes of all who voted so; only then a box leaves the node
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tacit.agreement.plan_parts import PlanContext, PlanHeads
from tacit.errors import PeerTimeoutError
from tacit.mpc import party_name
from tacit.node.agreement_state import AgreementState
from tacit.node.plan_boxes import StoredParts, context_of_plan, differing, sealed_parts
from tacit.node.sealed_progress import KeptState
from tacit.node.voting import decided_state
from tacit.records.ballots import Phase, Poll, heads_digest
from tacit.records.ledger import DisclosureKind
from tacit.records.messages import OpenPlan, PlanOpened
from tacit.records.recording_mux import sent_digest
from tacit.records.requests import plan_hash

if TYPE_CHECKING:
    from tacit.node.server import Node


async def open_for_owners(
    node: Node, state: AgreementState, request: OpenPlan, kept: KeptState, /
) -> PlanOpened:
    """The node's boxes, if enough others are bound to the same components of the plan."""
    search, nodes = request.search, len(state.agreement.nodes)
    parts = await sealed_parts(node, state, search, kept)
    context = context_of_plan(state, search, kept)
    heard = {node.number: parts.sealed.heads}
    fitting, trouble = 0, ("the peers", "are not bound to their parts of the plan; ask again")
    for peer, heads in _bound_peers(state, request).items():
        if peer == node.number:
            continue
        if how := _difference(context, heard[node.number], node.number, heads, peer):
            trouble = party_name(peer), how
            continue
        fitting += 1
        if heads is not None:
            heard[peer] = heads
    # Of four nodes one may differ: it lies, and the two others that fit show that this one does
    # not.
    if fitting < nodes - 2:
        raise PeerTimeoutError(*trouble)
    roots = {each: heads.boxes for each, heads in heard.items()}
    state.plan_boxes[search].release(parts, [roots.get(each, "") for each in range(nodes)])
    return as_reply(parts, request.id)


def _bound_peers(state: AgreementState, request: OpenPlan) -> dict[int, PlanHeads | None]:
    """Return who is bound by the votes that are shown, and to what parts of this plan."""
    progress = state.group_with(request.search)
    assert progress is not None
    poll = Poll.read(state.agreement, progress.subject, request.votes)
    place, found = progress.searches.index(request.search), dict[int, PlanHeads | None]()
    for vote in poll.votes.values():
        if (vote.phase, vote.value) == (Phase.BOUND, request.attempt):
            shown = request.heads.get(vote.author, [])
            # The platform brings them. What counts is the hash that the node has signed.
            fits = len(shown) == len(progress.searches) and vote.heads == heads_digest(shown)
            found[vote.author] = shown[place] if fits else None
    return found


def _difference(
    context: PlanContext, ours: PlanHeads, me: int, theirs: PlanHeads | None, peer: int
) -> str:
    """Say in what a peer differs, so that it does not count; empty if it does not."""
    if peer not in context.members:
        return ""  # it holds no part of this plan, and its vote counts all the same
    if theirs is None:
        return "has not sealed its part of the plan; ask again"
    component = differing(context, ours, me, theirs, peer)
    if component is None:
        return ""
    return f"and {party_name(me)} are bound to different numbers as component {component}"


def as_reply(parts: StoredParts, number: int, /) -> PlanOpened:
    return PlanOpened(id=number, components=parts.value, sealed=parts.sealed)


def released_before(state: AgreementState, request: OpenPlan) -> PlanOpened | None:
    boxes = state.plan_boxes.get(request.search)
    parts = None if boxes is None else boxes.released(request.attempt)
    return None if parts is None else as_reply(parts, request.id)


async def open_plan(node: Node, state: AgreementState, request: OpenPlan) -> PlanOpened:
    """The node's shares of the plan that was decided on; of its value too where that was agreed.

    The components of a plan are fresh and uniform but for their sum, which the coordinator is to
    know; so it may see all of them. Two nodes hold all of them, so one may be gone.
    """
    state.check_counted()
    kept = await decided_state(node, state, request.search, request.attempt, request.votes)
    run = state.agreement.sealed_run
    if run.for_owners:
        return await open_for_owners(node, state, request, kept)
    plan = state.plan_of(request.search, kept)
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
