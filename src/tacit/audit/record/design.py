"""Candidates as a sparse matrix of the cells they pick.

Within one evaluation only differences count: whatever all candidates share cancels out. So each
is written relative to a typical one, and as a search converges, rows of a hundred cells shrink to
the few that differ. Where candidates have little in common, that saves nothing and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

SAMPLE = 2000
COMMON = 0.9
"""Cells that this share of a population has in common say nothing about descent."""


@dataclass(frozen=True, eq=False)
class Design:
    """A sparse matrix (candidates by cells) and what it is relative to."""

    matrix: Any
    """SciPy CSR: +1 where a candidate picks a cell, -1 where the typical one does instead."""
    typical: NDArray[np.int64] | None
    """The index of each evaluation's typical candidate, where rows are relative to it."""

    @cached_property
    def transposed(self) -> Any:  # noqa: ANN401 - SciPy has no types
        """The transpose, laid out for fast products."""
        return self.matrix.T.tocsr()

    @cached_property
    def visits(self) -> NDArray[np.float64]:
        """In how many rows each cell occurs."""
        return np.bincount(self.matrix.indices, minlength=self.matrix.shape[1]).astype(np.float64)

    def scores(self, cells: NDArray[np.float64], /) -> NDArray[np.float64]:
        """The value of each candidate by an estimate, up to a constant per evaluation."""
        return np.asarray(self.matrix @ cells)


def relative_design(
    cells: NDArray[np.int32], sizes: NDArray[np.int64], cell_count: int, /
) -> Design:
    """The design of candidates, relative to a typical one per evaluation.

    >>> cells = np.array([[0, 3], [0, 3], [1, 2]], dtype=np.int32)
    >>> relative_design(cells, np.array([3]), 4).matrix.toarray().astype(int).tolist()
    [[0, 0, 0, 0], [0, 0, 0, 0], [-1, 1, 1, -1]]
    """
    evaluation_of = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    typical = np.array(
        [first + _most_typical(cells[first:last], cell_count)
         for first, last in pairwise(starts.tolist())], dtype=np.int64,
    )  # fmt: skip
    picked = one_hot(cells, cell_count)
    if not _saves(picked, typical, evaluation_of):
        return Design(picked, None)
    relative = picked - picked[typical][evaluation_of]
    relative.eliminate_zeros()
    return Design(relative.tocsr(), typical)


def _saves(picked: Any, typical: NDArray[np.int64], evaluation_of: NDArray[np.int64]) -> bool:  # noqa: ANN401
    """Whether relative rows are shorter, judged by a sample."""
    some = np.linspace(0, len(evaluation_of) - 1, min(SAMPLE, len(evaluation_of))).astype(np.intp)
    common = picked[some].multiply(picked[typical[evaluation_of[some]]]).nnz
    return bool(2 * common > picked[some].nnz)


def one_hot(cells: NDArray[np.int32], cell_count: int, /) -> Any:  # noqa: ANN401
    """One row per candidate with a 1 in each cell that it picks."""
    from scipy.sparse import csr_matrix

    rows, width = cells.shape
    starts = np.arange(0, rows * width + 1, width)
    return csr_matrix((np.ones(rows * width), cells.ravel(), starts), shape=(rows, cell_count))


def _most_typical(cells: NDArray[np.int32], cell_count: int) -> int:
    """The candidate whose cells are the most common."""
    common = np.bincount(cells.ravel(), minlength=cell_count)
    return int(common[cells].sum(axis=1).argmax())


def shared_cells(
    born: NDArray[np.int32], parents: NDArray[np.int32], cell_count: int, /
) -> NDArray[np.float64]:
    """The number of cells shared by each pair from the two sets, frequent cells left out.

    >>> born = np.array([[0, 3]], dtype=np.int32)
    >>> shared_cells(born, np.array([[0, 2], [1, 2]], dtype=np.int32), 4).tolist()
    [[1.0, 0.0]]
    """
    here, there = one_hot(parents, cell_count), one_hot(born, cell_count)
    shares = np.bincount(parents.ravel(), minlength=cell_count) / len(parents)
    telling = np.flatnonzero((shares > 0) & (shares < COMMON))
    return np.asarray((there[:, telling] @ here[:, telling].T).toarray())
