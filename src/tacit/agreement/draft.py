"""Draft an agreement about a problem, and check one before it is signed or taken."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.agreement.equity import check_equity
from tacit.agreement.plan_parts import check_plan_for
from tacit.agreement.sealed_run import NO_IMPROVEMENTS, pinned_settings
from tacit.agreement.signatures import check_offers, sealing_public
from tacit.agreement.sizes import (
    check_agreement_bytes,
    check_counts,
    check_frame_sizes,
    check_name_length,
)
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
    canonical,
)
from tacit.disclosure import SEALED
from tacit.errors import AgreementError, InputError
from tacit.mpc import CLUSTER_SIZES, Spec, check_bound_fits
from tacit.names import check_label, check_seen, first_look_alikes
from tacit.problems import MOST_PAIRS, Objective, Problem, public_problem
from tacit.search.moves import SealedParameters

MOST_COLUMNS = 1 << 16
"""Candidates travel as numbers of at most 16 bits."""
"""Kinds of characters that change what a text looks like and are not seen themselves."""
_KEY_CHARACTERS = frozenset("0123456789abcdef")
MIN_GRACE, MAX_GRACE = 0.1, 3600.0
MOST_RUNS = 1 << 31
"""Of a series, so that its counting goes on for longer than anybody needs."""


def check_agreement(agreement: Agreement, /, *, offered: bool = True) -> None:
    """Refuse an agreement that contradicts itself, or whose bounds do not fit the ring.

    Without `offered` it is the pattern of a series, for which no node has drawn keys yet.
    """
    # A node runs this on whatever a platform sends. So what is cheap to see comes first, and each
    # check may take for granted what those before it have seen.
    _check_size(agreement)
    check_counts(agreement)
    _check_names(agreement)
    _check_keys(agreement)
    _check_limits(agreement)
    if offered:
        # Signed by each node for this nonce: a platform cannot put a sealing key of its own here.
        check_offers(agreement)
    names = [terms.name for terms in agreement.objectives]
    if not names or len(set(names)) < len(names):
        raise AgreementError("objectives are missing or share a name; name each apart")
    for terms in agreement.objectives:
        # With a bound of 0 all weights are 0, and each of its weightings would be one of the rest.
        if terms.weight_bound < 1 or terms.scale < 1:
            raise AgreementError(
                f"objective {terms.name!r}: bound and scale must be positive; leave an objective "
                "out that decides nothing"
            )
        if terms.confidential:
            _check_owners(agreement, terms)
        elif terms.owners or terms.public_weights is None:
            raise AgreementError(
                f"objective {terms.name!r} is public; give the digest of its weights, no owners"
            )
    _check_rule(agreement)
    _check_problem(agreement)
    _check_bounds(agreement)
    check_equity(agreement, offered=offered)
    check_sealed(agreement)
    check_plan_for(agreement)
    # Encoding takes time, so it comes after everything that is cheap to refuse.
    check_agreement_bytes(len(canonical(agreement)))
    check_frame_sizes(agreement)


def _check_size(agreement: Agreement) -> None:
    # Comes first: what is too large must not take time or memory to find out more about.
    problem = agreement.problem
    sides = problem.rows, problem.columns
    if min(sides) < 1 or max(sides) > MOST_COLUMNS or sides[0] * sides[1] > MOST_PAIRS:
        raise AgreementError(
            f"the problem has {problem.rows} rows and {problem.columns} columns; give at least one "
            f"of each, at most {MOST_COLUMNS} of either and {MOST_PAIRS} pairs"
        )


def _check_rule(agreement: Agreement) -> None:
    # Bounds follow from the rule, so it is checked before anything is made of it.
    try:
        agreement.largest_factor  # noqa: B018 - the rule checks itself
    except InputError as error:
        raise AgreementError(f"equity: {error}") from error


def _check_problem(agreement: Agreement) -> None:
    try:
        agreement.known_problem  # noqa: B018 - it is built now, and kept
    except InputError as error:
        raise AgreementError(f"the problem: {error}") from error


def _check_names(agreement: Agreement) -> None:
    # People decide by names, and terminals obey what is printed.
    problem = agreement.problem
    for what, labels, count in (
        ("rows", problem.row_names, problem.rows),
        ("columns", problem.column_names, problem.columns),
    ):
        if labels is not None and len(labels) != count:
            raise AgreementError(f"{len(labels)} names for {count} {what}; give each one, or none")
    for name in (*(problem.row_names or []), *(problem.column_names or [])):
        _check_name(name, check_seen)
    participants = [each.name for each in agreement.participants]
    objectives = [each.name for each in agreement.objectives]
    for name in (problem.name, *participants, *objectives):
        check_name(name)
    for node in agreement.nodes:
        check_name(node.host)
    for what, names in (("participants", participants), ("objectives", objectives)):
        if (alike := first_look_alikes(names)) is not None:
            raise AgreementError(
                f"two {what} share a name or look alike, {alike[0]!a} and {alike[1]!a}; name each "
                "apart"
            )


def check_name(name: str, /) -> None:
    """Refuse a name that is too long to be read, or shows something else than it is."""
    _check_name(name, check_label)


def _check_name(name: str, check: Callable[[str], None]) -> None:
    check_name_length(name)
    try:
        check(name)
    except ValueError as error:
        raise AgreementError(str(error)) from None


def _check_keys(agreement: Agreement) -> None:
    if len(agreement.nodes) not in CLUSTER_SIZES:
        raise AgreementError(
            f"the agreement names {len(agreement.nodes)} nodes; it takes three or four"
        )
    if agreement.on_loss == "three" and len(agreement.nodes) == min(CLUSTER_SIZES):
        raise AgreementError("three nodes cannot lose one and go on; take four, or on_loss: wait")
    if not MIN_GRACE <= agreement.grace_seconds <= MAX_GRACE:
        raise AgreementError(f"the grace time must be {MIN_GRACE:g} to {MAX_GRACE:g} seconds")
    names = [participant.name for participant in agreement.participants]
    if not names or len(set(names)) < len(names):
        raise AgreementError("participants are missing or share a name; name each apart")
    signing = [each.signing_key for each in agreement.participants]
    signing += [node.signing_key for node in agreement.nodes]
    certificates = [*(node.certificate for node in agreement.nodes), agreement.platform]
    sealing = [node.sealing_key for node in agreement.nodes]
    for what, keys in (
        ("signing key", signing),
        ("sealing key", sealing),
        ("certificate", certificates),
    ):
        for key in keys:
            if not is_hash(key):
                raise AgreementError(f"{key[:70]!r} is not a {what}; give 64 hexadecimal digits")
        # With one key two parties could sign for each other, and open each other's boxes.
        if len(set(keys)) < len(keys):
            raise AgreementError(f"two parties share a {what}; each has its own")


def _check_limits(agreement: Agreement) -> None:
    limits = agreement.limits
    if not 1 <= limits.population_min <= limits.population_max:
        raise AgreementError("the population's limits are empty; 1 <= min <= max")
    if limits.evaluations < 1 or not 1 <= limits.distinct_min <= limits.population_max:
        raise AgreementError("limits must allow an evaluation, and distinct candidates that fit")
    check_nonce(agreement.nonce)
    run = agreement.series
    if run is not None and (not is_hash(run.series) or not 1 <= run.number <= MOST_RUNS):
        raise AgreementError("the series is not named by its hash and a number from 1; draft again")


def is_hash(text: str, /) -> bool:
    """Return whether this is 64 hexadecimal digits, as keys and hashes are written."""
    return len(text) == 64 and _KEY_CHARACTERS.issuperset(text)


def check_nonce(nonce: str, /) -> None:
    """Refuse a nonce that somebody could draw again."""
    # Sealing keys are offered for a nonce. One that comes again would let an old offer pass for
    # new.
    if len(nonce) < 32 or len(nonce) % 2 or not _KEY_CHARACTERS.issuperset(nonce):
        raise AgreementError("the nonce is short or not hexadecimal; draw 16 bytes or more")


def _check_owners(agreement: Agreement, terms: ObjectiveTerms) -> None:
    owner: dict[int, str] = {}
    for ownership in terms.owners:
        agreement.participant(ownership.participant)
        for row in ownership.rows:
            if row in owner or not 0 <= row < agreement.problem.rows:
                raise AgreementError(
                    f"objective {terms.name!r}: row {row} of {ownership.participant!r} does not "
                    "exist or has another owner"
                )
            owner[row] = ownership.participant
    missing = set(range(agreement.problem.rows)) - set(owner)
    if missing or len({each.participant for each in terms.owners}) < len(terms.owners):
        raise AgreementError(
            f"objective {terms.name!r}: {len(missing)} rows have no owner, or an owner is listed "
            "twice; every row has one"
        )


def check_sealed(agreement: Agreement, /) -> None:
    """Refuse a sealed run, if one is agreed, that contradicts itself or exceeds the ring."""
    if not agreement.sealed:
        return
    if agreement.reveal_best:
        raise AgreementError(
            "a sealed search opens its plan and has nothing to reveal after it; leave reveal_best "
            "out"
        )
    if not all(terms.sealed and terms.confidential for terms in agreement.objectives):
        raise AgreementError(
            "one objective is sealed and another is not, or public; seal all confidential "
            "objectives, with none public, or none"
        )
    if len({terms.best for terms in agreement.objectives}) > 1:
        raise AgreementError("sealed objectives disclose their best in different ways; choose one")
    if agreement.objectives[0].best == "improvement":
        raise AgreementError(NO_IMPROVEMENTS)
    agreement.sealed_run.check()


def _check_bounds(agreement: Agreement) -> None:
    limits = agreement.limits
    for number in agreement.confidential():
        terms = agreement.objectives[number]
        # The text is part of every request's hash, so a disclosure has one form only.
        if agreement.known_problem.objectives[number].disclosure.text != terms.disclosure:
            raise AgreementError(
                f"objective {terms.name!r}: write {terms.disclosure!r} in its plain form"
            )
    if agreement.together and agreement.reveal_best:
        raise AgreementError(
            "of several objectives no plan is truly best; do not reveal one, but their front"
        )
    if agreement.front != "nothing" and not agreement.together:
        raise AgreementError(
            "only of objectives that are evaluated together a front is revealed; disclose "
            "pareto:quantiles:20 of them, or reveal none"
        )
    for number in agreement.evaluated():
        terms = agreement.objectives[number]
        try:
            terms.spec.check(limits.population_min)
            if agreement.together:
                agreement.pareto_widths(limits.population_max)
            bound = agreement.fitness_bound(number)
            check_bound_fits(bound, limits.population_max, terms.spec)
            # The final reveal compares under `top:1`, whatever evaluations disclose.
            check_bound_fits(bound, limits.population_max, Spec.parse("top:1"))
        except InputError as error:
            raise AgreementError(f"objective {terms.name!r}: {error}") from error


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
    """Draft an agreement about a problem; `participants` have their signing keys.

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
    """Return the draft with what is revealed at the end of objectives evaluated together."""
    changed = msgspec.structs.replace(agreement, front=front)
    check_agreement(changed)
    return changed


def _participant(name: str, signing_key: str, plan: PlanFor) -> ParticipantTerms:
    # Where nothing is sealed to participants, the agreement names no key that somebody could use.
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
    """Return the hash by which an agreement names the weights of a public objective."""
    return hashlib.sha256(weights.astype("<i8").tobytes()).hexdigest()
