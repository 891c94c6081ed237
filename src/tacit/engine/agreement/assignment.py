"""The public course of a sealed assignment that an agreement names: sizes, bounds and steps.

Several weightings are solved in groups, in the same messages: bytes add up, rounds do not. Which
go together follows from public sizes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement.frame_sizes import ROOM
from tacit.errors import AgreementError, ParameterError
from tacit.mpc import ArithmeticShare, Size
from tacit.mpc.assignment import (
    AssignmentShape,
    Layout,
    Ties,
    heads,
    kept_sizes,
    ladder,
    most_compared,
)
from tacit.mpc.sealed import Step
from tacit.mpc.sealed import most_compared as most_of_blocks
from tacit.problems import Problem, first_served
from tacit.search.moves import AssignmentParameters, BlockDescent, PublicShape

GROUP_BYTES = 2 << 20
"""So large the messages of a group may get. Larger ones save hardly any time."""


@dataclass(frozen=True)
class AssignmentCourse:
    """Assignments that are solved together: all that is public of them."""

    layout: Layout
    shape: AssignmentShape
    parameters: AssignmentParameters
    searches: tuple[int, ...]
    """The weightings, by their numbers in the agreement."""
    highs: tuple[int, ...]
    """The largest value of a cell under each."""
    seed: int
    start: tuple[int, ...] | None = None
    """The place of each row of the square in a public plan, where pairs are forbidden."""

    @property
    def ties(self) -> Ties:
        """The tie-breaks."""
        return Ties(self.seed, self.searches)

    @property
    def descent(self) -> BlockDescent:
        """The moves of the generations that come before the iterations."""
        layout = self.layout
        return BlockDescent(layout.rows, layout.size, layout.widest, self.seed, self.searches)

    def generations(self, first: int, end: int, /) -> Iterator[Step]:
        """Yield the generations of block descent among the steps after `first` up to `end`.

        One at a time: the moves of a large problem take megabytes.
        """
        descent = self.descent
        numbers = range(first + 1, min(end, self.parameters.generations) + 1)
        for each in numbers:
            moves = descent.generation(each)
            yield Step(moves, descent.offsets, descent.factor, descent.key_bits)

    @property
    def steps(self) -> int:
        """Generations and iterations together."""
        return self.parameters.steps

    @property
    def least_steps(self) -> int:
        """Before so many steps no plan is opened while there is time left."""
        return self.parameters.least_steps

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """The steps after which it is opened whether all is proved.

        After the last one the plan itself says what is proved.
        """
        before = self.parameters.generations
        told = (before + each for each in self.parameters.told_after)
        return tuple(step for step in told if step < self.steps)

    @cached_property
    def ladder(self) -> tuple[int, ...]:
        """What the gap of a plan is rounded up to, where it is opened."""
        return ladder(self.parameters.gap, self.layout.rows * self.layout.spread)

    @property
    def heads(self) -> int:
        """The words of a plan before its columns: its cost, what is proved, and perhaps a rung."""
        return heads(steps=self.ladder)

    def alone(self, search: int, /) -> AssignmentCourse:
        """Return the same course for one of the weightings: it does not depend on the others."""
        high = self.highs[self.searches.index(search)]
        shape = replace(self.shape, weightings=1)
        return replace(self, shape=shape, searches=(search,), highs=(high,))

    @property
    def state_sizes(self) -> list[Size]:
        """The sizes of the shares that nodes keep, last those of the plans."""
        plans = self.shape.weightings, self.layout.rows + self.heads
        return [*kept_sizes(self.shape), (plans, self.shape.word)]

    @property
    def largest_message(self) -> int:
        """Bytes of the proof's comparisons, or of one bit per bit of those of a level."""
        size, word = self.shape.size, self.shape.word.itemsize * self.shape.weightings
        compared = most_compared(self.shape) * self.shape.key_bits // 8
        # The proof compares every reduced cost with both ends of its range, in whole words.
        most = max(compared, (2 * size * size + 4 * size + 1) * word)
        return max(most, self._largest_of_descent) if self.parameters.generations else most

    @property
    def _largest_of_descent(self) -> int:
        descent = self.descent
        blocks = descent.blocks * len(self.searches)
        pairs = most_of_blocks(blocks, descent.children, levels=descent.levels)
        return pairs * descent.key_bits // 8

    def costs(self, values: ArithmeticShare, /) -> ArithmeticShare:
        """Return the square of costs, from shares of weightings x rows x columns of values."""
        # All that counts of the bounds is the largest value: the smallest costs nothing.
        bounds = [(0, high) for high in self.highs]
        return self.layout.costs(values, bounds, self.shape, maximize=True)

    def clear_costs(self, values: NDArray[np.int64], /) -> NDArray[np.int64]:
        """Return the same of values that are here, of one weighting `alone`."""
        whole = self.costs(ArithmeticShare({0: values[None].astype(np.uint64)}))
        costs: NDArray[np.int64] = whole.parts[0][0].astype(np.int64)
        return costs

    def value_of(self, search: int, total: int, /) -> int:
        """Return the value of a plan under a weighting, from the sum of its costs."""
        return self.layout.rows * self.highs[self.searches.index(search)] - total


