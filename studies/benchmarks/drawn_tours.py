"""Families of tours to try a search on: on maps and not, the same both ways and directed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.problems import Objective, Tour

SIDE = 1000
Ways = NDArray[np.int64]


def _apart(here: NDArray[np.float64], there: NDArray[np.float64]) -> NDArray[np.float64]:
    x, y = (here[:, None] - there[None]).transpose(2, 0, 1)
    apart: NDArray[np.float64] = np.hypot(x, y)
    return apart


def _uniform(rng: np.random.Generator, stops: int) -> Ways:
    """Distances of points in a square."""
    points = rng.random((stops, 2)) * SIDE
    return np.rint(_apart(points, points)).astype(np.int64)


def _clustered(rng: np.random.Generator, stops: int) -> Ways:
    """Points around a few centres, as towns are."""
    centres = rng.random((max(2, stops // 12), 2)) * SIDE
    of = rng.integers(0, len(centres), stops)
    points = centres[of] + rng.normal(0, SIDE / 25, (stops, 2))
    return np.rint(_apart(points, points)).astype(np.int64)


def _matrix(rng: np.random.Generator, stops: int) -> Ways:
    """Independent lengths, the same both ways: no map has them."""
    ways = np.triu(rng.integers(1, SIDE + 1, (stops, stops)), 1)
    return ways + ways.T


def _one_way(rng: np.random.Generator, stops: int) -> Ways:
    """A map with one-way streets: of each pair one way is up to twice as long."""
    points = rng.random((stops, 2)) * SIDE
    detour = np.where(np.triu(rng.random((stops, stops)) < 0.5, 1), 1, 0)
    longer = detour + np.tril(1 - detour.T, -1)
    lengths = np.rint(_apart(points, points) * (1 + longer * rng.random((stops, stops))))
    ways: Ways = lengths.astype(np.int64)
    return ways


def _crane(rng: np.random.Generator, stops: int) -> Ways:
    """Loads to be moved: from where one is put down to where the next is taken up."""
    up, down = (rng.random((stops, 2)) * SIDE for _ in range(2))
    return np.rint(_apart(down, up)).astype(np.int64)


def _unrelated(rng: np.random.Generator, stops: int) -> Ways:
    """Independent lengths of all ways, forth and back."""
    return rng.integers(1, SIDE + 1, (stops, stops), dtype=np.int64)


FAMILIES: dict[str, Callable[[np.random.Generator, int], Ways]] = {
    "one-way": _one_way,
    "crane": _crane,
    "unrelated": _unrelated,
    "uniform": _uniform,
    "clustered": _clustered,
    "matrix": _matrix,
}
DIRECTED = ("one-way", "crane", "unrelated")


def drawn_tour(family: str, seed: int, /, *, stops: int) -> Tour:
    """A tour of a family.

    >>> drawn_tour("crane", 1, stops=9).is_symmetric, drawn_tour("matrix", 1, stops=9).is_symmetric
    (False, True)
    """
    number = list(FAMILIES).index(family)
    rng = np.random.Generator(np.random.PCG64([seed, number, stops]))
    ways = FAMILIES[family](rng, stops)
    np.fill_diagonal(ways, 0)
    length = Objective("length", ways, sense="minimize")
    return Tour(name=f"{family}{stops}-{seed}", rows=stops, columns=stops, objectives=(length,))
