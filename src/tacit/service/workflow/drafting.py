"""From the terms of a run to the agreement that its participants sign."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import ceil
from pathlib import Path

from tacit.disclosure import SEALED, parse_best_mode, parse_disclosure
from tacit.engine.agreement import (
    Agreement,
    AgreementLimits,
    NodeTerms,
    PinnedSearch,
    draft_agreement,
    pin_sealed,
)
from tacit.engine.identity import load_cluster_config, read_certificate
from tacit.engine.local import node_terms
from tacit.errors import NotThereError, ParameterError
from tacit.mpc.transport import fingerprint
from tacit.problems import (
    Objective,
    Participant,
    Problem,
    kind_named,
    problem_without_weights,
)
from tacit.runs import changed, default_weightings, parse_weighting
from tacit.search import SearchParameters, preset_named
from tacit.search.moves import sealed_parameters_for
from tacit.service.api.terms import RunTerms, public_of_terms
from tacit.service.server.settings import Settings

CANDIDATES_PER_SECOND = 30_000.0
"""What three nodes side by side on one idle machine evaluate at most: 300 candidates in 10 ms."""
MOST_PER_SECOND = 1000.0
"""However few candidates there are."""


def problem_of_terms(terms: RunTerms, /, *, proven: bool = False) -> Problem:
    """The problem without its weights."""
    objectives = tuple(
        Objective(
            each.name,
            None,
            sense=each.sense,
            disclosure=parse_disclosure(each.disclosure),
            best_mode=parse_best_mode(each.best),
            scale=each.scale,
            weight_bound=each.weight_bound,
        )
        for each in terms.objectives
    )
    participants = tuple(
        Participant(name, tuple(rows)) for name, rows in terms.participants.items()
    )
    known = public_of_terms(terms.problem.model_dump())
    return problem_without_weights(known, objectives, participants, proven=proven)


def parameters_of_terms(terms: RunTerms, /) -> SearchParameters:
    """The search that the terms name: a preset, and what differs from it."""
    preset = terms.preset
    if preset is None:
        several = len(terms.objectives) > 1
        kind = kind_named(terms.problem.kind, terms.problem.version)
        preset = "paper-moap" if several else kind.service_preset
    return changed(preset_named(preset), terms.parameters)


def population_of_terms(terms: RunTerms, /) -> int:
    """How many plans an evaluation is about; none where the nodes search by themselves."""
    evaluates = all(each.disclosure != SEALED for each in terms.objectives)
    return parameters_of_terms(terms).evaluated_per_generation if evaluates else 0


def budget_of_terms(terms: RunTerms, /) -> int:
    """How many evaluations, or generations of a sealed search, are agreed on.

    Every evaluation gives something away, so where the terms leave it open, there are no more than
    the fastest nodes finish in time.
    """
    if terms.limits.evaluations is not None:
        return terms.limits.evaluations
    candidates = population_of_terms(terms)
    pace = min(MOST_PER_SECOND, CANDIDATES_PER_SECOND / max(1, candidates))
    return ceil(terms.deadline_seconds * pace)


def plans_of_terms(terms: RunTerms, /) -> int:
    """How many plans a sealed search opens; 1 where populations are evaluated."""
    if population_of_terms(terms):
        return 1
    return len(terms.weightings) or len(default_weightings(problem_of_terms(terms, proven=True)))


def _search_of_terms(terms: RunTerms, problem: Problem) -> tuple[PinnedSearch, list[int]]:
    """The search that is pinned, and how many plans an evaluation of it has, from and to."""
    if not population_of_terms(terms):
        searches = {each.disclosure == SEALED for each in terms.objectives}
        if len(searches) > 1:
            raise ParameterError("one objective is sealed and another is not; seal all or none")
        if terms.limits.distinct_min > 1:
            raise ParameterError("a sealed search has no populations; leave distinct_min out")
        if terms.preset is not None:
            raise ParameterError("a sealed search has settings of its own; leave the preset out")
        settings = changed(sealed_parameters_for(problem.sealed_moves), terms.parameters)
        given = [parse_weighting(text) for text in terms.weightings]
        return pin_sealed(settings, given or default_weightings(problem)), [1, 1]
    if terms.weightings:
        raise ParameterError("only sealed objectives have weightings; leave them out")
    parameters = parameters_of_terms(terms)
    sizes = sorted((parameters.fewest_evaluated, parameters.evaluated_per_generation))
    named = asdict(parameters)
    return PinnedSearch(named.pop("algorithm"), named, None, "derived"), sizes


def agreement_of_terms(
    terms: RunTerms,
    /,
    *,
    keys: Mapping[str, str],
    nodes: Sequence[NodeTerms],
    platform: str,
) -> Agreement:
    """An agreement about a run, ready to be signed; its expiry counts from now."""
    problem = problem_of_terms(terms)
    search, sizes = _search_of_terms(terms, problem)
    return draft_agreement(
        problem,
        participants=keys,
        nodes=nodes,
        platform=platform,
        search=search,
        limits=AgreementLimits(
            evaluations=budget_of_terms(terms),
            population_min=sizes[0],
            population_max=sizes[1],
            distinct_min=terms.limits.distinct_min,
            expires=int(time.time() + terms.limits.expiry_hours * 3600),
        ),
        reveal_best=terms.reveal_best,
    )


def checked_terms(terms: RunTerms, /) -> RunTerms:
    """The terms with their budget; refused if no agreement could be made, before invitations."""
    number = iter(range(1, len(terms.participants) + 11))
    keys = {name: f"{next(number):064x}" for name in terms.participants}
    nodes = [
        NodeTerms("localhost", 1, *(f"{next(number):064x}" for _ in range(3))) for _ in range(3)
    ]
    agreement_of_terms(terms, keys=keys, nodes=nodes, platform=f"{next(number):064x}")
    limits = terms.limits.model_copy(update={"evaluations": budget_of_terms(terms)})
    return terms.model_copy(update={"limits": limits})


def cluster_identity(settings: Settings, cluster: str, /) -> tuple[list[NodeTerms], str]:
    """What an agreement says of a cluster's nodes, and of the platform towards them.

    >>> cluster_identity(Settings(url="", cluster=[]), "south")
    Traceback (most recent call last):
    tacit.errors.NotThereError: there is no cluster 'south' in service.toml any more; add it again
    """
    for each in settings.cluster:
        if each.name == cluster:
            config = load_cluster_config(settings.place(each.file))
            certificate = read_certificate(Path(config.folder) / config.certificate)
            return node_terms(config), fingerprint(certificate)
    raise NotThereError(f"there is no cluster {cluster!r} in service.toml any more; add it again")
