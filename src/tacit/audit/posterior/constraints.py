"""What `top:k` says of the cells: linear inequalities, laid out for moving one cell at a time.

In each evaluation every candidate of the top group has at least the fitness of every other one. A
cell that most candidates of an evaluation pick counts as moving the others the opposite way, since
only differences matter; so the candidates that a cell moves are few, and all move the same way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record.design import one_hot
from tacit.audit.record.view import View
from tacit.errors import InputError


class Constraints(NamedTuple):
    """Candidates by evaluation, the top group of each first, and which of them each cell moves."""

    begins: NDArray[np.int64]
    """The first candidate of each evaluation, and the number of all."""
    rest: NDArray[np.int64]
    """The first candidate of each evaluation outside of its top group."""
    evaluation_of: NDArray[np.int64]
    moves: NDArray[np.int64]
    """Where the candidates of each cell begin in `moved`, and the number of all."""
    moved: NDArray[np.int32]
    ways: NDArray[np.float64]
    """1 where a candidate moves with the cell, -1 where against it."""


def constraints_of(view: View, /) -> tuple[Constraints, Any]:
    """The constraints of a view, and the same as a sparse matrix of candidates by cells."""
    if not bits_by_rank(view):
        raise InputError(f"{view.disclosure} tells more than an order of groups; take top")
    order = np.lexsort((view.levels, view.evaluation_of))
    order = order[_without_double_ties(view, order)]
    group, top = view.evaluation_of[order], view.levels[order] == 0
    sizes = np.bincount(group, minlength=view.evaluations)
    picked = one_hot(view.cells[order], view.cell_count)
    matrix = (picked - _usual(picked, group, sizes)[group]).tocsr()
    matrix.eliminate_zeros()
    by_cell = matrix.tocsc()
    by_cell.sort_indices()
    begins = np.concatenate([[0], np.cumsum(sizes)])
    constraints = Constraints(
        begins=begins,
        rest=begins[:-1] + np.bincount(group[top], minlength=view.evaluations),
        evaluation_of=group,
        moves=by_cell.indptr.astype(np.int64),
        moved=by_cell.indices.astype(np.int32),
        ways=by_cell.data,
    )
    return constraints, matrix


def bits_by_rank(view: View, /) -> bool:
    """Whether all that is disclosed of candidates is which are the best k."""
    return view.disclosure.startswith("top:") and view.evaluations > 0


def _usual(picked: Any, group: NDArray[np.int64], sizes: NDArray[np.int64]) -> Any:  # noqa: ANN401
    """Per evaluation 1 for each cell that more than half of its candidates pick."""
    from scipy.sparse import csr_matrix

    ones, ends = np.ones(len(group)), np.arange(len(group) + 1)
    together = csr_matrix((ones, group, ends), shape=(len(group), len(sizes)))
    usual = (together.T @ picked).tocsr()
    usual.data = (2 * usual.data > np.repeat(sizes, np.diff(usual.indptr))).astype(np.float64)
    usual.eliminate_zeros()
    return usual


def _without_double_ties(view: View, order: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which candidates are kept.

    A plan with copies both in the top group and outside is the threshold. With two such plans in
    one evaluation their fitness is equal: an event of probability 0 for weights that are not whole
    numbers, so their copies outside are left out. That gives away a little of what is disclosed.
    """
    group, top = view.evaluation_of[order], view.levels[order] == 0
    plans = np.column_stack([group, view.plans[order]])
    _, which = np.unique(plans, axis=0, return_inverse=True)
    which, count = which.ravel(), int(which.max()) + 1
    inside, outside = (np.bincount(which[side], minlength=count) > 0 for side in (top, ~top))
    tied = np.flatnonzero(inside & outside)
    evaluation = np.zeros(count, dtype=np.int64)
    evaluation[which] = group
    often = np.bincount(evaluation[tied], minlength=view.evaluations) > 1
    return np.asarray(top | ~(np.isin(which, tied) & often[group]))
