"""Block descent of an assignment: which swaps and 3-cycles of places each generation compares.

Rows are dealt into disjoint blocks, in each generation anew. Every block takes the best of all
swaps and 3-cycles of the places of its rows, or stays as it is. All of this is public: it follows
from the seed, the weighting and the number of the generation.

Row r below `rows` is one of the problem; those above were added to make the problem square, and
have the places that are not assigned. The table has a matrix per block: cell (a, b) is the cost to
the b-th row of the block of the place that its a-th row has now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tacit.search.moves.move_set import Indices, MoveSet, PositionRuns

TERMS = 3
"""The largest number of rows that a move changes."""
LARGEST_BLOCK = 18
"""Larger blocks find more per generation, which then takes longer than it is worth."""
FEW_BLOCKS = 8
"""With more of them a third level of comparisons saves more bytes than its rounds cost."""


@dataclass(frozen=True)
class BlockDescent:
    """The public course of a descent of some weightings, whose blocks follow each other.

    The key of a move is the change of the plan's cost, then its number: the least one wins.

    >>> descent = BlockDescent(rows=5, places=6, spread=9, seed=1)
    >>> descent.generation(1).blocks, descent.key_bits
    (1, 13)
    """

    rows: int
    places: int
    spread: int
    """The largest cost minus the smallest, that of forbidden pairs included."""
    seed: int
    weightings: Sequence[int] = (0,)

    @property
    def _pool(self) -> int:
        """How many rows take part in a generation."""
        return self.rows + min(self.rows, self.places - self.rows)

    @property
    def block(self) -> int:
        """Rows of a block; blocks use up the rows as far as that goes."""
        return max(1, self._pool // -(-self._pool // LARGEST_BLOCK))

    @property
    def blocks(self) -> int:
        """Blocks of one weighting."""
        return self._pool // self.block

    @property
    def children(self) -> int:
        """Moves of a block; the first one is to stay."""
        return len(cycles_of(self.block)[0])

    @property
    def levels(self) -> int:
        """In how many levels the best of them is found."""
        return 2 if self.blocks <= FEW_BLOCKS else 3

    @property
    def _tie_bits(self) -> int:
        return (self.children - 1).bit_length()

    @property
    def factor(self) -> int:
        return 1 << self._tie_bits

    @property
    def key_bits(self) -> int:
        """The bits of a signed difference of two keys of a block."""
        largest = (2 * TERMS * self.spread << self._tie_bits) + self.factor - 1
        return largest.bit_length() + 1

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The public part of all keys: staying is preferred to moves that change nothing."""
        return np.tile(np.arange(self.children), self.blocks * len(self.weightings))

    def generation(self, number: int, /) -> MoveSet:
        """Return the moves of a generation, counted from 1."""
        positions = np.concatenate(
            [
                self._positions(number, each) + k * self.places
                for k, each in enumerate(self.weightings)
            ]
        )
        return moves_of(positions)

    def _positions(self, number: int, weighting: int) -> Indices:
        # The fourth word keeps these apart from the words of tie-breaks.
        words = np.random.PCG64([self.seed, weighting, number, 1]).random_raw(self.places)
        return block_positions(
            np.asarray(words, dtype=np.uint64),
            rows=self.rows,
            columns=self.places,
            block=self.block,
        )


@cache
def cycles_of(size: int, /) -> tuple[Indices, Indices]:
    """All swaps and 3-cycles of a block as targets and sources; the first line is the parent.

    >>> to, source = cycles_of(3)
    >>> to.tolist()
    [[0, 0, 0], [0, 1, 0], [0, 2, 0], [1, 2, 0], [0, 1, 2], [0, 1, 2]]
    >>> source.tolist()
    [[0, 0, 0], [1, 0, 0], [2, 0, 0], [2, 1, 0], [1, 2, 0], [2, 0, 1]]
    """
    to, source = [[0, 0, 0]], [[0, 0, 0]]
    for a, b in combinations(range(size), 2):
        # The third entry stays in place and so contributes nothing.
        to.append([a, b, 0])
        source.append([b, a, 0])
    for a, b, c in combinations(range(size), 3):
        to += [[a, b, c], [a, b, c]]
        source += [[b, c, a], [c, a, b]]
    return np.array(to), np.array(source)


def block_positions(words: NDArray[np.uint64], *, rows: int, columns: int, block: int) -> Indices:
    """Disjoint blocks of positions, with about equally many rows each.

    Of the unassigned positions, at most as many take part as there are rows. `words` has one random
    word per column.

    >>> words = np.arange(5, dtype=np.uint64)
    >>> block_positions(words, rows=2, columns=5, block=2)
    array([[0, 2],
           [1, 3]])
    """
    taken = np.argsort(words[:rows], kind="stable")
    waiting = rows + np.argsort(words[rows:columns], kind="stable")[:rows]
    pool = np.concatenate([taken, waiting])
    size = min(block, len(pool))
    blocks = len(pool) // size
    # Dealt in turn, so that all blocks get rows before unassigned positions.
    return np.ascontiguousarray(pool[: blocks * size].reshape(size, blocks).T)


def moves_of(positions: Indices, /) -> MoveSet:
    """Return all swaps and 3-cycles of blocks of positions.

    >>> moves = moves_of(np.array([[0, 2], [3, 1]]))
    >>> moves.children, moves.plus.tolist()
    (2, [[0, 0, 0], [2, 1, 0], [4, 4, 4], [6, 5, 4]])
    """
    blocks, size = positions.shape
    to, source = cycles_of(size)
    children = len(to)
    table = size * size * np.arange(blocks)[:, None, None]
    moving = to != source
    child, entry = np.nonzero(moving)
    first = np.arange(blocks)[:, None] * children
    return MoveSet(
        positions=positions,
        children=children,
        # What stays in place is cell 0 of the block on both sides and so cancels out.
        plus=(table + moving * (source * size + to)).reshape(-1, TERMS),
        minus=(table + moving * to * (size + 1)).reshape(-1, TERMS),
        runs=PositionRuns.single(
            (first + child).reshape(-1),
            np.tile(to[child, entry], blocks),
            np.tile(source[child, entry], blocks),
        ),
    )
