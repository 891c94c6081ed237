"""Evaluation for an optimizer of one's own: sets of plans in, what is disclosed of them out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import SEALED, linear
from tacit.errors import ParameterError
from tacit.problems import Evaluation, Problem
from tacit.runs.engine_choice import Announce, EngineChoice
from tacit.runs.evaluating_local import evaluator_on_nodes, simulated_evaluator
from tacit.runs.solve import with_disclosures

if TYPE_CHECKING:
    from tacit.agreement import PinnedSearch
    from tacit.evaluators import SeparateObjectives


SIMULATED = EngineChoice(engine="simulated")


@dataclass(eq=False)
class Asking:
    """What an optimizer may ask: sets of plans, so many times, each of so many at most.

    It learns what is disclosed of each set, and nothing else; see `Evaluation`. Estimates
    of one set compare with each other. Those of two sets compare only as far as the disclosed best
    says how good each set is, so evaluate together what is to be compared.
    """

    problem: Problem
    sets: int
    smallest: int
    largest: int
    _evaluator: SeparateObjectives
    asked: int = 0
    """How many sets were evaluated."""

    def evaluate(self, plans: NDArray[np.integer] | Sequence[Sequence[int]], /) -> Evaluation:
        """Evaluate a set of plans, one per line; returns what is disclosed, and estimates."""
        given = np.ascontiguousarray(plans, dtype=np.int32)
        if given.ndim != 2 or not self.smallest <= len(given) <= self.largest:
            raise ParameterError(
                f"a set has {self.smallest} to {self.largest} plans, one per line; this one has "
                f"the shape {given.shape}: open with another disclosure or a larger `largest`"
            )
        if self.asked == self.sets:
            raise ParameterError(f"all {self.sets} sets were evaluated; open with more `sets`")
        fault = self.problem.fault(given)
        if fault is not None:
            raise ParameterError(f"plan {fault[0] + 1} of the set {fault[1]}")
        # Counted before it is asked: nodes may have counted a set whose answer never arrived.
        self.asked += 1
        return self._evaluator.evaluate(given, until=None)


@contextmanager
def open_evaluations(
    problem: Problem,
    /,
    *,
    disclose: str | Mapping[str, str] | None = None,
    best: str | None = None,
    sets: int,
    largest: int,
    choice: EngineChoice = SIMULATED,
    announce: Announce = lambda line: None,
) -> Iterator[Asking]:
    """Open an evaluation of `sets` sets of plans, of up to `largest` each, under a disclosure.

    In a simulation, or on nodes (`EngineChoice()` starts three here). What is asked cannot be
    derived from an agreed search, so nodes elsewhere take it only if their operators allow
    `chosen_populations`, and a participant's own review refuses it: see docs/extending.md.

    >>> from tacit.problems import generate_assignment
    >>> problem = generate_assignment(1, rows=3)
    >>> with open_evaluations(problem, disclose="order", sets=1, largest=2) as asking:
    ...     asking.evaluate([[0, 1, 2], [2, 1, 0]]).disclosed[0]
    array([1, 0])
    """
    chosen = with_disclosures(problem, disclose, best)
    sealed = [each.name for each in chosen.objectives if each.disclosure.method == SEALED]
    if sealed:
        raise ParameterError(
            f"{sealed[0]!r} is sealed: nothing of any plan is told, so no optimizer outside can "
            "search; disclose something, such as top:15"
        )
    smallest = max(each.disclosure.least_individuals for each in chosen.objectives)
    if sets < 1 or largest < smallest:
        raise ParameterError(
            f"{sets} sets of up to {largest} plans; give at least 1 set, and {smallest} plans"
        )
    if choice.engine == "simulated":
        evaluator = simulated_evaluator(chosen, linear)
        yield Asking(chosen, sets, smallest, largest, evaluator)
        return

    def pinned() -> PinnedSearch:
        from tacit.agreement import PinnedSearch

        return PinnedSearch("genetic", {}, 0, "chosen")

    with evaluator_on_nodes(
        chosen,
        choice,
        announce,
        search=pinned,
        evaluations=sets,
        population=(smallest, largest),
        estimator=linear,
    ) as evaluator:
        yield Asking(chosen, sets, smallest, largest, evaluator)
