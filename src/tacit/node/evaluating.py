"""Evaluate populations and reveal the best plans, together with the peers."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tacit.agreement.sizes import evaluation_bytes
from tacit.mpc import (
    ArithmeticShare,
    Evaluated,
    Size,
    Spec,
    concatenate,
    evaluate_pareto,
    gather_sum,
    reveal_front,
)
from tacit.mpc import evaluate as compute
from tacit.mpc.transport import Mux
from tacit.node.agreement_state import AgreementState
from tacit.node.computation import NodeComputation, StateHandover
from tacit.node.derivation import Derivation
from tacit.node.equity import hooks_of
from tacit.node.policy import Asked, blocks_of, check_plans, check_sizes, refuse
from tacit.node.threads import in_thread
from tacit.records.ledger import DisclosedLabels, DisclosureKind
from tacit.records.messages import Computed, Evaluate, Reveal
from tacit.records.requests import REVEAL_NUMBER, request_hash, unpack_candidates

if TYPE_CHECKING:
    from tacit.node.server import Node

BEST_SIZE: list[Size] = [((1,), np.dtype(np.uint64))]
"""The sizes of the arrays that are handed over of the best so far."""
Plans = NDArray[np.integer[Any]]
LARGE_ENTRIES, LARGE_COMPARED = 1 << 16, 400 * 400
"""Above these, steps take more than a few milliseconds each."""


def _fitness(state: AgreementState, objective: int, asked: Asked) -> ArithmeticShare:
    """Shares of the fitness of public candidates: each node adds up its own shares.

    In blocks, since the positions of all cells take many times the memory of the plans.
    """
    problem, weights = state.agreement.known_problem, state.inputs.searched
    negate = state.agreement.objectives[objective].sense == "minimize"
    shares = weights(objective)
    return concatenate(
        [
            gather_sum(shares, *problem.cells(block), negate=negate)
            for _, block in blocks_of(asked.plans)
        ]
    )


def _is_large(state: AgreementState, objective: int, plans: Plans) -> bool:
    """Whether a step of an evaluation may hold up the node's event loop."""
    terms, count = state.agreement.objectives[objective], len(plans)
    compared = count * count if terms.spec.kind != "none" else 0
    if terms.together:  # each objective twice, and the score
        compared *= 1 + 2 * len(state.agreement.objectives)
    if terms.spec.kind == "buckets":
        compared += count * terms.spec.parameter
    return plans.size > LARGE_ENTRIES or compared > LARGE_COMPARED


async def _examined(state: AgreementState, asked: Asked) -> Asked:
    """The request with all its plans checked; in a thread, if these are many."""
    agreement = state.agreement
    if state.derivation is not None or asked.plans.size <= LARGE_ENTRIES:
        return asked
    check_sizes(agreement, asked)
    await in_thread(check_plans, agreement, asked.plans)
    return replace(asked, examined=True)


async def _asked(state: AgreementState, kind: str, request: Evaluate | Reveal) -> Asked:
    if request.objective not in state.counters.by_objective:
        raise refuse(f"there is no confidential objective {request.objective}")
    derivation = state.derivation
    if derivation is not None and isinstance(request, Evaluate):
        return await _derived(state, derivation, request)
    plans = unpack_candidates(state.agreement.known_problem, request.candidates)
    if plans is None:
        raise refuse("the candidates are not a whole number of plans; send whole plans")
    if isinstance(request, Reveal):
        # If nothing may be revealed, `check_reveal` refuses it, whatever its name here.
        revealed = state.agreement.final_reveal or "nothing"
        number, disclosure, best = REVEAL_NUMBER, revealed, "nothing"
    else:
        number, disclosure, best = request.number, request.disclosure, request.best
    named = partial(request_hash, kind, disclosure, best, request.candidates)
    digest = await in_thread(named) if plans.size > LARGE_ENTRIES else named()
    return Asked(request.objective, number, disclosure, best, digest, plans)


async def _derived(state: AgreementState, derivation: Derivation, request: Evaluate) -> Asked:
    """The request with the population that the node derives, whatever the platform names."""
    if request.candidates:
        raise refuse("the nodes derive every population themselves; send none")
    state.inputs.check_frozen(request.objective)
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


async def evaluate(node: Node, state: AgreementState, request: Evaluate, platform: Mux) -> Computed:
    """Evaluate a population if the agreement allows it; the answer goes out in parts."""
    asked = await _asked(state, "evaluate", request)
    async with AsyncExitStack() as stack:
        if state.derivation is not None:
            await stack.enter_async_context(state.derivation.evaluating())
        best = state.counters.bests.get(asked.objective)
        if best is not None:
            # One at a time: the next builds on the best that this one leaves.
            await stack.enter_async_context(best.computing)
        return await _evaluate(node, state, request, asked, platform)


