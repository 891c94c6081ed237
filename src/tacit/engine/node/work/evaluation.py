"""What a node computes together with its peers: epochs, evaluations, the final reveal."""

from __future__ import annotations

from contextlib import nullcontext

from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.node.state.derivation import Derivation
from tacit.engine.node.state.policy import Asked, refuse
from tacit.engine.node.work.session import (
    ComputingNode,
    node_session,
    refusals_told,
)
from tacit.engine.records.events import AnswerSent, BestSent
from tacit.engine.wire.answer import Answer
from tacit.engine.wire.attempt import Attempt
from tacit.engine.wire.messages import Evaluate, Reveal
from tacit.engine.wire.recording_mux import RecordingMux
from tacit.engine.wire.replies import BestRevealed, PopulationEvaluated
from tacit.engine.wire.request import (
    REVEAL_NUMBER,
    context_of,
    request_hash,
    unpack_candidates,
)
from tacit.mpc import (
    ArithmeticShare,
    Spec,
    gather_sum,
    tell_nodes,
)
from tacit.mpc import (
    evaluate as compute,
)
from tacit.mpc.transport import Mux


def _fitness(agreement_state: AgreementState, objective: int, asked: Asked) -> ArithmeticShare:
    """Shares of the fitness of public candidates: each node adds up its own shares."""
    cells = agreement_state.agreement.known_problem.cells(asked.plans)
    negate = agreement_state.agreement.objectives[objective].sense == "minimize"
    return gather_sum(agreement_state.inputs.weights(objective), *cells, negate=negate)


async def _asked(agreement_state: AgreementState, kind: str, request: Evaluate | Reveal) -> Asked:
    if request.objective not in agreement_state.counters.by_objective:
        raise refuse(f"there is no confidential objective {request.objective}")
    derivation = agreement_state.derivation
    if derivation is not None and isinstance(request, Evaluate):
        return await _derived(agreement_state, derivation, request)
    plans = unpack_candidates(agreement_state.agreement.known_problem, request.candidates)
    if plans is None:
        raise refuse("the candidates are not a whole number of plans; send whole plans")
    if isinstance(request, Reveal):
        number, disclosure, best = REVEAL_NUMBER, "top:1", "nothing"
    else:
        number, disclosure, best = request.number, request.disclosure, request.best
    digest = request_hash(kind, disclosure, best, request.candidates)
    return Asked(request.objective, number, disclosure, best, digest, plans)


async def _derived(
    agreement_state: AgreementState, derivation: Derivation, request: Evaluate
) -> Asked:
    """What the node itself derives, whatever the platform would like to ask."""
    if request.candidates:
        raise refuse("the nodes derive every population themselves; send none")
    for objective in agreement_state.agreement.confidential():
        agreement_state.inputs.check_frozen(objective)
    population, due = await derivation.population(request.objective, request.request)
    return Asked(
        request.objective,
        request.number,
        request.disclosure,
        request.best,
        request.request,
        population.plans,
        due,
    )


async def evaluate(
    node: ComputingNode, agreement_state: AgreementState, request: Evaluate, platform: Mux
) -> PopulationEvaluated:
    """One evaluation, if the agreement allows it; the answer goes to the platform in parts."""
    asked = await _asked(agreement_state, "evaluate", request)
    derivation = agreement_state.derivation
    async with nullcontext() if derivation is None else derivation.evaluating():
        return await _evaluate_in_turn(node, agreement_state, request, asked, platform)


async def _evaluate_in_turn(
    node: ComputingNode,
    agreement_state: AgreementState,
    request: Evaluate,
    asked: Asked,
    platform: Mux,
) -> PopulationEvaluated:
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
        before = counters.best_before(objective, number, request.parent_attempt)
        counters.begin(asked, attempt=attempt, parent_attempt=request.parent_attempt)
    sent = RecordingMux(platform)
    bound = agreement_state.agreement.fitness_bound(objective)
    answer: Answer | None = None
    async with node_session(node, agreement_state, context, request.epoch, sent) as session:
        result = await compute(
            session,
            _fitness(agreement_state, objective, asked),
            spec=terms.spec,
            bound=bound,
            best=terms.best,
            best_so_far=before,
        )
        if agreement_state.derivation is not None:
            told = await tell_nodes(
                session, len(asked.plans), spec=terms.spec, bound=bound, best=terms.best
            )
            answer = Answer([int(label) for label in told.labels], told.best_value)
    if best is not None and result.best_so_far is not None:
        best.keep(number, attempt, result.best_so_far)
    if agreement_state.derivation is not None and answer is not None:
        await agreement_state.derivation.keep(objective, asked.request, answer)
    counters.log_sent(AnswerSent, asked, attempt, sent)
    await counters.finish(asked)
    return PopulationEvaluated(id=request.id, sent=session.sent, rounds=session.depth)


async def reveal(
    node: ComputingNode, agreement_state: AgreementState, request: Reveal, platform: Mux
) -> BestRevealed:
    """Which of these evaluated candidates is truly best: one index, once."""
    asked = await _asked(agreement_state, "reveal", request)
    objective = asked.objective
    context = context_of(request, asked.request)
    async with refusals_told(node, context, platform):
        if agreement_state.derivation is not None:
            agreement_state.inputs.check_frozen(objective)
            await agreement_state.derivation.check_found(asked.plans)
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
