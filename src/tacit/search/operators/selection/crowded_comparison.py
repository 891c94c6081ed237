"""The crowded comparison of NSGA-II (Deb et al. 2002): by front, then by crowding distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import Words, below


@kernel
def binary_tournament(
    front_of: NDArray[np.int32], crowding: NDArray[np.float64], words: Words
) -> NDArray[np.int32]:
    """Hold one binary tournament per row of `words`; among equals the first drawn wins.

    >>> draws = np.array([[0, 2**32 - 1]], np.uint32)
    >>> binary_tournament(np.array([1, 0], np.int32), np.array([0.5, 0.1]), draws)
    array([1], dtype=int32)
    """
    winners = np.empty(words.shape[0], dtype=np.int32)
    for i in range(words.shape[0]):
        winner = below(words[i, 0], front_of.shape[0])
        rival = below(words[i, 1], front_of.shape[0])
        if front_of[rival] < front_of[winner] or (
            front_of[rival] == front_of[winner] and crowding[rival] > crowding[winner]
        ):
            winner = rival
        winners[i] = winner
    return winners


def crowded_truncation(
    front_of: NDArray[np.int32], crowding: NDArray[np.float64], survivors: int, /
) -> NDArray[np.int64]:
    """The indices of the survivors, best first; ties go to the lower index.

    >>> crowded_truncation(np.array([1, 0, 0], np.int32), np.array([9.0, 0.1, 0.5]), 2)
    array([2, 1])
    """
    return np.lexsort((-crowding, front_of))[:survivors]
