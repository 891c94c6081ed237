"""Derive problems and searches from the terms of a run, and terms from a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.agreement import plans_by_objective
from tacit.client import (
    ProblemTerms,
    RunObjective,
    RunTerms,
    converted,
)
from tacit.disclosure import PARETO, SEALED, parse_best_mode, parse_disclosure
from tacit.errors import ParameterError
from tacit.problems import (
    Objective,
    Participant,
    Problem,
    PublicProblem,
    kind_named,
    problem_without_weights,
    public_problem,
)
from tacit.runs import changed, default_weightings, parse_weighting
from tacit.search import SearchParameters, preset_named

Weights = dict[int, NDArray[np.int64]]


def terms_of_problem(
    problem: Problem, owners: Mapping[str, Sequence[int]], /, *, rules: Mapping[str, Any]
) -> RunTerms:
    """The terms of a run about a problem, with these rules; of its weights, the public ones.

    `rules` has what the problem does not say, `name` and `deadline_seconds` at least; in it
    `objectives` has what differs of each confidential objective, such as its disclosure.
    """
    ways = problem.between_places
    public = msgspec.to_builtins(public_problem(problem))
    public["symmetric"] = public["symmetric"] if ways else None
    if problem.coordinates is not None:
        public["coordinates"] = problem.coordinates.tolist()
    given = dict(rules)
    differ = given.pop("objectives", [{}] * len(problem.objectives))
    objectives = [
        {
            "name": each.name,
            "sense": each.sense,
            "scale": each.scale,
            "weight_bound": each.weight_bound,
            **(other if each.confidential else _public_objective(each)),
        }
        for each, other in zip(problem.objectives, differ, strict=True)
    ]
    participants = {name: list(rows) for name, rows in owners.items()}
    whole = {**given, "problem": public, "objectives": objectives, "participants": participants}
    return converted(whole, RunTerms)


def _public_objective(objective: Objective) -> dict[str, Any]:
    if objective.weights is None:
        raise ParameterError(
            f"the objective {objective.name!r} is public and its weights are not here; give them"
        )
    weights = objective.weights.tolist()
    return {"confidential": False, "disclosure": "none", "best": "value", "weights": weights}


def known_problem(terms: ProblemTerms, /) -> PublicProblem:
    ways = kind_named(terms.kind, terms.version).between_places
    given = {
        name: value
        for name, value in msgspec.structs.asdict(terms).items()
        if value is not None and name != "coordinates"
    }
    return msgspec.convert({"symmetric": ways, **given}, PublicProblem)


def problem_of_terms(terms: RunTerms, /, *, proven: bool = False, factor: int = 1) -> Problem:
    """Return the problem without the weights that are confidential.

    With a factor its bounds are those of weights that nodes multiply by so much at most.
    """
    objectives = tuple(_objective(each, factor) for each in terms.objectives)
    participants = tuple(
        Participant(name, tuple(rows)) for name, rows in terms.participants.items()
    )
    known = known_problem(terms.problem)
    return problem_without_weights(known, objectives, participants, proven=proven)


def _objective(terms: RunObjective, factor: int) -> Objective:
    weights = None
    if terms.weights is not None:
        if len({len(row) for row in terms.weights}) != 1:
            raise ParameterError(f"{terms.name!r}: the rows of its weights differ in length")
        weights = _matrix(terms.weights)
    return Objective(
        terms.name,
        weights,
        sense=terms.sense,
        confidential=terms.confidential,
        disclosure=parse_disclosure(terms.disclosure),
        best_mode=parse_best_mode(terms.best),
        scale=terms.scale,
        weight_bound=terms.weight_bound * factor,
    )


def _matrix(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    # Row by row: one call for a large matrix would keep the interpreter from every other thread.
    return np.stack([np.array(row, dtype=np.int64) for row in rows])


def parameters_of_terms(terms: RunTerms, /) -> SearchParameters:
    """Return the search that the terms name: a preset, and what differs from it."""
    preset = terms.preset
    if preset is None:
        several = len(terms.objectives) > 1
        kind = kind_named(terms.problem.kind, terms.problem.version)
        preset = "paper-moap" if several else kind.service_preset
        if any(each.disclosure.startswith(f"{PARETO}:") for each in terms.objectives):
            preset = "tuned-pareto"
    return changed(preset_named(preset), terms.parameters)


def population_of_terms(terms: RunTerms, /) -> int:
    """Return how many plans an evaluation is about: 0 for a sealed search, which has none."""
    evaluates = all(each.disclosure != SEALED for each in terms.objectives)
    return parameters_of_terms(terms).evaluated_per_generation if evaluates else 0


def plans_of_terms(terms: RunTerms, /) -> tuple[int, list[int]]:
    """Return how many plans are opened, and of how many of them each objective has a say."""
    if population_of_terms(terms):
        return 1, [1] * len(terms.objectives)
    problem = problem_of_terms(terms, proven=True)
    weightings = [parse_weighting(each) for each in terms.weightings] or default_weightings(problem)
    return len(weightings), plans_by_objective(problem, weightings)


def public_weights(terms: RunTerms, /) -> Weights:
    """Return the matrix of each public objective of a run."""
    return {
        k: _matrix(objective.weights)
        for k, objective in enumerate(terms.objectives)
        if objective.weights is not None
    }
