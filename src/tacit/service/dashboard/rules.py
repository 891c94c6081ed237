"""The rules of a run as a form has them, from a run's terms and to them; they hold no weights."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from pydantic import ValidationError

from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.service.api.terms import RunTerms, draft_of_problem
from tacit.service.dashboard.refusals import plain_refusal
from tacit.service.workflow.drafting import budget_of_terms, problem_of_terms


class ObjectiveRule(NamedTuple):
    """What is disclosed of one objective, and of its best value."""

    disclosure: str
    best: str


def usual_rule(problem: Problem, /) -> ObjectiveRule:
    """Where a problem says nothing, as little as can be is disclosed."""
    all_secret = all(each.confidential for each in problem.objectives)
    kind = problem if all_secret else Problem
    return ObjectiveRule(kind.usual_disclosure, "nothing")


class WeightRange(NamedTuple):
    """How large weights may be, as whole numbers: in the users' unit times the scale."""

    bound: int
    scale: int


@dataclass(frozen=True)
class SearchRules:
    """Settings of the search that were named; what is left out fits the problem."""

    preset: str | None = None
    parameters: Mapping[str, bool | int | str] = field(default_factory=dict)
    weightings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rules:
    """What an operator decides about a run besides its problem."""

    name: str
    disclosure: str
    best: str
    deadline_seconds: float
    evaluations: int
    """0: as many as fit into the deadline."""
    expiry_hours: float
    reveal_best: bool = False
    plan: str = "everybody"
    on_loss: str = "wait"
    objectives: tuple[ObjectiveRule, ...] = ()
    """Of each objective, where they differ from `disclosure` and `best`."""
    ranges: tuple[WeightRange, ...] = ()
    """Of each objective, where they differ from the problem's."""
    search: SearchRules = SearchRules()
    front: str = "nothing"
    distinct_min: int = 1


def usual_rules(problem: Problem, objectives: Sequence[ObjectiveRule] = (), /) -> Rules:
    """What a form begins with; `objectives` is what a file says of them."""
    named = tuple(objectives) or (usual_rule(problem),) * len(problem.objectives)
    return Rules(
        name=problem.name,
        disclosure=named[0].disclosure,
        best=named[0].best,
        deadline_seconds=10.0,
        evaluations=0,
        expiry_hours=48.0,
        objectives=named,
    )


def account_name(name: str, /) -> str:
    """The name of an account that comes closest to a participant's name, with no spaces in it.

    >>> account_name("Participant 1"), account_name("ce\u0301leste"), account_name("--")
    ('Participant-1', 'céleste', 'participant')
    """
    plain = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFC", name)).strip("-._")
    return plain[:63] or "participant"


def run_terms(problem: Problem, rules: Rules, /) -> dict[str, Any]:
    """What the API takes as a draft."""
    owners = {account_name(each.name): each.rows for each in problem.participants}
    if len(owners) < len(problem.participants):
        raise ParameterError(
            "two participants' names differ only in signs that accounts cannot have; rename one"
        )
    draft = draft_of_problem(problem, owners, disclosure=rules.disclosure, best=rules.best)
    for objective, rule in zip(draft["objectives"], rules.objectives, strict=False):
        if objective.get("confidential", True):
            objective.update(rule._asdict())
    for objective, weights in zip(draft["objectives"], rules.ranges, strict=False):
        if objective.get("confidential", True):
            objective.update(weight_bound=weights.bound, scale=weights.scale)
    terms = {
        **draft,
        "name": rules.name,
        "preset": rules.search.preset,
        "parameters": dict(rules.search.parameters),
        "weightings": list(rules.search.weightings),
        "limits": {
            "evaluations": rules.evaluations or None,
            "expiry_hours": rules.expiry_hours,
            "distinct_min": rules.distinct_min,
        },
        "deadline_seconds": rules.deadline_seconds,
        "reveal_best": rules.reveal_best,
        "front": rules.front,
        "plan": rules.plan,
        "on_loss": rules.on_loss,
    }
    try:
        RunTerms.model_validate(terms)
    except ValidationError as error:
        raise ParameterError(plain_refusal(error)) from None
    return terms


OF_EACH_RUN = ("name", "problem", "participants", "deadline_seconds")
"""What a run of a series has of its own, and how many evaluations at most."""


def with_signed(terms: Mapping[str, Any], signed: Mapping[str, Any], /) -> dict[str, Any]:
    """The terms of a series' run as a form has them, with what is signed exactly as it was."""
    own = {name: terms[name] for name in OF_EACH_RUN}
    limits = {**signed["limits"], "evaluations": terms["limits"]["evaluations"]}
    return {**signed, **own, "limits": limits}


def draft_of_terms(
    terms: Mapping[str, Any], public: Mapping[str, list[list[int]]], /
) -> tuple[Problem, Rules]:
    """A run's problem and rules as its terms have them, to be changed or copied.

    `public` has the weights of public objectives, which terms leave out, by their numbers.
    """
    objectives = [
        {**each, "weights": public.get(str(k))} for k, each in enumerate(terms["objectives"])
    ]
    known = RunTerms.model_validate({**terms, "objectives": objectives})
    problem = problem_of_terms(known, proven=True)
    if known.problem.coordinates is not None:
        problem = replace(problem, coordinates=np.array(known.problem.coordinates))
    open_limits = known.limits.model_copy(update={"evaluations": None})
    fitting = budget_of_terms(known.model_copy(update={"limits": open_limits}))
    named = tuple(ObjectiveRule(each.disclosure, each.best) for each in known.objectives)
    rules = Rules(
        name=known.name,
        disclosure=named[0].disclosure,
        best=named[0].best,
        deadline_seconds=known.deadline_seconds,
        # What was left open is kept as what fitted into the deadline, and stays open.
        evaluations=0 if known.limits.evaluations == fitting else known.limits.evaluations or 0,
        expiry_hours=known.limits.expiry_hours,
        reveal_best=known.reveal_best,
        plan=known.plan,
        on_loss=known.on_loss,
        objectives=named,
        search=SearchRules(known.preset, known.parameters, tuple(known.weightings)),
        front=known.front,
        distinct_min=known.limits.distinct_min,
    )
    return problem, rules
