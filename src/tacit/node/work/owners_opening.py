"""How a node opens a plan for its owners only: bound, sealed, compared with the others, released.

::

    bind        to one attempt, on the disk
    seal        commitments to every row's components, a box per participant; both into the log
    compare     the others are bound to the same attempt, and to the same common components
    release     the log names the boxes of all who were heard; only then a box leaves the node
"""

from __future__ import annotations

import numpy as np

from tacit.agreement.plan_parts import PlanContext, PlanHeads, seal_plan
from tacit.mpc import Session, left_without
from tacit.node.state.agreement_state import AgreementState
from tacit.node.state.plan_boxes import StoredParts
from tacit.node.state.sealed_progress import KeptState
from tacit.node.work.session import ComputingNode
from tacit.wire.replies import PlanOpened

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
