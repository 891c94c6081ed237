"""Families of tours to try a search on, and how short no tour of them is.

Tours are on maps and not, the same both ways and directed. The bound is that of Held and Karp
(1970), by linear programs with cuts: every city is entered and left once, legs may be taken in
parts, and sets of cities that a solution does not leave are cut off until it has none (Dantzig,
Fulkerson and Johnson 1954). The program begins with the shortest legs and takes in others that its
prices ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import connected_components, maximum_flow

from tacit.problems import Objective, Tour
from tacit.problems.matching import good_tour

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


Cities = NDArray[np.intp]
Numbers = NDArray[np.float64]
FINE = 1_000_000
"""Flows are whole numbers: a leg that is taken whole has this capacity."""
NEAREST = 8
"""How many legs of each city the first program has, by their length."""


@dataclass(eq=False)
class _Program:
    """The legs, once each where both ways are the same, and the sets that must be left."""

    costs: NDArray[np.int64]
    symmetric: bool
    sets: list[NDArray[np.bool_]] = field(default_factory=list)

    def __post_init__(self) -> None:
        apart = ~np.eye(len(self.costs), dtype=bool)
        self.tails, self.heads = np.nonzero(np.triu(apart) if self.symmetric else apart)
        self.lengths = self.costs[self.tails, self.heads].astype(np.float64)

    @property
    def _least(self) -> int:
        """How many legs a city and a set have at least."""
        return 2 if self.symmetric else 1

    def degrees(self, legs: Cities) -> csr_array:
        """A line per city that is left, and one per city that is entered."""
        tails, heads, cities = self.tails[legs], self.heads[legs], len(self.costs)
        rows = np.concatenate([tails, heads if self.symmetric else heads + cities])
        columns = np.tile(np.arange(len(legs)), 2)
        shape = (cities if self.symmetric else 2 * cities, len(legs))
        return csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)

    def cuts(self, legs: Cities) -> csr_array:
        """A line per set: which legs leave it."""
        tails, heads = self.tails[legs], self.heads[legs]
        lines = [csr_array((1, len(legs)))]
        for each in self.sets:
            leaves = each[tails] & ~each[heads]
            if self.symmetric:
                leaves |= each[heads] & ~each[tails]
            lines.append(csr_array(leaves.astype(np.float64)[None]))
        return csr_array(vstack(lines)[1:])

    def relaxed(self, legs: Cities) -> float:
        """The bound of the linear program with all cuts, which begins with some of the legs."""
        while True:
            cuts, degrees = self.cuts(legs), self.degrees(legs)
            found = linprog(
                self.lengths[legs],
                A_eq=degrees,
                b_eq=np.full(degrees.shape[0], self._least),
                A_ub=-cuts,
                b_ub=np.full(len(self.sets), -self._least),
                bounds=(0, 1),
                method="highs",
            )
            if self._separate(found.x, legs):
                continue
            every = np.arange(len(self.lengths))
            prices = self.degrees(every).T @ found.eqlin.marginals
            prices -= self.cuts(every).T @ found.ineqlin.marginals
            reduced = self.lengths - prices
            cheap = reduced < -1e-6
            cheap[legs] = False
            if not cheap.any():
                return float(found.fun)
            legs = np.concatenate([legs, np.flatnonzero(cheap)])

    def _separate(self, shares: Numbers, legs: Cities) -> bool:
        """Add sets that a solution does not leave as it must; whether there was any."""
        cities, known = len(self.costs), len(self.sets)
        legs, shares = legs[shares > 1e-7], shares[shares > 1e-7]
        tails, heads = self.tails[legs], self.heads[legs]
        parts = _parts(cities, tails, heads)
        if len(parts) > 1:
            self.sets += parts
            return True
        graph = np.zeros((cities, cities), dtype=np.int32)
        graph[tails, heads] = np.round(shares * FINE)
        if self.symmetric:
            graph += graph.T
        seen: set[bytes] = set()
        for city in range(1, cities):
            flow = maximum_flow(csr_array(graph), 0, city)
            if flow.flow_value < self._least * FINE - 1000:
                inside = _reached(graph - flow.flow.toarray() > 0, 0)
                seen.add(inside.tobytes())
        self.sets += [np.frombuffer(each, dtype=np.bool_) for each in sorted(seen)]
        return len(self.sets) > known

    def bound(self) -> float:
        """The bound, from the shortest legs of every city and those of a good tour on."""
        apart = np.sort(self.costs + np.diag(np.full(len(self.costs), 2**40)), axis=1)
        near = apart[:, min(NEAREST, len(apart) - 2)]
        good = good_tour(-self.costs.astype(np.float64))
        after = np.zeros(self.costs.shape, dtype=np.bool_)
        after[good, np.roll(good, -1)] = True
        after |= after.T
        first = (self.lengths <= near[self.tails]) | (self.lengths <= near[self.heads])
        return self.relaxed(np.flatnonzero(first | after[self.tails, self.heads]))


def least_length(costs: NDArray[np.int64], /) -> int:
    """No tour is shorter than that.

    >>> least_length(np.array([[0, 1, 5], [4, 0, 2], [3, 6, 0]]))
    6
    """
    return ceil(_Program(costs, bool((costs == costs.T).all())).bound() - 1e-6)


def _reached(leads: NDArray[np.bool_], start: int) -> NDArray[np.bool_]:
    inside = np.zeros(len(leads), dtype=np.bool_)
    inside[start] = True
    while True:
        more = inside | leads[inside].any(axis=0)
        if (more == inside).all():
            return inside
        inside = more


def _parts(cities: int, tails: Cities, heads: Cities) -> list[NDArray[np.bool_]]:
    graph = csr_array((np.ones(len(tails)), (tails, heads)), shape=(cities, cities))
    count, labels = connected_components(graph, directed=False)
    return [labels == each for each in range(count)]
