"""Order crossover (Davis 1985; Eiben and Smith 2015, section 4.5.1).

A child keeps a segment of one parent in place. From the end of the segment on, around the end of
the genome, it takes what is missing in the order in which the other parent has it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import RandomWords, segment


@kernel
def order(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: RandomWords,
    offspring: NDArray[np.int32],
) -> None:
    """Recombine pairs around a random segment.

    >>> parents = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], dtype=np.int32)
    >>> children = parents.copy()
    >>> words = np.array([[2**30, 2**31]], np.uint32)  # the segment is positions 1 to 2
    >>> order(parents, np.array([True]), words, children)
    >>> children.tolist()
    [[3, 1, 2, 0], [0, 2, 1, 3]]
    """
    length = parents.shape[1]
    kept = np.empty(length, dtype=np.bool_)
    for pair in range(chosen.shape[0]):
        if not chosen[pair]:
            continue
        first, last = segment(words[pair, 0], words[pair, 1], length)
        for child in range(2):
            keeper = parents[2 * pair + child]
            filler = parents[2 * pair + 1 - child]
            kept[:] = False
            for position in range(first, last + 1):
                kept[keeper[position]] = True
            target = source = last + 1
            for _ in range(length):
                if source >= length:
                    source -= length
                item = filler[source]
                source += 1
                if not kept[item]:
                    if target >= length:
                        target -= length
                    offspring[2 * pair + child, target] = item
                    target += 1
