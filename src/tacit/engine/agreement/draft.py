"""From a problem to an agreement about it, and back to what everybody may know of it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import parse_best_mode, parse_disclosure
from tacit.engine.agreement.check import check_agreement
from tacit.engine.agreement.terms import (
    FORMAT,
    Agreement,
    AgreementLimits,
    NodeTerms,
    ObjectiveTerms,
    Ownership,
    ParticipantTerms,
    PinnedSearch,
    PublicProblem,
)
from tacit.problems import Assignment, Objective, Participant, Problem, Tour


def draft_agreement(
    problem: Problem,
    /,
    *,
    participants: Mapping[str, str],
    nodes: Sequence[NodeTerms],
    platform: str,
    search: PinnedSearch,
    limits: AgreementLimits,
    reveal_best: bool = False,
    symmetric: bool | None = None,
) -> Agreement:
    """An agreement about a problem, ready to be signed; `participants` have their signing keys.

    `symmetric` says of tours whether they cost the same in both directions, which then is public.
    Where it is left out, the weights tell if they are here; otherwise it counts as true, which
    allows less.
    """
    agreement = Agreement(
        format=FORMAT,
        problem=_public(problem, symmetric),
        participants=[
            ParticipantTerms(each.name, participants[each.name]) for each in problem.participants
        ],
        nodes=list(nodes),
        platform=platform,
        objectives=[_terms(problem, objective) for objective in problem.objectives],
        search=search,
        limits=limits,
        reveal_best=reveal_best,
        nonce=secrets.token_hex(16),
    )
    check_agreement(agreement)
    return agreement


def _is_symmetric(problem: Problem) -> bool:
    return all(
        objective.weights is None or np.array_equal(objective.weights, objective.weights.T)
        for objective in problem.objectives
    )


def _public(problem: Problem, symmetric: bool | None) -> PublicProblem:
    is_tour = isinstance(problem, Tour)
    if symmetric is None:
        symmetric = is_tour and _is_symmetric(problem)
    forbidden: list[tuple[int, int]] = []
    if problem.allowed is not None:
        forbidden = [(int(r), int(c)) for r, c in np.argwhere(~problem.allowed)]
    return PublicProblem(
        name=problem.name,
        kind="tour" if is_tour else "assignment",
        rows=problem.rows,
        columns=problem.columns,
        row_names=None if problem.row_names is None else list(problem.row_names),
        column_names=None if problem.column_names is None else list(problem.column_names),
        forbidden=forbidden,
        symmetric=symmetric,
    )


def _terms(problem: Problem, objective: Objective) -> ObjectiveTerms:
    owners = [Ownership(each.name, list(each.rows)) for each in problem.participants if each.rows]
    public = None
    if not objective.confidential and objective.weights is not None:
        public = weights_digest(objective.weights)
    return ObjectiveTerms(
        name=objective.name,
        sense=objective.sense,
        scale=objective.scale,
        weight_bound=objective.weight_bound,
        confidential=objective.confidential,
        disclosure=objective.disclosure.text,
        best=objective.best_mode.value,
        owners=owners if objective.confidential else [],
        public_weights=public,
    )


def weights_digest(weights: NDArray[np.int64], /) -> str:
    """How an agreement names the weights of a public objective."""
    return hashlib.sha256(weights.astype("<i8").tobytes()).hexdigest()


def problem_of(agreement: Agreement, /) -> Problem:
    """What an agreement says of its problem: everything but the weights."""
    public = agreement.problem
    objectives = tuple(
        Objective(
            terms.name,
            None,
            sense=terms.sense,
            confidential=terms.confidential,
            disclosure=parse_disclosure(terms.disclosure),
            best_mode=parse_best_mode(terms.best),
            scale=terms.scale,
            weight_bound=terms.weight_bound,
        )
        for terms in agreement.objectives
    )
    owners = next((terms.owners for terms in agreement.objectives if terms.confidential), [])
    participants = tuple(Participant(each.participant, tuple(each.rows)) for each in owners)
    return without_weights(public, objectives, participants)


def without_weights(
    public: PublicProblem,
    objectives: tuple[Objective, ...],
    participants: tuple[Participant, ...],
    /,
) -> Problem:
    """A problem of which only this is known.

    >>> length = Objective("length", None, weight_bound=9)
    >>> without_weights(PublicProblem("p", "tour", 3, 3), (length,), ()).kind
    'tour'
    """
    row_names = None if public.row_names is None else tuple(public.row_names)
    column_names = None if public.column_names is None else tuple(public.column_names)
    if public.kind == "tour":
        return Tour(
            name=public.name,
            rows=public.rows,
            columns=public.columns,
            objectives=objectives,
            participants=participants,
            row_names=row_names,
            column_names=column_names,
        )
    return Assignment(
        name=public.name,
        rows=public.rows,
        columns=public.columns,
        objectives=objectives,
        participants=participants,
        row_names=row_names,
        column_names=column_names,
        forbidden=forbidden_mask(public),
    )


def forbidden_mask(public: PublicProblem, /) -> NDArray[np.bool_] | None:
    """The forbidden pairs as a matrix, or None where there are none.

    >>> forbidden_mask(PublicProblem("p", "assignment", 1, 2, forbidden=[(0, 1)]))
    array([[False,  True]])
    """
    if not public.forbidden:
        return None
    mask = np.zeros((public.rows, public.columns), dtype=np.bool_)
    rows, columns = zip(*public.forbidden, strict=True)
    mask[list(rows), list(columns)] = True
    return mask