async def _evaluate(
    node: Node, state: AgreementState, request: Evaluate, asked: Asked, platform: Mux
) -> Computed:
    objective, number, agreement = asked.objective, asked.number, state.agreement
    counters, terms = state.counters, agreement.objectives[objective]
    best = counters.bests.get(objective)
    computation = NodeComputation(node, state, request, asked.request, platform)
    # Under the lock until the number is used: of two requests with the same new number, the second
    # is found to be a repeat or refused.
    async with counters.by_objective[objective].turn, computation.begins():
        asked = await _examined(state, asked)
        before = counters.best_before(objective, number, request.parent_attempt)
        counters.begin(
            asked,
            attempt=computation.attempt,
            parent_attempt=request.parent_attempt,
            check_goes_on=lambda: hooks_of(node, state).check_goes_on(),
        )
    handover = StateHandover.find(node, state, request.epoch, request.parent_attempt, best)
    handover.log(state, computation.attempt)

    async def work() -> Evaluated:
        if terms.together:
            return await evaluate_pareto(
                session,
                _all_fitness(computation, state, asked),
                spec=terms.spec,
                widths=agreement.pareto_widths(len(asked.plans)),
                told=state.derivation is not None,
            )
        fitness = computation.fit(_fitness(state, objective, asked))
        kept = [] if before is None else [before]
        handed = await handover.to_all(session, kept, BEST_SIZE)
        return await compute(
            session,
            fitness,
            spec=terms.spec,
            bound=agreement.fitness_bound(objective),
            best=terms.best,
            best_so_far=computation.fit(handed[0]) if handed else None,
            told=state.derivation is not None,
        )

    async with computation.session(
        size=evaluation_bytes(agreement, objective),
        away=_is_large(state, objective, asked.plans),
        agreed=handover.agreed(),
    ) as session:
        result = await computation.run(work)
    # The state comes before the line: where a log says that an answer is out, the node also has
    # what the next evaluation builds on. After a crash in between, the same number is computed
    # again, and replaces this state.
    if best is not None and result.best_so_far is not None:
        best.keep(number, computation.attempt, result.best_so_far)
    # The line comes before anything that takes time: a platform may leave as soon as it has the
    # last answer, and without the line nothing proves that answer.
    computation.log_sent(DisclosureKind.LABELS, objective)
    # A node that crashes here hears the answer from its peers when the next epoch begins.
    if state.derivation is not None and result.told is not None:
        answer = DisclosedLabels(
            [int(label) for label in result.told.labels], result.told.best_value
        )
        await state.derivation.keep(objective, asked.request, answer)
    await counters.finish(asked)
    return computation.reply(Computed)


async def reveal(node: Node, state: AgreementState, request: Reveal, platform: Mux) -> Computed:
    """Reveal which of these evaluated candidates is truly best, or are non-dominated; once."""
    asked = await _asked(state, "reveal", request)
    objective, agreement = asked.objective, state.agreement
    counters = state.counters
    computation = NodeComputation(node, state, request, asked.request, platform)
    async with counters.by_objective[objective].turn, computation.begins():
        if state.derivation is not None:
            state.inputs.check_frozen(objective)
            await state.derivation.check_found(asked.plans)
        await in_thread(counters.check_reveal, asked)
        counters.begin_reveal(
            asked,
            attempt=computation.attempt,
            check_goes_on=lambda: hooks_of(node, state).check_goes_on(),
        )

    async def work() -> None:
        if agreement.together:
            await reveal_front(
                session,
                _all_fitness(computation, state, asked),
                agreement.pareto_widths(len(asked.plans)),
                values=agreement.front == "values",
            )
            return
        await compute(
            session,
            computation.fit(_fitness(state, objective, asked)),
            spec=Spec.parse("top:1"),
            bound=agreement.fitness_bound(objective),
            best="nothing",
        )

    async with computation.session(
        size=evaluation_bytes(agreement, objective), away=_is_large(state, objective, asked.plans)
    ) as session:
        await computation.run(work)
    computation.log_sent(
        DisclosureKind.FRONT if agreement.together else DisclosureKind.BEST, objective
    )
    return computation.reply(Computed)


def _all_fitness(
    computation: NodeComputation, state: AgreementState, asked: Asked
) -> list[ArithmeticShare]:
    objectives = state.agreement.confidential()
    return [computation.fit(_fitness(state, k, asked)) for k in objectives]
