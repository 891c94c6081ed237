"""Families of assignment costs with a structure, beside the independent weights of the paper.

What holds on independent uniform weights may fail on costs as they occur: searches, exact methods
and attacks are tried on all of these. Whole numbers all the way, as in the other generators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Disclosure, Unsaid
from tacit.errors import ParameterError
from tacit.problems.assignment import Assignment
from tacit.problems.files.tsplib import METRICS
from tacit.problems.generate.generators import (
    LARGEST_WEIGHT,
    Seed,
    dealt_rows,
    seeded_generator,
    uniform_integers,
)
from tacit.problems.objective import Objective, Sense

Weights = NDArray[np.int64]
RANK = 3
"""Of the low-rank family."""
LARGEST_TIED = 10
POSSIBLE = 5
"""How many columns a row draws in the family `sparse`, besides the one that makes a plan."""
LARGEST_RATE = 100
"""What a slot of delay costs at most, in the family `slots`."""


@dataclass(frozen=True)
class Drawn:
    """A matrix, its public bound, and the pairs that are forbidden."""

    weights: Weights
    bound: int
    forbidden: NDArray[np.bool_] | None = None


def _effects(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """Most of a weight belongs to its row and its column: two fifths each."""
    share = 2 * up_to // 5
    by_row = uniform_integers(rng, rows, up_to=share)
    by_column = uniform_integers(rng, columns, up_to=share)
    own = uniform_integers(rng, rows * columns, up_to=up_to - 2 * share).reshape(rows, columns)
    return Drawn(by_row[:, None] + by_column + own, up_to)


def _low_rank(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """What a row needs times what a column offers, summed over a few properties."""
    needs = uniform_integers(rng, rows * RANK, up_to=up_to).reshape(rows, RANK)
    offers = uniform_integers(rng, RANK * columns, up_to=up_to).reshape(RANK, columns)
    return Drawn(needs @ offers // max(RANK * up_to, 1), up_to)


def _rank_one(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """What a row weighs times what a column costs: the best plan pairs large with small."""
    weighs = uniform_integers(rng, rows, up_to=up_to)
    costs = uniform_integers(rng, columns, up_to=up_to)
    return Drawn(weighs[:, None] * costs // max(up_to, 1), up_to)


def _euclidean(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """The distances of points in a square, such as of vehicles and calls."""
    points = uniform_integers(rng, 2 * (rows + columns), up_to=up_to).reshape(-1, 2)
    distances = METRICS["EUC_2D"](points.astype(np.float64))
    return Drawn(distances[:rows, rows:].astype(np.int64), int(np.ceil(np.hypot(up_to, up_to))))


def _slots(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:  # noqa: ARG001
    """A rate of its own per row times the delay; nothing is possible before its time."""
    busy = max(3 * columns // 5 - 1, 0)
    first = np.sort(uniform_integers(rng, rows, up_to=busy))
    first = np.minimum(first, columns - rows + np.arange(rows))
    rates = 1 + uniform_integers(rng, rows, up_to=LARGEST_RATE - 1)
    delays = np.arange(columns) - first[:, None]
    bound = LARGEST_RATE * max(columns - 1, 1)
    return Drawn(np.where(delays < 0, bound, rates[:, None] * delays), bound, delays < 0)


def _sparse(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """A few columns are possible for each row, and a hidden plan is among them."""
    weights = uniform_integers(rng, rows * columns, up_to=up_to).reshape(rows, columns)
    marks = uniform_integers(rng, (rows + 1) * columns, up_to=LARGEST_WEIGHT)
    ranks = np.argsort(marks.reshape(rows + 1, columns), axis=1, kind="stable")
    possible = np.zeros((rows, columns), dtype=np.bool_)
    possible[np.arange(rows)[:, None], ranks[:rows, :POSSIBLE]] = True
    possible[np.arange(rows), ranks[rows, :rows]] = True
    return Drawn(np.where(possible, weights, up_to), up_to, ~possible)


def _ties(rng: np.random.Generator, rows: int, columns: int, up_to: int) -> Drawn:
    """Few different weights, so that many plans are equally good."""
    most = min(up_to, LARGEST_TIED)
    return Drawn(uniform_integers(rng, rows * columns, up_to=most).reshape(rows, columns), most)


FAMILIES: dict[str, tuple[Callable[[np.random.Generator, int, int, int], Drawn], Sense]] = {
    "effects": (_effects, "maximize"),
    "low-rank": (_low_rank, "maximize"),
    "rank-one": (_rank_one, "minimize"),
    "euclidean": (_euclidean, "minimize"),
    "slots": (_slots, "minimize"),
    "sparse": (_sparse, "minimize"),
    "ties": (_ties, "maximize"),
}


def generate_family(
    name: str,
    seed: Seed,
    /,
    *,
    rows: int = 40,
    columns: int | None = None,
    up_to: int = 1000,
    participants: int = 1,
    disclosure: Disclosure = Unsaid(),  # noqa: B008 - immutable
    number: int = 1,
) -> Assignment:
    """Draw an assignment whose costs are of a family; `columns` defaults to `rows`.

    >>> problem = generate_family("slots", 1, rows=2, columns=4)
    >>> problem.name, problem.objectives[0].weights.tolist()
    ('slots2x4', [[0, 76, 152, 228], [300, 0, 96, 192]])
    """
    if name not in FAMILIES:
        raise ParameterError(f"{name!r} is no family of costs; use {', '.join(FAMILIES)}")
    draw, sense = FAMILIES[name]
    columns = rows if columns is None else columns
    if not 1 <= rows <= columns:
        raise ParameterError(f"{rows} rows cannot each get one of {columns} columns; draw more")
    drawn = draw(seeded_generator(seed), rows, columns, up_to)
    objective = Objective(
        "cost" if sense == "minimize" else "value",
        drawn.weights,
        sense=sense,
        disclosure=disclosure,
        weight_bound=drawn.bound,
    )
    more: dict[str, Any] = {} if drawn.forbidden is None else {"forbidden": drawn.forbidden}
    return Assignment(
        name=f"{name}{rows}x{columns}" + (f"-{number:02d}" if number > 1 else ""),
        rows=rows,
        columns=columns,
        objectives=(objective,),
        participants=dealt_rows(rows, participants),
        **more,
    )
