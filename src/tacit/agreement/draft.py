"""From a problem to an agreement about it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.agreement.check import check_agreement
from tacit.agreement.participant_keys import sealing_public
from tacit.agreement.sealed_run import pinned_settings
from tacit.agreement.terms import (
    FORMAT,
    Agreement,
    AgreementLimits,
    FrontReveal,
    NodeTerms,
    ObjectiveTerms,
    OnLoss,
    Ownership,
    ParticipantTerms,
    PinnedSearch,
    PlanFor,
)
from tacit.disclosure import SEALED
from tacit.problems import Objective, Problem, public_problem
from tacit.search.moves import SealedParameters


def draft_agreement(
    problem: Problem,
    /,
    *,
    participants: Mapping[str, str],
    nodes: Sequence[NodeTerms],
    platform: str,
    search: PinnedSearch,
    limits: AgreementLimits,
    nonce: str,
    reveal_best: bool = False,
    on_loss: OnLoss = "wait",
    plan: PlanFor = "everybody",
) -> Agreement:
    """An agreement about a problem, ready to be signed; `participants` have their signing keys.

    The nodes have offered their sealing keys for this `nonce` and this platform.

    Whether ways cost the same in both directions is public then. Where the problem leaves it open,
    the weights tell if they are here; otherwise it counts as true, which allows less.
    """
    agreement = Agreement(
        format=FORMAT,
        problem=public_problem(problem),
        participants=[
            _participant(each.name, participants[each.name], plan) for each in problem.participants
        ],
        nodes=list(nodes),
        platform=platform,
        objectives=[_terms(problem, objective) for objective in problem.objectives],
        search=search,
        limits=limits,
        reveal_best=reveal_best,
        nonce=nonce,
        on_loss=on_loss,
        plan=plan,
    )
    check_agreement(agreement)
    return agreement


def pin_sealed(
    parameters: SealedParameters, weightings: Sequence[Sequence[int]] = ((1,),), /
) -> PinnedSearch:
    """Return how an agreement names a sealed run; its seed follows from the manifests.

    >>> from tacit.search.moves import TourParameters
    >>> pin_sealed(TourParameters(), [(3, 1), (1, 3)]).parameters["weightings"]
    '3:1 1:3'
    """
    return PinnedSearch(SEALED, pinned_settings(parameters, weightings), None)


def with_front(agreement: Agreement, front: FrontReveal, /) -> Agreement:
    """The same draft, with what is revealed at the end of objectives evaluated together."""
    changed = msgspec.structs.replace(agreement, front=front)
    check_agreement(changed)
    return changed


def _participant(name: str, signing_key: str, plan: PlanFor) -> ParticipantTerms:
    sealing_key = sealing_public(signing_key) if plan == "owners" else ""
    return ParticipantTerms(name, signing_key, sealing_key)


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
