"""A curious node that uses the seed: it knows the entrants of tournaments and infers the winners.

Survivors are sorted best first and tournaments draw positions among them, so the seed alone gives
the rank of each parent, and its children identify it (`replayed_search`). Under `none` and `order`
that gives the ranks of about a hundred of three hundred; the others are mostly worse. Under `top`
and `quantiles` ties go to the first drawn, and the seed tells which member of the best group that
was, by position. So it does under `above` and `buckets`, once the sizes of the groups are guessed:
only the right sizes map each rank to one candidate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.audit.attacks.node_view import CarriedOver, place_by_rank
from tacit.audit.attacks.pairwise import by_pairs, informative_pairs, judge_pairs
from tacit.audit.attacks.pointwise import by_groups
from tacit.audit.attacks.undisclosed import gene_frequency
from tacit.audit.record.replayed_search import Places, ReplayedSearch, Transition, replayed_search
from tacit.audit.record.view import Cells, View
from tacit.audit.score.fit import fit, flat_prior
from tacit.disclosure import parse_disclosure
from tacit.search import tournament

ROUNDS = 4
"""Passes: parents found in one pass help to find those of other children in the next."""
TRUST = 0.5
"""The weight of the survival frequency: about the correlation that it reaches by itself."""
FILLINGS, ITERATIONS, LOOSE = 2, 60, 1.0
"""How often free ranks are assigned, and how pairs are fitted then."""
MOST_EDGES = 4
"""The number of groups, from the best one, whose sizes are guessed."""


def recover(view: View, /) -> Cells | None:
    """Estimate the cells from candidates and the seed, or None where it cannot be used."""
    search = replayed_search(view)
    if search is None or view.evaluations < 2:
        return None
    inferred = inferred_view(view, search)
    if is_ranked(view):
        return by_some_ranks(inferred)
    return by_groups(inferred, prior=flat_prior(view.cell_count))


def is_ranked(view: View, /) -> bool:
    """Whether the search sees an order without ties."""
    return view.disclosure in ("none", "order")


def inferred_view(view: View, search: ReplayedSearch, /) -> View:
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
    if groups is None:
        unknown = np.full((len(words) // 2, 2), -1, dtype=np.int64)
        parents = search.parents_of(generation, unknown).ravel()
        groups = _guessed_groups(view, words[parents >= 0], parents[parents >= 0], places)
    ranks = _winners(groups, words)
    telling = np.full(survivors, is_ranked(view)) | (groups == 0)
    for _ in range(ROUNDS):
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
    if disclosure.method not in ("top", "quantiles"):
        return None
    levels = disclosure.levels(disclosure.disclose(np.arange(evaluated, 0, -1)))
    return np.asarray(levels[:survivors], dtype=np.int64)


def _guessed_groups(
    view: View, words: NDArray[np.uint32], parents: Places, places: Places
) -> NDArray[np.int64]:
    """The same where sizes are secret: group boundaries, each chosen to explain the most."""
    survivors = len(places)
    ranks = np.arange(survivors)
    most = parse_disclosure(view.disclosure).distinct_values(survivors) - 1
    groups = np.zeros(survivors, dtype=np.int64)
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
