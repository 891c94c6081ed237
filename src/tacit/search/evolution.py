"""Algorithm 1 of the paper: the framework that is a genetic algorithm or NSGA-II.

Ask and tell, with explicit state: `ask` makes the set to evaluate next from a state and a random
generator, `tell` makes the next state from that set, its estimates and the same generator. No other
state is kept, so a run can stop after any `tell` and continue elsewhere.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.problems import Objective, Problem
from tacit.search.crossover import crossover_named
from tacit.search.genomes import RandomWords, draw_words, random_permutations, repair, threshold
from tacit.search.mutation import mutation_named
from tacit.search.parameters import Orders, SearchParameters, TieBreaker
from tacit.search.selection import (
    binary_tournament,
    crowded_truncation,
    crowding_distances,
    nondominated_fronts,
    tournament,
    truncation,
)

# The state of a search: everything it needs to continue, and nothing else.


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


# The ways Algorithm 1 selects: as a genetic algorithm, as NSGA-II, or by disclosed groups.


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
        return self.entrants

    def sorts(self, objectives: int) -> int:  # noqa: ARG002 - they have one order together
        return 1

    def parents(self, state: SearchState, words: RandomWords) -> NDArray[np.int32]:
        return tournament(np.ascontiguousarray(state.estimates[:, 0]), words)

    def survivors(
        self,
        genomes: NDArray[np.int32],
        estimates: NDArray[np.float64],
        orders: Orders,
        count: int,
    ) -> SearchState:
        best_first = truncation(estimates[:, 0], count, orders[0])
        return SearchState(
            generation=0,
            genomes=genomes[best_first],
            estimates=estimates[best_first],
            front_of=np.zeros(len(best_first), dtype=np.int32),
            crowding=np.zeros(len(best_first)),
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
        best_first = crowded_truncation(front_of, crowding, count, orders[0])
        return SearchState(
            generation=0,
            genomes=genomes[best_first],
            estimates=estimates[best_first],
            front_of=front_of[best_first],
            crowding=crowding[best_first],
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


class Evolution:
    """An evolutionary search on the genomes of a problem.

    >>> from tacit.problems import Assignment, Objective
    >>> problem = Assignment(name="p", rows=3, columns=3,
    ...                      objectives=(Objective("pay", np.eye(3, dtype=np.int64)),))
    >>> search = Evolution(problem, SearchParameters(population=8, elites=2, tournament=3))
    >>> rng = np.random.Generator(np.random.PCG64(1))
    >>> state = search.start()
    >>> for _ in range(5):
    ...     genomes = search.ask(state, rng)
    ...     estimates = problem.fitness(0, problem.plans(genomes))[:, None].astype(float)
    ...     state = search.tell(state, genomes, estimates, rng)
    >>> state.generation, state.genomes[0].tolist()
    (4, [0, 1, 2])
    """

    def __init__(self, problem: Problem, parameters: SearchParameters, /) -> None:
        if parameters.algorithm == "genetic" and len(problem.objectives) > 1:
            raise ParameterError(
                f"the genetic algorithm takes one objective and {problem.name!r} has "
                f"{len(problem.objectives)}; use nsga2 (preset paper-moap)"
            )
        self.problem = problem
        self.parameters = parameters
        self._scheme = selection_scheme(parameters, together=problem.evaluates_together)
        self._ties = TieBreaker(parameters.ties)
        self._sorts = self._scheme.sorts(len(problem.objectives))
        self._crossover = crossover_named(parameters.crossover)
        self._mutation = mutation_named(parameters.mutation)
        self._allowed = problem.allowed
        self._budget = WordBudget.plan(
            parameters, problem.genome_length, self._scheme.words_per_parent
        )

    def start(self) -> SearchState:
        return SearchState.empty(
            genome_length=self.problem.genome_length, objectives=len(self.problem.objectives)
        )

    def ask(self, state: SearchState, rng: np.random.Generator, /) -> NDArray[np.int32]:
        """The genomes to evaluate next: offspring, then elites, then re-evaluated parents."""
        if state.generation < 0:
            return self._initial(rng)
        offspring = self._offspring(state, rng)
        # Survivors are sorted best first, so the elites are the first of them.
        sets = [offspring, state.genomes[: self.parameters.elites]]
        if self.parameters.reevaluate_parents:
            sets.append(state.genomes)
        return np.concatenate(sets)

    def tell(
        self,
        state: SearchState,
        genomes: NDArray[np.int32],
        estimates: NDArray[np.float64],
        rng: np.random.Generator,
        /,
    ) -> SearchState:
        """The state after the survivors of an evaluated set were selected.

        The generator is where `ask` left it, and stays there.
        """
        generation, count = state.generation + 1, self.parameters.population
        orders = self._ties.orders(self._sorts, len(genomes), rng, generation=generation)
        survivors = self._scheme.survivors(genomes, estimates, orders, count)
        return replace(survivors, generation=generation)

    def _initial(self, rng: np.random.Generator) -> NDArray[np.int32]:
        length, count = self.problem.genome_length, self.parameters.population
        genomes = random_permutations(draw_words(rng, count * length).reshape(count, length))
        if self._allowed is not None:
            repair(genomes, self._allowed, draw_words(rng, count))
        return genomes

    def _offspring(self, state: SearchState, rng: np.random.Generator) -> NDArray[np.int32]:
        words = self._budget.draw(rng)
        parents = state.genomes[self._scheme.parents(state, words.parents)]
        offspring = parents.copy()
        recombined = words.recombine < threshold(self.parameters.crossover_percent / 100)
        self._crossover.recombine(parents, recombined, words.crossover, offspring)
        # With an odd number of offspring the last child of the last pair is dropped.
        offspring = offspring[: self._budget.offspring]
        mutated = words.mutate < threshold(self.parameters.mutation_percent / 100)
        self._mutation.mutate(offspring, mutated, words.mutation)
        if self._allowed is not None:
            repair(offspring, self._allowed, draw_words(rng, len(offspring)))
        return offspring


@dataclass(frozen=True, eq=False)
class GenerationWords:
    """The random words of one generation, one array per purpose."""

    parents: RandomWords
    recombine: RandomWords
    crossover: RandomWords
    mutate: RandomWords
    mutation: RandomWords


@dataclass(frozen=True)
class WordBudget:
    """How many random words one generation takes, so that it draws them all in one call.

    >>> WordBudget.plan(SearchParameters(), 100, 18).pairs
    143
    """

    pairs: int
    offspring: int
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def plan(cls, parameters: SearchParameters, length: int, words_per_parent: int) -> WordBudget:
        """Add up the random words that selection and operators need."""
        offspring = parameters.population - parameters.elites
        # The paper draws one parent more than offspring, so that an odd one still has a pair.
        pairs = (offspring + 1) // 2
        crossover = crossover_named(parameters.crossover).words_per_pair(length)
        mutation = mutation_named(parameters.mutation).words_per_genome(length)
        shapes = (
            (2 * pairs, words_per_parent),
            (pairs,),
            (pairs, crossover),
            (offspring,),
            (offspring, mutation),
        )
        return cls(pairs=pairs, offspring=offspring, shapes=shapes)

    def draw(self, rng: np.random.Generator) -> GenerationWords:
        """Draw one generation's words."""
        sizes = [prod(shape) for shape in self.shapes]
        words = draw_words(rng, sum(sizes))
        arrays, start = [], 0
        for shape, size in zip(self.shapes, sizes, strict=True):
            arrays.append(words[start : start + size].reshape(shape))
            start += size
        return GenerationWords(*arrays)


