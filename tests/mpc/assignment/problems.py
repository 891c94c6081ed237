"""Assignments on shares and in the clear: a start, block descent, iterations, and their end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.mpc.assignment import descent, iterations, proof
from tacit.mpc.assignment import state as kept_state
from tacit.mpc.assignment.clear import ClearAssignment, ClearState
from tacit.mpc.assignment.layout import AssignmentShape, Layout
from tacit.mpc.assignment.minima import Ties
from tacit.mpc.assignment.proof import PlanShares, ladder
from tacit.mpc.assignment.state import AssignmentState
from tacit.mpc.cost import Cost
from tacit.mpc.local import PartiesRun, deal_integers, run_parties
from tacit.mpc.sealed.moves import Step
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, reconstruct
from tacit.problems import first_served, generate_named
from tacit.search.moves import BlockDescent

Numbers = NDArray[np.int64]
FAMILIES = (
    "ap", "delays", "effects", "low-rank", "rank-one", "euclidean", "slots", "sparse", "ties",
)  # fmt: skip
"""The families that the solver is measured on."""


def signed(words: NDArray[np.unsignedinteger]) -> Numbers:
    """Return the integers that words of a ring stand for."""
    made: Numbers = words.astype(f"i{words.dtype.itemsize}").astype(np.int64)
    return made


@dataclass
class Solved:
    """What nodes hold of an assignment in the end, and after each batch of steps."""

    run: PartiesRun[tuple[list[AssignmentState], PlanShares]]

    def states(self, batch: int) -> list[AssignmentState]:
        """The state of each node: first the one before all steps."""
        return [states[batch] for states, _ in self.run.results]

    def lines(self) -> Numbers:
        """The line of each plan that may be opened."""
        return signed(reconstruct([answer.plans for _, answer in self.run.results]))


@dataclass(frozen=True)
class Asked:
    """Secret costs, weightings x rows x columns, and how they are solved."""

    weights: Numbers
    layout: Layout
    start: tuple[int, ...] | None = None
    """The place of each row of the square in a public plan; None for a drawn one."""
    lag: int = 0
    generations: int = 0
    gap: int = 0
    seed: int = 5

    @classmethod
    def square(cls, costs: Numbers, **settings: object) -> Asked:
        """Return a problem of square costs without anything forbidden."""
        costs = costs if costs.ndim == 3 else costs[None]
        size = costs.shape[1]
        layout = Layout(size, range(size), int(costs.max()))
        return cls(costs, layout, **settings)  # type: ignore[arg-type]

    @classmethod
    def family(
        cls, name: str, seed: int, rows: int, *, weightings: int = 1, **settings: object
    ) -> Asked:
        """Return a generated problem; each weighting has the rows in another order."""
        columns = rows + rows // 2 if name in ("delays", "slots") else rows
        problem = generate_named(name, seed, rows=rows, columns=columns)
        weights = problem.objectives[0].weights
        assert weights is not None
        if problem.objectives[0].sense == "maximize":
            weights = weights.max() - weights
        forbidden, items = problem.forbidden, problem.sealed_items
        spread = int(
            np.where(forbidden, 0, weights).max() if forbidden is not None else weights.max()
        )
        layout = Layout(rows, tuple(int(item) for item in items), spread, forbidden)
        public = None
        if layout.is_restricted:
            assert forbidden is not None
            places = first_served(~forbidden[:, items])
            assert places is not None
            free = np.setdiff1d(np.arange(layout.size), places)
            public = tuple(int(place) for place in [*places, *free])
        stacked = np.stack([np.roll(weights, k, axis=0) for k in range(weightings)])
        return cls(stacked, layout, public, seed=seed, **settings)  # type: ignore[arg-type]

    @cached_property
    def descent(self) -> BlockDescent:
        layout = self.layout
        return BlockDescent(layout.rows, layout.size, layout.widest, self.seed, self._weightings)

    @property
    def _weightings(self) -> range:
        return range(len(self.weights))

    @cached_property
    def shape(self) -> AssignmentShape:
        bits = self.descent.key_bits if self.generations else 0
        return self.layout.shape(weightings=len(self.weights), descent_bits=bits)

    @property
    def ties(self) -> Ties:
        return Ties(self.seed, self._weightings)

    @property
    def ladder(self) -> tuple[int, ...]:
        return ladder(self.gap, self.layout.rows * self.layout.spread)

    def moves(self, first: int, end: int, weightings: Sequence[int] | None = None) -> list[Step]:
        """Return the generations among the steps after `first` up to `end`."""
        layout = self.layout
        course = BlockDescent(
            layout.rows, layout.size, layout.widest, self.seed, weightings or self._weightings
        )
        return [
            Step(course.generation(each), course.offsets, course.factor, course.key_bits)
            for each in range(first + 1, min(end, self.generations) + 1)
        ]

    def costs(self, weights: ArithmeticShare) -> ArithmeticShare:
        bounds = [(0, self.layout.spread)] * len(self.weights)
        return self.layout.costs(weights, bounds, self.shape)

    def dealt(self, nodes: int = 3) -> list[ArithmeticShare]:
        """Return each node's shares of the square of costs."""
        return [self.costs(share) for share in deal_integers(self.weights, nodes=nodes)]

    async def begin(self, session: Session, costs: ArithmeticShare) -> AssignmentState:
        if self.start is None:
            plan = await kept_state.drawn_matching(session, self.shape, label="drawn")
        else:
            starts = [self.start] * len(self.weights)
            plan = kept_state.public_matching(session, starts, self.shape)
        return await iterations.first_state(session, *plan, costs, self.shape, self.ties)

    async def advance(
        self, session: Session, state: AssignmentState, costs: ArithmeticShare, count: int
    ) -> AssignmentState:
        """Run some generations, some iterations, or both."""
        end = state.step + count
        moves = self.moves(state.step, end)
        state = await descent.descend(
            session, state, costs, moves, self.shape, levels=self.descent.levels
        )
        return await iterations.advance(
            session, state, costs, self.shape, self.ties,
            iterations=end - state.step, lag=self.lag,
        )  # fmt: skip

    async def finish(
        self, session: Session, state: AssignmentState, costs: ArithmeticShare
    ) -> PlanShares:
        if state.step <= self.generations:
            return await proof.unproved(session, state, costs, self.layout, steps=self.ladder)
        return await proof.finish(
            session, state, costs, self.layout, self.shape, self.ties, steps=self.ladder
        )

    def on_shares(self, batches: Sequence[int], *, nodes: int = 3) -> Solved:
        """Solve with all nodes in one process, batch by batch."""
        dealt = self.dealt(nodes)

        async def node(s: Session) -> tuple[list[AssignmentState], PlanShares]:
            costs = dealt[s.me]
            states = [await self.begin(s, costs)]
            for batch in batches:
                states.append(await self.advance(s, states[-1], costs, batch))
            return states, await self.finish(s, states[-1], costs)

        return Solved(run_parties(node, nodes=nodes, timeout=60.0))

    def declared(self, nodes: int, batches: Sequence[int]) -> Cost:
        """Return the declared cost of all of it."""
        shape, done = self.shape, 0
        total = (
            Cost.free(nodes) if self.start is not None else kept_state.cost_of_drawing(nodes, shape)
        )
        total = total.then(iterations.cost_of_start(nodes, shape))
        moves = self.descent.generation(1)
        for batch in batches:
            falls = max(0, min(self.generations - done, batch))
            total = total.then(
                descent.cost_of_generations(
                    nodes, shape, moves,
                    bits=self.descent.key_bits, count=falls, levels=self.descent.levels,
                )
            )  # fmt: skip
            rest = batch - falls
            total = total.then(
                iterations.cost_of_iterations(nodes, shape, count=rest, lag=self.lag)
            )
            done += batch
        if done <= self.generations:
            return total.then(proof.cost_unproved(nodes, shape))
        return total.then(proof.cost_of_end(nodes, shape, steps=self.ladder))

    def clear_costs(self, weighting: int) -> Numbers:
        share = ArithmeticShare({0: self.weights.astype(np.uint64)})
        table: Numbers = self.costs(share).parts[0][weighting].astype(np.int64)
        return table

    def twin(self, weighting: int) -> ClearAssignment:
        return ClearAssignment(
            self.clear_costs(weighting),
            Ties(self.seed, (weighting,)),
            self.lag,
            self.layout.allowed,
        )

    def clear(
        self, weighting: int, first: Sequence[int], batches: Sequence[int]
    ) -> list[ClearState]:
        """Return the states of one weighting in the clear, from the place of each row."""
        twin = self.twin(weighting)
        states = [twin.start(list(first))]
        for batch in batches:
            state = states[-1]
            end = state.step + batch
            state = twin.descend(state, self.moves(state.step, end, (weighting,)))
            states.append(twin.advance(state, end - state.step))
        return states

    def optimum(self, weighting: int = 0) -> int:
        """Return what SciPy finds."""
        table = self.clear_costs(weighting)
        rows, columns = linear_sum_assignment(table)
        return int(table[rows, columns].sum())


def check_state(held: Sequence[AssignmentState], weighting: int, clear: ClearState) -> None:
    """Compare matching, prices and parents on shares with those in the clear."""
    size = len(clear.prices)
    index, edges = np.arange(size), np.zeros((size, size), dtype=np.uint8)
    children = index[clear.parents != index]
    edges[children, clear.parents[children]] = 1
    matched = reconstruct([each.matched for each in held])[weighting]
    assert matched.argmax(axis=1).tolist() == clear.row_of.tolist()
    assert (reconstruct([each.matching for each in held])[weighting] == matched).all()
    prices = signed(reconstruct([each.prices for each in held])[weighting])
    assert prices.tolist() == clear.prices.tolist()
    assert (reconstruct([each.parents for each in held])[weighting] == edges).all()
    assert {each.step for each in held} == {clear.step}


def first_plan(held: Sequence[AssignmentState], weighting: int) -> list[int]:
    """Return the place of each row before the first step, which nobody knows if it was drawn."""
    matched = reconstruct([each.matched for each in held])[weighting]
    return [int(place) for place in matched.argmax(axis=0)]
