"""A curious node: it sees every candidate and no value, but the next population betrays them.

The search is public, so a node knows where the elites stand in the next set, and in which order.
Where the search knows ranks, these are the best in their order; under top:k with no more than the
elites, they are the k. Under other disclosures they are only some of the best group, but whoever
has many children was in it, too, and whoever has none was hardly. Parents of one or two may have
been lucky, and are left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.pairwise import by_pairs
from tacit.audit.attacks.pointwise import by_groups
from tacit.audit.design import one_hot
from tacit.audit.fit import flat_prior
from tacit.audit.view import Cells, View

MANY_CHILDREN = 3
COMMON = 0.9
"""Cells that so large a share of a population has say nothing about who descends from whom."""


def recover(view: View, /) -> Cells | None:
    """Estimate the cells from candidates alone, or None where there is no next population.

    >>> from tacit.audit.example import example_view
    >>> recover(example_view("order")).shape
    (36,)
    """
    if view.evaluations < 2:
        return None
    guessed = betrayed(view)
    fit = by_pairs if guessed.levels.max() > 1 else by_groups
    return fit(guessed, prior=flat_prior(view.cell_count))


def betrayed(view: View, /) -> View:
    """The view with levels that are guessed from the next population.

    >>> from tacit.audit.example import example_view
    >>> sorted(set(betrayed(example_view("order")).levels.tolist()))
    [0, 1, 2, 3]
    """
    starts = np.concatenate([[0], np.cumsum(view.sizes)])
    ranked = view.disclosure in ("none", "order")
    levels = np.concatenate(
        [
            _guessed(
                view.cells[starts[at] : starts[at + 1]],
                view.cells[starts[at + 1] : starts[at + 2]],
                view,
                ranked=ranked,
            )
            for at in range(view.evaluations - 1)
        ]
    )
    seen, kept = view.first(view.evaluations - 1), levels >= 0
    return replace(
        seen,
        sizes=np.bincount(seen.evaluation_of[kept], minlength=seen.evaluations),
        cells=seen.cells[kept],
        levels=levels[kept],
        values=None,
        best=None,
        disclosure="next population",
    )


def _guessed(
    this: NDArray[np.int32], following: NDArray[np.int32], view: View, *, ranked: bool
) -> NDArray[np.int64]:
    """A level per candidate, -1 where nothing can be said."""
    population = min(len(this), len(following))
    born = population - view.elites
    if ranked or _elites_are_the_best(view):
        levels = np.full(len(this), view.elites if ranked else 1)
    else:
        levels = _by_children(_children(this, following[:born], view.cell_count))
    # Of candidates that are the same, the first one stands for all.
    place_of = {
        row.tobytes(): place for place, row in reversed(list(enumerate(np.sort(this, axis=1))))
    }
    for rank, elite in enumerate(np.sort(following[born:population], axis=1)):
        place = place_of.pop(elite.tobytes(), None)
        if place is not None:
            levels[place] = rank if ranked else 0
    return levels


def _elites_are_the_best(view: View) -> bool:
    method, _, count = view.disclosure.partition(":")
    return method == "top" and int(count) <= view.elites


def _by_children(children: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(children == 0, 1, np.where(children >= MANY_CHILDREN, 0, -1))


def _children(
    this: NDArray[np.int32], born: NDArray[np.int32], cell_count: int
) -> NDArray[np.int64]:
    """How many of the next population each candidate is the closest to."""
    here, there = one_hot(this, cell_count), one_hot(born, cell_count)
    shares = np.bincount(this.ravel(), minlength=cell_count) / len(this)
    telling = np.flatnonzero((shares > 0) & (shares < COMMON))
    shared = (there[:, telling] @ here[:, telling].T).toarray()
    return np.bincount(shared.argmax(axis=1), minlength=len(this))
