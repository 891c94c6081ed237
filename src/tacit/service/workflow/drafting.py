"""Draw up the agreement that participants sign from the terms of a run."""

from __future__ import annotations

import dataclasses
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from msgspec.structs import replace

from tacit.agreement import (
    Agreement,
    AgreementLimits,
    NodeTerms,
    PinnedSearch,
    RunOfSeries,
    Series,
    SeriesNode,
    check_agreement,
    check_within,
    draft_agreement,
    pin_sealed,
    series_hash,
    sign_offer,
    with_front,
)
from tacit.client import RunTerms
from tacit.derived import KnownTime, tour_length
from tacit.disclosure import SEALED
from tacit.equity import FIRST_HEAD, EquityTerms, RunEquity, first_come
from tacit.errors import ParameterError
from tacit.identity import Keys
from tacit.problems import (
    Problem,
)
from tacit.runs import (
    default_weightings,
    parse_weighting,
    sealed_settings,
)
from tacit.search.moves import AssignmentParameters, TourParameters
from tacit.service.workflow.terms import (
    parameters_of_terms,
    population_of_terms,
    problem_of_terms,
)

CANDIDATES_PER_SECOND = 30_000.0
"""The most that three nodes on one idle machine evaluate: 300 candidates in 10 ms."""
MOST_PER_SECOND = 1000.0
"""The limit for populations of few candidates."""


def budget_of_terms(terms: RunTerms, /, *, factor: int = 1) -> int:
    """Return how many evaluations, or steps of a sealed run, are agreed on.

    The steps of a sealed assignment may become fewer once the delay between its nodes is known.
    """
    return _search_of_terms(terms, problem_of_terms(terms, proven=True, factor=factor)).evaluations


def fitting_evaluations(terms: RunTerms, /) -> int:
    """Return how many evaluations the fastest nodes finish in time.

    Every evaluation gives something away, so there are no more where the terms leave it open.
    """
    pace = min(MOST_PER_SECOND, CANDIDATES_PER_SECOND / max(1, population_of_terms(terms)))
    return ceil(terms.deadline_seconds * pace)


@dataclasses.dataclass(frozen=True)
class AgreementParties:
    """The parties of an agreement."""

    keys: Mapping[str, str]
    """Each participant's signing key."""
    nodes: Sequence[NodeTerms]
    """With the sealing keys that they offered for this nonce and this platform."""
    platform: str
    nonce: str
    delay: float = 0.0
    """Seconds that messages between the nodes travel."""


def placeholder_parties(keys: Mapping[str, str], /, *, nodes: int) -> AgreementParties:
    """Parties for an agreement that is drawn up to see whether there can be one."""
    nonce, platform = secrets.token_hex(16), f"{9:064x}"
    placeholders = [placeholder_node(number + 1, nonce, platform) for number in range(nodes)]
    return AgreementParties(keys, placeholders, platform, nonce)


def placeholder_keys(names: Iterable[str], /) -> dict[str, str]:
    """Signing keys of nobody. They are real, since not any number is a key to seal something to."""
    return {name: Keys.new(name).signing_public for name in names}


def placeholder_node(number: int, nonce: str, platform: str, /) -> NodeTerms:
    """A node for an agreement that nobody will sign, with a key that it could have offered."""
    signing, key = Keys.new("nobody"), f"{number:064x}"
    offer = sign_offer(signing.signing, nonce=nonce, platform=platform, sealing_key=key)
    return NodeTerms("localhost", number, signing.signing_public, key, f"{number:064x}", offer)


def series_on_placeholders(series: Series, parties: AgreementParties, /) -> Series:
    """The series with the nodes and the platform of placeholders, to try a run of it."""
    nodes = [SeriesNode(each.host, each.port, each.signing_key) for each in parties.nodes]
    return replace(series, nodes=nodes, platform=parties.platform)


