"""The public course of an exact solver that an agreement names: sizes, bounds and phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement.frame_sizes import ROOM
from tacit.errors import AgreementError, ParameterError
from tacit.mpc import ArithmeticShare, Size, public_share
from tacit.mpc.forest import (
    Coins,
    ForestShape,
    Layout,
    Phase,
    largest_epsilon,
    matching_of_plan,
    most_compared,
    plain,
    scaled,
)
from tacit.problems import Problem, feasible_assignment
from tacit.search.moves import ExactParameters, PublicShape


@dataclass(frozen=True)
class ForestCourse:
    """One exact solution: all that is public of it."""

    layout: Layout
    shape: ForestShape
    phases: tuple[Phase, ...]
    high: int
    """The largest value of a cell."""
    seed: int
    stream: int
    fallback: tuple[int, ...] | None = None
    """Any plan without forbidden pairs, where there are such: it follows from the mask alone."""

    @property
    def coins(self) -> Coins:
        """The tie-breaks."""
        return Coins(self.seed, (self.stream,))

    @property
    def state_sizes(self) -> list[Size]:
        """Of the matching, prices, profits, what is kept, a plan to fall back on, and the plan."""
        shape, rows = self.shape, self.layout.rows
        line = (shape.weightings, shape.size)
        first = [] if self.fallback is None else [shape.square]
        sizes = [shape.square, line, line, line, *first, (rows + 2,)]
        return [(size, shape.word) for size in sizes]

    @property
    def largest_message(self) -> int:
        """Bytes of a table, or of one bit per bit of the comparisons of a level."""
        size, word = self.shape.size, self.shape.word.itemsize
        compared = most_compared(self.shape) * self.shape.key_bits // 8
        # The proof compares every reduced cost with both ends of its range, in whole words.
        return max(size * size * word, compared, (2 * size * size + 4 * size + 1) * word)

    def shared_fallback(self, *, me: int, nodes: int) -> ArithmeticShare | None:
        """The matching of that plan: with it there is a plan however early the forest ends."""
        if self.fallback is None:
            return None
        column_of = matching_of_plan(self.fallback, self.layout)
        matching = np.zeros(self.shape.square, dtype=self.shape.word)
        matching[:, column_of, np.arange(self.shape.size)] = 1
        return public_share(matching, ArithmeticShare, me=me, nodes=nodes)

    def costs(self, values: ArithmeticShare, /) -> ArithmeticShare:
        """The forest's scaled costs, from shares of rows x columns of values."""
        wide = values.map(lambda part: part[None])
        # All that counts of the bounds is the largest value: the smallest costs nothing.
        return self.layout.costs(wide, [(0, self.high)], self.shape, maximize=True)

    def clear_costs(self, values: NDArray[np.int64], /) -> NDArray[np.int64]:
        """The same of values that are here."""
        whole = self.costs(ArithmeticShare({0: values.astype(np.uint64)}))
        costs: NDArray[np.int64] = whole.parts[0][0].astype(np.int64)
        return costs

    def value_of(self, total: int, /) -> int:
        """The value of a plan, from the scaled sum of its costs."""
        return self.layout.rows * self.high - total // self.shape.scale


def forest_course(
    problem: Problem,
    public: PublicShape,
    parameters: ExactParameters,
    /,
    *,
    seed: int,
    stream: int,
) -> ForestCourse:
    """The course for a problem whose cells have this range."""
    if public.kind != "assignment":
        raise AgreementError(
            f"the exact solver is for assignments, not for the kind {problem.kind!r}; "
            "leave method out, or say method=search"
        )
    places = len(problem.sealed_items)
    if places * places * 8 > ROOM:
        raise AgreementError(
            f"the exact solver works on {places} x {places} numbers, more than a message holds; "
            "take method=search, or a smaller problem"
        )
    layout = Layout(
        rows=public.rows,
        columns=tuple(int(item) for item in problem.sealed_items),
        spread=public.unit,
        forbidden=problem.forbidden,
    )
    size, phases = layout.size, parameters.phases
    schedule = scaled(size, public.unit, phases) if parameters.scaling else plain(size, phases)
    try:
        shape = layout.shape(largest_epsilon=largest_epsilon(schedule))
    except ParameterError as error:
        raise AgreementError(str(error)) from None
    high = public.low + public.spread
    return ForestCourse(layout, shape, schedule, high, seed, stream, _any_plan(problem))


def _any_plan(problem: Problem) -> tuple[int, ...] | None:
    if problem.forbidden is None or not problem.forbidden.any():
        return None
    items = problem.sealed_items
    places = feasible_assignment(~problem.forbidden[:, items])
    return None if places is None else tuple(int(item) for item in items[places])
