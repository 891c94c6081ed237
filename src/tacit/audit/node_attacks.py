"""Attacks of a curious node, which sees every candidate and no value.

Without the seed it infers values from the next population: whose genes are carried over. With the
seed of the agreed search it replays selection (`ReplayedSearch`), so it knows the entrants of every
tournament and infers the winners.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tacit.audit.measure import fit, flat_prior
from tacit.audit.platform_attacks import (
    by_groups,
    by_pairs,
    gene_frequency,
    informative_pairs,
    judge_pairs,
)
from tacit.audit.view import Cells, View, cells_of, shared_cells
from tacit.disclosure import parse_disclosure, split_disclosure
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
    tournament,
)

Places = NDArray[np.int64]
LIKELY, LIKELY_OTHERS = 7, 49
"""The number of candidates most similar to two children that are tried as both parents, or
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
        # The search draws in this order: genomes, their repair, then for each generation all its
        # words and those of its repair. One word more or less, and every later tournament has other
        # entrants.
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
        # A known parent leaves one to search, so 49 candidates cost as much as 7 x 7 pairs of two.
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
            # Several candidates may explain the same children. A wrong parent would give a wrong
            # rank, which misleads all later passes, so only a unique explanation counts.
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
        # Which positions a mutation moves depends on public words alone, not on the genome. Applied
        # to the positions themselves it shows where each gene stood before.
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
        # With an odd number of offspring the last child was dropped, so nothing contradicts it.
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
    # With a wrong seed, or a platform that chose its populations, all inferred winners would be
    # wrong.
    search = ReplayedSearch(view, parameters_of(view.search), allowed)
    return search if search.starts_as_recorded() else None


MANY_CHILDREN = 3


def from_next_population(view: View, /) -> Cells | None:
    """Estimate the cells from candidates alone, or None where there is no next population."""
    if view.evaluations < 2:
        return None
    guessed = view_from_next_population(view)
    fit = by_pairs if guessed.levels.max() > 1 else by_groups
    return fit(guessed, prior=flat_prior(view.cell_count))


def view_from_next_population(view: View, /) -> View:
    """The view with levels inferred from the next population."""
    carried = CarriedOver.of(view)
    sets = np.split(view.plans, np.cumsum(view.sizes)[:-1])
    levels = np.concatenate(
        [_guessed(this, after, view, carried) for this, after in pairwise(sets)]
    )
    seen, kept = view.first(view.evaluations - 1), levels >= 0
    sizes = np.bincount(seen.evaluation_of[kept])
    return replace(
        seen,
        sizes=sizes[sizes > 0],
        plans=seen.plans[kept],
        cells=seen.cells[kept],
        levels=levels[kept],
        values=None,
        best=None,
        disclosure="next population",
    )


@dataclass(frozen=True)
class CarriedOver:
    """The positions of the best of a set in the next one, and what they imply."""

    born: int
    """The number of new candidates in the next set; they come first."""
    start: int
    count: int
    ranked: bool
    """Whether they are in the order of their fitness."""
    complete: int
    """The number of them that make up exactly the best group; 0 if unknown."""

    @classmethod
    def of(cls, view: View, /) -> CarriedOver:
        """Offspring come first, then elites, then parents that are evaluated again."""
        population = int(view.search.get("population", view.sizes[0]))
        elites = int(view.search.get("elites", 0))
        born = population - elites
        if view.search.get("algorithm") != "genetic":  # several objectives decide who survives
            return cls(born, born, 0, ranked=False, complete=0)
        again = bool(view.search.get("reevaluate_parents"))
        start, count = (population, population) if again else (born, elites)
        method, number = split_disclosure(view.disclosure)
        complete = number if method == "top" and number <= count else 0
        return cls(born, start, count, method in ("none", "order") and count > 0, complete)


def _guessed(
    this: NDArray[np.int32], after: NDArray[np.int32], view: View, carried: CarriedOver
) -> NDArray[np.int64]:
    """A level per candidate, -1 where unknown."""
    # Whatever was not carried over is worse than all elites, so it gets the level below them.
    if carried.ranked or carried.complete:
        levels = np.full(len(this), carried.count if carried.ranked else 1)
    else:
        levels = _by_children(_children(this, after[: carried.born], view))
    places = place_by_rank(this, after, carried)[: carried.complete or carried.count]
    ranks = np.flatnonzero(places >= 0)
    levels[places[ranks]] = ranks if carried.ranked else 0
    return levels