@dataclasses.dataclass(frozen=True)
class _DraftedSearch:
    """The search that an agreement pins, and the limits that belong to it."""

    pinned: PinnedSearch
    evaluations: int
    """At most; of a sealed assignment, exactly as many as it has steps."""
    least_plans: int
    most_plans: int
    """Per evaluation."""


def _search_of_terms(
    terms: RunTerms, problem: Problem, nodes: int = 3, delay: float = 0.0
) -> _DraftedSearch:
    if not population_of_terms(terms):
        return _sealed_search(terms, problem, nodes, delay)
    if terms.weightings:
        raise ParameterError("only sealed objectives have weightings; leave them out")
    parameters = parameters_of_terms(terms)
    sizes = sorted((parameters.fewest_evaluated, parameters.evaluated_per_generation))
    named = dataclasses.asdict(parameters)
    pinned = PinnedSearch(named.pop("algorithm"), named, None, "derived")
    return _DraftedSearch(pinned, terms.limits.evaluations or fitting_evaluations(terms), *sizes)


def _sealed_search(terms: RunTerms, problem: Problem, nodes: int, delay: float) -> _DraftedSearch:
    if len({each.disclosure == SEALED for each in terms.objectives}) > 1:
        raise ParameterError("one objective is sealed and another is not; seal all or none")
    if terms.limits.distinct_min > 1:
        raise ParameterError("a sealed search has no populations; leave distinct_min out")
    if terms.preset is not None:
        raise ParameterError("a sealed search has settings of its own; leave the preset out")
    weightings = [parse_weighting(text) for text in terms.weightings] or default_weightings(problem)
    for text, factors in zip(terms.weightings, weightings, strict=False):
        if len(factors) != len(terms.objectives):
            raise ParameterError(
                f"the weighting {text} does not fit; give {len(terms.objectives)} factors, one "
                "per objective"
            )
    given = terms.limits.evaluations
    time_known = KnownTime(deadline=terms.deadline_seconds, nodes=nodes, delay=delay, steps=given)
    settings = sealed_settings(problem, terms.parameters, time=time_known, weightings=weightings)
    return _DraftedSearch(
        pin_sealed(settings, weightings), _steps_of(settings, terms, problem), 1, 1
    )


def _steps_of(
    settings: AssignmentParameters | TourParameters, terms: RunTerms, problem: Problem
) -> int:
    if isinstance(settings, AssignmentParameters):
        return settings.steps
    most = tour_length(problem)
    return min(most, terms.limits.evaluations or fitting_evaluations(terms))


