"""From the terms of a run to the agreement that its participants sign."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec

from tacit.disclosure import parse_best_mode, parse_disclosure
from tacit.engine.agree import draft_agreement, without_weights
from tacit.engine.agreement import (
    Agreement,
    AgreementLimits,
    NodeTerms,
    PinnedSearch,
    PublicProblem,
)
from tacit.engine.certificates import read_certificate
from tacit.engine.config import load_cluster_config
from tacit.engine.local_engine import node_terms
from tacit.errors import NotThereError, ParameterError
from tacit.mpc.transport import fingerprint
from tacit.problems import Objective, Participant, Problem
from tacit.search.parameters import SearchParameters, parameter_names, preset_named
from tacit.service.api.terms import RunTerms
from tacit.service.settings import Settings


def problem_of_terms(terms: RunTerms, /) -> Problem:
    """The problem without its weights.

    >>> from tacit.service.api.examples import example_terms
    >>> problem_of_terms(example_terms()).rows
    4
    """
    public = terms.problem
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
    known = PublicProblem(
        name=public.name,
        kind=public.kind,
        rows=public.rows,
        columns=public.columns,
        row_names=public.row_names,
        column_names=public.column_names,
        forbidden=_checked_pairs(terms),
    )
    return without_weights(known, objectives, participants)


def _checked_pairs(terms: RunTerms) -> list[tuple[int, int]]:
    pairs = [(row, column) for row, column in terms.problem.forbidden]
    for row, column in pairs:
        if row >= terms.problem.rows or column >= terms.problem.columns:
            raise ParameterError(
                f"the forbidden pair {row}, {column} lies outside the matrix; correct it"
            )
    return pairs


def parameters_of_terms(terms: RunTerms, /) -> SearchParameters:
    """The search that the terms name: a preset, and what differs from it.

    >>> from tacit.service.api.examples import example_terms
    >>> parameters_of_terms(example_terms()).population
    20
    """
    preset = terms.preset
    if preset is None:
        several = len(terms.objectives) > 1
        preset = "paper-tsp" if terms.problem.kind == "tour" else "tuned-ap"
        preset = "paper-moap" if several else preset
    unknown = sorted(set(terms.parameters) - set(parameter_names()))
    if unknown:
        raise ParameterError(f"{unknown[0]!r} is no parameter; use {', '.join(parameter_names())}")
    settings = {**asdict(preset_named(preset)), **terms.parameters}
    try:
        return msgspec.convert(settings, type=SearchParameters)
    except msgspec.ValidationError as error:
        raise ParameterError(f"parameters: {error}; see the preset {preset!r}") from None


def agreement_of_terms(
    terms: RunTerms,
    /,
    *,
    keys: Mapping[str, str],
    nodes: Sequence[NodeTerms],
    platform: str,
) -> Agreement:
    """An agreement about a run, ready to be signed; its expiry counts from now.

    >>> agreement_of_terms.__name__
    'agreement_of_terms'
    """
    parameters = parameters_of_terms(terms)
    settings = asdict(parameters)
    sizes = sorted((parameters.fewest_evaluated, parameters.evaluated_per_generation))
    is_tour = terms.problem.kind == "tour"
    return draft_agreement(
        problem_of_terms(terms),
        participants=keys,
        nodes=nodes,
        platform=platform,
        search=PinnedSearch(settings.pop("algorithm"), settings, None),
        limits=AgreementLimits(
            evaluations=terms.limits.evaluations,
            population_min=sizes[0],
            population_max=sizes[1],
            distinct_min=terms.limits.distinct_min,
            expires=int(time.time() + terms.limits.expiry_hours * 3600),
        ),
        reveal_best=terms.reveal_best,
        symmetric=is_tour and terms.problem.symmetric is not False,
    )


def check_terms(terms: RunTerms, /) -> None:
    """Refuse terms that no agreement could be made of, before anybody is invited.

    >>> from tacit.service.api.examples import example_terms
    >>> check_terms(example_terms())
    """
    number = iter(range(1, len(terms.participants) + 11))
    keys = {name: f"{next(number):064x}" for name in terms.participants}
    nodes = [
        NodeTerms("localhost", 1, *(f"{next(number):064x}" for _ in range(3))) for _ in range(3)
    ]
    agreement_of_terms(terms, keys=keys, nodes=nodes, platform=f"{next(number):064x}")


def trio_identity(settings: Settings, trio: str, /) -> tuple[list[NodeTerms], str]:
    """What an agreement says of a trio's nodes, and of the platform towards them.

    >>> trio_identity(Settings(url="", trio=[]), "south")
    Traceback (most recent call last):
    tacit.errors.NotThereError: there is no trio 'south' in service.toml any more; add it again
    """
    for each in settings.trio:
        if each.name == trio:
            cluster = load_cluster_config(settings.place(each.cluster))
            certificate = read_certificate(Path(cluster.folder) / cluster.certificate)
            return node_terms(cluster), fingerprint(certificate)
    raise NotThereError(f"there is no trio {trio!r} in service.toml any more; add it again")