def assignment_courses(
    problem: Problem,
    publics: Sequence[PublicShape],
    parameters: AssignmentParameters,
    /,
    *,
    seed: int,
) -> list[AssignmentCourse]:
    """Return the courses of all weightings, whose cells have these ranges, group by group.

    >>> from tacit.problems import generate_assignment
    >>> from tacit.search.moves import public_shape
    >>> problem = generate_assignment(1, rows=100, objectives=2)
    >>> shapes = [public_shape(problem, (i, 100 - i)) for i in range(0, 101, 4)]
    >>> courses = assignment_courses(problem, shapes, AssignmentParameters(), seed=1)
    >>> [len(course.searches) for course in courses]
    [13, 13]
    """
    alone = [
        _course(problem, [public], [number], parameters, seed=seed)
        for number, public in enumerate(publics)
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
    start = _public_start(problem)
    return [
        replace(
            _course(problem, [publics[k] for k in group], group, parameters, seed=seed), start=start
        )
        for group in sorted(groups)
    ]


def _groups(alone: Sequence[AssignmentCourse], together: int) -> list[list[int]]:
    """Return weightings in groups of about one size."""
    largest = max(each.largest_message for each in alone)
    most = together or max(1, GROUP_BYTES // largest)
    count = -(-len(alone) // most)
    edges = [len(alone) * k // count for k in range(count + 1)]
    numbers = [each.searches[0] for each in alone]
    return [numbers[left:right] for left, right in pairwise(edges)]


def layout_of(problem: Problem, public: PublicShape, /) -> Layout:
    """Return the square of a problem, or refuse one that no message holds."""
    places = len(problem.sealed_items)
    if places * places * 8 > ROOM:
        raise AgreementError(
            f"a sealed assignment works on {places} x {places} numbers, more than a message "
            "holds; take a smaller problem, or another disclosure, such as top:15"
        )
    return Layout(
        rows=public.rows,
        columns=tuple(int(item) for item in problem.sealed_items),
        spread=public.unit,
        forbidden=problem.forbidden,
    )


def _course(
    problem: Problem,
    publics: Sequence[PublicShape],
    searches: Sequence[int],
    parameters: AssignmentParameters,
    *,
    seed: int,
) -> AssignmentCourse:
    """Return one course, with the bounds of the weighting of the largest range."""
    layout = layout_of(problem, max(publics, key=lambda each: each.unit))
    descent_bits = 0
    if parameters.generations:
        descent_bits = BlockDescent(layout.rows, layout.size, layout.widest, seed).key_bits
    try:
        shape = layout.shape(weightings=len(searches), descent_bits=descent_bits)
    except ParameterError as error:
        raise AgreementError(str(error)) from None
    highs = tuple(each.low + each.spread for each in publics)
    return AssignmentCourse(layout, shape, parameters, tuple(searches), highs, seed)


def _public_start(problem: Problem) -> tuple[int, ...] | None:
    """Return the place of each row of the square in a plan without forbidden pairs."""
    if problem.forbidden is None or not problem.forbidden.any():
        return None
    items = problem.sealed_items
    places = first_served(~problem.forbidden[:, items])
    if places is None:
        raise AgreementError("every plan has a forbidden pair; allow more pairs")
    free = np.setdiff1d(np.arange(len(items)), places)
    return tuple(int(each) for each in [*places, *free])
