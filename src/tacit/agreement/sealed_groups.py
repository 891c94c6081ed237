"""The searches of a sealed run that go on together, with everything that is public of them.

A tour is searched alone. Weightings of an assignment are solved in groups, in the same messages:
bytes add up, rounds do not. Which go together follows from public sizes alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AgreementError, ParameterError
from tacit.mpc import RING_BITS, ArithmeticShare, Size
from tacit.mpc.assignment import (
    AssignmentShape,
    Layout,
    Ties,
    heads,
    kept_sizes,
    ladder,
    most_compared,
)
from tacit.mpc.sealed import Step, TableShape, state_sizes
from tacit.mpc.sealed import most_compared as most_of_blocks
from tacit.mpc.transport import FRAME_LIMIT
from tacit.problems import Problem, first_served
from tacit.search.moves import (
    AssignmentParameters,
    BlockDescent,
    PublicShape,
    SealedParameters,
    TourParameters,
    TourSchedule,
    public_shape,
)

ROOM = FRAME_LIMIT - (1 << 16)
"""What is left beside the other fields of a message."""
GROUP_BYTES = 2 << 20
"""So large the messages of a group may get. Larger ones save hardly any time."""


@dataclass(frozen=True, kw_only=True)
class SealedGroup(ABC):
    """Searches that go on together: their public sizes, and what follows from the seed."""

    searches: tuple[int, ...]
    """Their numbers in the agreement, one per weighting. The first one names the group."""
    seed: int
    """Moves and tie-breaks follow from it; sizes do not."""

    @property
    @abstractmethod
    def word(self) -> np.dtype[Any]:
        """The words that shares of the plans have."""

    @property
    @abstractmethod
    def state_sizes(self) -> list[Size]:
        """The sizes of the shares that nodes keep between steps, last those of the plans."""

    @property
    @abstractmethod
    def largest_message(self) -> int:
        """Bytes of the largest message of a step."""

    @property
    @abstractmethod
    def compared_bits(self) -> int:
        """Bits of the largest numbers that a step compares."""

    @property
    @abstractmethod
    def moves_at_once(self) -> int:
        """How many moves a generation compares."""

    @property
    def ladder(self) -> tuple[int, ...]:
        """Return the values that the gap of a plan is rounded up to, where it is opened."""
        return ()

    @abstractmethod
    def value_of(self, search: int, total: int, /) -> int:
        """Return the value of a plan under a weighting, from the total that is opened with it."""

    def seeded(self, seed: int, /) -> Self:
        """Return the same searches with the moves and tie-breaks of another seed."""
        return replace(self, seed=seed)

    def check_sizes(self) -> None:
        """Refuse numbers that do not fit the ring, and messages that no frame holds."""
        search = self.searches[0]
        if self.compared_bits > RING_BITS:
            raise AgreementError(
                f"search {search} compares {self.compared_bits} bits, the ring has {RING_BITS}; "
                "scale the weights or the weighting down"
            )
        # A node that was lost and is back gets the whole state at once.
        state = sum(prod(size) * word.itemsize for size, word in self.state_sizes)
        most = max(self.largest_message, state)
        if most > ROOM:
            raise AgreementError(
                f"search {search} would take a message of {most >> 20} MB; {ROOM >> 20} MB fit: "
                "take fewer parents, fewer children or smaller blocks, or a smaller problem"
            )


@dataclass(frozen=True, kw_only=True)
class TourGroup(SealedGroup):
    """One weighting of a tour, which is annealed by itself."""

    schedule: TourSchedule

    @property
    def table(self) -> TableShape:
        """Return what the protocols need to know of the secret tables."""
        schedule, parameters = self.schedule, self.schedule.parameters
        return TableShape(
            schedule.shape.rows,
            schedule.key_bits,
            schedule.total_bits,
            parameters.parents,
            parameters.levels,
        )

    @property
    def word(self) -> np.dtype[Any]:
        return self.table.word

    @property
    def state_sizes(self) -> list[Size]:
        return state_sizes(self.table)

    @property
    def compared_bits(self) -> int:
        return max(self.table.key_bits, self.table.settle_bits)

    @property
    def moves_at_once(self) -> int:
        return self.schedule.blocks * self.schedule.children

    @property
    def largest_message(self) -> int:
        """Bytes of the tables at the start, or of one bit per bit of a comparison."""
        table, schedule = self.table, self.schedule
        compared = most_of_blocks(schedule.blocks, schedule.children, levels=table.levels)
        cells = table.parents * table.places * (table.places + 1)
        return max(cells * table.word.itemsize, compared * self.compared_bits // 8)

    def value_of(self, search: int, total: int, /) -> int:  # noqa: ARG002 - there is one
        return total

    def seeded(self, seed: int, /) -> Self:
        return replace(self, seed=seed, schedule=replace(self.schedule, seed=seed))


@dataclass(frozen=True, kw_only=True)
class AssignmentGroup(SealedGroup):
    """Weightings of an assignment that are solved in the same messages."""

    layout: Layout
    shape: AssignmentShape
    parameters: AssignmentParameters
    highs: tuple[int, ...]
    """The largest value of a cell under each weighting."""
    start: tuple[int, ...] | None = None
    """The place of each row of the square in a public plan, where pairs are forbidden."""

    @property
    def ties(self) -> Ties:
        return Ties(self.seed, self.searches)

    @property
    def descent(self) -> BlockDescent:
        """Return the moves of the generations that come before the iterations."""
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

    @cached_property
    def ladder(self) -> tuple[int, ...]:
        """Return the values that the gap of a plan is rounded up to, where it is opened."""
        return ladder(self.parameters.gap, self.layout.rows * self.layout.spread)

    @property
    def word(self) -> np.dtype[Any]:
        return self.shape.word

    @property
    def state_sizes(self) -> list[Size]:
        plans = self.shape.weightings, self.layout.rows + heads(steps=self.ladder)
        return [*kept_sizes(self.shape), (plans, self.shape.word)]

    @property
    def compared_bits(self) -> int:
        return max(self.shape.key_bits, self.shape.descent_bits)

    @property
    def moves_at_once(self) -> int:
        descent = self.descent
        return descent.blocks * descent.children * len(self.searches)

    @property
    def square_cells(self) -> int:
        return len(self.searches) * self.shape.size**2

    @property
    def largest_message(self) -> int:
        """Bytes of the proof's comparisons, or of one bit per bit of those of a level."""
        shape, word = self.shape, self.shape.word.itemsize * self.shape.weightings
        compared = most_compared(shape) * shape.key_bits // 8
        # The proof compares every reduced cost with both ends of its range, in whole words.
        proof = (2 * shape.pairs + 4 * shape.size + 1) * word
        # A drawn plan is shuffled, and a lost node gets the matching back, in whole lines.
        most = max(compared, proof, shape.size**2 * word)
        return max(most, self._largest_of_descent) if self.parameters.generations else most

    @property
    def _largest_of_descent(self) -> int:
        descent = self.descent
        blocks = descent.blocks * len(self.searches)
        pairs = most_of_blocks(blocks, descent.children, levels=descent.levels)
        return pairs * descent.key_bits // 8

    def alone(self, search: int, /) -> AssignmentGroup:
        """Return one of the weightings by itself: its steps do not depend on the others."""
        high = self.highs[self.searches.index(search)]
        shape = replace(self.shape, weightings=1)
        return replace(self, shape=shape, searches=(search,), highs=(high,))

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
        return self.layout.rows * self.highs[self.searches.index(search)] - total


