"""Small random changes of a permutation, one operator per file, and their names.

An operator is a function of three arrays: it changes the genomes in `offspring` that `chosen`
names, in place, guided by a row of random `words` each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.search.operators.mutation.insert import insert
from tacit.search.operators.mutation.inversion import inversion
from tacit.search.operators.mutation.scramble import scramble
from tacit.search.operators.mutation.swap import swap
from tacit.search.random_words import RandomWords

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
    """Look a mutation up."""
    known = mutations() | _registered
    if name not in known:
        raise ParameterError(f"{name!r} is not a mutation; use one of {', '.join(known)}")
    return known[name]
