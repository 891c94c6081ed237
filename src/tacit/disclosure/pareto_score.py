"""The Pareto score of candidates in several objectives, in whole numbers.

F_k(i) is the fitness of candidate i in objective k of m, larger is better. Candidates are ordered
by

1. d(i), how many dominate it: are at least as good in every objective and better in one; of exact
   duplicates the lower index dominates;
2. crowding C(i) over the whole set, larger first;
3. the index, lower first.

S_k is the largest F_k minus the smallest plus 1. In the order of F_k (ties: of the first objective
by the larger sum of the others, then everywhere by the lower index) g_k(i) is the fitness before
i minus that after i. Two objectives whose products fit:

    C = g_1 S_2 + g_2 S_1, where first and last have g_k = 2 S_k

Otherwise C is the sum of g_k R_k, where R_k = 2^(b + 4) // (S_k rounded up to 4 significant bits)
and b are the bits of the widest possible span; first and last count m 2^(b + 4). Counted as in
NSGA-II, but for dominators instead of fronts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DisclosureError

SIGNIFICANT = 4
RING_BITS = 64
MOST_CANDIDATES = 1000


def pareto_score(fitness: NDArray[np.int64], /, *, spans: Sequence[int]) -> NDArray[np.int64]:
    """The score of each candidate: n - 1 for the first of the order, 0 for the last.

    `fitness` has a line per objective. `spans` are public: by how much two candidates can differ
    at most in each objective.

    >>> pareto_score(np.array([[9, 4, 0, 3], [1, 2, 5, 2]]), spans=[9, 9])
    array([3, 1, 2, 0])
    """
    n = fitness.shape[1]
    # `lexsort` sorts by its last key first.
    order = np.lexsort((np.arange(n), -crowding(fitness, spans=spans), dominators(fitness)))
    score = np.empty(n, dtype=np.int64)
    score[order] = np.arange(n - 1, -1, -1)
    return score


def check_score_fits(spans: Sequence[int], candidates: int, /) -> None:
    """Refuse what the words of the nodes have no room for.

    >>> check_score_fits([2**30, 2**30], 300)
    Traceback (most recent call last):
    tacit.errors.DisclosureError: a Pareto score of 300 candidates needs 72 bits and the nodes \
have 64; scale the weights down
    """
    if not 1 <= candidates <= MOST_CANDIDATES:
        raise DisclosureError(
            f"a Pareto score is found for 1 to {MOST_CANDIDATES} candidates at once, not for "
            f"{candidates}; use a smaller population"
        )
    index = (candidates - 1).bit_length()
    # The key of the first objective has the sum of the others and the index behind it, which decide
    # between equals.
    first = spans[0].bit_length() + sum(spans[1:]).bit_length() + index + 1
    largest = len(spans) ** 2 << (max(spans).bit_length() + SIGNIFICANT)
    # The key of the order: the dominators before the crowding, the index behind it.
    score = 0 if has_exact_crowding(spans, candidates) else largest.bit_length() + 2 * index + 1
    if max(first, score) > RING_BITS:
        raise DisclosureError(
            f"a Pareto score of {candidates} candidates needs {max(first, score)} bits and the "
            f"nodes have {RING_BITS}; scale the weights down"
        )


def dominators(fitness: NDArray[np.int64], /) -> NDArray[np.int64]:
    """Count the dominators of each candidate; of duplicates, the lower index dominates.

    >>> dominators(np.array([[1, 1, 2, 0], [1, 1, 0, 0]]))
    array([0, 1, 0, 3])
    """
    n = fitness.shape[1]
    as_good = np.ones((n, n), dtype=np.bool_)
    for line in fitness:
        as_good &= line[:, None] >= line[None, :]
    # Who is as good both ways is a duplicate.
    index = np.arange(n)
    dominates = as_good & ~(as_good.T & (index[:, None] >= index[None, :]))
    counts: NDArray[np.int64] = dominates.sum(axis=0, dtype=np.int64)
    return counts


def nondominated(fitness: NDArray[np.int64], /) -> NDArray[np.intp]:
    """Find the non-dominated candidates, in their order: what a final reveal discloses.

    >>> nondominated(np.array([[1, 1, 2, 0], [1, 1, 0, 0]]))
    array([0, 2])
    """
    return np.flatnonzero(dominators(fitness) == 0)


def crowding(fitness: NDArray[np.int64], /, *, spans: Sequence[int]) -> NDArray[np.int64]:
    """The crowding of each candidate, larger where there is more room.

    >>> crowding(np.array([[9, 4, 0, 3], [1, 2, 5, 2]]), spans=[9, 9])
    array([200,  60, 200,  30])
    """
    m, n = fitness.shape
    # Plus 1, since no span may be 0 where all are equally good.
    found = fitness.max(axis=1) - fitness.min(axis=1) + 1
    whole = 1 << (max(spans).bit_length() + SIGNIFICANT)
    exact = has_exact_crowding(spans, n)
    total = np.zeros(n, dtype=np.int64)
    for k, line in enumerate(fitness):
        order = _order(fitness, k)
        gaps = np.zeros(n, dtype=np.int64)
        gaps[order[1:-1]] = line[order[:-2]] - line[order[2:]]
        # The ends of an objective have a neighbour on one side only and count as having all room.
        ends = order[[0, -1]]
        if exact:
            gaps[ends] = m * found[k]
            total += gaps * found[1 - k]
        else:
            # The span is rounded as nodes round it, so that both find the same score.
            gaps *= whole // _rounded_up(int(found[k]))
            gaps[ends] = m * whole
            total += gaps
    return total


def has_exact_crowding(spans: Sequence[int], candidates: int, /) -> bool:
    """Return whether crowding is exact: two objectives, and a score that fits a word of the nodes.

    >>> has_exact_crowding([100000, 100000], 300), has_exact_crowding([9, 9, 9], 300)
    (True, False)
    """
    if len(spans) != 2:
        return False
    largest = 4 * (spans[0] + 1) * (spans[1] + 1)
    return largest.bit_length() + 2 * (candidates - 1).bit_length() + 1 <= RING_BITS


def _order(fitness: NDArray[np.int64], k: int) -> NDArray[np.intp]:
    """The candidates by one objective, best first."""
    line = -fitness[k]
    if k == 0:
        # A stable sort, so that further ties go to the lower index.
        return np.lexsort((-fitness[1:].sum(axis=0), line))
    return np.argsort(line, kind="stable")


def _rounded_up(span: int) -> int:
    shift = max(0, span.bit_length() - SIGNIFICANT)
    return -(-span >> shift) << shift
