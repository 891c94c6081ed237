"""What a node can derive of each generation from the agreed search and its seed, without values.

How many random words a generation takes depends on the settings alone, so all of them are known
from the seed: the entrants of each tournament, and what crossover and mutation did. Two candidates
are the parents of a pair if the operators turn them into exactly these children.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record.design import shared_cells
from tacit.audit.record.view import View, cells_of
from tacit.search import (
    GenerationWords,
    RandomWords,
    SearchParameters,
    WordBudget,
    crossover_named,
    draw_words,
    mutation_named,
    parameters_of,
    random_permutations,
    repair,
    threshold,
)

Places = NDArray[np.int64]
LIKELY, LIKELY_OTHERS = 7, 49
"""How many candidates with the most in common with two children are tried as both parents, or
as the other one where one is known."""


@dataclass(frozen=True, eq=False)
class Transition:
    """One set, the next one, and the random words that led from the one to the other."""

    plans: NDArray[np.int32]
    after: NDArray[np.int32]
    words: GenerationWords
    repairing: RandomWords


@dataclass(frozen=True, eq=False)
class ReplayedSearch:
    """The agreed search of a view, as far as it can be replayed without values."""

    view: View
    parameters: SearchParameters
    allowed: NDArray[np.bool_] | None

    def generations(self) -> Iterator[Transition]:
        """Every set that has a next one, with the random words in between."""
        rng = np.random.Generator(np.random.PCG64(self.view.seed))
        length = self.view.problem.columns
        draw_words(rng, self.parameters.population * length)
        if self.allowed is not None:
            draw_words(rng, self.parameters.population)
        budget = WordBudget.plan(self.parameters, length, self.parameters.tournament)
        sets = np.split(self.view.plans, np.cumsum(self.view.sizes)[:-1])
        for plans, after in pairwise(sets):
            words = budget.draw(rng)
            repairing = draw_words(rng, 0 if self.allowed is None else budget.offspring)
            yield Transition(plans, after, words, repairing)

    def starts_as_recorded(self) -> bool:
        """Whether the seed leads to the first set."""
        count, length = int(self.view.sizes[0]), self.view.problem.columns
        if count != self.parameters.population:
            return False
        rng = np.random.Generator(np.random.PCG64(self.view.seed))
        genomes = random_permutations(draw_words(rng, count * length).reshape(count, length))
        if self.allowed is not None:
            repair(genomes, self.allowed, draw_words(rng, count))
        return np.array_equal(genomes, self.view.plans[:count])

    def parents_of(self, generation: Transition, known: Places, /) -> Places:
        """For each pair of children the indices of both parents in the set, -1 where not found.

        `known` holds the known ones; pairs of which both are known are skipped.
        """
        found = known.copy()
        if (known >= 0).all():
            return found
        likely = self._likely_parents(generation)
        few = np.indices((min(LIKELY, likely.shape[1]),) * 2).reshape(2, -1)
        for mother, father in ((False, False), (True, False), (False, True)):
            asked = np.flatnonzero(((known[:, 0] >= 0) == mother) & ((known[:, 1] >= 0) == father))
            if not len(asked):
                continue
            if mother or father:
                either = [likely[asked]] * 2
                either[1 if father else 0] = np.broadcast_to(
                    known[asked, 1 if father else 0, None], either[0].shape
                )
            else:
                either = [likely[asked][:, each] for each in few]
            self._try(generation, asked, either[0], either[1], found)
        return found

    def _try(
        self,
        generation: Transition,
        asked: Places,
        mothers: Places,
        fathers: Places,
        found: Places,
    ) -> None:
        """Note parents where only one would do; rows of tried ones belong to those asked for."""
        pairs = np.repeat(asked, mothers.shape[1])
        right = self._have_these_children(generation, pairs, mothers.ravel(), fathers.ravel())
        for side, tried in enumerate((mothers, fathers)):
            places = tried.ravel()[right]
            first, last = np.full(len(found), len(generation.plans)), np.full(len(found), -1)
            np.minimum.at(first, pairs[right], places)
            np.maximum.at(last, pairs[right], places)
            sure = np.flatnonzero(first == last)
            found[sure, side] = first[sure]

    def _likely_parents(self, generation: Transition) -> Places:
        """Per pair some distinct candidates that have the most in common with both."""
        problem, words = self.view.problem, generation.words
        distinct = np.unique(generation.plans, axis=0, return_index=True)[1]
        born = self._before_mutation(generation)
        shared = shared_cells(
            cells_of(problem, born),
            cells_of(problem, generation.plans[distinct]),
            self.view.cell_count,
        )
        if len(born) % 2:  # the last child of the last pair was dropped
            shared = np.concatenate([shared, shared[-1:]])
        by_pair = shared.reshape(len(words.recombine), 2, -1).sum(axis=1)
        most = np.argsort(-by_pair, axis=1, kind="stable")[:, :LIKELY_OTHERS]
        return np.asarray(distinct[most], dtype=np.int64)

    def _before_mutation(self, generation: Transition) -> NDArray[np.int32]:
        """Children before mutation, which moves known positions."""
        count, length = generation.words.mutation.shape[0], self.view.problem.columns
        moved = np.tile(np.arange(length, dtype=np.int32), (count, 1))
        self._mutate(moved, generation.words.mutate, generation.words.mutation)
        before = np.empty_like(moved)
        np.put_along_axis(before, moved.astype(np.intp), generation.after[:count], axis=1)
        return before

    def _mutate(self, genomes: NDArray[np.int32], whether: RandomWords, words: RandomWords) -> None:
        mutated = whether < threshold(self.parameters.mutation_percent / 100)
        mutation_named(self.parameters.mutation).mutate(genomes, mutated, words)

    def _have_these_children(
        self, generation: Transition, pairs: Places, mothers: Places, fathers: Places
    ) -> NDArray[np.bool_]:
        """Whether the search turns two candidates into the children of a pair."""
        words = generation.words
        parents = generation.plans[np.stack([mothers, fathers], axis=1).ravel()]
        children = parents.copy()
        recombined = words.recombine[pairs] < threshold(self.parameters.crossover_percent / 100)
        crossover_named(self.parameters.crossover).recombine(
            parents, recombined, words.crossover[pairs], children
        )
        count = len(words.mutate)
        which = np.stack([2 * pairs, 2 * pairs + 1], axis=1).ravel()
        there = np.minimum(which, count - 1)
        self._mutate(children, words.mutate[there], words.mutation[there])
        if self.allowed is not None:
            repair(children, self.allowed, generation.repairing[there])
        alike = (children == generation.after[there]).all(axis=1) | (which >= count)
        return np.asarray(alike.reshape(-1, 2).all(axis=1))


def replayed_search(view: View, /) -> ReplayedSearch | None:
    """The search behind a view; None where its seed is unknown or it cannot be replayed.

    Plans that are not the genomes themselves do not show them; several objectives decide together
    who survives.
    """
    problem = view.problem
    genome = np.arange(problem.known.genome_length, dtype=np.int32)[None]
    if view.seed is None or not np.array_equal(problem.known.plans(genome), genome):
        return None
    if view.search.get("algorithm") != "genetic" or not len(view.sizes):
        return None
    allowed = None
    if problem.forbidden:
        allowed = np.ones((problem.rows, problem.columns), dtype=np.bool_)
        allowed[tuple(np.array(problem.forbidden).T)] = False
    search = ReplayedSearch(view, parameters_of(view.search), allowed)
    return search if search.starts_as_recorded() else None
