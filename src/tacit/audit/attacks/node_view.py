"""A curious node: it sees every candidate and no value, but infers values from the next population.

The search is public, so a node knows the positions of the elites in the next set, and their order.
Where the search knows ranks, these are the best in order; under top:k with k at most the number of
elites, they are the k. Under other disclosures they are only some of the best group; candidates
with many children were in it, too, and those with none probably not. Parents of one or two may have
been lucky and are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.pairwise import by_pairs
from tacit.audit.attacks.pointwise import by_groups
from tacit.audit.record.design import shared_cells
from tacit.audit.record.view import Cells, View, cells_of
from tacit.audit.score.fit import flat_prior
from tacit.disclosure import split_disclosure

MANY_CHILDREN = 3


def recover(view: View, /) -> Cells | None:
    """Estimate the cells from candidates alone, or None where there is no next population."""
    if view.evaluations < 2:
        return None
    guessed = inferred_view(view)
    fit = by_pairs if guessed.levels.max() > 1 else by_groups
    return fit(guessed, prior=flat_prior(view.cell_count))


def inferred_view(view: View, /) -> View:
    """The view with levels inferred from the next population."""
    carried = CarriedOver.of(view)
    sets = np.split(view.plans, np.cumsum(view.sizes)[:-1])
    levels = np.concatenate(
        [_guessed(this, after, view, carried) for this, after in pairwise(sets)]
    )
    seen, kept = view.first(view.evaluations - 1), levels >= 0
    sizes = np.bincount(seen.evaluation_of[kept])
    return replace(
        seen,
        sizes=sizes[sizes > 0],
        plans=seen.plans[kept],
        cells=seen.cells[kept],
        levels=levels[kept],
        values=None,
        best=None,
        disclosure="next population",
    )


@dataclass(frozen=True)
class CarriedOver:
    """The positions of the best of a set in the next one, and what they imply."""

    born: int
    """The number of new candidates in the next set; they come first."""
    start: int
    count: int
    ranked: bool
    """Whether they are in the order of their fitness."""
    complete: int
    """How many of them are exactly the best group; 0 if unknown."""

    @classmethod
    def of(cls, view: View, /) -> CarriedOver:
        """Offspring come first, then elites, then parents that are evaluated again."""
        population = int(view.search.get("population", view.sizes[0]))
        elites = int(view.search.get("elites", 0))
        born = population - elites
        if view.search.get("algorithm") != "genetic":  # several objectives decide who survives
            return cls(born, born, 0, ranked=False, complete=0)
        again = bool(view.search.get("reevaluate_parents"))
        start, count = (population, population) if again else (born, elites)
        method, number = split_disclosure(view.disclosure)
        complete = number if method == "top" and number <= count else 0
        return cls(born, start, count, method in ("none", "order") and count > 0, complete)


def _guessed(
    this: NDArray[np.int32], after: NDArray[np.int32], view: View, carried: CarriedOver
) -> NDArray[np.int64]:
    """A level per candidate, -1 where unknown."""
    if carried.ranked or carried.complete:
        levels = np.full(len(this), carried.count if carried.ranked else 1)
    else:
        levels = _by_children(_children(this, after[: carried.born], view))
    places = place_by_rank(this, after, carried)[: carried.complete or carried.count]
    ranks = np.flatnonzero(places >= 0)
    levels[places[ranks]] = ranks if carried.ranked else 0
    return levels


def place_by_rank(
    this: NDArray[np.int32], after: NDArray[np.int32], carried: CarriedOver, /
) -> NDArray[np.int64]:
    """The positions in the previous set of those carried over, best first; -1 if absent.

    >>> carried = CarriedOver(1, 1, 1, ranked=True, complete=0)
    >>> place_by_rank(np.array([[0, 1], [1, 0]]), np.array([[0, 1], [1, 0]]), carried)
    array([1])
    """
    places_of: dict[bytes, list[int]] = {}
    for place, row in reversed(list(enumerate(this))):
        places_of.setdefault(row.tobytes(), []).append(place)
    best = after[carried.start : carried.start + carried.count]
    # Identical candidates are equally good, so it does not matter which of them is meant.
    found = [places_of.get(row.tobytes()) for row in best]
    return np.array([each.pop() if each else -1 for each in found], dtype=np.int64)


def _by_children(children: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(children == 0, 1, np.where(children >= MANY_CHILDREN, 0, -1))


def _children(this: NDArray[np.int32], born: NDArray[np.int32], view: View) -> NDArray[np.int64]:
    """For each candidate, the number of the next population that are closest to it."""
    shared = shared_cells(
        cells_of(view.problem, born), cells_of(view.problem, this), view.cell_count
    )
    return np.bincount(shared.argmax(axis=1), minlength=len(this))
