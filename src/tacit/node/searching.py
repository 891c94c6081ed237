"""Advance a sealed run: batches of steps with the peers, from one secret state to the next.

A state is a list of shares. The last are the plans that may be opened: value, for an assignment
what is proved, and the column of each row. Weightings of an assignment that are solved together
have one state, with a line for the plan of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tacit.agreement.sealed_groups import AssignmentGroup, SealedGroup, TourGroup
from tacit.agreement.sealed_run import SealedRun, Stage, StageKind
from tacit.agreement.sizes import steps_bytes
from tacit.mpc import ArithmeticShare, Session, scale
from tacit.mpc.assignment import advance as cancel_cycles
from tacit.mpc.assignment import (
    descend,
    drawn_matching,
    finish,
    first_state,
    public_matching,
    read_state,
    tell_finished,
    unproved,
)
from tacit.mpc.sealed import SealedState, Step, secret_start
from tacit.mpc.sealed import advance as anneal
from tacit.mpc.transport import Mux
from tacit.node.agreement_state import AgreementState
from tacit.node.computation import Fitting, NodeComputation, StateHandover
from tacit.node.plan_boxes import draw_plan_keys
from tacit.node.sealed_progress import KeptState, SealedProgress
from tacit.node.store import decoder_of
from tacit.node.threads import in_thread
from tacit.records.ledger import DisclosedProof, DisclosureKind
from tacit.records.messages import Advance, BatchDone
from tacit.records.requests import Attempt

if TYPE_CHECKING:
    from tacit.node.server import Node

LARGE_MESSAGE = 1 << 18
"""With larger ones, steps take more than a few milliseconds each."""
Shares = Sequence[ArithmeticShare]
Values = Callable[[int], ArithmeticShare]
"""By the number of a search, shares of the value of each row and column."""
NextState = tuple[Shares, bool | None]
"""A state that was reached, and whether all is proved where that was opened."""


class Reached(msgspec.Struct, frozen=True):
    """The state after a batch, and whether all is proved where that was opened."""

    state: KeptState
    finished: bool | None


_READ_REACHED = decoder_of(Reached)


@dataclass(frozen=True, kw_only=True)
class BatchTask:
    """A batch of steps, with all that they need besides the session."""

    run: SealedRun
    group: SealedGroup
    first: int
    end: int
    horizon: int
    attempt: Attempt
    values: Mapping[int, ArithmeticShare]
    """By the number of a search, shares of the value of each row and column."""
    held: Shares | None
    """The state to go on from, empty where peers hand it over; None at the start."""
    handover: StateHandover
    fit: Fitting

    async def compute(self, session: Session, /) -> Reached:
        held: Shares = []
        if self.held is not None:
            handed = await self.handover.to_all(session, self.held, self.group.state_sizes)
            held = [self.fit(share) for share in handed]
        shares, finished = await self._steps(session, held)
        keys = draw_plan_keys(session) if self.run.for_owners else {}
        return Reached(KeptState(self.end, self.attempt, shares, keys), finished)

    async def _steps(self, session: Session, held: Shares) -> NextState:
        group, stages = self.group, self.run.stages_between(self.first, self.end)

        def values(search: int) -> ArithmeticShare:
            return self.fit(self.values[search])

        if isinstance(group, TourGroup):
            return await _search_tour(session, group, stages, values, held, self.horizon), None
        assert isinstance(group, AssignmentGroup)
        return await solve_assignment(session, self.run, group, stages, values, held)


async def advance(node: Node, state: AgreementState, request: Advance, platform: Mux) -> BatchDone:
    """Compute a batch of steps, or the start, if the agreement allows it."""
    computation = NodeComputation(node, state, request, request.digest, platform)
    async with computation.begins():
        progress = state.search(request.search, goes_on=True)
    async with progress.alone():
        return await _advance(node, state, request, progress, computation)


async def _advance(
    node: Node,
    state: AgreementState,
    request: Advance,
    progress: SealedProgress,
    computation: NodeComputation,
) -> BatchDone:
    agreement, attempt = state.agreement, computation.attempt
    run, end = agreement.sealed_run, request.first + request.count
    starts = end == 0 and not request.parent_attempt
    handover = StateHandover.find(node, state, request.epoch, request.parent_attempt, progress)
    before: KeptState | None = None
    async with computation.begins():
        # Again: the agreement may have expired while this waited for `alone`.
        state.search(request.search)
        # From here on the log binds this node to the batch. After a crash it computes the same
        # again and no other: what was disclosed of it may be out.
        if starts:
            progress.begin_start(attempt)
        else:
            before = progress.begin(request, attempt, run)
    handover.log(state, attempt)
    # The seed of the moves follows from all frozen inputs, so nobody chose it.
    seed = await in_thread(state.inputs.search_seed)
    group = run.group_of(request.search).seeded(seed)

    async with computation.session(
        size=steps_bytes(group, nodes=len(agreement.nodes)), away=False, agreed=handover.agreed()
    ):
        batch = BatchTask(
            run=run,
            group=group,
            first=request.first,
            end=end,
            horizon=request.horizon,
            attempt=attempt,
            values={each: value_shares(state, each) for each in group.searches},
            held=None if starts else [] if before is None else before.shares,
            handover=handover,
            fit=computation.fitting,
        )
        reached = await computation.compute(
            batch, _READ_REACHED, is_long=_is_long(group, starts=starts)
        )
    finished = reached.finished
    if finished is not None:
        # The line comes before the state: after a crash in between the bit is known here, and the
        # same steps are made again from the state before.
        known = DisclosedProof(finished)
        computation.log_sent(DisclosureKind.PROVED, progress.searches[0], known=known)
        # Synced before the reply: the platform goes on with it, and what this node acts on from now
        # on must survive a power cut.
        await in_thread(state.store.log.sync)
        if finished:
            progress.finished = end
    await progress.keep(reached.state)
    return computation.reply(BatchDone, seed=seed)


def _is_long(group: SealedGroup, *, starts: bool) -> bool:
    """Whether steps would hold up the node's event loop.

    The start of a tour goes over the whole table, generations over a few lines of it at a time.
    """
    return group.largest_message > LARGE_MESSAGE or (starts and isinstance(group, TourGroup))


def value_shares(state: AgreementState, search: int, /) -> ArithmeticShare:
    """Return shares of the value of each row and column under the weighting of a search."""
    agreement = state.agreement
    values = [
        scale(
            state.inputs.searched(objective),
            factor if agreement.objectives[objective].sense == "maximize" else -factor,
        )
        for objective, factor in enumerate(agreement.sealed_run.weightings[search])
    ]
    whole = values[0]
    for each in values[1:]:
        whole += each
    return whole


async def _search_tour(
    session: Session,
    group: TourGroup,
    stages: Sequence[Stage],
    values: Values,
    held: Shares,
    horizon: int,
) -> Shares:
    """Draw the places in a secret order, or run some generations."""
    (stage,), schedule = stages, group.schedule
    if stage.kind is StageKind.START:
        start = await secret_start(session, values(group.searches[0]), group.table, label="start")
        return start.shares

    def generations() -> Iterator[Step]:
        factor, bits = schedule.gain_factor, schedule.key_bits
        for number in range(stage.first, stage.end):
            now = schedule.generation(number, horizon=horizon)
            yield Step(now.moves, now.offsets, factor, bits, now.parent_pairs)

    return (await anneal(session, SealedState(*held), generations(), group.table)).shares


async def solve_assignment(
    session: Session,
    run: SealedRun,
    group: AssignmentGroup,
    stages: Sequence[Stage],
    values: Values,
    held: Shares,
) -> NextState:
    """Take a first plan, descend by blocks of rows, cancel cycles; then prove the plan."""
    shape, layout, ties = group.shape, group.layout, group.ties
    each = [values(search) for search in group.searches]
    costs = group.costs(
        ArithmeticShare({c: np.stack([share.parts[c] for share in each]) for c in each[0].parts})
    )
    if held:
        state = read_state(held[:-1], step=stages[0].first)
    else:
        # Where pairs are forbidden, a drawn plan would have some, and no later one gets rid of
        # them for sure. So these runs begin with a plan that everybody can work out.
        if group.start is None:
            plan = await drawn_matching(session, shape, label="drawn")
        else:
            plan = public_matching(session, [group.start] * shape.weightings, shape)
        state = await first_state(session, *plan, costs, shape, ties)
    for stage in stages:
        match stage.kind:
            case StageKind.DESCENT:
                moves, levels = group.generations(stage.first, stage.end), group.descent.levels
                state = await descend(session, state, costs, moves, shape, levels=levels)
            case StageKind.CYCLES:
                state = await cancel_cycles(
                    session, state, costs, shape, ties,
                    iterations=stage.end - stage.first, lag=group.parameters.lag,
                )  # fmt: skip
    if stages[-1].kind is not StageKind.CYCLES:
        # Before the first iteration the prices prove nothing.
        answer = await unproved(session, state, costs, layout, steps=group.ladder)
        return [*state.kept, answer.plans], None
    answer = await finish(session, state, costs, layout, shape, ties, steps=group.ladder)
    shares = [*state.kept, answer.plans]
    if stages[-1].end not in run.checkpoints or answer.proved is None:
        return shares, None
    return shares, await tell_finished(session, answer.proved)
