"""What `top:k` says of the cells, and one sweep over them: each cell in turn gets a new value.

In each evaluation every candidate of the top group has at least the fitness of every other one:
linear inequalities, laid out for moving one cell at a time. A cell that most candidates of an
evaluation pick counts as moving the others the opposite way, since only differences matter; so the
candidates that a cell moves are few, and all move the same way.

Given the other cells, a cell with a uniform prior is uniform in an interval, so a sweep leaves the
uniform distribution on everything that fits as it is (Gibbs sampling). Reflecting each cell in the
middle of its interval does so, too, and gets further than a random walk. Where a constraint is
violated, no move makes it worse.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.audit import View
from tacit.audit.view import one_hot
from tacit.errors import InputError
from tacit.jit import kernel


class Constraints(NamedTuple):
    """Candidates by evaluation, the top group of each first, and which of them each cell moves."""

    begins: NDArray[np.int64]
    """The first candidate of each evaluation, and the number of all."""
    rest: NDArray[np.int64]
    """The first candidate of each evaluation outside of its top group."""
    evaluation_of: NDArray[np.int64]
    moves: NDArray[np.int64]
    """Where the candidates of each cell begin in `moved`, and the number of all."""
    moved: NDArray[np.int32]
    ways: NDArray[np.float64]
    """1 where a candidate moves with the cell, -1 where against it."""


def constraints_of(view: View, /) -> tuple[Constraints, Any]:
    """The constraints of a view, and the same as a sparse matrix of candidates by cells."""
    if not bits_by_rank(view):
        raise InputError(f"{view.disclosure} tells more than an order of groups; take top")
    order = np.lexsort((view.levels, view.evaluation_of))
    order = order[_without_double_ties(view, order)]
    group, top = view.evaluation_of[order], view.levels[order] == 0
    sizes = np.bincount(group, minlength=view.evaluations)
    picked = one_hot(view.cells[order], view.cell_count)
    matrix = (picked - _usual(picked, group, sizes)[group]).tocsr()
    matrix.eliminate_zeros()
    by_cell = matrix.tocsc()
    by_cell.sort_indices()
    begins = np.concatenate([[0], np.cumsum(sizes)])
    constraints = Constraints(
        begins=begins,
        rest=begins[:-1] + np.bincount(group[top], minlength=view.evaluations),
        evaluation_of=group,
        moves=by_cell.indptr.astype(np.int64),
        moved=by_cell.indices.astype(np.int32),
        ways=by_cell.data,
    )
    return constraints, matrix


def bits_by_rank(view: View, /) -> bool:
    """Whether all that is disclosed of candidates is which are the best k."""
    return view.disclosure.startswith("top:") and view.evaluations > 0


def _usual(picked: Any, group: NDArray[np.int64], sizes: NDArray[np.int64]) -> Any:  # noqa: ANN401
    """Per evaluation 1 for each cell that more than half of its candidates pick."""
    from scipy.sparse import csr_matrix

    ones, ends = np.ones(len(group)), np.arange(len(group) + 1)
    together = csr_matrix((ones, group, ends), shape=(len(group), len(sizes)))
    usual = (together.T @ picked).tocsr()
    usual.data = (2 * usual.data > np.repeat(sizes, np.diff(usual.indptr))).astype(np.float64)
    usual.eliminate_zeros()
    return usual


def _without_double_ties(view: View, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which candidates are kept.

    A plan with copies both in the top group and outside is the threshold. With two such plans in
    one evaluation their fitness is equal: an event of probability 0 for weights that are not whole
    numbers, so their copies outside are left out. That gives away a little of what is disclosed.
    """
    group, top = view.evaluation_of[order], view.levels[order] == 0
    plans = np.column_stack([group, view.plans[order]])
    _, which = np.unique(plans, axis=0, return_inverse=True)
    which, count = which.ravel(), int(which.max()) + 1
    inside, outside = (np.bincount(which[side], minlength=count) > 0 for side in (top, ~top))
    tied = np.flatnonzero(inside & outside)
    evaluation = np.zeros(count, dtype=np.int64)
    evaluation[which] = group
    often = np.bincount(evaluation[tied], minlength=view.evaluations) > 1
    return np.asarray(top | ~(np.isin(which, tied) & often[group]))


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
