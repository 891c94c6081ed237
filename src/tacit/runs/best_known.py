"""The best solution that a run may claim to know.

Under a disclosure the Optimizer knows the best value, say, but not who has it. The best-known set
is the estimated-best set of the generation whose told best was highest, the latest of equals,
since later sets are better on the whole. With several objectives, or nothing told, it is simply
the latest set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.problems import Evaluation
from tacit.search import SearchState


@dataclass(frozen=True, eq=False)
class BestKnown:
    """A set of genomes and what was told when they were found.

    >>> BestKnown(3, (17,), np.zeros((1, 2), np.int32)).generation
    3
    """

    generation: int
    told: tuple[int | bool | None, ...]
    genomes: NDArray[np.int32]


def update_best_known(
    known: BestKnown | None, state: SearchState, evaluation: Evaluation, /
) -> tuple[BestKnown, bool]:
    """The best-known set after a generation, and whether it is known to have improved.

    >>> genomes = np.array([[0, 1]], dtype=np.int32)
    >>> state = SearchState(0, genomes, np.array([[4.0]]), np.zeros(1, np.int32), np.zeros(1))
    >>> told = Evaluation(state.estimates, (np.array([4]),), (4,))
    >>> known, improved = update_best_known(None, state, told)
    >>> improved, update_best_known(known, state, told)[1]
    (True, False)
    """
    latest = BestKnown(state.generation, evaluation.best, state.genomes[state.estimated_best()])
    if known is None:
        return latest, True
    if len(evaluation.best) > 1 or evaluation.best[0] is None:
        return latest, latest_improves(known.told, evaluation.best)
    told = evaluation.best[0]
    if isinstance(told, bool):
        return (latest, True) if told else (known, False)
    before = known.told[0]
    if before is None or told >= before:
        return latest, before is None or told > before
    return known, False


def latest_improves(
    before: tuple[int | bool | None, ...], now: tuple[int | bool | None, ...], /
) -> bool:
    """Whether any objective told of something better.

    >>> latest_improves((3, None), (4, None)), latest_improves((3, None), (3, None))
    (True, False)
    """
    for earlier, later in zip(before, now, strict=True):
        if isinstance(later, bool):
            if later:
                return True
        elif later is not None and (earlier is None or later > earlier):
            return True
    return False
