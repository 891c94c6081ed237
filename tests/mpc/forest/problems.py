"""Problems for the forest, run on shares and in the clear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.mpc.cost import Cost
from tacit.mpc.forest import (
    Answer,
    ClearAnswer,
    ClearForest,
    ClearState,
    Coins,
    ForestShape,
    ForestState,
    Layout,
    Phase,
    advance,
    finish,
    finish_in_the_clear,
    first_duals,
    largest_epsilon,
    outcome,
    start,
)
from tacit.mpc.forest import phases as phases_module
from tacit.mpc.local import PartiesRun, deal_integers, run_parties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, reconstruct

Numbers = NDArray[np.int64]


@dataclass
class Problem:
    """Secret costs, weightings x rows x columns, and how they are solved."""

    weights: Numbers
    schedule: Sequence[Phase]
    forbidden: NDArray[np.bool_] | None = None
    columns: Sequence[int] | None = None
    high: int = 0
    """The agreed bound, where it is above the largest cost."""
    seed: int = 5
    layout: Layout = field(init=False)
    shape: ForestShape = field(init=False)

    def __post_init__(self) -> None:
        k, rows, count = self.weights.shape
        self.high = max(self.high, int(self.weights.max()))
        columns = tuple(range(count)) if self.columns is None else self.columns
        self.layout = Layout(rows, columns, self.high, self.forbidden)
        self.shape = self.layout.shape(largest_epsilon=largest_epsilon(self.schedule), weightings=k)
        self.coins = Coins(self.seed, range(k))

    def shared_costs(self, weights: ArithmeticShare) -> ArithmeticShare:
        bounds = [(0, self.high)] * self.shape.weightings
        return self.layout.costs(weights, bounds, self.shape)

    def on_shares(self, nodes: int = 3) -> PartiesRun[tuple[ForestState, Answer]]:
        dealt = deal_integers(self.weights, nodes=nodes)

        async def node(s: Session) -> tuple[ForestState, Answer]:
            costs = self.shared_costs(dealt[s.me])
            state = await start(s, costs, self.shape, self.coins)
            state = await advance(s, state, costs, self.schedule, self.shape, self.coins)
            return state, await finish(s, state, costs, self.layout, self.shape)

        return run_parties(node, nodes=nodes, timeout=60.0)

    def declared(self, nodes: int) -> Cost:
        total = first_duals.cost(nodes, self.shape)
        for phase in self.schedule:
            total = total.then(phases_module.cost(nodes, phase, self.shape))
        return total.then(outcome.cost(nodes, self.layout, self.shape))

    def clear_costs(self, weighting: int) -> Numbers:
        share = ArithmeticShare({0: self.weights.astype(np.uint64)})
        table: Numbers = self.shared_costs(share).parts[0][weighting].astype(np.int64)
        return table

    def clear(self, weighting: int = 0) -> tuple[ClearState, ClearAnswer]:
        costs = self.clear_costs(weighting)
        forest = ClearForest(costs, self.shape, Coins(self.seed, [weighting]))
        state = forest.advance(forest.start(), self.schedule)
        return state, finish_in_the_clear(state, costs, self.layout, self.shape)

    def optimum(self, weighting: int = 0) -> int | None:
        """What SciPy finds, or None if every plan has a forbidden pair."""
        table = self.weights[weighting].astype(float)
        if self.forbidden is not None:
            table = np.where(self.forbidden, np.inf, table)
        table = table[:, list(self.layout.columns)]
        try:
            rows, columns = linear_sum_assignment(table)
        except ValueError:
            return None
        return int(table[rows, columns].sum())

    def value(self, plan: Numbers, weighting: int = 0) -> int:
        return int(self.weights[weighting][np.arange(len(plan)), plan].sum())


def opened(share: Sequence[ArithmeticShare]) -> Numbers:
    """The numbers behind shares in a ring of any width."""
    return np.array(reconstruct(share), dtype=np.int64)


def in_ring(numbers: Numbers, shape: ForestShape) -> NDArray[np.unsignedinteger]:
    """Signed integers as the words of a shape's ring."""
    return numbers.astype(np.uint64).astype(shape.word)
