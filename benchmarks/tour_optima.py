"""The shortest tour of given ways, proved: linear programs with cuts, then branch and bound.

Every city is entered and left once, and sets of cities that a solution does not leave are cut off
until the linear program has none (Dantzig, Fulkerson and Johnson 1954). It begins with the shortest
legs and takes in others that its prices ask for. Legs that cannot be part of a tour shorter than a
known one, by their reduced costs, are left out, and the rest is solved in whole numbers by HiGHS,
again until its solution is one tour.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import connected_components, maximum_flow

from tacit.problems.model.good_plans import good_tour

Cities = NDArray[np.intp]
Numbers = NDArray[np.float64]
FINE = 1_000_000
"""Flows are whole numbers: a leg that is taken whole has this capacity."""
NEAREST = 8
"""How many legs of each city the first program has, by their length."""
MOST_SECONDS = 300.0
OUT_OF_TIME = 1
"""SciPy's word for it."""


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

    def relaxed(self, legs: Cities) -> tuple[float, Numbers]:
        """The bound of the linear program with all cuts, and the reduced costs of all legs."""
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
                return float(found.fun), reduced
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

    def whole(self, legs: Cities) -> Cities | None:
        """The legs of the shortest solution in whole numbers; None where there is none.

        TimeoutError where it takes too long.
        """
        rules = [
            LinearConstraint(self.degrees(legs), self._least, self._least),
            LinearConstraint(self.cuts(legs), self._least, np.inf),
        ]
        found = milp(
            self.lengths[legs],
            integrality=np.ones(len(legs)),
            bounds=Bounds(0, 1),
            constraints=rules,
            options={"mip_rel_gap": 0.0, "time_limit": MOST_SECONDS},
        )
        if found.status == OUT_OF_TIME:
            raise TimeoutError(f"no proof within {MOST_SECONDS:g} s")
        return None if found.x is None else legs[found.x > 0.5]

    def shortest(self, known: int) -> int:
        """The length of the shortest tour, where one of length `known` is known."""
        order = np.sort(self.costs + np.diag(np.full(len(self.costs), 2**40)), axis=1)
        near = order[:, min(NEAREST, len(order) - 2)]
        good = good_tour(-self.costs.astype(np.float64))
        after = np.zeros(self.costs.shape, dtype=bool)
        after[good, np.roll(good, -1)] = True
        after |= after.T
        first = (self.lengths <= near[self.tails]) | (self.lengths <= near[self.heads])
        first |= after[self.tails, self.heads]
        best = min(known, int(self.costs[good, np.roll(good, -1)].sum()))
        bound, reduced = self.relaxed(np.flatnonzero(first))
        # With any other leg a tour is as long as the known one, or longer.
        legs = np.flatnonzero(bound + reduced <= best - 1 + 1e-6)
        while len(legs):
            taken = self.whole(legs)
            if taken is None:
                return best
            parts = _parts(len(self.costs), self.tails[taken], self.heads[taken])
            if len(parts) == 1:
                return min(best, int(self.lengths[taken].sum()))
            self.sets += parts
        return best


def shortest_tour(costs: NDArray[np.int64], /, *, known: int = 2**62) -> int:
    """The length of the shortest tour; `known` is that of any tour, the shorter the better.

    >>> shortest_tour(np.array([[0, 1, 5], [4, 0, 2], [3, 6, 0]]))
    6
    """
    return _Program(costs, bool((costs == costs.T).all())).shortest(known)


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
