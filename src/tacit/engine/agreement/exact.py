"""The public course of an exact solver that an agreement names: sizes, bounds and phases.

Several weightings are solved in groups, in the same messages: bytes add up, rounds do not. Which
go together follows from public sizes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement.bisecting import bisected
from tacit.engine.agreement.frame_sizes import ROOM
from tacit.errors import AgreementError, ParameterError
from tacit.mpc import ArithmeticShare, Size, public_share
from tacit.mpc.forest import (
    Coins,
    ForestShape,
    Layout,
    Phase,
    ladder,
    largest_epsilon,
    matching_of_plan,
    most_compared,
    plain,
    scaled,
)
from tacit.problems import Problem, feasible_assignment
from tacit.search.moves import ExactParameters, PublicShape

GROUP_BYTES = 2 << 20
"""So large the messages of a group may get. Larger ones save hardly any time."""


@dataclass(frozen=True)
class ForestCourse:
    """Exact solutions that are computed together: all that is public of them."""

    layout: Layout
    shape: ForestShape
    phases: tuple[Phase, ...]
    searches: tuple[int, ...]
    """The weightings, by their numbers in the agreement."""
    highs: tuple[int, ...]
    """The largest value of a cell under each."""
    seed: int
    fallback: tuple[int, ...] | None = None
    """Any plan without forbidden pairs, where there are such: it follows from the mask alone."""
    checkpoints: tuple[int, ...] = ()
    """The phases after which it is opened whether all is proved."""
    ladder: tuple[int, ...] = ()
    """What the gap of a plan is rounded up to, where it is opened."""

    @property
    def coins(self) -> Coins:
        """The tie-breaks."""
        return Coins(self.seed, self.searches)

    def alone(self, search: int, /) -> ForestCourse:
        """The same course for one of the weightings: it does not depend on the others."""
        high = self.highs[self.searches.index(search)]
        shape = replace(self.shape, weightings=1)
        return replace(self, shape=shape, searches=(search,), highs=(high,))

    @property
    def heads(self) -> int:
        """The words of a plan before its columns: its cost, what is proved, and perhaps a rung."""
        return 3 if self.ladder else 2

    @property
    def state_sizes(self) -> list[Size]:
        """Of the matching, prices, profits, what is kept, a plan to fall back on, and the plans."""
        shape, rows = self.shape, self.layout.rows
        line, plans = (shape.weightings, shape.size), (shape.weightings, rows + self.heads)
        first = [] if self.fallback is None else [shape.square]
        sizes = [shape.square, line, line, line, *first, plans]
        return [(size, shape.word) for size in sizes]

    @property
    def largest_message(self) -> int:
        """Bytes of a table, or of one bit per bit of the comparisons of a level."""
        size, word = self.shape.size, self.shape.word.itemsize * self.shape.weightings
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
        """The forest's scaled costs, from shares of weightings x rows x columns of values."""
        # All that counts of the bounds is the largest value: the smallest costs nothing.
        bounds = [(0, high) for high in self.highs]
        return self.layout.costs(values, bounds, self.shape, maximize=True)

    def clear_costs(self, values: NDArray[np.int64], /) -> NDArray[np.int64]:
        """The same of values that are here, of one weighting `alone`."""
        whole = self.costs(ArithmeticShare({0: values[None].astype(np.uint64)}))
        costs: NDArray[np.int64] = whole.parts[0][0].astype(np.int64)
        return costs

    def value_of(self, search: int, total: int, /) -> int:
        """The value of a plan under a weighting, from the scaled sum of its costs."""
        high = self.highs[self.searches.index(search)]
        return self.layout.rows * high - total // self.shape.scale


def forest_courses(
    problem: Problem,
    publics: Sequence[PublicShape],
    parameters: ExactParameters,
    /,
    *,
    seed: int,
) -> list[ForestCourse]:
    """The courses of all weightings, whose cells have these ranges, group by group.

    >>> from tacit.problems import generate_assignment
    >>> from tacit.search.moves import public_shape
    >>> problem = generate_assignment(1, rows=100, objectives=2)
    >>> shapes = [public_shape(problem, (i, 100 - i)) for i in range(0, 101, 4)]
    >>> courses = forest_courses(problem, shapes, ExactParameters(), seed=1)
    >>> [len(course.searches) for course in courses]
    [8, 9, 9]
    """
    alone = [
        _course(problem, [public], [number], parameters, seed=seed)
        for number, public in enumerate(publics)
    ]
    if parameters.bisect:
        most = _most_together(alone, parameters.together)
        return [
            _course(problem, [publics[k] for k in group], group, parameters, seed=seed)
            for group in bisected(range(len(alone)), most)
        ]
    together = _groups(alone, parameters.together)
    # Short words make short messages, but each group takes all rounds.
    by_word = sorted(alone, key=lambda each: each.shape.word.itemsize)
    apart = [
        group
        for _, same in groupby(by_word, key=lambda each: each.shape.word)
        for group in _groups(list(same), parameters.together)
    ]
    groups = apart if len(apart) <= len(together) else together
    return [
        _course(problem, [publics[k] for k in group], group, parameters, seed=seed)
        for group in sorted(groups)
    ]


def forest_course(
    problem: Problem,
    public: PublicShape,
    parameters: ExactParameters,
    /,
    *,
    seed: int,
    search: int,
) -> ForestCourse:
    """The course of one search by itself."""
    return _course(problem, [public], [search], parameters, seed=seed)


def _most_together(alone: Sequence[ForestCourse], together: int) -> int:
    largest = max(each.largest_message for each in alone)
    return together or max(1, GROUP_BYTES // largest)


def _groups(alone: Sequence[ForestCourse], together: int) -> list[list[int]]:
    """Weightings in groups of about one size."""
    count = -(-len(alone) // _most_together(alone, together))
    edges = [len(alone) * k // count for k in range(count + 1)]
    numbers = [each.searches[0] for each in alone]
    return [numbers[left:right] for left, right in pairwise(edges)]


def _course(
    problem: Problem,
    publics: Sequence[PublicShape],
    searches: Sequence[int],
    parameters: ExactParameters,
    *,
    seed: int,
) -> ForestCourse:
    """One course, with the bounds of the weighting of the largest range."""
    public = max(publics, key=lambda each: each.unit)
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
    size, phases, longest = layout.size, parameters.phases, parameters.steps
    schedule = (
        scaled(size, public.unit, phases, longest=longest)
        if parameters.scaling
        else plain(size, phases, longest=longest)
    )
    try:
        shape = layout.shape(largest_epsilon=largest_epsilon(schedule), weightings=len(searches))
    except ParameterError as error:
        raise AgreementError(str(error)) from None
    highs = tuple(each.low + each.spread for each in publics)
    # After the last phase the plan itself says what is proved.
    told = tuple(phase for phase in parameters.told_after if phase < len(schedule))
    return ForestCourse(
        layout,
        shape,
        schedule,
        tuple(searches),
        highs,
        seed,
        _any_plan(problem),
        told,
        ladder(parameters.gap, layout.rows * layout.spread),
    )


def _any_plan(problem: Problem) -> tuple[int, ...] | None:
    if problem.forbidden is None or not problem.forbidden.any():
        return None
    items = problem.sealed_items
    places = feasible_assignment(~problem.forbidden[:, items])
    return None if places is None else tuple(int(item) for item in items[places])