def grouped_searches(
    problem: Problem,
    weightings: Sequence[Sequence[int]],
    parameters: SealedParameters,
    /,
    *,
    seed: int = 0,
) -> tuple[SealedGroup, ...]:
    """Return the searches of all weightings of a problem's objectives, group by group.

    >>> from tacit.problems import generate_assignment
    >>> problem = generate_assignment(1, rows=100, objectives=2)
    >>> weightings = [(i, 100 - i) for i in range(0, 101, 4)]
    >>> groups = grouped_searches(problem, weightings, AssignmentParameters())
    >>> [len(group.searches) for group in groups]
    [13, 13]
    """
    if isinstance(parameters, AssignmentParameters):
        return tuple(assignment_groups(problem, weightings, parameters, seed=seed))
    return tuple(tour_groups(problem, weightings, parameters, seed=seed))


def tour_groups(
    problem: Problem,
    weightings: Sequence[Sequence[int]],
    parameters: TourParameters,
    /,
    *,
    seed: int = 0,
) -> list[TourGroup]:
    publics = [public_shape(problem, factors) for factors in weightings]
    return [
        TourGroup(
            searches=(number,),
            seed=seed,
            schedule=TourSchedule(public, parameters, seed=seed, stream=number),
        )
        for number, public in enumerate(publics)
    ]


