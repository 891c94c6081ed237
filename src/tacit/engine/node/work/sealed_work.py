"""What a node does for a sealed run: steps with its peers, and the one opening."""

from __future__ import annotations

import hashlib
import secrets

import numpy as np

from tacit.engine.agreement.sealed import checkpoints_of, course_of
from tacit.engine.agreement.working_memory import generations_bytes
from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.node.state.sealed_progress import Kept, SealedProgress
from tacit.engine.node.work.handing_over import Handover
from tacit.engine.node.work.off_loop import in_thread
from tacit.engine.node.work.owners_opening import (
    as_reply,
    context_of_plan,
    draw_plan_keys,
)
from tacit.engine.node.work.plan_binding import confirm_binding, open_for_owners
from tacit.engine.node.work.sealed_methods import NextState, method_for, value_shares
from tacit.engine.node.work.session import (
    ComputingNode,
    compute_away,
    fit_to_epoch,
    memory_for,
    node_session,
    refusals_told,
)
from tacit.engine.records.events import PlanSent
from tacit.engine.wire.attempt import Attempt
from tacit.engine.wire.messages import Advance, OpenPlan
from tacit.engine.wire.recording_mux import RecordingMux, sent_digest
from tacit.engine.wire.replies import GenerationsDone, PlanOpened
from tacit.engine.wire.request import advance_hash, context_of
from tacit.mpc import ArithmeticShare, Context
from tacit.mpc.transport import Mux


async def advance(
    node: ComputingNode, agreement_state: AgreementState, request: Advance, platform: Mux
) -> GenerationsDone:
    """Some steps, or the secret start, if the agreement allows them."""
    context = context_of(request, advance_hash(request))
    async with refusals_told(node, context, platform):
        progress = agreement_state.search(request.search, goes_on=True)
    async with progress.alone():
        return await _advance(node, agreement_state, request, platform, progress, context)


async def _advance(
    node: ComputingNode,
    agreement_state: AgreementState,
    request: Advance,
    platform: Mux,
    progress: SealedProgress,
    context: Context,
) -> GenerationsDone:
    starts = request.count == 0 and request.first == 0 and not request.parent_attempt
    attempt = Attempt.of(request.first + request.count, request.epoch, request.attempt)
    handover = Handover.find(node, agreement_state, request.epoch, request.parent_attempt, progress)
    before: Kept | None = None
    async with refusals_told(node, context, platform):
        # Again, since it may have expired while others were at work.
        agreement_state.search(request.search)
        if starts:
            progress.begin_start(attempt)
        else:
            agreement = agreement_state.agreement
            told = await in_thread(checkpoints_of, agreement, request.search)
            before = progress.begin(
                request, attempt, most=agreement.limits.evaluations, checkpoints=told
            )
    handover.log(agreement_state, attempt)
    seed = await in_thread(agreement_state.inputs.search_seed)
    course = await in_thread(course_of, agreement_state.agreement, request.search, seed=seed)
    method = method_for(request.search, course)
    sent = RecordingMux(platform)

    def fit(share: ArithmeticShare) -> ArithmeticShare:
        return fit_to_epoch(share, node, agreement_state, request.epoch)

    def values(search: int) -> ArithmeticShare:
        return fit(value_shares(agreement_state, search))

    async def work() -> NextState:
        if starts:
            return NextState(await method.start(session, values))
        old = [] if before is None else before.shares
        held = await handover.to_all(session, old, method.sizes)
        return await method.advance(session, values, [*map(fit, held)], request)

    away = method.is_long(starts=starts)
    size = generations_bytes(course, nodes=len(agreement_state.agreement.nodes))
    async with (
        memory_for(node, agreement_state, size, context, sent),
        node_session(
            node,
            agreement_state,
            context,
            request.epoch,
            sent,
            away=away,
            agreed=handover.agreed(),
            signed=request.signed,
        ) as session,
    ):
        made = await compute_away(node, agreement_state, work, away=away)
        keys = draw_plan_keys(session) if agreement_state.agreement.for_owners else {}
    if made.finished is not None:
        progress.told(attempt, sent, finished=made.finished)
    end = request.first + request.count
    await progress.keep(Kept(end, attempt, made.shares, keys))
    return GenerationsDone(id=request.id, sent=session.sent, rounds=session.depth, seed=seed)


def released_before(agreement_state: AgreementState, request: OpenPlan) -> PlanOpened | None:
    """Boxes of a plan for its owners that have left the node: again, also after the end."""
    boxes = agreement_state.plan_boxes.get(request.search)
    parts = None if boxes is None else boxes.released(request.attempt)
    return None if parts is None else as_reply(parts, request.id)


async def open_plan(
    node: ComputingNode, agreement_state: AgreementState, request: OpenPlan
) -> PlanOpened:
    """The node's shares of the best plan, once; of its value too where that was agreed.

    The components of a plan are fresh and uniform but for their sum, which the coordinator is to
    know; so it may see all of them. Two nodes hold all of them, so one may be gone. Nothing leaves
    before enough of the others are bound to the same plan.
    """
    agreement_state.check_counted()
    kept = await agreement_state.begin_open(request.search, request.attempt)
    if agreement_state.agreement.for_owners:
        return await open_for_owners(node, agreement_state, request, kept)
    plan = agreement_state.plan_of(request.search, kept)
    await confirm_binding(node, agreement_state, request.search, request.attempt)
    first = 0 if agreement_state.agreement.objectives[0].best == "value" else 1
    parts = [
        np.ascontiguousarray(plan.parts[c][first:]).tobytes()
        for c in context_of_plan(agreement_state, request.search, kept).held_by(node.number)
    ]
    salt = secrets.token_bytes(16)
    digest = sent_digest(salt, [hashlib.sha256(part).digest() for part in parts])
    agreement_state.store.log.append(PlanSent(request.search, request.attempt, salt.hex(), digest))
    return PlanOpened(id=request.id, components=parts)
