"""Families of costs that are hard for cycle cancelling, each by a public rule.

Ties and cycles of cost 0 hide where costs fall, copies of rows and columns exchange for nothing,
and wide ranges reach the bounds of prices. Some problems have forbidden pairs, fewer rows than
columns, columns that take several rows, or no plan at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.problems import Assignment, CapacitatedAssignment, Objective, Problem

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Rng = np.random.Generator


@dataclass(frozen=True)
class Instance:
    """Costs, rows x columns, to be minimized."""

    costs: Numbers
    forbidden: Mask | None = None
    capacities: tuple[int, ...] | None = None

    def problem(self, name: str, /) -> Problem:
        """Return the problem, or raise what refuses it."""
        rows, columns = self.costs.shape
        objective = Objective("cost", self.costs, sense="minimize")
        if self.capacities is None:
            return Assignment(
                name=name,
                rows=rows,
                columns=columns,
                objectives=(objective,),
                forbidden=self.forbidden,
            )
        return CapacitatedAssignment(
            name=name,
            rows=rows,
            columns=columns,
            objectives=(objective,),
            forbidden=self.forbidden,
            capacities=self.capacities,
        )


def _indices(n: int) -> tuple[Numbers, Numbers]:
    i, j = np.indices((n, n))
    return i.astype(np.int64), j.astype(np.int64)


def _uniform(n: int, rng: Rng, most: int = 1000) -> Numbers:
    return rng.integers(0, most + 1, (n, n))


def _whole(values: NDArray[np.float64]) -> Numbers:
    least = values.min()
    whole: Numbers = np.rint(values - least).astype(np.int64)
    return whole


def _anti_monge(n: int, rng: Rng) -> Numbers:
    """Crossing pairs cost less than those in order."""
    density = rng.integers(0, 4, (n, n))
    sums: Numbers = density.cumsum(axis=0).cumsum(axis=1)
    return sums


def _walk(n: int, rng: Rng) -> Numbers:
    steps = rng.integers(-3, 4, (n, n)).cumsum(axis=1)
    walk: Numbers = steps - steps.min()
    return walk


def _decoy(n: int, rng: Rng) -> Numbers:
    """Each row has a cheap column that others want more."""
    costs = 10 * n + np.add.outer(-np.arange(n), np.arange(n))
    costs[:, rng.permutation(n)[: max(1, n // 4)]] //= 2
    return costs


def _ring(n: int, rng: Rng) -> Numbers:
    """One long cycle improves the plan on the diagonal, by 1; all others cost much."""
    order = rng.permutation(n)
    costs = np.full((n, n), 1000)
    costs[np.arange(n), np.arange(n)] = 10
    costs[order, np.roll(order, 1)] = 10
    costs[order[0], np.roll(order, 1)[0]] = 9
    return costs


def _blocks(n: int, rng: Rng) -> Numbers:
    i, j = _indices(n)
    size = max(1, n // 5)
    return np.where(i // size == j // size, _uniform(n, rng, 99), 1000 + _uniform(n, rng, 9))


def _planted(n: int, rng: Rng) -> Numbers:
    """A unique optimum, by 1."""
    costs = 500 + np.add.outer(rng.integers(0, 400, n), rng.integers(0, 400, n))
    costs[np.arange(n), rng.permutation(n)] -= 1
    return costs


def _expensive_rows(n: int, rng: Rng) -> Numbers:
    costs = _uniform(n, rng, 9)
    costs[rng.random(n) < 0.3] += 100_000
    return costs


def _flat(costs: Callable[[int, Rng], Numbers]) -> Callable[[int, Rng], Instance]:
    return lambda n, rng: Instance(costs(n, rng))


def _masked(n: int, rng: Rng, share: float) -> Mask:
    """Forbid so large a share of the pairs, but no pair of one plan."""
    forbidden = rng.random((n, n)) < share
    forbidden[np.arange(n), rng.permutation(n)] = False
    return forbidden


def _triangle(n: int, rng: Rng) -> Instance:
    """One plan only has no forbidden pair."""
    order = rng.permutation(n)
    return Instance(_uniform(n, rng), np.tri(n, k=-1, dtype=bool)[order][:, rng.permutation(n)])


def _band(n: int, rng: Rng) -> Instance:
    i, j = _indices(n)
    return Instance(_uniform(n, rng), abs(i - j) > 2)


def _late(n: int, rng: Rng) -> Instance:
    due = np.sort(rng.integers(0, max(1, 6 * n // 10), n))
    late = np.arange(n) - np.minimum(due, np.arange(n))[:, None]
    return Instance(np.maximum(late, 0) * rng.integers(1, 11, n)[:, None], late < 0)


def _mask_and_ties(n: int, rng: Rng) -> Instance:
    return Instance(_uniform(n, rng, 2), _masked(n, rng, 0.9))


def _no_plan(n: int, rng: Rng) -> Instance:
    """More rows than columns that they may take (Hall's condition fails)."""
    few = max(1, n // 3)
    forbidden = np.zeros((n, n), dtype=bool)
    forbidden[: few + 1, few:] = True
    return Instance(_uniform(n, rng), forbidden[rng.permutation(n)][:, rng.permutation(n)])


def _wide(n: int, rng: Rng) -> Instance:
    return Instance(_uniform(n, rng)[: max(1, 2 * n // 3)])


def _one_row(n: int, rng: Rng) -> Instance:
    return Instance(_uniform(n, rng)[:1])


def _wide_and_tied(n: int, rng: Rng) -> Instance:
    return Instance(_uniform(n, rng, 3)[: max(1, n - 2)])


def _wide_and_masked(n: int, rng: Rng) -> Instance:
    rows = max(1, 3 * n // 4)
    return Instance(_uniform(n, rng)[:rows], _masked(n, rng, 0.7)[:rows])


def _full_capacities(n: int, rng: Rng) -> Instance:
    columns = max(1, n // 4)
    return Instance(_uniform(n, rng)[: 4 * columns, :columns], capacities=(4,) * columns)


def _spare_capacities(n: int, rng: Rng) -> Instance:
    columns = max(1, n // 5)
    room = rng.integers(1, 8, columns)
    rows = max(1, min(n, 2 * int(room.sum()) // 3))
    return Instance(_uniform(n, rng, 20)[:rows, :columns], capacities=tuple(room.tolist()))


def _masked_capacities(n: int, rng: Rng) -> Instance:
    columns = max(1, n // 3)
    forbidden = rng.random((3 * columns, columns)) < 0.5
    forbidden[np.arange(3 * columns), np.repeat(np.arange(columns), 3)] = False
    costs = rng.integers(0, 50, forbidden.shape)
    return Instance(costs, forbidden, (3,) * columns)


_SQUARE: dict[str, Callable[[int, Rng], Numbers]] = {
    "cyclic": lambda n, _: (_indices(n)[1] - _indices(n)[0]) % n,
    "gcd": lambda n, _: np.gcd(_indices(n)[0] + 1, _indices(n)[1] + 1),
    "powers of two": lambda n, _: 2 ** ((_indices(n)[0] * _indices(n)[1]) % 30),
    "product modulo a prime": lambda n, _: ((_indices(n)[0] + 1) * (_indices(n)[1] + 1)) % 10_007,
    "all equal": lambda n, _: np.full((n, n), 7),
    "all zero": lambda n, _: np.zeros((n, n), dtype=np.int64),
    "zero and one": lambda n, rng: _uniform(n, rng, 1),
    "few values": lambda n, rng: _uniform(n, rng, 2),
    "twin columns": lambda n, rng: np.repeat(_uniform(n, rng), 2, axis=1)[:, :n],
    "twin rows and columns": lambda n, rng: np.repeat(
        np.repeat(_uniform(n, rng), 3, axis=0), 3, axis=1
    )[:n, :n],
    "rank one": lambda n, rng: np.outer(rng.integers(1, 100, n), rng.integers(1, 100, n)),
    "rank one, reversed": lambda n, _: np.outer(np.arange(n), np.arange(n)),
    "sums of effects": lambda n, rng: np.add.outer(
        rng.integers(0, 500, n), rng.integers(0, 500, n)
    ),
    "nearly sums": lambda n, rng: (
        np.add.outer(rng.integers(0, 500, n), rng.integers(0, 500, n)) + _uniform(n, rng, 1)
    ),
    "block diagonal": _blocks,
    "Toeplitz": lambda n, rng: rng.integers(0, 1000, 2 * n)[np.subtract.outer(
        np.arange(n), np.arange(n)) + n],
    "Hankel": lambda n, rng: rng.integers(0, 1000, 2 * n)[np.add.outer(
        np.arange(n), np.arange(n))],
    "Monge": lambda n, rng: _anti_monge(n, rng)[:, ::-1],
    "anti-Monge": _anti_monge,
    "huge spread": lambda n, rng: (2.0 ** rng.uniform(0, 31, (n, n))).astype(np.int64),
    "one dear pair per row": lambda n, rng: np.where(
        np.arange(n) == rng.integers(0, n, n)[:, None], 10**8, _uniform(n, rng, 5)
    ),
    "dear rows": _expensive_rows,
    "distances": lambda n, rng: _whole(1000 * np.hypot(
        *(rng.random((2, n, 1)) - rng.random((2, 1, n))))),
    "distances on a line": lambda n, rng: abs(np.subtract.outer(
        rng.integers(0, 1000, n), rng.integers(0, 1000, n))),
    "convex lateness": lambda n, rng: np.maximum(
        np.arange(n) - np.sort(rng.integers(0, n, n))[:, None], 0) ** 2,
    "walks": _walk,
    "one long ring": _ring,
    "decoy": _decoy,
    "planted by one": _planted,
    "sine": lambda n, _: _whole(1000 * np.sin(_indices(n)[0] * _indices(n)[1] * 0.37)),
}  # fmt: skip
_OTHERS: dict[str, Callable[[int, Rng], Instance]] = {
    "one feasible plan": _triangle,
    "band": _band,
    "late slots": _late,
    "sparse ties": _mask_and_ties,
    "no plan": _no_plan,
    "fewer rows": _wide,
    "one row": _one_row,
    "fewer rows, ties": _wide_and_tied,
    "fewer rows, forbidden": _wide_and_masked,
    "full capacities": _full_capacities,
    "spare capacities": _spare_capacities,
    "capacities, forbidden": _masked_capacities,
}
FAMILIES: dict[str, Callable[[int, Rng], Instance]] = {
    **{name: _flat(each) for name, each in _SQUARE.items()},
    **_OTHERS,
}
"""42 rules."""


def instance(family: str, size: int, seed: int, /) -> Instance:
    """Return an instance of a family with about so many rows.

    >>> instance("gcd", 4, 1).costs.tolist()[3]
    [1, 2, 1, 4]
    """
    rng = np.random.default_rng([seed, size, list(FAMILIES).index(family)])
    return FAMILIES[family](size, rng)
