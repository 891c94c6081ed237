"""The best solution that a run may claim to know.

Under a disclosure the Optimizer knows the best value, say, but not who has it. The best-known set
is the estimated-best set of the generation whose disclosed best was highest, the latest of
equals, since later sets are better on the whole. With several objectives, or nothing disclosed, it
is simply the latest set.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.problems import Evaluation
from tacit.runs.driver import Disclosed
from tacit.search import SearchState


@dataclass(frozen=True, eq=False)
class BestKnown:
    """A set of genomes and what was disclosed when they were found."""

    generation: int
    disclosed: Disclosed
    """What each objective disclosed of its best fitness in that generation."""
    highest: Disclosed
    """The highest value each objective ever disclosed."""
    genomes: NDArray[np.int32]


def update_best_known(
    known: BestKnown | None, state: SearchState, evaluation: Evaluation, /
) -> tuple[BestKnown, bool]:
    """The best-known set after a generation, and whether anything better was disclosed in it."""
    disclosed = evaluation.best
    before = (None,) * len(disclosed) if known is None else known.highest
    improved = [is_better(now, earlier) for now, earlier in zip(disclosed, before, strict=True)]
    highest = tuple(
        now if better else earlier
        for now, earlier, better in zip(disclosed, before, improved, strict=True)
    )
    if known is not None and not any(improved) and must_stay(disclosed, before):
        return replace(known, highest=highest), False
    chosen = state.genomes[state.estimated_best()]
    return BestKnown(state.generation, disclosed, highest, chosen), known is None or any(improved)


def is_better(disclosed: int | bool | None, before: int | bool | None, /) -> bool:
    """Whether a disclosed best says that things improved.

    >>> is_better(4, 3), is_better(False, None), is_better(None, None)
    (True, False, False)
    """
    if disclosed is None or isinstance(disclosed, bool):
        return bool(disclosed)
    return before is None or disclosed > before


def must_stay(disclosed: Disclosed, before: Disclosed, /) -> bool:
    """Whether a single objective disclosed that the latest set is no better, as far as known.

    >>> must_stay((3,), (4,)), must_stay((4,), (4,)), must_stay((False,), (True,))
    (True, False, True)
    """
    if len(disclosed) > 1 or disclosed[0] is None:
        return False
    return isinstance(disclosed[0], bool) or disclosed != before
