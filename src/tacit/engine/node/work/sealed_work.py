"""What a node does for a sealed run: steps with its peers, and the one opening."""

from __future__ import annotations

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
from tacit.engine.node.work.session import ComputingNode, NodeComputation
from tacit.engine.records.disclosed import DisclosedProof, Kind
from tacit.engine.wire.messages import Advance, OpenPlan
from tacit.engine.wire.recording_mux import sent_digest
from tacit.engine.wire.replies import GenerationsDone, PlanOpened
from tacit.engine.wire.request import advance_hash, plan_hash
from tacit.mpc import ArithmeticShare
from tacit.mpc.transport import Mux


async def advance(
    node: ComputingNode, agreement_state: AgreementState, request: Advance, platform: Mux
) -> GenerationsDone:
    """Some steps, or the secret start, if the agreement allows them."""
    computation = NodeComputation(node, agreement_state, request, advance_hash(request), platform)
    async with computation.begins():
        progress = agreement_state.search(request.search, goes_on=True)
    async with progress.alone():
        return await _advance(node, agreement_state, request, progress, computation)


async def _advance(
    node: ComputingNode,
    agreement_state: AgreementState,
    request: Advance,
    progress: SealedProgress,
    computation: NodeComputation,
) -> GenerationsDone:
    starts = request.count == 0 and request.first == 0 and not request.parent_attempt
    agreement, attempt = agreement_state.agreement, computation.attempt
    handover = Handover.find(node, agreement_state, request.epoch, request.parent_attempt, progress)
    before: Kept | None = None
    async with computation.begins():
        # Again, since it may have expired while others were at work.
        agreement_state.search(request.search)
        if starts:
            progress.begin_start(attempt)
        else:
            told = await in_thread(checkpoints_of, agreement, request.search)
            before = progress.begin(
                request, attempt, most=agreement.limits.evaluations, checkpoints=told
            )
    handover.log(agreement_state, attempt)
    seed = await in_thread(agreement_state.inputs.search_seed)
    course = await in_thread(course_of, agreement, request.search, seed=seed)
    method = method_for(request.search, course)

    def values(search: int) -> ArithmeticShare:
        return computation.fit(value_shares(agreement_state, search))

    async def work() -> NextState:
        if starts:
            return NextState(await method.start(session, values))
        old = [] if before is None else before.shares
        held = await handover.to_all(session, old, method.sizes)
        return await method.advance(session, values, [*map(computation.fit, held)], request)

    async with computation.session(
        size=generations_bytes(course, nodes=len(agreement.nodes)),
        away=method.is_long(starts=starts),
        agreed=handover.agreed(),
    ) as session:
        made = await computation.run(work)
        keys = draw_plan_keys(session) if agreement.for_owners else {}
    if made.finished is not None:
        # The line comes before the state: after a crash in between the bit is known here, and the
        # same steps are made again from the state before.
        known = DisclosedProof(made.finished)
        computation.log_sent(Kind.PROVED, progress.searches[0], known=known)
        if made.finished:
            progress.finished = attempt.number
    await progress.keep(Kept(attempt.number, attempt, made.shares, keys))
    return computation.reply(GenerationsDone, seed=seed)


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
    # Before the reply, with which the part leaves: what is out and in no log could be denied.
    # After a crash in between the plan is asked for again, and the log has two lines about it.
    agreement_state.store.log_sent(
        Kind.PLAN,
        request.search,
        request.attempt,
        plan_hash(request.search, request.attempt),
        lambda salt: sent_digest(salt, [(0, parts)]),
    )
    return PlanOpened(id=request.id, components=parts)
