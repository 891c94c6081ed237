"""The best solution that a run may claim to know.

Under a disclosure the Optimizer knows the best value, say, but not who has it. The best-known set
is the estimated-best set of the generation whose told best was highest, the latest of equals,
since later sets are better on the whole. With several objectives, or nothing told, it is simply
the latest set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.problems import Evaluation
from tacit.search import SearchState

Told = tuple[int | bool | None, ...]


@dataclass(frozen=True, eq=False)
class BestKnown:
    """A set of genomes and what was told when they were found.

    >>> BestKnown(3, (17,), (17,), np.zeros((1, 2), np.int32)).generation
    3
    """

    generation: int
    told: Told
    """What each objective told of its best fitness in that generation."""
    highest: Told
    """The highest value each objective ever told."""
    genomes: NDArray[np.int32]


def update_best_known(
    known: BestKnown | None, state: SearchState, evaluation: Evaluation, /
) -> tuple[BestKnown, bool]:
    """The best-known set after a generation, and whether anything better was told in it.

    >>> genomes = np.array([[0, 1]], dtype=np.int32)
    >>> state = SearchState(0, genomes, np.array([[4.0]]), np.zeros(1, np.int32), np.zeros(1))
    >>> told = Evaluation(state.estimates, (np.array([4]),), (4,))
    >>> known, improved = update_best_known(None, state, told)
    >>> improved, update_best_known(known, state, told)[1]
    (True, False)
    """
    told = evaluation.best
    before = (None,) * len(told) if known is None else known.highest
    improved = [is_better(now, earlier) for now, earlier in zip(told, before, strict=True)]
    highest = tuple(
        now if better else earlier
        for now, earlier, better in zip(told, before, improved, strict=True)
    )
    if known is not None and not any(improved) and must_stay(told, before):
        return replace(known, highest=highest), False
    chosen = state.genomes[state.estimated_best()]
    return BestKnown(state.generation, told, highest, chosen), known is None or any(improved)


def is_better(told: int | bool | None, before: int | bool | None, /) -> bool:
    """Whether a told best says that things improved.

    >>> is_better(4, 3), is_better(False, None), is_better(None, None)
    (True, False, False)
    """
    if told is None or isinstance(told, bool):
        return bool(told)
    return before is None or told > before


def must_stay(told: Told, before: Told, /) -> bool:
    """Whether a single objective told that the latest set is worse, or no better as far as known.

    >>> must_stay((3,), (4,)), must_stay((4,), (4,)), must_stay((False,), (True,))
    (True, False, True)
    """
    if len(told) > 1 or told[0] is None:
        return False
    return isinstance(told[0], bool) or told != before
