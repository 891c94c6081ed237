"""How nodes get from one secret state to the next: by search, or exactly.

A state is a list of shares, the last of them the plan that may be opened: its value, for an exact
solution what is proved, and the column of each row. Exact solutions of several weightings have one
state, with a line for the plan of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.engine.agreement.exact import ForestCourse
from tacit.engine.agreement.sealed import Course, largest_message, sealed_terms, shape_of, table_of
from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.wire.messages import Advance
from tacit.mpc import ArithmeticShare, BitShare, Session, Size, public_word, scale
from tacit.mpc.forest import ForestState, finish
from tacit.mpc.forest import advance as grow
from tacit.mpc.forest import start as first_duals
from tacit.mpc.sealed import SealedState, Step, secret_start, state_sizes
from tacit.mpc.sealed import advance as search
from tacit.search.moves import Schedule

LARGE_MESSAGE = 1 << 18
"""With larger ones, steps take more than a few milliseconds each."""
Shares = list[ArithmeticShare]
Values = Callable[[int], ArithmeticShare]
"""By the number of a search."""


class Method(Protocol):
    """One way to a plan; it works on shares of the value of each row and column."""

    @property
    def sizes(self) -> list[Size]:
        """Of the shares of a state."""
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
    ) -> Shares:  # fmt: skip
        """The state after some steps; whether each improved is `told` where that was agreed."""
        ...


def method_for(agreement_state: AgreementState, number: int, course: Course, /) -> Method:
    """The method that an agreement names."""
    if isinstance(course, ForestCourse):
        return ExactMethod(course)
    return SearchMethod(course, agreement_state, number)


def value_shares(agreement_state: AgreementState, search: int, /) -> ArithmeticShare:
    """Shares of the value of each row and column under the weighting of a search."""
    agreement = agreement_state.agreement
    factors = sealed_terms(agreement).weightings[search]
    values = [
        scale(
            agreement_state.inputs.weights(objective),
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
    agreement_state: AgreementState
    number: int

    @property
    def sizes(self) -> list[Size]:
        """Of the tables, the best plans and the plan."""
        return state_sizes(table_of(self.schedule))

    def is_long(self, *, starts: bool) -> bool:
        """The start goes over the whole table, generations over a few lines of it at a time."""
        return starts or largest_message(self.schedule) > LARGE_MESSAGE

    async def start(self, session: Session, values: Values) -> Shares:
        """The items in a secret order."""
        known, lines = self.agreement_state.agreement.known_problem, values(self.number)
        if known.forbidden is not None:
            self._forbid(lines)
        if not known.between_places:
            lines = lines.map(lambda part: np.ascontiguousarray(part.T[known.sealed_items]))
        about, columns = table_of(self.schedule), known.sealed_items
        state = await secret_start(session, lines, about, label="start", columns=columns)
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
    ) -> Shares:
        """Some generations."""
        about, steps = table_of(self.schedule), self._steps(request)
        state = await search(session, SealedState(*held), steps, about, disclose_improvements=told)
        return state.shares

    def _steps(self, request: Advance) -> Iterator[Step]:
        factor, bits = self.schedule.gain_factor, self.schedule.key_bits
        for number in range(request.first, request.first + request.count):
            now = self.schedule.generation(number, horizon=request.horizon)
            yield Step(now.moves, now.offsets, factor, bits, now.parent_pairs)


@dataclass(frozen=True)
class ExactMethod:
    """The forest: phases of a primal-dual method; plans are completed and proved after each run."""

    course: ForestCourse

    @property
    def sizes(self) -> list[Size]:
        """Of the shares of a state."""
        return self.course.state_sizes

    def is_long(self, *, starts: bool) -> bool:  # noqa: ARG002 - its steps are all alike
        """Minima over whole tables."""
        return self.course.largest_message > LARGE_MESSAGE

    def _costs(self, values: Values) -> ArithmeticShare:
        each = [values(search) for search in self.course.searches]
        whole = {c: np.stack([share.parts[c] for share in each]) for c in each[0].parts}
        return self.course.costs(ArithmeticShare(whole))

    async def start(self, session: Session, values: Values) -> Shares:
        """Nothing is matched, and the duals are feasible."""
        course, costs = self.course, self._costs(values)
        state = await first_duals(session, costs, course.shape, course.coins)
        return await self._completed(session, state, costs)

    async def advance(
        self,
        session: Session,
        values: Values,
        held: Sequence[ArithmeticShare],
        request: Advance,
        *,
        told: bool,  # noqa: ARG002 - refused with the agreement
    ) -> Shares:
        """Some phases."""
        course, costs = self.course, self._costs(values)
        matching, prices, profits, kept, _ = held
        # The lowest bit of a sum is that of all lowest bits together.
        bits = {
            c: (part & part.dtype.type(1)).astype(np.uint8) for c, part in matching.parts.items()
        }
        state = ForestState(BitShare(bits), matching, prices, profits, kept)
        phases = course.phases[request.first : request.first + request.count]
        state = await grow(session, state, costs, phases, course.shape, course.coins)
        return await self._completed(session, state, costs)

    async def _completed(
        self, session: Session, state: ForestState, costs: ArithmeticShare
    ) -> Shares:
        answer = await finish(session, state, costs, self.course.layout, self.course.shape)
        totals = answer.bound[:, 1:2]
        plans = ArithmeticShare(
            {c: np.concatenate([p, answer.plan.parts[c]], 1) for c, p in totals.parts.items()}
        )
        return [state.matching, state.prices, state.profits, state.kept, plans]