def place_by_rank(
    this: NDArray[np.int32], after: NDArray[np.int32], carried: CarriedOver, /
) -> NDArray[np.int64]:
    """The positions in the previous set of those carried over, best first; -1 if absent.

    >>> carried = CarriedOver(1, 1, 1, ranked=True, complete=0)
    >>> place_by_rank(np.array([[0, 1], [1, 0]]), np.array([[0, 1], [1, 0]]), carried)
    array([1])
    """
    places_of: dict[bytes, list[int]] = {}
    for place, row in reversed(list(enumerate(this))):
        places_of.setdefault(row.tobytes(), []).append(place)
    best = after[carried.start : carried.start + carried.count]
    # Identical candidates are equally good, so it does not matter which of them is meant.
    found = [places_of.get(row.tobytes()) for row in best]
    return np.array([each.pop() if each else -1 for each in found], dtype=np.int64)


def _by_children(children: NDArray[np.int64]) -> NDArray[np.int64]:
    # One or two children may be chance, since tournaments draw entrants at random: nothing is
    # guessed.
    return np.where(children == 0, 1, np.where(children >= MANY_CHILDREN, 0, -1))


def _children(this: NDArray[np.int32], born: NDArray[np.int32], view: View) -> NDArray[np.int64]:
    """For each candidate, the number of the next population that are closest to it."""
    shared = shared_cells(
        cells_of(view.problem, born), cells_of(view.problem, this), view.cell_count
    )
    return np.bincount(shared.argmax(axis=1), minlength=len(this))


ROUNDS = 4
"""Passes: parents found in one pass help to find those of other children in the next."""
TRUST = 0.5
"""The weight of the survival frequency: about the correlation that it reaches by itself."""
FILLINGS, ITERATIONS, LOOSE = 2, 60, 1.0
"""How often free ranks are assigned, the iterations of each fit, and the noise of its pairs."""
MOST_EDGES = 4
"""The number of groups, from the best one, whose sizes are guessed."""


def from_tournaments(view: View, /) -> Cells | None:
    """Estimate the cells from candidates and the seed, or None where it cannot be used."""
    search = replayed_search(view)
    if search is None or view.evaluations < 2:
        return None
    inferred = view_from_tournaments(view, search)
    if is_ranked(view):
        return by_some_ranks(inferred)
    return by_groups(inferred, prior=flat_prior(view.cell_count))


def is_ranked(view: View, /) -> bool:
    """Whether the search sees an order without ties."""
    return view.disclosure in ("none", "order")


def view_from_tournaments(view: View, search: ReplayedSearch, /) -> View:
    """The view with levels inferred from tournaments and elites.

    Where there are ranks, those that never won a tournament have none, which is -1; where there
    are groups, they are not in the best one.
    """
    carried = CarriedOver.of(view)
    levels = [_levels(view, search, each, carried) for each in search.generations()]
    return replace(
        view.first(view.evaluations - 1),
        levels=np.concatenate(levels),
        values=None,
        best=None,
        disclosure="tournaments",
    )


