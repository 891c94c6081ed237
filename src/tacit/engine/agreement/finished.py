"""The public course of a search that the exact solver finishes.

The search comes first, generation by generation. After any of them it may turn: phases of the
forest follow, which begin with its plan. The plan that may be opened has the same form all along,
that of an exact solution: its scaled cost, what is proved, and the column of each row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.engine.agreement.exact import ForestCourse, forest_course
from tacit.errors import AgreementError
from tacit.mpc import ArithmeticShare, Size, concatenate, public_word
from tacit.mpc.forest import Outcome, finishing
from tacit.mpc.sealed import TableShape, state_sizes
from tacit.problems import Problem
from tacit.search.moves import ExactParameters, PublicShape, Schedule


@dataclass(frozen=True)
class FinishedCourse:
    """A search, and the forest that goes on with its plan."""

    schedule: Schedule
    table: TableShape
    """The search's, in words that are no narrower than the forest's."""
    forest: ForestCourse

    def state_sizes(self, *, turned: bool) -> list[Size]:
        """Of the tables, the best plans and the plan; after the turn of the forest.

        The forest keeps the plan that it began with beside its own matching.
        """
        shape = self.forest.shape
        *forest, plan = self.forest.state_sizes
        if turned:
            return [*forest[:4], (shape.square, shape.word), plan]
        *search, _ = state_sizes(self.table)
        return [*search, ((self.forest.layout.rows + self.forest.heads,), shape.word)]

    def plan_of(self, found: ArithmeticShare, /) -> ArithmeticShare:
        """The plan of the search as that of an exact solution of which nothing is proved.

        No message: its cost is a multiple of its value, and what is proved is public.
        """
        forest, word = self.forest, self.forest.shape.word
        narrow = found.map(lambda part: part.astype(word))
        scale = forest.shape.scale
        factor, most = (
            public_word(number).astype(word)
            for number in (-scale, scale * forest.layout.rows * forest.highs[0])
        )
        cost = narrow[:1].map(lambda part: part * factor).add_public(np.array([most]))
        nothing = narrow[:1].map(np.zeros_like)
        outcome = nothing.add_public(np.array([Outcome.FEASIBLE], dtype=word))
        # Without duals nothing is known of the gap, which is rung 0.
        return concatenate([cost, outcome, *[nothing] * (forest.heads - 2), narrow[1:]])


def finishing_course(
    problem: Problem, public: PublicShape, phases: int, /, *, seed: int, stream: int, gap: int = 0
) -> ForestCourse:
    """The forest's course after a search; refused where the problem does not fit it."""
    try:
        course = forest_course(
            problem, public, ExactParameters(phases=phases, gap=gap), seed=seed, search=stream
        )
    except AgreementError as error:
        raise AgreementError(f"no finish is possible, so set finish to 0: {error}") from None
    return replace(course, phases=finishing(course.layout.size, phases))
