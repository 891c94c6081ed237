"""Sealed searches of tours with all parties in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.local import PartiesRun, deal_integers, run_parties
from tacit.mpc.masks import MaskSource
from tacit.mpc.sealed.generations import advance
from tacit.mpc.sealed.moves import Step, TableShape
from tacit.mpc.sealed.state import SealedState, secret_start
from tacit.mpc.shares import ArithmeticShare
from tacit.search.moves import PublicShape, TourParameters, TourSchedule

Masks = Callable[[int], MaskSource]


@dataclass(frozen=True)
class Search:
    """The value of each leg, places x places, and how a tour is searched."""

    values: NDArray[np.int64]
    schedule: TourSchedule

    @classmethod
    def random(
        cls,
        places: int,
        *,
        seed: int = 1,
        spread: int = 1000,
        directed: bool = False,
        **settings: Any,
    ) -> Search:
        rng = np.random.default_rng(seed)
        values = rng.integers(0, spread, (places, places), endpoint=True)
        if not directed:
            values = np.triu(values) + np.triu(values, 1).T
        shape = PublicShape("tour", places, places, low=0, spread=spread, symmetric=not directed)
        return cls(values, TourSchedule(shape, TourParameters(**settings), seed=seed))

    @property
    def about(self) -> TableShape:
        shape, schedule = self.schedule.shape, self.schedule
        bits, parameters = (schedule.key_bits, schedule.total_bits), schedule.parameters
        return TableShape(shape.rows, *bits, parameters.parents, parameters.levels)

    def dealt(self, nodes: int) -> list[ArithmeticShare]:
        return deal_integers(self.values, nodes=nodes)

    def steps(self, first: int, count: int, horizon: int) -> Iterator[Step]:
        for number in range(first, first + count):
            now = self.schedule.generation(number, horizon=horizon)
            schedule = self.schedule
            yield Step(
                now.moves, now.offsets, schedule.gain_factor, schedule.key_bits, now.parent_pairs
            )

    def pairs(self, first: int, count: int) -> list[int]:
        numbers = range(first, first + count)
        return [len(self.schedule.generation(n, horizon=1).parent_pairs) for n in numbers]

    def start(self, nodes: int = 3) -> PartiesRun[SealedState]:
        shares = self.dealt(nodes)
        return run_parties(
            lambda s: secret_start(s, shares[s.me], self.about, label="start"), nodes=nodes
        )

    def advance(
        self, states: list[SealedState], first: int, count: int, *, horizon: int
    ) -> PartiesRun[SealedState]:
        return run_parties(
            lambda s: advance(s, states[s.me], self.steps(first, count, horizon), self.about),
            nodes=len(states),
        )