def _levels(
    view: View, search: ReplayedSearch, generation: Transition, carried: CarriedOver
) -> NDArray[np.int64]:
    """A level per candidate of a set."""
    survivors, words = search.parameters.population, generation.words.parents
    places = np.full(survivors, -1, dtype=np.int64)
    places[: carried.count] = place_by_rank(generation.plans, generation.after, carried)
    groups = _known_groups(view, len(generation.plans), survivors)
    # The method has groups of secret size (`above`, `buckets`). Parents that only the children
    # reveal show who won, and with it where one group ends and the next begins.
    if groups is None:
        unknown = np.full((len(words) // 2, 2), -1, dtype=np.int64)
        parents = search.parents_of(generation, unknown).ravel()
        groups = _guessed_groups(view, words[parents >= 0], parents[parents >= 0], places)
    ranks = _winners(groups, words)
    telling = np.full(survivors, is_ranked(view)) | (groups == 0)
    for _ in range(ROUNDS):
        # Every winner that tells something is known, so another pass cannot add any.
        if not (telling & (places < 0))[ranks].any():
            break
        parents = search.parents_of(generation, places[ranks].reshape(-1, 2)).ravel()
        new = (parents >= 0) & (places[ranks] < 0)
        if not new.any():
            break
        places[ranks[new]] = parents[new]
    found = np.flatnonzero(places >= 0)
    if is_ranked(view):
        levels = np.full(len(generation.plans), -1)
        levels[places[found]] = found
        return levels
    levels = np.ones(len(generation.plans), dtype=np.int64)
    levels[places[found[groups[found] == 0]]] = 0
    return levels


def by_some_ranks(view: View, /) -> Cells:
    """Fit ranks that only some candidates have (level -1: unknown).

    At first the others count as worse. But a known rank also says how many of them are better, so
    then they are assigned the free ranks in the order of an estimate, and all pairs with a known
    rank are fitted again, more loosely, since some of these pairs are wrong. The survival frequency
    of genes is the prior's mean.
    """
    prior = replace(flat_prior(view.cell_count), mean=TRUST * gene_frequency(view))
    known = view.levels >= 0
    last = np.where(known, view.levels, int(view.sizes.max()))
    estimate = by_pairs(replace(view, levels=last), prior=prior, iterations=ITERATIONS)
    for _ in range(FILLINGS):
        filled = replace(view, levels=_filled(view, view.design.scores(estimate)))
        better, worse = informative_pairs(filled)
        kept = known[better] | known[worse]
        # A pair of two guessed ranks would only confirm the estimate that they came from.
        judge = judge_pairs(better[kept], worse[kept], noise=LOOSE)
        estimate = fit(
            view.design, judge, prior=prior, others=np.zeros(0), iterations=ITERATIONS,
            start=estimate,
        )  # fmt: skip
    return estimate


def _filled(view: View, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Levels with the free ranks of each evaluation assigned by the scores."""
    levels = view.levels.copy()
    starts = np.cumsum(view.sizes) - view.sizes
    for start, size in zip(starts.tolist(), view.sizes.tolist(), strict=True):
        mine = levels[start : start + size]
        unknown = np.flatnonzero(mine < 0)
        free = np.setdiff1d(np.arange(size), mine[mine >= 0])
        mine[unknown[np.argsort(-scores[start + unknown], kind="stable")]] = free[: len(unknown)]
    return levels


def _winners(groups: NDArray[np.int64], words: NDArray[np.uint32]) -> Places:
    """The rank that wins each tournament, given the group of each rank."""
    return tournament(-groups.astype(np.float64), words).astype(np.int64)


def _known_groups(view: View, evaluated: int, survivors: int) -> NDArray[np.int64] | None:
    """The group that each rank among the survivors belongs to, where the sizes are public."""
    if is_ranked(view):
        return np.arange(survivors)
    disclosure = parse_disclosure(view.disclosure)
    if not disclosure.by_rank:
        return None
    levels = disclosure.levels(disclosure.disclose(np.arange(evaluated, 0, -1)))
    return np.asarray(levels[:survivors], dtype=np.int64)


def _guessed_groups(
    view: View, words: NDArray[np.uint32], parents: Places, places: Places
) -> NDArray[np.int64]:
    """The groups of all ranks where sizes are secret: each boundary explains the most winners."""
    survivors = len(places)
    ranks = np.arange(survivors)
    most = parse_disclosure(view.disclosure).distinct_values(survivors) - 1
    groups = np.zeros(survivors, dtype=np.int64)
    # Greedy, an edge at a time: all sets of edges would be exponentially many.
    conflicts = _conflicts(groups, words, parents, places)
    for _ in range(min(most, MOST_EDGES)):
        tried = [groups + (ranks >= edge) for edge in range(1, survivors)]
        counted = [_conflicts(each, words, parents, places) for each in tried]
        best = int(np.argmin(counted))
        if counted[best] >= conflicts:
            break
        groups, conflicts = tried[best], counted[best]
    return groups


def _conflicts(
    groups: NDArray[np.int64], words: NDArray[np.uint32], parents: Places, places: Places
) -> int:
    """The number of ranks with two candidates and of candidates with two ranks."""
    carried = np.flatnonzero(places >= 0)
    ranks = np.concatenate([_winners(groups, words), carried])
    found = np.concatenate([parents, places[carried]])
    pairs = len(np.unique(ranks * (1 << 20) + found))
    return 2 * pairs - len(np.unique(ranks)) - len(np.unique(found))