def agreement_of_terms(
    terms: RunTerms, parties: AgreementParties, /, *, factor: int = 1
) -> Agreement:
    """Draw up an agreement about a run, ready to be signed; its expiry counts from now.

    With a factor it is for a series whose nodes multiply weights by so much at most: its rule is
    still to be added.
    """
    problem = problem_of_terms(terms, factor=factor)
    if not any(each.confidential for each in problem.objectives):
        raise ParameterError("nothing of this run is confidential; use tacit solve instead")
    search = _search_of_terms(terms, problem, len(parties.nodes), parties.delay)
    drafted = draft_agreement(
        problem,
        participants=parties.keys,
        nodes=parties.nodes,
        platform=parties.platform,
        search=search.pinned,
        limits=AgreementLimits(
            evaluations=search.evaluations,
            population_min=search.least_plans,
            population_max=search.most_plans,
            distinct_min=terms.limits.distinct_min,
            expires=int(time.time() + terms.limits.expiry_hours * 3600),
        ),
        nonce=parties.nonce,
        reveal_best=terms.reveal_best,
        on_loss=terms.on_loss,
        plan=terms.plan,
    )
    # A reference plan says from where savings count, which only series with equity do.
    if factor == 1 and terms.reference is not None:
        raise ParameterError("a reference plan is for runs of a series with equity; leave it out")
    # The problem has the bounds of weights that were multiplied, so that their sums are checked to
    # fit. The agreement states the bounds of the participants' own weights.
    stated = [
        replace(each, weight_bound=each.weight_bound // factor) for each in drafted.objectives
    ]
    return replace(
        with_front(drafted, terms.front), objectives=stated, grace_seconds=terms.grace_seconds
    )


def agreement_in_series(
    terms: RunTerms,
    series: Series,
    number: int,
    parties: AgreementParties,
    /,
    *,
    head: str = FIRST_HEAD,
) -> Agreement:
    """Draw up an agreement about a run of a series, with the series' search and limits.

    `head` is that of the runs that the nodes have counted, where balances are kept.
    """
    drafted = agreement_of_terms(terms, parties, factor=largest_factor(series.equity))
    now, signed = time.time(), series.limits
    # A run may have fewer evaluations than the series allows, never more.
    fewer = signed.evaluations
    if not drafted.is_exact:  # whose steps are those of the pinned search
        fewer = min(fewer, drafted.limits.evaluations)
    agreement = replace(
        drafted,
        search=series.search,
        limits=AgreementLimits(
            evaluations=fewer,
            population_min=signed.population_min,
            population_max=signed.population_max,
            distinct_min=signed.distinct_min,
            expires=int(min(signed.expires, now + 3600 * signed.run_hours)),
        ),
        series=RunOfSeries(series_hash(series), number),
    )
    agreement = replace(agreement, equity=_run_equity(terms, series, agreement, head))
    # The nodes check the same. Here it fails before anybody has signed the run.
    check_within(series, agreement, now=now)
    check_agreement(agreement)
    return agreement


def with_steps_for(growth: float, pattern: Agreement, terms: RunTerms, /) -> Agreement:
    """The pattern of a series with as many steps as a run that is so much larger needs.

    Iterations that the terms name stay as they are.
    """
    if not pattern.is_exact or "iterations" in terms.parameters or growth <= 1:
        return pattern
    pinned = pattern.sealed_run
    assert isinstance(pinned.parameters, AssignmentParameters)
    iterations, least = (
        ceil(growth * each) for each in (pinned.parameters.iterations, pinned.parameters.least)
    )
    settings = dataclasses.replace(pinned.parameters, iterations=iterations, least=least)
    return replace(
        pattern,
        search=pin_sealed(settings, pinned.weightings),
        limits=replace(pattern.limits, evaluations=settings.steps),
    )


def largest_factor(equity: EquityTerms | None, /) -> int:
    """Return the largest factor by which the nodes of a series multiply weights."""
    return 1 if equity is None else equity.rule.largest_factor


def _run_equity(
    terms: RunTerms, series: Series, agreement: Agreement, head: str
) -> RunEquity | None:
    """Return a run's equity terms: the head it continues from, and its reference plan."""
    if series.equity is None:
        return None
    if series.equity.reference == "first come":
        if terms.reference is not None:
            raise ParameterError(
                "the series counts savings from first come, first served; leave the reference out"
            )
        reference = first_come(agreement.known_problem)
    elif terms.reference is None:
        raise ParameterError("each run of this series gives a reference plan; add one")
    else:
        reference = list(terms.reference)
    return RunEquity(terms=series.equity, head=head, reference=reference)


def checked_terms(terms: RunTerms, /, *, factor: int = 1) -> RunTerms:
    """The terms with their budget; refused if no agreement could be made, before invitations.

    How many steps a sealed assignment has follows from the delay between its nodes, which is
    measured when its agreement is drawn up: what its terms leave open stays open until then.
    """
    keys = placeholder_keys(terms.participants)
    # Only four nodes can go on when one of them is lost.
    parties = placeholder_parties(keys, nodes=4 if terms.on_loss == "three" else 3)
    drafted = agreement_of_terms(terms, parties, factor=factor)
    if drafted.is_exact:
        return terms
    limits = replace(terms.limits, evaluations=drafted.limits.evaluations)
    return replace(terms, limits=limits)
