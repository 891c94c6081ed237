"""Tournaments choose parents (Eiben and Smith 2015, section 5.2.3), truncation survivors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import RandomWords, below


@kernel
def tournament(estimates: NDArray[np.float64], words: RandomWords) -> NDArray[np.int32]:
    """Hold one tournament per row of `words`, with one entrant, drawn with replacement, per word.

    The largest estimate wins; among equals the first drawn.

    >>> tournament(np.array([1.0, 3.0, 2.0]), np.array([[0, 2**32 - 1]], np.uint32))
    array([2], dtype=int32)
    """
    winners = np.empty(words.shape[0], dtype=np.int32)
    for i in range(words.shape[0]):
        winner = below(words[i, 0], estimates.shape[0])
        for entrant in range(1, words.shape[1]):
            candidate = below(words[i, entrant], estimates.shape[0])
            if estimates[candidate] > estimates[winner]:
                winner = candidate
        winners[i] = winner
    return winners


def truncation(
    estimates: NDArray[np.float64], survivors: int, order: NDArray[np.int32], /
) -> NDArray[np.int32]:
    """The indices of the best, best first; ties go to those that come first in `order`.

    >>> truncation(np.array([1.0, 3.0, 2.0, 3.0]), 3, np.array([3, 2, 1, 0], np.int32))
    array([3, 1, 2], dtype=int32)
    """
    return order[np.argsort(-estimates[order], kind="stable")[:survivors]]
