"""How long a generation of a sealed tour takes: modelled from what it costs, which is public.

Settings with more children get further per generation and have fewer generations, so they can only
be compared at equal time. The factors are those that a study was measured with, and stay with its
results; agreements are drafted by `tacit.engine.derived.timing`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import msgspec

from tacit.disclosure import SEALED
from tacit.engine.agreement import table_of
from tacit.errors import ParameterError
from tacit.mpc.sealed import cost
from tacit.problems import Problem
from tacit.search.moves import Schedule, TourParameters, public_shape


@dataclass(frozen=True)
class GenerationCost:
    """What one generation asks of the nodes."""

    rounds: float
    megabytes: float
    """Of the node that sends most; comparing grows with them."""
    megaproducts: float
    """Millions of products of numbers in the update of the parent's table."""


class SealedPace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds that each part of a cost takes, from measurements as of `benchmarks/sealed.py`."""

    per_round: float
    per_megabyte: float = 0.0
    per_megaproduct: float = 0.0

    def generation_seconds(self, problem: Problem, parameters: TourParameters, /) -> float:
        """What one generation takes."""
        each = generation_cost(schedule_for(problem, parameters))
        return (
            each.rounds * self.per_round
            + each.megabytes * self.per_megabyte
            + each.megaproducts * self.per_megaproduct
        )


def generations_in(
    seconds: float, pace: SealedPace | None, problem: Problem, parameters: TourParameters, /
) -> int:
    """How many generations of a sealed search there is time for."""
    if pace is None:
        raise ParameterError(
            f"the budget says nothing of {SEALED}; add a table with its seconds per_round, "
            "per_megabyte and per_megaproduct"
        )
    each = pace.generation_seconds(problem, parameters)
    if each <= 0:
        raise ParameterError("a sealed generation takes no time; give its seconds")
    return math.floor(seconds / each)


def schedule_for(problem: Problem, parameters: TourParameters, /) -> Schedule:
    """The public course of a search, of which any seed costs the same."""
    return Schedule(public_shape(problem, [1]), parameters, seed=0)


def generation_cost(schedule: Schedule, /, *, nodes: int = 3) -> GenerationCost:
    """What one generation more costs.

    >>> from tacit.problems import shipped_problem
    >>> generation_cost(schedule_for(shipped_problem("kroA100"), TourParameters()))
    GenerationCost(rounds=11.0, megabytes=0.393156, megaproducts=1.979802)
    """
    moves, about = schedule.generation(0, horizon=1).moves, table_of(schedule)
    one, two = (cost(nodes, moves, generations, about) for generations in (1, 2))
    met, often = one, 0.0
    if schedule.parameters.parents > 1 and schedule.parameters.meet_every:
        met = cost(nodes, moves, 1, about, pairs=[schedule.parameters.parents // 2])
        often = 1 / schedule.parameters.meet_every
    blocks, size = moves.positions.shape
    # Each block's matrix times its lines of the table, and times its columns.
    products = 2 * blocks * size * size * schedule.shape.width
    return GenerationCost(
        rounds=two.rounds - one.rounds + often * (met.rounds - one.rounds),
        megabytes=(
            two.bytes_per_node
            - one.bytes_per_node
            + often * (met.bytes_per_node - one.bytes_per_node)
        )
        / 1e6,
        megaproducts=products / 1e6,
    )
