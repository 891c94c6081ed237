"""Linear operations on arithmetic shares: local to each node, without communication.

0 rounds, 0 bytes; nobody learns anything [araki2016, Section 2].
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.ring import Words, public_word
from tacit.mpc.shares import ArithmeticShare


def scale(x: ArithmeticShare, factor: int | Words) -> ArithmeticShare:
    """Shares of x times a public integer, or times public ring elements one by one."""
    by = public_word(factor) if isinstance(factor, int) else factor
    return x.map(lambda part: part * by)


def gather_sum(
    weights: ArithmeticShare,
    rows: NDArray[np.integer[Any]],
    columns: NDArray[np.integer[Any]],
    factors: NDArray[np.integer[Any]] | None = None,
    *,
    negate: bool = False,
) -> ArithmeticShare:
    """Shares of the fitness of public candidates: sums of cells of the shared weight matrix.

    `rows` and `columns` have one line per candidate (or broadcast to that): candidate j has the
    fitness sum over t of weights[rows[j, t], columns[j, t]], or its negative for costs. Public
    `factors` multiply the cells where they are given.

    >>> from tacit.mpc.local import deal_integers, reveal
    >>> plans = np.array([[0, 1], [1, 0]])
    >>> weights = deal_integers([[1, 2], [3, 40]])
    >>> reveal([gather_sum(w, np.arange(2)[None, :], plans) for w in weights])
    array([41,  5])
    """
    # One flat index serves all components, and `take` is the fastest gather NumPy has.
    # Large temporaries dominate the time here, so narrow indices are widened only once.
    flat = np.multiply(rows, weights.shape[1], dtype=np.intp) + columns
    sums = weights.map(lambda part: _summed(part, flat, factors))
    return sums.map(np.negative) if negate else sums


def _summed(part: Words, flat: NDArray[np.intp], factors: NDArray[np.integer[Any]] | None) -> Words:
    picked = part.reshape(-1).take(flat)
    if factors is not None:
        picked *= factors.astype(np.uint64)
    total: Words = picked.sum(axis=1, dtype=np.uint64)
    return total
