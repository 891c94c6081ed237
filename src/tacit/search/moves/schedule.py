"""The public course of a sealed tour search: its table's shape, its temperature, noise and moves.

Noise is Gumbel noise in whole numbers. The argmax of keys plus Gumbel noise of temperature t is a
sample of the distribution with weights exp(key / t), which makes selection an annealing step. The
quantiles come from integer arithmetic, which is the same everywhere; logarithms in floating point
differ between processors in their last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError, ProblemError
from tacit.problems import Problem
from tacit.search.moves import tour
from tacit.search.moves.move_set import Indices, MoveSet
from tacit.search.moves.parameters import HEAT_UNIT, TourParameters


@dataclass(frozen=True)
class PublicShape:
    """The size of the table and the range of its cells, `low` to `low + spread`.

    >>> PublicShape("assignment", rows=2, columns=3, low=0, spread=9).width
    3
    """

    kind: str
    """Of the moves."""
    rows: int
    columns: int
    low: int
    spread: int
    symmetric: bool = False
    """Tours: whether a leg has the same value in both directions."""
    allowed_spread: int | None = None
    """The spread of the cells of allowed pairs, where others are forbidden."""

    @property
    def unit(self) -> int:
        return self.spread if self.allowed_spread is None else self.allowed_spread

    @property
    def width(self) -> int:
        """Columns of the table, the one of the ids included."""
        return self.rows + 1

    @property
    def total_span(self) -> int:
        """The largest difference of two plans' values."""
        return self.rows * self.spread


def public_shape(problem: Problem, weighting: Sequence[int], /) -> PublicShape:
    """The shape of the weighted sum of a problem's objectives.

    A forbidden pair has the value `low`: so little that any plan without one is better than any
    plan with one.

    >>> from tacit.problems import generate_assignment
    >>> public_shape(generate_assignment(1, rows=3, objectives=2, weights_up_to=9), (2, 1))
    PublicShape(kind='assignment', rows=3, columns=3, low=0, spread=27, symmetric=False, \
allowed_spread=None)
    """
    if problem.sealed_moves is None:
        raise ProblemError(
            f"there are no moves by which a sealed search could change a plan of the kind "
            f"{problem.kind!r}; choose another disclosure"
        )
    low = high = 0
    for factor, objective in zip(weighting, problem.objectives, strict=True):
        most = factor * objective.sign * objective.weight_bound
        low, high = low + min(0, most), high + max(0, most)
    size = problem.sealed_moves, problem.rows, len(problem.sealed_items)
    if problem.forbidden is None:
        return PublicShape(*size, low, high - low, problem.is_symmetric)
    least = high - (problem.rows + 1) * (high - low + 1)
    return PublicShape(*size, least, high - least, problem.is_symmetric, high - low)


FRACTION_BITS = 12
"""The table holds Gumbel noise times 2^12."""
QUANTILES = 4096
_LN2 = 45426
"""ln(2) times 2^16."""
_LOG2_OF_LN2 = -2271034276
"""log2(ln(2)) times 2^32."""
HEAT_STEPS = 1024
"""The number of steps of a temperature from its start to its end."""


def log2_fixed(numbers: NDArray[np.uint64], /) -> NDArray[np.int64]:
    """The binary logarithm times 2^32 of positive numbers below 2^40, bit by bit.

    >>> log2_fixed(np.array([1, 2, 3], dtype=np.uint64)) / 2**32
    array([0.       , 1.       , 1.5849625])
    """
    whole = np.frexp(numbers.astype(np.float64))[1].astype(np.int64) - 1  # exact below 2^53
    up, down = (np.maximum(shift, 0).astype(np.uint64) for shift in (31 - whole, whole - 31))
    y = (numbers << up) >> down  # 1 <= y < 2 in units of 2^-31
    fraction = np.zeros(len(numbers), dtype=np.int64)
    for _ in range(32):
        y = (y * y) >> np.uint64(31)
        bit = y >> np.uint64(32)
        y >>= bit
        fraction = (fraction << 1) | bit.astype(np.int64)
    return (whole << 32) | fraction


@cache
def gumbel_quantiles() -> NDArray[np.int64]:
    """-ln(-ln(u)) times 2^12 at the middle of each of 4096 equal parts of 0..1.

    >>> gumbel_quantiles()[[0, 2048, -1]].tolist()
    [-9005, 1502, 36908]
    """
    odd = 2 * np.arange(QUANTILES, dtype=np.uint64) + np.uint64(1)
    # u = odd / 2^13, so -ln(u) = ln(2) * inner.
    inner = (13 << 32) - log2_fixed(odd)
    outer = log2_fixed(inner.astype(np.uint64)) - (32 << 32) + _LOG2_OF_LN2
    table = (-outer * _LN2) >> (32 + 16 - FRACTION_BITS)
    table.setflags(write=False)
    return table


def gumbel_noise(words: NDArray[np.uint64], temperature: int, /) -> NDArray[np.int64]:
    """Noise at a temperature from random words, one each; rounded down to integers.

    >>> gumbel_noise(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64), 100)
    array([-220,   36,  901])
    """
    quantiles = gumbel_quantiles()[(words >> np.uint64(64 - 12)).astype(np.intp)]
    return _at(quantiles, temperature)


def _at(quantiles: NDArray[np.int64], temperature: int) -> NDArray[np.int64]:
    if temperature >> 40:  # the product would not fit, and the last bits of it do not matter
        return quantiles * (temperature >> FRACTION_BITS)
    return (quantiles * temperature) >> FRACTION_BITS


def noise_span(temperature: int, /) -> int:
    """The largest difference of two noise values at a temperature.

    >>> noise_span(100)
    1121
    """
    low, high = _at(gumbel_quantiles()[[0, -1]], temperature)
    return int(high - low)


@cache
def temperature_at(step: int, start: int, end: int, /) -> int:
    """The temperature after some of the steps of a geometric cooling from `start` to `end`.

    >>> temperature_at(0, 600, 20), temperature_at(512, 600, 20), temperature_at(1024, 600, 20)
    (600, 110, 20)
    """
    with localcontext() as context:
        context.prec = 28
        ratio = (Decimal(end) / Decimal(start)).ln() * step / HEAT_STEPS
        return int((Decimal(start) * ratio.exp()).to_integral_value())


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
class TourSchedule:
    """The public course of one sealed search of a tour.

    `stream` numbers the searches of one agreement. A child's key is its gain times `gain_factor`
    plus its offset; in its block no two keys are equal.

    >>> shape = PublicShape("tour", rows=9, columns=9, low=0, spread=1000)
    >>> schedule = TourSchedule(shape, TourParameters(windows=2), seed=1)
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
        >>> TourSchedule(shape, TourParameters(children=20), seed=1).children
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
        >>> TourSchedule(shape, TourParameters(cycles=2), seed=1).heat_step(60, 100)
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
