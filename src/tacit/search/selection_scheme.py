"""The two ways Algorithm 1 selects: as a genetic algorithm or as NSGA-II."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.search.operators.selection.crowding import (
    binary_tournament,
    crowded_truncation,
    crowding_distances,
)
from tacit.search.operators.selection.genetic import tournament, truncation
from tacit.search.operators.selection.nondominated import nondominated_fronts
from tacit.search.parameters import SearchParameters
from tacit.search.random_words import RandomWords
from tacit.search.state import SearchState
from tacit.search.ties import Orders


class SelectionScheme(Protocol):
    """How parents and survivors are chosen."""

    @property
    def words_per_parent(self) -> int:
        """How many random words the choice of one parent takes."""
        ...

    def sorts(self, objectives: int) -> int:
        """How many sorts the choice of survivors takes, each with ties of its own."""
        ...

    def parents(self, state: SearchState, words: RandomWords) -> NDArray[np.int32]:
        """The indices of parents, one per row of `words`."""
        ...

    def survivors(
        self,
        genomes: NDArray[np.int32],
        estimates: NDArray[np.float64],
        orders: Orders,
        count: int,
    ) -> SearchState:
        """The best `count`, best first, as a state whose generation is not set yet.

        `orders` has a row per sort (`sorts`).
        """
        ...


@dataclass(frozen=True)
class TournamentAndTruncation:
    """The genetic algorithm's scheme: tournaments for parents, truncation for survivors."""

    entrants: int

    @property
    def words_per_parent(self) -> int:
        """One per entrant."""
        return self.entrants

    def sorts(self, objectives: int) -> int:  # noqa: ARG002 - there is one
        """Truncation."""
        return 1

    def parents(self, state: SearchState, words: RandomWords) -> NDArray[np.int32]:
        """The winners of tournaments."""
        return tournament(state.estimates[:, 0], words)

    def survivors(
        self,
        genomes: NDArray[np.int32],
        estimates: NDArray[np.float64],
        orders: Orders,
        count: int,
    ) -> SearchState:
        """The individuals with the largest estimates."""
        kept = truncation(estimates[:, 0], count, orders[0])
        return SearchState(
            generation=0,
            genomes=genomes[kept],
            estimates=estimates[kept],
            front_of=np.zeros(len(kept), dtype=np.int32),
            crowding=np.zeros(len(kept)),
        )


@dataclass(frozen=True)
class CrowdedComparison:
    """NSGA-II's scheme: binary tournaments and truncation by front and crowding distance."""

    @property
    def words_per_parent(self) -> int:
        """Two: the entrants of a binary tournament."""
        return 2

    def sorts(self, objectives: int) -> int:
        """Truncation, and one per objective for crowding distances."""
        return 1 + objectives

    def parents(self, state: SearchState, words: RandomWords) -> NDArray[np.int32]:
        """The winners of binary tournaments."""
        return binary_tournament(state.front_of, state.crowding, words)

    def survivors(
        self,
        genomes: NDArray[np.int32],
        estimates: NDArray[np.float64],
        orders: Orders,
        count: int,
    ) -> SearchState:
        """Whole fronts first, then the least crowded of the front that does not fit."""
        front_of = nondominated_fronts(estimates)
        crowding = crowding_distances(estimates, front_of, orders[1:])
        kept = crowded_truncation(front_of, crowding, count, orders[0])
        return SearchState(
            generation=0,
            genomes=genomes[kept],
            estimates=estimates[kept],
            front_of=front_of[kept],
            crowding=crowding[kept],
        )


def selection_scheme(parameters: SearchParameters, /) -> SelectionScheme:
    """The scheme that the parameters ask for.

    >>> selection_scheme(SearchParameters(tournament=4))
    TournamentAndTruncation(entrants=4)
    """
    if parameters.algorithm == "nsga2":
        return CrowdedComparison()
    return TournamentAndTruncation(parameters.tournament)
