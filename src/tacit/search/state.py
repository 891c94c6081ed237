"""The state of a search: everything it needs to continue, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SearchState:
    """The population after some generation. Never changed in place.

    `generation` is -1 before anything was evaluated and 0 once the initial population was.
    """

    generation: int
    genomes: NDArray[np.int32]
    """One permutation per row, best first."""
    estimates: NDArray[np.float64]
    """Estimated fitness, one column per objective."""
    front_of: NDArray[np.int32]
    """The non-dominated front of each individual among all that were evaluated with it."""
    crowding: NDArray[np.float64]
    """Its crowding distance within that front; all zero where one objective decides."""

    @classmethod
    def empty(cls, *, genome_length: int, objectives: int) -> SearchState:
        """The state before the first evaluation."""
        return cls(
            generation=-1,
            genomes=np.empty((0, genome_length), dtype=np.int32),
            estimates=np.empty((0, objectives)),
            front_of=np.empty(0, dtype=np.int32),
            crowding=np.empty(0),
        )

    def estimated_best(self) -> NDArray[np.int64]:
        """Which individuals are optimal, or non-dominated, by the estimates."""
        if self.estimates.shape[1] == 1:
            column = self.estimates[:, 0]
            return np.flatnonzero(column == column.max())
        # The first front of the evaluated set survives first, so this is also the first front of
        # the population.
        return np.flatnonzero(self.front_of == 0)
