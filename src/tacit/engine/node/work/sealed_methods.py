"""How nodes get from one secret state to the next: by search, exactly, or one after the other.

A state is a list of shares, the last of them the plan that may be opened: its value, for an exact
solution what is proved, and the column of each row. Exact solutions of several weightings have one
state, with a line for the plan of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from tacit.engine.agreement.exact import ForestCourse
from tacit.engine.agreement.finished import FinishedCourse
from tacit.engine.agreement.grown import GrownSchedule
from tacit.engine.agreement.sealed import Course, largest_message, sealed_terms, shape_of, table_of
from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.wire.messages import Advance
from tacit.mpc import ArithmeticShare, BitShare, Session, Size, public_word, scale
from tacit.mpc.forest import ForestState, Phase, finish, tell_finished, warm_start
from tacit.mpc.forest import advance as grow
from tacit.mpc.forest import start as first_duals
from tacit.mpc.sealed import (
    SealedState,
    Step,
    TableShape,
    grown_start,
    secret_start,
    state_sizes,
)
from tacit.mpc.sealed import advance as search
from tacit.search.moves import Schedule

LARGE_MESSAGE = 1 << 18
"""With larger ones, steps take more than a few milliseconds each."""
Shares = list[ArithmeticShare]
Values = Callable[[int], ArithmeticShare]
"""By the number of a search."""


@dataclass(frozen=True)
class NextState:
    """A state that was reached, and whether it is finished where that was told."""

    shares: Shares
    finished: bool | None = None


class Method(Protocol):
    """One way to a plan; it works on shares of the value of each row and column."""

    def sizes(self, request: Advance) -> list[Size]:
        """Of the shares of the state that a request starts from."""
        ...

    def is_long(self, *, starts: bool) -> bool:
        """Whether its steps would keep others waiting."""
        ...

    async def start(self, session: Session, values: Values) -> Shares:
        """The first state."""
        ...

    async def advance(
        self, session: Session, values: Values, held: Sequence[ArithmeticShare],
        request: Advance, *, told: bool,
    ) -> NextState:  # fmt: skip
        """The state after some steps; whether each improved is `told` where that was agreed."""
        ...


def method_for(agreement_state: AgreementState, number: int, course: Course, /) -> Method:
    """The method that an agreement names."""
    if isinstance(course, ForestCourse):
        return ExactMethod(course)
    if isinstance(course, FinishedCourse):
        search = SearchMethod(course.schedule, course.table, agreement_state, number)
        return FinishedMethod(course, search, ExactMethod(course.forest))
    return SearchMethod(course, table_of(course), agreement_state, number)


def value_shares(agreement_state: AgreementState, search: int, /) -> ArithmeticShare:
    """Shares of the value of each row and column under the weighting of a search."""
    agreement = agreement_state.agreement
    factors = sealed_terms(agreement).weightings[search]
    values = [
        scale(
            agreement_state.inputs.searched(objective),
            factor if agreement.objectives[objective].sense == "maximize" else -factor,
        )
        for objective, factor in enumerate(factors)
    ]
    whole = values[0]
    for each in values[1:]:
        whole += each
    return whole


@dataclass(frozen=True)
class SearchMethod:
    """Annealing: generations of children, of which the best continue."""

    schedule: Schedule
    table: TableShape
    agreement_state: AgreementState
    number: int

    def sizes(self, request: Advance) -> list[Size]:  # noqa: ARG002 - all states are alike
        """Of the tables, the best plans and the plan."""
        return state_sizes(self.table)

    def is_long(self, *, starts: bool) -> bool:
        """The start goes over the whole table, generations over a few lines of it at a time."""
        return starts or largest_message(self.schedule) > LARGE_MESSAGE

    async def start(self, session: Session, values: Values) -> Shares:
        """The items in a secret order, or in that of a plan that is grown."""
        known, lines = self.agreement_state.agreement.known_problem, values(self.number)
        if known.forbidden is not None:
            self._forbid(lines)
        if not known.between_places:
            lines = lines.map(lambda part: np.ascontiguousarray(part.T[known.sealed_items]))
        columns = known.sealed_items
        if not isinstance(self.schedule, GrownSchedule):
            state = await secret_start(session, lines, self.table, label="start", columns=columns)
            return state.shares
        grown = self.schedule.grown
        state = await grown_start(
            session, lines, self.table, grown.cells, grown.known, high=grown.high, columns=columns
        )
        return state.shares

    def _forbid(self, values: ArithmeticShare) -> None:
        """Give forbidden pairs their public value, as component 0."""
        agreement = self.agreement_state.agreement
        pairs = np.array(agreement.problem.forbidden)
        low = public_word(shape_of(agreement, self.number).low)
        for component, part in values.parts.items():
            part[pairs[:, 0], pairs[:, 1]] = low if component == 0 else np.uint64(0)

    async def advance(
        self,
        session: Session,
        values: Values,  # noqa: ARG002 - the tables have them
        held: Sequence[ArithmeticShare],
        request: Advance,
        *,
        told: bool,
    ) -> NextState:
        """Some generations."""
        state, steps = SealedState(*held), self._steps(request)
        state = await search(session, state, steps, self.table, disclose_improvements=told)
        return NextState(state.shares)

    def _steps(self, request: Advance) -> Iterator[Step]:
        factor, bits = self.schedule.gain_factor, self.schedule.key_bits
        for number in range(request.first, request.first + request.count):
            now = self.schedule.generation(number, horizon=request.horizon)
            yield Step(now.moves, now.offsets, factor, bits, now.parent_pairs)


@dataclass(frozen=True)
class ExactMethod:
    """The forest: phases of a primal-dual method; plans are completed and proved after each run."""

    course: ForestCourse

    def sizes(self, request: Advance) -> list[Size]:  # noqa: ARG002 - all states are alike
        """Of the shares of a state."""
        return self.course.state_sizes

    def is_long(self, *, starts: bool) -> bool:  # noqa: ARG002 - its steps are all alike
        """Minima over whole tables."""
        return self.course.largest_message > LARGE_MESSAGE

    def costs(self, values: Values) -> ArithmeticShare:
        """Shares of the costs of all weightings."""
        each = [values(search) for search in self.course.searches]
        whole = {c: np.stack([share.parts[c] for share in each]) for c in each[0].parts}
        return self.course.costs(ArithmeticShare(whole))

    async def start(self, session: Session, values: Values) -> Shares:
        """Nothing is matched, and the duals are feasible."""
        course, costs = self.course, self.costs(values)
        state = await first_duals(session, costs, course.shape, course.coins)
        first = course.shared_fallback(me=session.me, nodes=session.nodes)
        state = replace(state, first=first)
        shares, _ = await self._completed(session, state, costs)
        return shares

    async def advance(
        self,
        session: Session,
        values: Values,
        held: Sequence[ArithmeticShare],
        request: Advance,
        *,
        told: bool,  # noqa: ARG002 - refused with the agreement
    ) -> NextState:
        """Some phases; after those that were agreed, whether all is proved is told."""
        course, costs = self.course, self.costs(values)
        end = request.first + request.count
        phases = course.phases[request.first : end]
        shares, proved = await self.grow(session, forest_state(held), costs, phases)
        if end not in course.checkpoints:
            return NextState(shares)
        return NextState(shares, await tell_finished(session, proved))

    async def grow(
        self,
        session: Session,
        state: ForestState,
        costs: ArithmeticShare,
        phases: Sequence[Phase],
    ) -> tuple[Shares, BitShare]:
        """These phases, the plans after them, and whether they are proved."""
        course = self.course
        state = await grow(session, state, costs, phases, course.shape, course.coins)
        return await self._completed(session, state, costs)

    async def _completed(
        self, session: Session, state: ForestState, costs: ArithmeticShare
    ) -> tuple[Shares, BitShare]:
        course = self.course
        answer = await finish(
            session, state, costs, course.layout, course.shape, steps=course.ladder
        )
        in_order = [answer.bound[:, 1:2], answer.plan[:, :1], answer.rung, answer.plan[:, 1:]]
        plans = ArithmeticShare(
            {c: np.concatenate([x.parts[c] for x in in_order], 1) for c in answer.plan.parts}
        )
        first = [] if state.first is None else [state.first]
        kept = [state.matching, state.prices, state.profits, state.kept, *first, plans]
        return kept, answer.proved


def forest_state(held: Sequence[ArithmeticShare], /) -> ForestState:
    """A forest as nodes keep it; one that finishes a search has the plan that it began with."""
    matching, prices, profits, kept, *first, _ = held
    # The lowest bit of a sum is that of all lowest bits together.
    bits = {c: (part & part.dtype.type(1)).astype(np.uint8) for c, part in matching.parts.items()}
    return ForestState(BitShare(bits), matching, prices, profits, kept, first[0] if first else None)


@dataclass(frozen=True)
class FinishedMethod:
    """A search, and after the turn the forest, which begins with the plan of the search."""

    course: FinishedCourse
    search: SearchMethod
    exact: ExactMethod

    def sizes(self, request: Advance) -> list[Size]:
        """Of a state of the search, or of the forest."""
        turned = request.turn is not None and request.turn < request.first
        return self.course.state_sizes(turned=turned)

    def is_long(self, *, starts: bool) -> bool:
        """As one of them is."""
        return self.search.is_long(starts=starts) or self.exact.is_long(starts=starts)

    async def start(self, session: Session, values: Values) -> Shares:
        """That of the search."""
        return self._searched(await self.search.start(session, values))

    async def advance(
        self,
        session: Session,
        values: Values,
        held: Sequence[ArithmeticShare],
        request: Advance,
        *,
        told: bool,
    ) -> NextState:
        """Some generations, or some phases."""
        if request.turn is None:
            found = await self.search.advance(session, values, held, request, told=told)
            return NextState(self._searched(found.shares))
        course, costs = self.course.forest, self.exact.costs(values)
        if request.first == request.turn:
            # What stands before the columns of the rows is its cost, and what is proved.
            columns = held[-1][None, course.heads :]
            state = await warm_start(
                session,
                columns,
                costs,
                course.layout,
                course.shape,
                course.coins,
                fallback=course.shared_fallback(me=session.me, nodes=session.nodes),
            )
        else:
            state = forest_state(held)
        done = request.first - request.turn
        phases = course.phases[done : done + request.count]
        shares, _ = await self.exact.grow(session, state, costs, phases)
        return NextState(shares)

    def _searched(self, shares: Shares) -> Shares:
        *state, plan = shares
        return [*state, self.course.plan_of(plan)]