def assignment_groups(
    problem: Problem,
    weightings: Sequence[Sequence[int]],
    parameters: AssignmentParameters,
    /,
    *,
    seed: int = 0,
) -> list[AssignmentGroup]:
    publics = [public_shape(problem, factors) for factors in weightings]
    alone = [
        _group(problem, [public], [number], parameters, seed=seed)
        for number, public in enumerate(publics)
    ]
    together = _dealt(alone, parameters.together)
    # Short words make short messages, but each group takes all rounds.
    by_word = sorted(alone, key=lambda each: each.shape.word.itemsize)
    apart = [
        numbers
        for _, same in groupby(by_word, key=lambda each: each.shape.word)
        for numbers in _dealt(list(same), parameters.together)
    ]
    dealt = apart if len(apart) <= len(together) else together
    start = _public_start(problem)
    return [
        replace(
            _group(problem, [publics[k] for k in numbers], numbers, parameters, seed=seed),
            start=start,
        )
        for numbers in sorted(dealt)
    ]


def _dealt(alone: Sequence[AssignmentGroup], together: int) -> list[list[int]]:
    """Return the numbers of these weightings in groups of about one size."""
    # Groups of about one size: the largest message decides how many fit, and a small rest would
    # take all rounds too.
    largest = max(each.largest_message for each in alone)
    most = together or max(1, GROUP_BYTES // largest)
    count = -(-len(alone) // most)
    edges = [len(alone) * k // count for k in range(count + 1)]
    numbers = [each.searches[0] for each in alone]
    return [numbers[left:right] for left, right in pairwise(edges)]


def layout_of(problem: Problem, public: PublicShape, /) -> Layout:
    """Return the square of a problem, or refuse one that no message holds."""
    places = len(problem.sealed_items)
    # Before anything of this size is made: anybody may send a node such an agreement.
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


def _group(
    problem: Problem,
    publics: Sequence[PublicShape],
    searches: Sequence[int],
    parameters: AssignmentParameters,
    *,
    seed: int,
) -> AssignmentGroup:
    """Return one group, with the bounds of the weighting of the largest range."""
    layout = layout_of(problem, max(publics, key=lambda each: each.unit))
    # One shape serves all weightings of a group, so its bounds are those of the widest.
    descent_bits = 0
    if parameters.generations:
        descent_bits = BlockDescent(layout.rows, layout.size, layout.widest, seed).key_bits
    try:
        shape = layout.shape(
            weightings=len(searches), descent_bits=descent_bits, iterations=parameters.iterations
        )
    except ParameterError as error:
        raise AgreementError(str(error)) from None
    return AssignmentGroup(
        searches=tuple(searches),
        seed=seed,
        layout=layout,
        shape=shape,
        parameters=parameters,
        highs=tuple(each.low + each.spread for each in publics),
    )


def _public_start(problem: Problem) -> tuple[int, ...] | None:
    """Return the place of each row of the square in a plan without forbidden pairs."""
    # A secret random start might use forbidden pairs. Where there are some, all start from one
    # public plan without them.
    if problem.forbidden is None or not problem.forbidden.any():
        return None
    items = problem.sealed_items
    places = first_served(~problem.forbidden[:, items])
    if places is None:
        raise AgreementError("every plan has a forbidden pair; allow more pairs")
    free = np.setdiff1d(np.arange(len(items)), places)
    return tuple(int(each) for each in [*places, *free])
