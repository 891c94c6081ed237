"""What a node computes together with its peers: epochs, evaluations, the final reveal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tacit.engine.answer_record import AnswerRecord
from tacit.engine.context import bound_context
from tacit.engine.holding import Holding
from tacit.engine.messages import Done, Evaluate, OpenEpoch, Reveal, attempt_name
from tacit.engine.node_session import EPOCH_SECONDS, node_session, refusals_told
from tacit.engine.policy import Asked, refuse
from tacit.engine.request import REVEAL_NUMBER, request_hash, unpack_candidates
from tacit.errors import AbortError
from tacit.mpc import (
    ArithmeticShare,
    Spec,
    agree_epoch,
    gather_sum,
)
from tacit.mpc import evaluate as compute
from tacit.mpc.epoch import talk_to_all
from tacit.mpc.transport import Channel, Kind, Mux

if TYPE_CHECKING:
    from tacit.engine.node import Node


class _Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a node tells its peers when an epoch begins."""

    numbers: dict[int, list[tuple[int, bytes]]]
    bound: dict[int, str]
    """Per sealed search that is opened, the attempt whose plan that is."""


_READ_TOLD = msgspec.msgpack.Decoder(_Told)


async def open_epoch(node: Node, holding: Holding, request: OpenEpoch) -> Done:
    """Agree on fresh keys; take over the highest evaluation number, and plans that are bound."""
    holding.begin_epoch(request.epoch)
    node.end_epoch(holding.hash)
    muxes = await node.peers.both(timeout=EPOCH_SECONDS)
    name = holding.hash[:16]
    epoch = await agree_epoch(
        node.number, muxes, number=request.epoch, agreement=name, timeout=EPOCH_SECONDS
    )
    channel = Channel(name, evaluation=request.epoch, kind=Kind.CONTROL)
    told = msgspec.msgpack.encode(_Told(holding.told_numbers(), holding.bound_searches()))
    async with talk_to_all(muxes, channel) as talks:
        for talk in talks.values():
            await talk.send(1, told, timeout=EPOCH_SECONDS)
        for peer, talk in talks.items():
            frame = await talk.receive(timeout=EPOCH_SECONDS)
            try:
                theirs = _READ_TOLD.decode(frame.payload)
            except msgspec.DecodeError:
                raise AbortError(f"node {peer}", "told no evaluation numbers") from None
            holding.catch_up(theirs.numbers)
            await holding.bind_searches(theirs.bound)
    if holding.last_epoch != request.epoch:
        epoch.close()
        raise AbortError(node.name, "a newer epoch has begun meanwhile")
    node.epochs[holding.hash, request.epoch] = epoch
    highest = {k: counter.highest for k, counter in holding.counters.items()}
    return Done(
        id=request.id,
        numbers=highest,
        bases=holding.bases(),
        kept={k: best.kept for k, best in holding.bests.items()},
        frozen=sorted(holding.frozen),
        states=holding.sealed_states(),
    )


def _fitness(holding: Holding, objective: int, asked: Asked) -> ArithmeticShare:
    """Shares of the fitness of public candidates: each node adds up its own shares."""
    problem, plans = holding.agreement.problem, asked.plans
    negate = holding.agreement.objectives[objective].sense == "minimize"
    weights = holding.weights(objective)
    if problem.kind == "tour":
        return gather_sum(weights, plans, np.roll(plans, -1, axis=1), negate=negate)
    return gather_sum(weights, np.arange(problem.rows)[None, :], plans, negate=negate)


def _asked(holding: Holding, kind: str, request: Evaluate | Reveal) -> Asked:
    if request.objective not in holding.counters:
        raise refuse(f"there is no confidential objective {request.objective}")
    plans = unpack_candidates(holding.agreement.problem, request.candidates)
    if plans is None:
        raise refuse("the candidates are no whole number of plans")
    if isinstance(request, Reveal):
        number, disclosure, best = REVEAL_NUMBER, "top:1", "nothing"
    else:
        number, disclosure, best = request.number, request.disclosure, request.best
    digest = request_hash(kind, disclosure, best, request.candidates)
    return Asked(request.objective, number, disclosure, best, digest, plans)


async def evaluate(node: Node, holding: Holding, request: Evaluate, platform: Mux) -> Done:
    """One evaluation, if the agreement allows it; the answer goes to the platform in parts."""
    asked = _asked(holding, "evaluate", request)
    best = holding.bests.get(asked.objective)
    if best is None:
        return await _evaluate(node, holding, request, asked, platform)
    # One at a time: the next builds on the best that this one leaves.
    async with best.computing:
        return await _evaluate(node, holding, request, asked, platform)


async def _evaluate(
    node: Node, holding: Holding, request: Evaluate, asked: Asked, platform: Mux
) -> Done:
    objective, number = asked.objective, asked.number
    terms, best = holding.agreement.objectives[objective], holding.bests.get(objective)
    context = bound_context(
        holding.hash,
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
        holding.begin(asked, attempt=attempt, basis=request.basis)
    sent = AnswerRecord(platform)
    try:
        async with node_session(node, holding, context, request.epoch, sent) as session:
            result = await compute(
                session,
                _fitness(holding, objective, asked),
                spec=terms.spec,
                bound=holding.agreement.fitness_bound(objective),
                best=terms.best,
                best_so_far=before,
            )
    except BaseException:
        if sent.begun:
            holding.break_off(asked)
        raise
    if best is not None and result.best_so_far is not None:
        best.keep(number, attempt, result.best_so_far)
    holding.log_sent("sent", objective, number, sent, attempt=attempt)
    await holding.finish(asked)
    return Done(id=request.id, sent=session.sent, rounds=session.depth)


async def reveal(node: Node, holding: Holding, request: Reveal, platform: Mux) -> Done:
    """Which of these evaluated candidates is truly best: one index, once."""
    asked = _asked(holding, "reveal", request)
    objective = asked.objective
    context = bound_context(
        holding.hash,
        objective,
        REVEAL_NUMBER,
        epoch=request.epoch,
        attempt=request.attempt,
        request=asked.request,
    )
    async with refusals_told(node, context, platform):
        holding.begin_reveal(objective, asked)
    sent = AnswerRecord(platform)
    async with node_session(node, holding, context, request.epoch, sent) as session:
        await compute(
            session,
            _fitness(holding, objective, asked),
            spec=Spec.parse("top:1"),
            bound=holding.agreement.fitness_bound(objective),
            best="nothing",
        )
    attempt = attempt_name(REVEAL_NUMBER, request.epoch, request.attempt)
    holding.log_sent("revealed", objective, REVEAL_NUMBER, sent, attempt=attempt)
    return Done(id=request.id, sent=session.sent, rounds=session.depth)
