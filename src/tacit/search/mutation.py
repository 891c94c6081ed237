"""Small random changes of a permutation, with the names of the operators.

An operator is a function of three arrays: it changes the genomes in `offspring` that `chosen`
names, in place, guided by a row of random `words` each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.jit import kernel
from tacit.search.genomes import RandomWords, below, distinct_pair

# Insert mutation (Eiben and Smith 2015, section 4.5.1): an item moves next to another.
#
# The later of two random items moves to directly behind the earlier one; those in between are
# shifted.


@kernel
def insert(offspring: NDArray[np.int32], chosen: NDArray[np.bool_], words: RandomWords) -> None:
    """Move a random item behind an earlier one.

    >>> genome = np.array([[0, 1, 2, 3]], dtype=np.int32)
    >>> insert(genome, np.array([True]), np.array([[0, 2**32 - 1]], np.uint32))
    >>> genome.tolist()
    [[0, 3, 1, 2]]
    """
    length = offspring.shape[1]
    if length < 2:
        return
    for i in range(chosen.shape[0]):
        if chosen[i]:
            first, second = distinct_pair(words[i, 0], words[i, 1], length)
            item = offspring[i, second]
            for position in range(second, first + 1, -1):
                offspring[i, position] = offspring[i, position - 1]
            offspring[i, first + 1] = item


# Inversion mutation (Eiben and Smith 2015, section 4.5.1): a segment is reversed.
#
# On a tour this exchanges two edges and leaves all others, the classical 2-opt move.


@kernel
def inversion(offspring: NDArray[np.int32], chosen: NDArray[np.bool_], words: RandomWords) -> None:
    """Reverse the items between two random positions, both included.

    >>> genome = np.array([[0, 1, 2, 3]], dtype=np.int32)
    >>> inversion(genome, np.array([True]), np.array([[0, 2**31]], np.uint32))
    >>> genome.tolist()
    [[2, 1, 0, 3]]
    """
    length = offspring.shape[1]
    if length < 2:
        return
    for i in range(chosen.shape[0]):
        if chosen[i]:
            first, last = distinct_pair(words[i, 0], words[i, 1], length)
            while first < last:
                item = offspring[i, first]
                offspring[i, first] = offspring[i, last]
                offspring[i, last] = item
                first += 1
                last -= 1


# Scramble mutation (Eiben and Smith 2015, section 4.5.1): a segment is shuffled.


@kernel
def scramble(offspring: NDArray[np.int32], chosen: NDArray[np.bool_], words: RandomWords) -> None:
    """Shuffle the items between two random positions, both included.

    >>> genome = np.array([[0, 1, 2, 3]], dtype=np.int32)
    >>> scramble(genome, np.array([True]), np.array([[0, 2**31, 0, 0, 0, 0]], np.uint32))
    >>> genome.tolist()
    [[1, 2, 0, 3]]
    """
    length = offspring.shape[1]
    if length < 2:
        return
    for i in range(chosen.shape[0]):
        if chosen[i]:
            first, last = distinct_pair(words[i, 0], words[i, 1], length)
            for position in range(last, first, -1):
                other = first + below(words[i, 2 + position], position - first + 1)
                item = offspring[i, position]
                offspring[i, position] = offspring[i, other]
                offspring[i, other] = item


# Swap mutation (Eiben and Smith 2015, section 4.5.1): two items change places.


@kernel
def swap(offspring: NDArray[np.int32], chosen: NDArray[np.bool_], words: RandomWords) -> None:
    """Exchange two random items.

    >>> genome = np.array([[0, 1, 2, 3]], dtype=np.int32)
    >>> swap(genome, np.array([True]), np.array([[0, 2**31]], np.uint32))
    >>> genome.tolist()
    [[2, 1, 0, 3]]
    """
    length = offspring.shape[1]
    if length < 2:
        return
    for i in range(chosen.shape[0]):
        if chosen[i]:
            first, second = distinct_pair(words[i, 0], words[i, 1], length)
            item = offspring[i, first]
            offspring[i, first] = offspring[i, second]
            offspring[i, second] = item


Mutate = Callable[[NDArray[np.int32], NDArray[np.bool_], RandomWords], None]


@dataclass(frozen=True)
class Mutation:
    """A named operator and how many random words one genome needs, given its length."""

    name: str
    mutate: Mutate
    words_per_genome: Callable[[int], int]


_registered: dict[str, Mutation] = {}
# The only state here: operators that code of this process has registered.


def register_mutation(mutation: Mutation, /) -> None:
    """Register a custom operator for `mutation_named`; registering it again replaces it.

    >>> register_mutation(mutations()["swap"])
    Traceback (most recent call last):
    tacit.errors.ParameterError: 'swap' is a mutation of the package; choose another name
    """
    if mutation.name in mutations():
        raise ParameterError(f"{mutation.name!r} is a mutation of the package; choose another name")
    _registered[mutation.name] = mutation


def mutations() -> dict[str, Mutation]:
    """All mutations of the package by name.

    >>> sorted(mutations())
    ['insert', 'inversion', 'scramble', 'swap']
    """
    known = (
        Mutation("insert", insert, lambda length: 2),
        Mutation("inversion", inversion, lambda length: 2),
        Mutation("scramble", scramble, lambda length: length + 2),
        Mutation("swap", swap, lambda length: 2),
    )
    return {mutation.name: mutation for mutation in known}


def mutation_named(name: str, /) -> Mutation:
    known = mutations() | _registered
    if name not in known:
        raise ParameterError(f"{name!r} is not a mutation; use one of {', '.join(known)}")
    return known[name]
