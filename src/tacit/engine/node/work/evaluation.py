"""What a node computes together with its peers: epochs, evaluations, the final reveal."""

from __future__ import annotations

from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.node.state.policy import Asked, refuse
from tacit.engine.node.work.session import (
    EPOCH_SECONDS,
    ComputingNode,
    node_session,
    refusals_told,
)
from tacit.engine.records.events import AnswerSent, BestSent
from tacit.engine.wire.attempt import Attempt
from tacit.engine.wire.messages import Evaluate, OpenEpoch, Reveal
from tacit.engine.wire.peer_messages import (
    EpochBegins,
    decode_peer_message,
    encode_peer_message,
)
from tacit.engine.wire.recording_mux import RecordingMux
from tacit.engine.wire.replies import BestRevealed, EpochOpened, PopulationEvaluated
from tacit.engine.wire.request import (
    REVEAL_NUMBER,
    context_of,
    request_hash,
    unpack_candidates,
)
from tacit.errors import AbortError
from tacit.mpc import (
    ArithmeticShare,
    Spec,
    agree_epoch,
    gather_sum,
    open_conversations,
    party_name,
)
from tacit.mpc import (
    evaluate as compute,
)
from tacit.mpc.transport import Channel, Kind, Mux


async def open_epoch(
    node: ComputingNode, agreement_state: AgreementState, request: OpenEpoch
) -> EpochOpened:
    """Agree on fresh keys; take over the highest evaluation number, and plans that are bound."""
    epochs, counters = agreement_state.epochs, agreement_state.counters
    epochs.begin(request.epoch)
    node.end_epoch(agreement_state.hash)
    muxes = await node.peers.both(timeout=EPOCH_SECONDS)
    name = agreement_state.hash[:16]
    epoch = await agree_epoch(
        node.number, muxes, number=request.epoch, agreement=name, timeout=EPOCH_SECONDS
    )
    channel = Channel(name, evaluation=request.epoch, kind=Kind.CONTROL)
    ours = encode_peer_message(epochs.tell())
    async with open_conversations(muxes, channel) as talks:
        for talk in talks.values():
            await talk.send(1, ours, timeout=EPOCH_SECONDS)
        for peer, talk in talks.items():
            frame = await talk.receive(timeout=EPOCH_SECONDS)
            theirs = decode_peer_message(frame.payload, peer=party_name(peer))
            if not isinstance(theirs, EpochBegins):
                raise AbortError(party_name(peer), "sent no evaluation numbers")
            await epochs.hear(theirs)
    if epochs.last != request.epoch:
        epoch.close()
        raise AbortError(node.name, "a newer epoch has begun meanwhile")
    node.epochs[agreement_state.hash, request.epoch] = epoch
    return EpochOpened(
        id=request.id,
        numbers={k: counter.highest for k, counter in counters.by_objective.items()},
        parent_attempts={k: best.newest for k, best in counters.bests.items() if best.newest},
        kept={k: best.kept for k, best in counters.bests.items()},
        states=agreement_state.sealed_states(),
    )


def _fitness(agreement_state: AgreementState, objective: int, asked: Asked) -> ArithmeticShare:
    """Shares of the fitness of public candidates: each node adds up its own shares."""
    cells = agreement_state.agreement.known_problem.cells(asked.plans)
    negate = agreement_state.agreement.objectives[objective].sense == "minimize"
    return gather_sum(agreement_state.inputs.weights(objective), *cells, negate=negate)


def _asked(agreement_state: AgreementState, kind: str, request: Evaluate | Reveal) -> Asked:
    if request.objective not in agreement_state.counters.by_objective:
        raise refuse(f"there is no confidential objective {request.objective}")
    plans = unpack_candidates(agreement_state.agreement.known_problem, request.candidates)
    if plans is None:
        raise refuse("the candidates are not a whole number of plans; send whole plans")
    if isinstance(request, Reveal):
        number, disclosure, best = REVEAL_NUMBER, "top:1", "nothing"
    else:
        number, disclosure, best = request.number, request.disclosure, request.best
    digest = request_hash(kind, disclosure, best, request.candidates)
    return Asked(request.objective, number, disclosure, best, digest, plans)


async def evaluate(
    node: ComputingNode, agreement_state: AgreementState, request: Evaluate, platform: Mux
) -> PopulationEvaluated:
    """One evaluation, if the agreement allows it; the answer goes to the platform in parts."""
    asked = _asked(agreement_state, "evaluate", request)
    best = agreement_state.counters.bests.get(asked.objective)
    if best is None:
        return await _evaluate(node, agreement_state, request, asked, platform)
    # One at a time: the next builds on the best that this one leaves.
    async with best.computing:
        return await _evaluate(node, agreement_state, request, asked, platform)


async def _evaluate(
    node: ComputingNode,
    agreement_state: AgreementState,
    request: Evaluate,
    asked: Asked,
    platform: Mux,
) -> PopulationEvaluated:
    objective, number = asked.objective, asked.number
    counters, terms = agreement_state.counters, agreement_state.agreement.objectives[objective]
    best = counters.bests.get(objective)
    context = context_of(request, asked.request)
    attempt = Attempt.of(number, request.epoch, request.attempt)
    async with refusals_told(node, context, platform):
        if best is None and request.parent_attempt:
            raise refuse("there is no best so far to build on here; leave the parent attempt empty")
        before = best.before(number, request.parent_attempt) if best is not None else None
        counters.begin(asked, attempt=attempt, parent_attempt=request.parent_attempt)
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
            counters.abort(asked)
        raise
    if best is not None and result.best_so_far is not None:
        best.keep(number, attempt, result.best_so_far)
    counters.log_sent(AnswerSent, asked, attempt, sent)
    await counters.finish(asked)
    return PopulationEvaluated(id=request.id, sent=session.sent, rounds=session.depth)


async def reveal(
    node: ComputingNode, agreement_state: AgreementState, request: Reveal, platform: Mux
) -> BestRevealed:
    """Which of these evaluated candidates is truly best: one index, once."""
    asked = _asked(agreement_state, "reveal", request)
    objective = asked.objective
    context = context_of(request, asked.request)
    async with refusals_told(node, context, platform):
        agreement_state.counters.begin_reveal(asked)
    sent = RecordingMux(platform)
    async with node_session(node, agreement_state, context, request.epoch, sent) as session:
        await compute(
            session,
            _fitness(agreement_state, objective, asked),
            spec=Spec.parse("top:1"),
            bound=agreement_state.agreement.fitness_bound(objective),
            best="nothing",
        )
    attempt = Attempt.of(REVEAL_NUMBER, request.epoch, request.attempt)
    agreement_state.counters.log_sent(BestSent, asked, attempt, sent)
    return BestRevealed(id=request.id, sent=session.sent, rounds=session.depth)
