"""What a sealed search of a tour does in each generation, and how large its numbers can get."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.search.moves import tour
from tacit.search.moves.move_set import MoveSet
from tacit.search.moves.noise import HEAT_STEPS, gumbel_noise, noise_span, temperature_at
from tacit.search.moves.parameters import HEAT_UNIT, TourParameters
from tacit.search.moves.runs import Indices
from tacit.search.moves.shape import PublicShape

LEAST_WINDOW = 3
"""Positions of a window of several, with the one behind it, which stays."""
FINE_BITS = 10
"""Small weights are scaled up, so that the largest has at least this many bits."""


@dataclass(frozen=True, eq=False)
class Generation:
    """The children of a generation and the public part of their keys."""

    moves: MoveSet
    offsets: NDArray[np.int64]
    """One per child: the noise, then the tie-breaking number in the low bits."""
    parent_pairs: Indices
    """Pairs of parents; both continue from the one that was better before."""


@dataclass(frozen=True)
class Schedule:
    """The public course of one sealed search of a tour.

    `stream` numbers the searches of one agreement. A child's key is its gain times `gain_factor`
    plus its offset; in its block no two keys are equal.

    >>> shape = PublicShape("tour", rows=9, columns=9, low=0, spread=1000)
    >>> schedule = Schedule(shape, TourParameters(windows=2), seed=1)
    >>> schedule.generation(3, horizon=10).moves.blocks
    2
    """

    shape: PublicShape
    parameters: TourParameters
    seed: int
    stream: int = 0

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise ParameterError(f"seed is {self.seed}; give 0 or more")

    @property
    def children(self) -> int:
        """Children per block, the parent among them; the same in all generations.

        >>> shape = PublicShape("tour", rows=5, columns=5, low=0, spread=1000)
        >>> Schedule(shape, TourParameters(children=20), seed=1).children
        21
        """
        return 1 if self._window < 2 else self.parameters.children + 1

    @property
    def blocks(self) -> int:
        """Blocks of all parents per generation, always the same."""
        return self.parameters.parents * self._windows

    @property
    def _windows(self) -> int:
        """In each at least two cities may change places."""
        return max(1, min(self.parameters.windows, self.shape.rows // LEAST_WINDOW))

    @property
    def _window(self) -> int:
        """How many cities, in a row, a block may change in a generation."""
        rows = self.shape.rows
        if self._windows > 1:
            return rows // self._windows - 1  # the position between two windows stays
        return min(-(-rows * self.parameters.window_percent // 100), rows - 1)

    @property
    def _fine(self) -> int:
        return max(0, FINE_BITS - self.shape.unit.bit_length())

    @property
    def _tie_bits(self) -> int:
        return self.parameters.children.bit_length()

    @property
    def gain_factor(self) -> int:
        """The factor of a gain in a key."""
        return 1 << (self._fine + self._tie_bits)

    @property
    def key_bits(self) -> int:
        """The bits of a signed difference of two keys of a block."""
        shape = self.shape
        terms = tour.TERMS if shape.symmetric else shape.rows
        gain = 2 * terms * shape.spread << self._fine
        hottest = self._temperature(0)
        span = ((gain + noise_span(hottest)) << self._tie_bits) + (1 << self._tie_bits) - 1
        return span.bit_length() + 1

    @property
    def total_bits(self) -> int:
        """The bits of a signed difference of two plans' values."""
        return self.shape.total_span.bit_length() + 1

    def _temperature(self, step: int) -> int:
        unit = self.shape.unit << self._fine
        start, end = (
            max(1, unit * heat // HEAT_UNIT)
            for heat in (self.parameters.heat_start, self.parameters.heat_end)
        )
        return temperature_at(step, start, end)

    def heat_step(self, generation: int, horizon: int, /) -> int:
        """The progress of the cooling, given the expected number of generations.

        >>> shape = PublicShape("tour", rows=5, columns=5, low=0, spread=1000)
        >>> Schedule(shape, TourParameters(cycles=2), seed=1).heat_step(60, 100)
        204
        """
        cooling = horizon * (100 - self.parameters.descent_percent) // 100
        whole = self.parameters.cycles * HEAT_STEPS * generation // max(cooling, 1)
        if whole >= self.parameters.cycles * HEAT_STEPS:
            return HEAT_STEPS
        return whole % HEAT_STEPS

    def _temperature_in(self, number: int, horizon: int) -> int:
        step = self.heat_step(number, horizon)
        descends = step == HEAT_STEPS and self.parameters.descent_percent > 0
        return 0 if descends else self._temperature(step)

    def generation(self, number: int, /, *, horizon: int) -> Generation:
        """The children of one generation, counted from 0."""
        bits = np.random.PCG64([self.seed, self.stream, number])
        moves = self._moves(bits)
        count = moves.blocks * moves.children
        noise = gumbel_noise(_raw(bits, count), self._temperature_in(number, horizon))
        ties = np.arange(moves.children - 1, -1, -1, dtype=np.int64)
        offsets = (noise << self._tie_bits) + np.tile(ties, moves.blocks)
        pairs = moves.children > 1 and self.selects_parents(number)
        return Generation(moves, offsets, self._pairs(bits) if pairs else np.zeros((0, 2), np.intp))

    def selects_parents(self, number: int, /) -> bool:
        """Whether a generation has parent selection, if anything moves."""
        every = self.parameters.meet_every
        return self.parameters.parents > 1 and every > 0 and number % every == every - 1

    def _pairs(self, bits: np.random.PCG64) -> Indices:
        order = np.argsort(_raw(bits, self.parameters.parents), kind="stable")
        return order[: len(order) // 2 * 2].reshape(-1, 2)

    def _moves(self, bits: np.random.PCG64) -> MoveSet:
        """Those of all parents."""
        shape, parameters = self.shape, self.parameters
        each = 1 + self._windows * 3 * parameters.children
        return tour.tour_moves(
            _raw(bits, parameters.parents * each).reshape(-1, each),
            cities=shape.rows,
            window=self._window,
            windows=self._windows,
            children=parameters.children,
            inversions=parameters.children * parameters.swap_percent // 100,
            exchanges=parameters.children * parameters.exchange_percent // 100,
            symmetric=shape.symmetric,
            width=shape.width,
        )


def _raw(bits: np.random.PCG64, count: int) -> NDArray[np.uint64]:
    words: NDArray[np.uint64] = np.asarray(bits.random_raw(count), dtype=np.uint64)
    return words
