"""Uniform order-based crossover (Syswerda 1991; Kruse et al. 2022, chapter 12).

Every position is kept with probability one half. What is missing fills the gaps in the order in
which the other parent has it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import RandomWords

HALF = 2**31


@kernel
def uniform_order_based(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: RandomWords,
    offspring: NDArray[np.int32],
) -> None:
    """Recombine pairs with a random mask that both children share.

    >>> parents = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], dtype=np.int32)
    >>> children = parents.copy()
    >>> words = np.array([[0, 2**31, 2**31, 0]], np.uint32)  # keep the outer positions
    >>> uniform_order_based(parents, np.array([True]), words, children)
    >>> children.tolist()
    [[0, 2, 1, 3], [3, 1, 2, 0]]
    """
    length = parents.shape[1]
    kept = np.empty(length, dtype=np.bool_)
    for pair in range(chosen.shape[0]):
        if not chosen[pair]:
            continue
        for child in range(2):
            keeper = parents[2 * pair + child]
            filler = parents[2 * pair + 1 - child]
            for position in range(length):
                kept[keeper[position]] = words[pair, position] < HALF
            source = 0
            for position in range(length):
                if words[pair, position] < HALF:
                    continue
                while kept[filler[source]]:
                    source += 1
                offspring[2 * pair + child, position] = filler[source]
                source += 1
