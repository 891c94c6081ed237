"""Recombination of two permutations, one operator per file, and their names.

An operator is a function of four arrays. `parents` holds one pair after the other, `chosen` says
which pairs recombine, `words` has a row of random words per pair, and `offspring` starts as a copy
of `parents` and is overwritten where a pair recombines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.search.operators.crossover.cycle import cycle
from tacit.search.operators.crossover.edge import edge
from tacit.search.operators.crossover.edge_both_ends import edge_both_ends
from tacit.search.operators.crossover.order import order
from tacit.search.operators.crossover.partially_mapped import partially_mapped
from tacit.search.operators.crossover.uniform_order_based import uniform_order_based
from tacit.search.random_words import RandomWords

Recombine = Callable[[NDArray[np.int32], NDArray[np.bool_], RandomWords, NDArray[np.int32]], None]


@dataclass(frozen=True)
class Crossover:
    """A named operator and how many random words one pair needs, given the genome's length."""

    name: str
    recombine: Recombine
    words_per_pair: Callable[[int], int]


_registered: dict[str, Crossover] = {}
# The only state here: operators that code of this process has registered.


def register_crossover(crossover: Crossover, /) -> None:
    """Register a custom operator for `crossover_named`; registering it again replaces it.

    >>> register_crossover(crossovers()["cycle"])
    Traceback (most recent call last):
    tacit.errors.ParameterError: 'cycle' is a crossover of the package; choose another name
    """
    if crossover.name in crossovers():
        raise ParameterError(
            f"{crossover.name!r} is a crossover of the package; choose another name"
        )
    _registered[crossover.name] = crossover


def crossovers() -> dict[str, Crossover]:
    """All crossovers of the package by name.

    >>> sorted(crossovers())
    ['cycle', 'edge', 'edge-both-ends', 'order', 'partially-mapped', 'uniform-order-based']
    """
    known = (
        Crossover("cycle", cycle, lambda length: 0),
        Crossover("edge", edge, lambda length: 2 * length),
        Crossover("edge-both-ends", edge_both_ends, lambda length: 2 * length),
        Crossover("order", order, lambda length: 2),
        Crossover("partially-mapped", partially_mapped, lambda length: 2),
        Crossover("uniform-order-based", uniform_order_based, lambda length: length),
    )
    return {crossover.name: crossover for crossover in known}


def crossover_named(name: str, /) -> Crossover:
    """Look a crossover up."""
    known = crossovers() | _registered
    if name not in known:
        raise ParameterError(f"{name!r} is not a crossover; use one of {', '.join(known)}")
    return known[name]
