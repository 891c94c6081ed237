"""What a node computes together with its peers: epochs, evaluations, the final reveal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.node.state.policy import Asked, refuse
from tacit.engine.node.work.session import EPOCH_SECONDS, node_session, refusals_told
from tacit.engine.wire.context import bound_context
from tacit.engine.wire.messages import Done, Evaluate, OpenEpoch, Reveal, attempt_name
from tacit.engine.wire.recording_mux import RecordingMux
from tacit.engine.wire.request import REVEAL_NUMBER, request_hash, unpack_candidates
from tacit.errors import AbortError
from tacit.mpc import (
    ArithmeticShare,
    Spec,
    agree_epoch,
    evaluate as compute,
    gather_sum,
)
from tacit.mpc.epoch import open_conversations
from tacit.mpc.transport import Channel, Kind, Mux

if TYPE_CHECKING:
    from tacit.engine.node.node import Node


class _Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a node tells its peers when an epoch begins."""

    numbers: dict[int, list[tuple[int, bytes]]]
    bound: dict[int, str]
    """Per sealed search that is opened, the attempt whose plan that is."""


_READ_TOLD = msgspec.msgpack.Decoder(_Told)


async def open_epoch(node: Node, agreement_state: AgreementState, request: OpenEpoch) -> Done:
    """Agree on fresh keys; take over the highest evaluation number, and plans that are bound."""
    agreement_state.begin_epoch(request.epoch)
    node.end_epoch(agreement_state.hash)
    muxes = await node.peers.both(timeout=EPOCH_SECONDS)
    name = agreement_state.hash[:16]
    epoch = await agree_epoch(
        node.number, muxes, number=request.epoch, agreement=name, timeout=EPOCH_SECONDS
    )
    channel = Channel(name, evaluation=request.epoch, kind=Kind.CONTROL)
    told = msgspec.msgpack.encode(
        _Told(agreement_state.told_numbers(), agreement_state.bound_searches())
    )
    async with open_conversations(muxes, channel) as talks:
        for talk in talks.values():
            await talk.send(1, told, timeout=EPOCH_SECONDS)
        for peer, talk in talks.items():
            frame = await talk.receive(timeout=EPOCH_SECONDS)
            try:
                theirs = _READ_TOLD.decode(frame.payload)
            except msgspec.DecodeError:
                raise AbortError(f"node {peer}", "told no evaluation numbers") from None
            agreement_state.catch_up(theirs.numbers)
            await agreement_state.bind_searches(theirs.bound)
    if agreement_state.last_epoch != request.epoch:
        epoch.close()
        raise AbortError(node.name, "a newer epoch has begun meanwhile")
    node.epochs[agreement_state.hash, request.epoch] = epoch
    highest = {k: counter.highest for k, counter in agreement_state.counters.items()}
    return Done(
        id=request.id,
        numbers=highest,
        bases=agreement_state.bases(),
        kept={k: best.kept for k, best in agreement_state.bests.items()},
        frozen=sorted(agreement_state.frozen),
        states=agreement_state.sealed_states(),
    )


def _fitness(agreement_state: AgreementState, objective: int, asked: Asked) -> ArithmeticShare:
    """Shares of the fitness of public candidates: each node adds up its own shares."""
    cells = agreement_state.agreement.known_problem.cells(asked.plans)
    negate = agreement_state.agreement.objectives[objective].sense == "minimize"
    return gather_sum(agreement_state.weights(objective), *cells, negate=negate)


def _asked(agreement_state: AgreementState, kind: str, request: Evaluate | Reveal) -> Asked:
    if request.objective not in agreement_state.counters:
        raise refuse(f"there is no confidential objective {request.objective}")
    plans = unpack_candidates(agreement_state.agreement.known_problem, request.candidates)
    if plans is None:
        raise refuse("the candidates are no whole number of plans")
    if isinstance(request, Reveal):
        number, disclosure, best = REVEAL_NUMBER, "top:1", "nothing"
    else:
        number, disclosure, best = request.number, request.disclosure, request.best
    digest = request_hash(kind, disclosure, best, request.candidates)
    return Asked(request.objective, number, disclosure, best, digest, plans)


async def evaluate(
    node: Node, agreement_state: AgreementState, request: Evaluate, platform: Mux
) -> Done:
    """One evaluation, if the agreement allows it; the answer goes to the platform in parts."""
    asked = _asked(agreement_state, "evaluate", request)
    best = agreement_state.bests.get(asked.objective)
    if best is None:
        return await _evaluate(node, agreement_state, request, asked, platform)
    # One at a time: the next builds on the best that this one leaves.
    async with best.computing:
        return await _evaluate(node, agreement_state, request, asked, platform)


async def _evaluate(
    node: Node, agreement_state: AgreementState, request: Evaluate, asked: Asked, platform: Mux
) -> Done:
    objective, number = asked.objective, asked.number
    terms, best = (
        agreement_state.agreement.objectives[objective],
        agreement_state.bests.get(objective),
    )
    context = bound_context(
        agreement_state.hash,
        objective,
        number,
        epoch=request.epoch,
        attempt=request.attempt,
        request=asked.request,
        basis=request.basis,
    )
    attempt = attempt_name(number, request.epoch, request.attempt)
    async with refusals_told(node, context, platform):
        if best is None and request.basis:
            raise refuse("there is no best so far to build on here; leave the basis empty")
        before = best.before(number, request.basis) if best is not None else None
        agreement_state.begin(asked, attempt=attempt, basis=request.basis)
    sent = RecordingMux(platform)
    try:
        async with node_session(node, agreement_state, context, request.epoch, sent) as session:
            result = await compute(
                session,
                _fitness(agreement_state, objective, asked),
                spec=terms.spec,
                bound=agreement_state.agreement.fitness_bound(objective),
                best=terms.best,
                best_so_far=before,
            )
    except BaseException:
        if sent.begun:
            agreement_state.break_off(asked)
        raise
    if best is not None and result.best_so_far is not None:
        best.keep(number, attempt, result.best_so_far)
    agreement_state.log_sent("sent", objective, number, sent, attempt=attempt)
    await agreement_state.finish(asked)
    return Done(id=request.id, sent=session.sent, rounds=session.depth)


async def reveal(
    node: Node, agreement_state: AgreementState, request: Reveal, platform: Mux
) -> Done:
    """Which of these evaluated candidates is truly best: one index, once."""
    asked = _asked(agreement_state, "reveal", request)
    objective = asked.objective
    context = bound_context(
        agreement_state.hash,
        objective,
        REVEAL_NUMBER,
        epoch=request.epoch,
        attempt=request.attempt,
        request=asked.request,
    )
    async with refusals_told(node, context, platform):
        agreement_state.begin_reveal(objective, asked)
    sent = RecordingMux(platform)
    async with node_session(node, agreement_state, context, request.epoch, sent) as session:
        await compute(
            session,
            _fitness(agreement_state, objective, asked),
            spec=Spec.parse("top:1"),
            bound=agreement_state.agreement.fitness_bound(objective),
            best="nothing",
        )
    attempt = attempt_name(REVEAL_NUMBER, request.epoch, request.attempt)
    agreement_state.log_sent("revealed", objective, REVEAL_NUMBER, sent, attempt=attempt)
    return Done(id=request.id, sent=session.sent, rounds=session.depth)
