"""What is disclosed of objectives where nobody has said it."""

from __future__ import annotations

from dataclasses import replace

from tacit.disclosure import Disclosure, Sealed, Unsaid, parse_disclosure
from tacit.problems.model.objective import Objective
from tacit.problems.model.problem import Problem


def with_usual_disclosures(problem: Problem, /) -> Problem:
    """The problem with what is usual for its kind where it says nothing: sealed, if that can be.

    A search is sealed for all objectives or for none, and needs all of them confidential.
    """
    objectives = problem.objectives
    silent = all(
        each.confidential and isinstance(each.disclosure, Unsaid | Sealed) for each in objectives
    )
    usual = parse_disclosure(problem.usual_disclosure if silent else Problem.usual_disclosure)
    changed = [_saying(each, usual) for each in objectives]
    return replace(problem, objectives=tuple(changed))


def _saying(objective: Objective, usual: Disclosure) -> Objective:
    if not objective.confidential or not isinstance(objective.disclosure, Unsaid):
        return objective
    best = objective.best_mode
    if best is objective.disclosure.usual_best:
        best = usual.usual_best
    return replace(objective, disclosure=usual, best_mode=best)
