"""How nodes get from one secret state to the next: a tour by search, an assignment exactly.

A state is a list of shares, the last of them the plan that may be opened: its value, for an
assignment what is proved, and the column of each row. Weightings of an assignment that are solved
together have one state, with a line for the plan of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.engine.agreement.assignment import AssignmentCourse
from tacit.engine.agreement.sealed import (
    Course,
    largest_message,
    sealed_terms,
    state_sizes_of,
    table_of,
)
from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.wire.messages import Advance
from tacit.mpc import ArithmeticShare, Session, Size, scale
from tacit.mpc.assignment import (
    Answer,
    AssignmentState,
    descend,
    drawn_matching,
    finish,
    first_state,
    public_matching,
    read_state,
    tell_finished,
    unproved,
)
from tacit.mpc.assignment import advance as cancel_cycles
from tacit.mpc.sealed import SealedState, Step, TableShape, secret_start
from tacit.mpc.sealed import advance as search
from tacit.search.moves import Schedule

LARGE_MESSAGE = 1 << 18
"""With larger ones, steps take more than a few milliseconds each."""
Shares = list[ArithmeticShare]
Values = Callable[[int], ArithmeticShare]
"""By the number of a search."""


@dataclass(frozen=True)
class NextState:
    """A state that was reached, and whether all is proved where that was opened."""

    shares: Shares
    finished: bool | None = None


class Method(Protocol):
    """One way to a plan; it works on shares of the value of each row and column."""

    @property
    def sizes(self) -> list[Size]:
        """The sizes of the shares of a state."""
        ...

    def is_long(self, *, starts: bool) -> bool:
        """Whether its steps would keep others waiting."""
        ...

    async def start(self, session: Session, values: Values) -> Shares:
        """Return the first state."""
        ...

    async def advance(
        self, session: Session, values: Values, held: Sequence[ArithmeticShare], request: Advance
    ) -> NextState:
        """Return the state after some steps."""
        ...


def method_for(number: int, course: Course, /) -> Method:
    """Return the method that an agreement names."""
    if isinstance(course, AssignmentCourse):
        return AssignmentMethod(course)
    return TourMethod(course, table_of(course), number)


def value_shares(agreement_state: AgreementState, search: int, /) -> ArithmeticShare:
    """Return shares of the value of each row and column under the weighting of a search."""
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
class TourMethod:
    """Annealing: generations of children, of which the best continue."""

    schedule: Schedule
    table: TableShape
    number: int

    @property
    def sizes(self) -> list[Size]:
        """The sizes of the tables, the best plans and the plan."""
        return state_sizes_of(self.schedule)

    def is_long(self, *, starts: bool) -> bool:
        """The start goes over the whole table, generations over a few lines of it at a time."""
        return starts or largest_message(self.schedule) > LARGE_MESSAGE

    async def start(self, session: Session, values: Values) -> Shares:
        """Draw the places in a secret order."""
        state = await secret_start(session, values(self.number), self.table, label="start")
        return state.shares

    async def advance(
        self,
        session: Session,
        values: Values,  # noqa: ARG002 - the tables have them
        held: Sequence[ArithmeticShare],
        request: Advance,
    ) -> NextState:
        """Run some generations."""
        state = await search(session, SealedState(*held), self._steps(request), self.table)
        return NextState(state.shares)

    def _steps(self, request: Advance) -> Iterator[Step]:
        factor, bits = self.schedule.gain_factor, self.schedule.key_bits
        for number in range(request.first, request.first + request.count):
            now = self.schedule.generation(number, horizon=request.horizon)
            yield Step(now.moves, now.offsets, factor, bits, now.parent_pairs)


@dataclass(frozen=True)
class AssignmentMethod:
    """A first plan, block descent, then cycle cancelling; the end of each batch is proved."""

    course: AssignmentCourse

    @property
    def sizes(self) -> list[Size]:
        """The sizes of the matching, the prices, the parents and the plans."""
        return self.course.state_sizes

    def is_long(self, *, starts: bool) -> bool:  # noqa: ARG002 - all steps go over whole tables
        """Whether a table is large."""
        return self.course.largest_message > LARGE_MESSAGE

    async def start(self, session: Session, values: Values) -> Shares:
        """Take the public plan where pairs are forbidden, else draw one."""
        course, shape, costs = self.course, self.course.shape, self._costs(values)
        if course.start is None:
            plan = await drawn_matching(session, shape, label="drawn")
        else:
            plan = public_matching(session, [course.start] * shape.weightings, shape)
        state = await first_state(session, *plan, costs, shape, course.ties)
        return self._kept(state, await unproved(session, state, costs, course.layout, **self._gap))

    async def advance(
        self,
        session: Session,
        values: Values,
        held: Sequence[ArithmeticShare],
        request: Advance,
    ) -> NextState:
        """Run some generations of the descent, some iterations, or both."""
        course, shape, costs = self.course, self.course.shape, self._costs(values)
        state, end = read_state(held[:-1], step=request.first), request.first + request.count
        moves = course.generations(state.step, end)
        state = await descend(session, state, costs, moves, shape, levels=course.descent.levels)
        state = await cancel_cycles(
            session, state, costs, shape, course.ties,
            iterations=end - state.step, lag=course.parameters.lag,
        )  # fmt: skip
        if end <= course.parameters.generations:
            answer = await unproved(session, state, costs, course.layout, **self._gap)
            return NextState(self._kept(state, answer))
        answer = await finish(session, state, costs, course.layout, shape, course.ties, **self._gap)
        kept = self._kept(state, answer)
        if end not in course.checkpoints or answer.proved is None:
            return NextState(kept)
        return NextState(kept, await tell_finished(session, answer.proved))

    @property
    def _gap(self) -> dict[str, tuple[int, ...]]:
        return {"steps": self.course.ladder}

    def _kept(self, state: AssignmentState, answer: Answer) -> Shares:
        return [*state.kept, answer.plans]

    def _costs(self, values: Values) -> ArithmeticShare:
        """Return shares of the costs of all weightings."""
        each = [values(search) for search in self.course.searches]
        whole = {c: np.stack([share.parts[c] for share in each]) for c in each[0].parts}
        return self.course.costs(ArithmeticShare(whole))
