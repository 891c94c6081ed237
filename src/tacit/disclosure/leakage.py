"""Count what a platform could derive from what is disclosed (the paper's section 3.3).

Upper bounds on the equations and inequations between weights that evaluations give away, assuming
that no candidate is repeated. Where groups vary in size from one population to the next (buckets,
above) the counts follow from the sizes, which only a run determines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from tacit.disclosure.methods import Disclosure, Exact, Order, Quantiles, Top
from tacit.disclosure.parse import parse_disclosure


@dataclass(frozen=True)
class Leakage:
    """What can be derived at most; None where it depends on the run.

    >>> leakage("top:30", population=300, evaluations=500).inequations
    4050000
    """

    equations: int
    inequations: int | None
    across_populations: int = 0
    """Further inequations between the best of one population and members of worse ones."""


def leakage(text: str, /, *, population: int, evaluations: int) -> Leakage:
    """Count for a disclosure by its text.

    >>> leakage("none", population=300, evaluations=500)
    Leakage(equations=11249925000, inequations=0, across_populations=0)
    >>> leakage("order", population=300, evaluations=500)
    Leakage(equations=124750, inequations=22425000, across_populations=37300250)
    >>> leakage("buckets:5", population=300, evaluations=500).inequations is None
    True
    """
    disclosure = parse_disclosure(text)
    # Every pair of candidates gives the difference of two sums of weights.
    if isinstance(disclosure, Exact):
        return Leakage(comb(population * evaluations, 2), 0)
    if isinstance(disclosure, Order):
        # The best of each population is known with its fitness: an equation per pair of them.
        # Of two populations, the better best is also better than all others of the worse
        # population.
        across = (population - 1) * comb(evaluations, 2)
        within = comb(population, 2) * evaluations
        return Leakage(comb(evaluations, 2), within, across)
    sizes = fixed_group_sizes(disclosure, population)
    if sizes is None:
        return Leakage(0, None)
    return Leakage(0, inequations_between(sizes) * evaluations)


def fixed_group_sizes(disclosure: Disclosure, population: int, /) -> list[int] | None:
    """The sizes of the groups, best first, where the method alone determines them.

    >>> fixed_group_sizes(Quantiles(3), 11), fixed_group_sizes(Top(4), 11)
    ([3, 4, 4], [4, 7])
    """
    if isinstance(disclosure, Quantiles):
        groups = disclosure.group_of_rank(np.arange(population), population)
        return [int(size) for size in np.bincount(groups, minlength=disclosure.groups)]
    if isinstance(disclosure, Top):
        return [disclosure.count, population - disclosure.count]
    return None


def inequations_between(sizes: Sequence[int], /) -> int:
    """The number of pairs from different groups.

    >>> inequations_between([30] * 10)
    40500
    """
    # All ordered pairs less those within a group; each pair is in both orders.
    return (sum(sizes) ** 2 - sum(size**2 for size in sizes)) // 2
