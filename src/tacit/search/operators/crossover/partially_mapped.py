"""Partially mapped crossover (Goldberg and Lingle 1985; Eiben and Smith 2015, section 4.5.1).

A child keeps a segment of one parent. An item of the other parent that the segment pushed out
goes to where the other parent has the item that took its place, or on from there if that is
inside the segment too. Everything else comes from the other parent as it stands.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import RandomWords, segment


@kernel
def partially_mapped(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: RandomWords,
    offspring: NDArray[np.int32],
) -> None:
    """Recombine pairs around a random segment.

    >>> parents = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], dtype=np.int32)
    >>> children = parents.copy()
    >>> words = np.array([[0, 2**30]], np.uint32)  # the segment is positions 0 to 1
    >>> partially_mapped(parents, np.array([True]), words, children)
    >>> children.tolist()
    [[0, 1, 2, 3], [3, 2, 1, 0]]
    """
    length = parents.shape[1]
    mapped_to = np.empty(length, dtype=np.int32)
    for pair in range(chosen.shape[0]):
        if not chosen[pair]:
            continue
        first, last = segment(words[pair, 0], words[pair, 1], length)
        for child in range(2):
            keeper = parents[2 * pair + child]
            filler = parents[2 * pair + 1 - child]
            mapped_to[:] = -1
            for position in range(first, last + 1):
                mapped_to[keeper[position]] = filler[position]
            for position in range(length):
                if first <= position <= last:
                    continue
                # Following the mapping backwards from an item that the segment already has
                # ends at the item that was pushed out to this position.
                item = filler[position]
                while mapped_to[item] >= 0:
                    item = mapped_to[item]
                offspring[2 * pair + child, position] = item
