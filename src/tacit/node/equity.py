"""Count a run for the balances of its series, before its plan opens.

`equity.run_hooks` says what happens before and after a run; here it gets the node's book, shares,
memory and log. No part of a plan leaves a node before it has counted the run: an opened plan always
counts. Where ranks are disclosed, the platform knows the plan before. Then the plan that is counted
stands in the entry and in the log, and nothing new is evaluated after it. A run that was counted
and not opened counts, too.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from tacit.agreement.equity import plan_digest, seal_told
from tacit.agreement.sizes import account_bytes
from tacit.equity import Opened, PlanToCount, StepBook, WithEquity, WithoutEquity, columns_of
from tacit.node.agreement_state import AgreementState
from tacit.node.computation import NodeComputation
from tacit.node.policy import refuse
from tacit.node.threads import in_thread
from tacit.node.voting import decided_state
from tacit.records.events import RunCounted
from tacit.records.messages import CountRun, RunAccounted
from tacit.records.requests import unpack_candidates

if TYPE_CHECKING:
    from tacit.node.server import Node

LARGE_CELLS = 1 << 12
"""Above so many weights, steps take more than a few milliseconds each."""


def hooks_of(node: Node, state: AgreementState, /) -> WithoutEquity:
    """The hooks before and after a run; without a book they do nothing."""
    book = node.series.book_of(state.agreement)
    if book is None:
        return WithoutEquity()
    run, weighted = state.run_facts, state.inputs.weighted
    assert run is not None
    assert weighted is not None
    return WithEquity(run, book, weighted)


async def count_run(node: Node, state: AgreementState, request: CountRun) -> RunAccounted:
    """Count a run for the balances of its series; once, however often it is requested."""
    computation = NodeComputation(node, state, request, request.digest, None)
    agreement = state.agreement
    async with computation.begins():
        book, hooks = node.series.book_of(agreement), hooks_of(node, state)
        if book is None or not isinstance(hooks, WithEquity):
            raise refuse("this run is of no series with equity; there is nothing to count")
    # The book's lock for all of it: another run of the series must not be counted in between.
    async with hooks.turn:
        async with computation.begins():
            plan = await _plan_to_count(node, state, request, hooks)
        problem, attempt = agreement.problem, f"{request.epoch}:{request.attempt}"
        async with computation.session(
            size=account_bytes(agreement),
            away=problem.rows * problem.columns > LARGE_CELLS,
            agreed=hashlib.sha256(str(request.state).encode()).digest(),
            tells=True,
        ) as session:
            if session.nodes != len(agreement.nodes):
                raise refuse("balances are counted by all nodes together; wait until all are there")
            stated = partial(state.inputs.weights, 0)
            opened = await computation.run(
                partial(hooks.after_run, session, stated, plan, attempt=attempt)
            )
        # Before this call replies, so before the plan can be requested. After a kill in between
        # the run is counted in the book, and the line is written when counting is requested again.
        await in_thread(_write_down, node.number, state, book.book, opened)
    return computation.reply(RunAccounted, head=book.book.head)


async def _plan_to_count(
    node: Node, state: AgreementState, request: CountRun, hooks: WithEquity
) -> PlanToCount:
    """The plan of a sealed search that the nodes have decided on, or one of the best plans."""
    agreement = state.agreement
    if agreement.sealed:
        if request.plan:
            raise refuse("the plan of a sealed search is counted while it is shares; name none")
        kept = await decided_state(node, state, request.search, request.state, request.votes)
        hooks.check_counts()
        first = agreement.sealed_run.heads
        return PlanToCount(lambda: state.plan_of(request.search, kept)[first:])
    state.inputs.check_frozen(0)
    plans = unpack_candidates(agreement.known_problem, request.plan)
    if plans is None or len(plans) != 1:
        raise refuse("one whole plan is counted; name it")
    digest = plan_digest(agreement, plans[0].tolist())
    hooks.check_counts(digest)
    assert state.derivation is not None
    await state.derivation.check_found_one(plans[0])
    return PlanToCount(lambda: columns_of(agreement.known_problem, plans[0]), digest)


def _write_down(node: int, state: AgreementState, book: StepBook, opened: Opened) -> None:
    """Log that the run counts and what it discloses; participants read it there."""
    entry = book.latest
    assert entry is not None
    boxes = [] if entry.told is None else seal_told(state.agreement, node, entry.told)
    state.write_counted(
        RunCounted(
            entry.number,
            entry.attempt,
            list(entry.participants),
            book.head,
            entry.place,
            list(opened),
            boxes,
            entry.plan,
        )
    )
