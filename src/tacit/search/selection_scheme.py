"""The ways Algorithm 1 selects: as a genetic algorithm, as NSGA-II, or by disclosed groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
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

    def sorts(self, objectives: int) -> int:  # noqa: ARG002 - they have one order together
        """Truncation."""
        return 1

    def parents(self, state: SearchState, words: RandomWords) -> NDArray[np.int32]:
        """The winners of tournaments."""
        return tournament(np.ascontiguousarray(state.estimates[:, 0]), words)

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


@dataclass(frozen=True)
class DisclosedGroups(TournamentAndTruncation):
    """The scheme for a disclosed Pareto score: its groups are fronts that have crowding in them.

    All objectives have the same estimate, minus the number of the group. Tournaments and truncation
    go by it; who comes first in a group is drawn.
    """

    def survivors(
        self,
        genomes: NDArray[np.int32],
        estimates: NDArray[np.float64],
        orders: Orders,
        count: int,
    ) -> SearchState:
        """The best groups first; where each is a group of its own, the survivors are one front."""
        state = super().survivors(genomes, estimates, orders, count)
        is_order = len(np.unique(estimates[:, 0])) == len(estimates)
        front_of = np.where(is_order, 0, -state.estimates[:, 0]).astype(np.int32)
        return replace(state, front_of=front_of)


def selection_scheme(parameters: SearchParameters, /, *, together: bool = False) -> SelectionScheme:
    """The scheme that the parameters ask for; `together`: the objectives disclose one order.

    >>> selection_scheme(SearchParameters(tournament=4))
    TournamentAndTruncation(entrants=4)
    """
    if together:
        return DisclosedGroups(parameters.tournament)
    if parameters.algorithm == "nsga2":
        return CrowdedComparison()
    return TournamentAndTruncation(parameters.tournament)
