"""Random words, and the genomes that a search starts from.

Kernels do not draw; they get random words and turn them into decisions. So a kernel is a pure
function, compiled or not, and a run depends on nothing but the bit stream of its generator, which
NumPy keeps the same on every machine and in every version (its distributions may change).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel

WORD_RANGE = 2**32

RandomWords = NDArray[np.uint32]


def draw_words(rng: np.random.Generator, count: int, /) -> RandomWords:
    """Draw words from the generator's raw stream.

    >>> draw_words(np.random.Generator(np.random.PCG64(1)), 3)
    array([2032329983, 2198257139, 3243419750], dtype=uint32)
    """
    raw = rng.bit_generator.random_raw((count + 1) // 2)
    return np.asarray(raw, dtype="<u8").view("<u4")[:count]


def threshold(probability: float, /) -> int:
    """The bound below which a word means yes.

    >>> threshold(1.0) == WORD_RANGE, threshold(0.25)
    (True, 1073741824)
    """
    return round(probability * WORD_RANGE)


@kernel
def below(word: np.uint32, bound: int) -> int:
    """Turn a word into a whole number in 0..bound-1 (multiply and shift).

    Uneven by at most bound/2^32, which no search can notice.

    >>> below(np.uint32(2**31), 10)
    5
    """
    return int((np.int64(word) * bound) >> 32)


@kernel
def distinct_pair(first: np.uint32, second: np.uint32, bound: int) -> tuple[int, int]:
    """Two different positions in 0..bound-1, the smaller one first (bound at least 2).

    >>> distinct_pair(np.uint32(2**31), np.uint32(0), 10)
    (0, 5)
    """
    i = below(first, bound)
    j = below(second, bound - 1)
    if j >= i:
        return i, j + 1
    return j, i


@kernel
def segment(first: np.uint32, second: np.uint32, bound: int) -> tuple[int, int]:
    """The first and last position of a segment of 0..bound-1, of one position at least.

    >>> segment(np.uint32(2**31), np.uint32(0), 10)
    (0, 5)
    """
    i, j = below(first, bound), below(second, bound)
    if i > j:
        return j, i
    return i, j


# Random genomes to start from, and their repair where pairs are forbidden.
#
# Operators know nothing of forbidden pairs; the repair runs after them. A row whose column it may
# not have looks for a row to exchange with, starting at a random place so that no column is
# favoured; if no exchange helps it takes an augmenting path (Kuhn 1955), which exists whenever the
# problem has any feasible plan at all.


@kernel
def random_permutations(words: RandomWords) -> NDArray[np.int32]:
    """One uniformly random permutation per row of `words` (Fisher and Yates).

    >>> random_permutations(np.zeros((1, 4), np.uint32))
    array([[1, 2, 3, 0]], dtype=int32)
    """
    count, length = words.shape
    genomes = np.empty((count, length), dtype=np.int32)
    for i in range(count):
        for position in range(length):
            genomes[i, position] = position
        for position in range(length - 1, 0, -1):
            other = below(words[i, position], position + 1)
            item = genomes[i, position]
            genomes[i, position] = genomes[i, other]
            genomes[i, other] = item
    return genomes


@kernel
def repair(genomes: NDArray[np.int32], allowed: NDArray[np.bool_], words: RandomWords) -> None:
    """Change genomes in place until the first m entries are allowed for their rows.

    >>> genome = np.array([[0, 1, 2]], dtype=np.int32)
    >>> repair(genome, np.array([[False, True, True], [True, True, True]]), np.zeros(1, np.uint32))
    >>> genome.tolist()
    [[1, 0, 2]]
    """
    rows, columns = allowed.shape
    position_of = np.empty(columns, dtype=np.int32)
    came_from = np.empty(columns, dtype=np.int32)
    queue = np.empty(rows, dtype=np.int32)
    for i in range(genomes.shape[0]):
        start = below(words[i], columns)
        for row in range(rows):
            if allowed[row, genomes[i, row]]:
                continue
            if not _exchange(genomes[i], allowed, row, start):
                _augment(genomes[i], allowed, row, position_of, came_from, queue)


@kernel
def _exchange(genome: NDArray[np.int32], allowed: NDArray[np.bool_], row: int, start: int) -> bool:
    """Swap with a position where both items are allowed afterwards."""
    rows, columns = allowed.shape
    for step in range(columns):
        other = start + step
        if other >= columns:
            other -= columns
        if not allowed[row, genome[other]]:
            continue
        if other >= rows or allowed[other, genome[row]]:
            item = genome[row]
            genome[row] = genome[other]
            genome[other] = item
            return True
    return False


@kernel
def _augment(
    genome: NDArray[np.int32],
    allowed: NDArray[np.bool_],
    start: int,
    position_of: NDArray[np.int32],
    came_from: NDArray[np.int32],
    queue: NDArray[np.int32],
) -> None:
    """Move rows on along a shortest path to a column that is free or wrongly held."""
    rows, columns = allowed.shape
    for position in range(columns):
        position_of[genome[position]] = position
        came_from[position] = -1
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        row = queue[head]
        head += 1
        for column in range(columns):
            holder = position_of[column]
            if came_from[column] >= 0 or holder == row or not allowed[row, column]:
                continue
            came_from[column] = row
            # A holder beyond the rows, or one that may not have the column, can give it up and
            # take the start's old column instead. The start gives up its own in any case.
            if holder < rows and allowed[holder, column]:
                queue[tail] = holder
                tail += 1
            else:
                _shift(genome, start, column, holder, came_from)
                return


@kernel
def _shift(
    genome: NDArray[np.int32], start: int, column: int, holder: int, came_from: NDArray[np.int32]
) -> None:
    left_over = genome[start]
    while True:
        row = came_from[column]
        given_up = genome[row]
        genome[row] = column
        if row == start:
            break
        column = given_up
    if holder != start:
        genome[holder] = left_over