def warm_up(problem: Problem, parameters: SearchParameters, /) -> float:
    """Make everything ready that this search calls; gives the seconds it took."""
    started = time.monotonic()
    twin = _twin(problem)
    # Machine code depends on types and not on sizes, so that a tiny search compiles the same.
    few = replace(parameters, population=6, elites=min(parameters.elites, 2))
    search = Evolution(twin, few)
    rng = np.random.Generator(np.random.PCG64(0))
    state = search.start()
    for _ in range(2):
        genomes = search.ask(state, rng)
        plans = twin.plans(genomes)
        fitness = [twin.fitness(k, plans) for k in range(len(twin.objectives))]
        state = search.tell(state, genomes, np.stack(fitness, axis=1).astype(np.float64), rng)
    # Records sum up a selection of the genomes. If that is a single one, the plan is contiguous in
    # memory also where m < n, and another version of the kernel is called.
    twin.fitness(0, twin.plans(state.genomes[:2]))
    twin.fitness(0, twin.plans(state.genomes[:1]))
    return time.monotonic() - started


def _twin(problem: Problem) -> Problem:
    """The same problem with weights, whether or not they are here, and nothing to prove."""
    weights = np.zeros((problem.rows, problem.columns), dtype=np.int64)
    objectives = tuple(
        Objective(each.name, weights, disclosure=each.disclosure, best_mode=each.best_mode)
        for each in problem.objectives
    )
    return replace(problem, objectives=objectives, proven=True)
