"""Algorithm 1 of the paper: the framework that is a genetic algorithm or NSGA-II.

Ask and tell, with explicit state: `ask` makes the set to evaluate next from a state and a random
generator, `tell` makes the next state from that set, its estimates and the same generator. No other
state is kept, so a run can stop after any `tell` and continue elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.search.operators.crossover import crossover_named
from tacit.search.operators.initial import random_permutations
from tacit.search.operators.mutation import mutation_named
from tacit.search.operators.repair import repair
from tacit.search.parameters import SearchParameters
from tacit.search.random_words import RandomWords, draw_words, threshold
from tacit.search.selection_scheme import selection_scheme
from tacit.search.state import SearchState
from tacit.search.ties import TieBreaker


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
        """The state before the first evaluation."""
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
