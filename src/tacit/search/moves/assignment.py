"""Moves of an assignment: swaps and 3-cycles of the items of the rows.

Position r below `rows` holds the item of row r; items at positions above are unassigned. The table
has a line per position and a column per row (and one more for the ids): cell (a, r) is the value to
row r of the item that is now at position a.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tacit.search.moves.move_set import MoveSet
from tacit.search.moves.runs import Indices, Runs

TERMS = 3
"""The largest number of rows that a move changes."""


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


def block_moves(
    words: NDArray[np.uint64], *, rows: int, columns: int, block: int, width: int
) -> MoveSet:
    """All swaps and 3-cycles of random disjoint blocks; the table has `width` columns.

    >>> moves = block_moves(np.arange(4, dtype=np.uint64), rows=4, columns=4, block=2, width=5)
    >>> moves.blocks, moves.children
    (2, 2)
    """
    positions = block_positions(words, rows=rows, columns=columns, block=block)
    to, source = cycles_of(positions.shape[1])
    return _moves(positions, to, source, rows=rows, width=width)


def drawn_moves(
    words: NDArray[np.uint64],
    *,
    rows: int,
    columns: int,
    children: int,
    swaps: int,
    width: int,
) -> MoveSet:
    """Random children in one block of all positions, swaps first.

    `words` are three per child. Every move involves a row. With two columns all moves are swaps.

    >>> words = np.arange(30, dtype=np.uint64) << np.uint64(58)
    >>> moves = drawn_moves(words, rows=5, columns=5, children=10, swaps=5, width=6)
    >>> moves.blocks, moves.children
    (1, 11)
    """
    high = (words[: 3 * children] >> np.uint64(32)).astype(np.int64).reshape(3, children)
    first = (high[0] * rows) >> 32
    others = max(columns - 1, 1)
    second = (first + 1 + ((high[1] * others) >> 32)) % columns
    # Drawn among the positions that are neither the first nor the second.
    step = 1 + ((high[2] * max(columns - 2, 1)) >> 32)
    step += step >= (second - first) % columns
    third = (first + step) % columns
    number = np.arange(children)
    is_swap = (number < swaps) | (columns < 3)
    to = np.stack([first, second, np.where(is_swap, first, third)], axis=1)
    source = np.stack([second, np.where(is_swap, first, third), first], axis=1)
    parent = np.zeros((1, TERMS), dtype=to.dtype)
    to, source = np.concatenate([parent, to]), np.concatenate([parent, source])
    positions = np.arange(columns)[None]
    return _moves(positions, to, source, rows=rows, width=width)


def _moves(positions: Indices, to: Indices, source: Indices, *, rows: int, width: int) -> MoveSet:
    """From entries inside each block (children x 3); one that stays contributes nothing."""
    blocks = len(positions)
    children = len(to)
    at, wherefrom = positions[:, to], positions[:, source]
    counts = (at < rows) & (to != source)
    # Cell 0 on both sides cancels out.
    plus = np.where(counts, wherefrom * width + at, 0).reshape(blocks * children, TERMS)
    minus = np.where(counts, at * width + at, 0).reshape(blocks * children, TERMS)
    child, entry = np.nonzero(to != source)
    first = np.arange(blocks)[:, None] * children
    return MoveSet(
        positions=positions,
        children=children,
        plus=plus,
        minus=minus,
        runs=Runs.single(
            (first + child).reshape(-1),
            np.tile(to[child, entry], blocks),
            np.tile(source[child, entry], blocks),
        ),
    )
