"""One sweep over all cells: each gets a new value among those that all constraints leave it.

Given the other cells, a cell with a uniform prior is uniform in an interval, so a sweep leaves the
uniform distribution on everything that fits as it is (Gibbs sampling). Reflecting each cell in the
middle of its interval does so, too, and gets further than a random walk. Where a constraint is
violated, no move makes it worse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.audit.posterior.constraints import Constraints
from tacit.jit import kernel


class Place(NamedTuple):
    """A point and what follows from it. A sweep changes all arrays."""

    cells: NDArray[np.float64]
    scores: NDArray[np.float64]
    """Of the candidates, up to a constant per evaluation."""
    lowest: NDArray[np.int64]
    """Per evaluation the worst candidate of the top group."""
    highest: NDArray[np.int64]
    """Per evaluation the best candidate outside of it."""
    middles: NDArray[np.float64]
    """Per cell the sum over sweeps of the middle of its interval: its mean, given the others."""


@kernel
def lowest_of(scores: NDArray[np.float64], first: int, end: int) -> int:
    """The candidate with the lowest score among some."""
    found = first
    for i in range(first, end):
        if scores[i] < scores[found]:
            found = i
    return found


@kernel
def highest_of(scores: NDArray[np.float64], first: int, end: int) -> int:
    """The candidate with the highest score among some."""
    found = first
    for i in range(first, end):
        if scores[i] > scores[found]:
            found = i
    return found


@kernel
def unmoved_extreme(
    scores: NDArray[np.float64], first: int, end: int, moved: NDArray[np.int32], way: float
) -> float:
    """The lowest (way 1) or highest (way -1) score of candidates that are not in `moved`."""
    best, k = np.inf, 0
    for i in range(first, end):
        if k < len(moved) and moved[k] == i:
            k += 1
        elif way * scores[i] < best:
            best = way * scores[i]
    return way * best


@kernel
def interval(
    cell: int, half_range: float, bounds: Constraints, place: Place
) -> tuple[float, float]:
    """How far a cell can go down and up."""
    scores, moved = place.scores, bounds.moved
    down = min(-half_range - place.cells[cell], 0.0)
    up = max(half_range - place.cells[cell], 0.0)
    k, end = bounds.moves[cell], bounds.moves[cell + 1]
    while k < end:
        first, e = k, bounds.evaluation_of[moved[k]]
        worst_top, best_rest = np.inf, -np.inf
        while k < end and moved[k] < bounds.rest[e]:
            worst_top = min(worst_top, scores[moved[k]])
            k += 1
        split = k
        while k < end and moved[k] < bounds.begins[e + 1]:
            best_rest = max(best_rest, scores[moved[k]])
            k += 1
        top, rest = scores[place.lowest[e]], scores[place.highest[e]]
        violation = min(top - rest, 0.0)
        if worst_top == top:
            top = unmoved_extreme(scores, bounds.begins[e], bounds.rest[e], moved[first:split], 1.0)
        if best_rest == rest:
            rest = unmoved_extreme(
                scores, bounds.rest[e], bounds.begins[e + 1], moved[split:k], -1.0
            )
        lower = min(rest - worst_top + violation, 0.0)
        upper = max(top - best_rest - violation, 0.0)
        if bounds.ways[first] < 0:
            lower, upper = -upper, -lower
        down, up = max(down, lower), min(up, upper)
    return down, up


@kernel
def move(cell: int, by: float, bounds: Constraints, place: Place) -> None:
    """Change a cell and everything that follows from it."""
    scores, moved = place.scores, bounds.moved
    place.cells[cell] += by
    k, end = bounds.moves[cell], bounds.moves[cell + 1]
    while k < end:
        e, step = bounds.evaluation_of[moved[k]], by * bounds.ways[k]
        low, high = place.lowest[e], place.highest[e]
        low_left, high_left = False, False
        while k < end and moved[k] < bounds.rest[e]:
            i = moved[k]
            scores[i] += step
            if step > 0:
                low_left = low_left or i == low
            elif scores[i] < scores[low]:
                low = i
            k += 1
        while k < end and moved[k] < bounds.begins[e + 1]:
            i = moved[k]
            scores[i] += step
            if step < 0:
                high_left = high_left or i == high
            elif scores[i] > scores[high]:
                high = i
            k += 1
        place.lowest[e] = lowest_of(scores, bounds.begins[e], bounds.rest[e]) if low_left else low
        place.highest[e] = (
            highest_of(scores, bounds.rest[e], bounds.begins[e + 1]) if high_left else high
        )


@kernel
def sweep(
    bounds: Constraints,
    place: Place,
    words: NDArray[np.float64],
    half_range: float,
    reflect: bool,
) -> None:
    """Give every cell a new value: reflected, or drawn by `words`, uniform in 0..1."""
    for cell in range(len(place.cells)):
        down, up = interval(cell, half_range, bounds, place)
        place.middles[cell] += place.cells[cell] + (down + up) / 2
        by = down + up if reflect else down + (up - down) * words[cell]
        if by != 0.0:
            move(cell, by, bounds, place)
