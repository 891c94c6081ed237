"""The paper's counts of equations and inequations (section 3.3), exact for a given run.

`tacit.disclosure.leakage` has its upper bounds. Either says little about what can be learned: see
docs/leakage.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record.view import View
from tacit.disclosure import Buckets, Exact, Leakage, Order, inequations_between, parse_disclosure


def counts_of(view: View, /, *, repeats: bool = False) -> Leakage:
    """Count for a given run: pairs of different candidates, each pair once.

    With `repeats` repeated candidates count again, which is how the paper counts.
    """
    disclosure = parse_disclosure(view.disclosure)
    names = np.arange(len(view.cells)) if repeats else candidate_names(view)
    if isinstance(disclosure, Exact):
        return Leakage(comb(len(np.unique(names)), 2), 0)
    sets = np.split(np.arange(len(names)), np.cumsum(view.sizes)[:-1])
    inequations = _distinct_inequations(view, names, sets)
    if isinstance(disclosure, Order):
        bests = [int(names[each[view.levels[each].argmin()]]) for each in sets]
        across = _across(view, names, sets)
        return Leakage(comb(len(set(bests)), 2), inequations, across)
    named = 0
    if isinstance(disclosure, Buckets):
        # A best bucket with a single candidate identifies the best.
        lone = [each[view.levels[each] == 0] for each in sets]
        named = len({int(names[each[0]]) for each in lone if len(each) == 1})
    return Leakage(comb(named, 2), inequations)


def candidate_names(view: View, /) -> NDArray[np.int64]:
    """A number per candidate, the same for those that pick the same cells."""
    words = np.random.Generator(np.random.PCG64(0)).integers(
        0, 2**63, view.cell_count, dtype=np.uint64
    )
    sums = words[view.cells].sum(axis=1, dtype=np.uint64)
    return np.asarray(np.unique(sums, return_inverse=True)[1], dtype=np.int64)


def _distinct_inequations(
    view: View, names: NDArray[np.int64], sets: Sequence[NDArray[np.int64]]
) -> int:
    """Pairs of candidates in different groups of an evaluation; each pair once in a run."""
    appearances = np.zeros(int(names.max()) + 1, dtype=np.int64)
    firsts = []
    for each in sets:
        _, first = np.unique(names[each], return_index=True)
        firsts.append(each[first])
        appearances[names[each[first]]] += 1
    pairs, again = 0, []
    for first in firsts:
        pairs += inequations_between(np.bincount(view.levels[first]).tolist())
        # Only two candidates that both occur in several evaluations can form a pair twice.
        returning = first[appearances[names[first]] > 1]
        one, other = np.triu_indices(len(returning), 1)
        apart = view.levels[returning[one]] != view.levels[returning[other]]
        low, high = np.sort(names[np.stack([returning[one], returning[other]])[:, apart]], axis=0)
        again.append(low * len(appearances) + high)
    repeated = np.concatenate(again)
    return pairs - (len(repeated) - len(np.unique(repeated)))


def _across(view: View, names: NDArray[np.int64], sets: Sequence[NDArray[np.int64]]) -> int:
    """Members of an evaluation that are worse than the known best of a better one."""
    if view.best is None:
        return 0
    best_names = np.array([names[each[view.levels[each].argmin()]] for each in sets])
    _, first = np.unique(best_names, return_index=True)
    known = np.sort(view.best[first])
    total = 0
    for each, best in zip(sets, view.best, strict=True):
        better = len(known) - int(np.searchsorted(known, best, side="right"))
        total += better * (len(np.unique(names[each])) - 1)
    return total
