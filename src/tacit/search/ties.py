"""Who comes first among equals when a set that was evaluated is sorted.

Coarse disclosures leave few different estimates, so ties decide who survives, who is an elite and
who is at the end of a front. Every sort takes an order in which equals are preferred, and the
orders of a generation are made here. Tournaments need none: their entrants are drawn, so the first
drawn among equals is a random one.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.search.operators.initial import random_permutations
from tacit.search.random_words import draw_words

Ties = Literal["random", "shared", "first", "last"]
"""`random`: each sort has a random order of its own, drawn from the seed. `shared`: all sorts of a
generation have the same random order. `first` and `last`: the order in which candidates are
evaluated, which is offspring, elites, parents; or its reverse, so that parents win."""
TIES: tuple[Ties, ...] = ("random", "shared", "first", "last")
FORMER_TIES: Ties = "first"
"""How it was before there was a choice. Settings that were written then do not name it."""

APART = 210306068529402873165736369884012333109
"""How many draws lie between the streams of two generations: the jump of NumPy's `PCG64.jumped`,
which keeps streams unlike each other."""

Orders = NDArray[np.int32]
"""One row per sort: the indices of a set, those first that are preferred among equals."""


class TieBreaker:
    """Makes the orders.

    The run's generator stays where it is, so that all other decisions are the same whatever the
    way of breaking ties.

    >>> rng = np.random.Generator(np.random.PCG64(1))
    >>> for ties in TIES:
    ...     print(TieBreaker(ties).orders(2, 5, rng, generation=0).tolist())
    [[3, 0, 2, 4, 1], [4, 0, 2, 3, 1]]
    [[3, 0, 2, 4, 1], [3, 0, 2, 4, 1]]
    [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]
    [[4, 3, 2, 1, 0], [4, 3, 2, 1, 0]]
    """

    def __init__(self, ties: Ties, /) -> None:
        self.ties = ties
        # To make a generator takes longer than to break ties, so there is one for all generations.
        self._bits = np.random.PCG64(0)
        self._apart = np.random.Generator(self._bits)

    def orders(
        self, sorts: int, count: int, rng: np.random.Generator, /, *, generation: int
    ) -> Orders:
        """The orders of a generation for so many sorts of so many candidates."""
        if self.ties in ("random", "shared"):
            here: Any = rng.bit_generator.state
            self._bits.state = here
            self._bits.advance(APART * (generation + 1))
            different = sorts if self.ties == "random" else 1
            words = draw_words(self._apart, different * count).reshape(different, count)
            drawn: Orders = random_permutations(words)
            return np.repeat(drawn, sorts // different, axis=0)
        order = np.arange(count, dtype=np.int32)
        return np.tile(order if self.ties == "first" else order[::-1], (sorts, 1))
