"""Replay the agreed search from the ledger, and compare it with what a node logged.

The search is a function of the agreement, its seed and what was revealed. So each population can be
computed again, and its hash must be the one that the node logged under that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacit.agreement import Agreement, search_seed
from tacit.derived import AgreedSearch
from tacit.errors import AgreementError, LogError
from tacit.problems import Problem
from tacit.records import (
    Disclosed,
    DisclosedBest,
    DisclosedFront,
    DisclosedLabels,
    Log,
    frozen_inputs,
    pack_candidates,
    request_hash,
)
from tacit.runs import BestKnown, evaluated_values, update_best_known
from tacit.verify.claims import Claim, KnownValues, add_values, check_nothing_proved, check_values
from tacit.verify.logs import LoggedDisclosures


@dataclass(frozen=True)
class Replay:
    """How far a log and the agreed search agree."""

    generations: int
    followed: int
    differs: bool = False
    """Whether the next population is another than the search asks for.

    If it is not, and yet not all were followed, the ledger lacks an answer to go on with.
    """
    best_known: list[BestKnown] = field(default_factory=list)
    """The best-known set after each generation that the ledger has answers of."""
    values: list[KnownValues] = field(default_factory=list)
    """What was disclosed of the values of these plans."""

    @property
    def complete(self) -> bool:
        return self.generations == self.followed


def replay(
    agreement: Agreement,
    log: Log,
    ledger: Sequence[Disclosed],
    /,
    *,
    public: Problem | None = None,
) -> Replay:
    """Follow the search generation by generation, up to the first that differs.

    The log is verified, and `public` has the weights of public objectives.
    """
    logged = _logged_requests(agreement, log)
    if not logged:
        raise LogError("the log has no evaluation; give the log of this agreement")
    answers = {
        (entry.number, entry.about): entry.payload
        for entry in ledger
        if isinstance(entry.payload, DisclosedLabels)
    }
    frozen = frozen_inputs(agreement, log) if agreement.search.seed is None else {}
    digests = {k: each.manifests for k, each in frozen.items()}
    contributions = {k: each.seed_contribution for k, each in frozen.items()}
    # The same search that the nodes follow. It draws from the seed alone, so it asks for the same
    # populations.
    search = _search(agreement, search_seed(agreement, digests, contributions), public)
    known: list[BestKnown] = []
    values: list[KnownValues] = []
    unanswered = False
    for done, number in enumerate(sorted(logged)):
        # After a power cut nodes leave numbers out, and what was not answered under one is asked
        # for again under another: the same population, so it discloses nothing else.
        if not _was_asked(agreement, search.plans, logged[number]):
            return Replay(len(logged), done, not unanswered, known, values)
        told = {k: answers.get((number, k)) for k in agreement.evaluated()}
        found = {
            k: search.evaluation_of(k, np.array(answer.labels, dtype=np.int64), answer.best)
            for k, answer in told.items()
            if answer is not None
        }
        unanswered = len(found) < len(told)
        if not unanswered:
            evaluation = search.tell(found)
            known.append(
                update_best_known(known[-1] if known else None, search.state, evaluation)[0]
            )
            values.append(_values(search, known[-1]))
    return Replay(len(logged), len(logged), best_known=known, values=values)


def _values(search: AgreedSearch, known: BestKnown) -> KnownValues:
    """Return what is known of the best plans' own values, if they are of the last generation."""
    found: KnownValues = {}
    several = len(search.problem.objectives) > 1
    if several and known.generation == search.state.generation:
        estimates = search.state.estimates[search.state.estimated_best()]
        plans = search.problem.plans(known.genomes).tolist()
        lines = evaluated_values(search.problem, estimates)
        for plan, line in zip(plans, lines, strict=True):
            add_values(found, plan, line)
    return found


def _search(agreement: Agreement, seed: int, public: Problem | None) -> AgreedSearch:
    objectives = () if public is None else public.objectives
    weights = {k: each.weights for k, each in enumerate(objectives) if each.weights is not None}
    try:
        return AgreedSearch(agreement, seed, weights)
    except AgreementError as error:
        raise LogError(str(error)) from None


def check_search(
    agreement: Agreement,
    log: Log,
    ledger: Sequence[Disclosed],
    claim: Claim,
    /,
    *,
    public: Problem | None = None,
) -> str:
    """Check that populations are those of the agreed search, and the plan its result."""
    # What was shown before counts too: a platform might lie to `result` and tell the truth here.
    claim.check_shown()
    check_nothing_proved(claim)
    if not LoggedDisclosures.of(log).begun:
        if claim.plan is not None:
            raise LogError("there is a plan, but the nodes evaluated nothing; ask the operator")
        return "nothing was evaluated"
    found = replay(agreement, log, ledger, public=public)
    if found.differs:
        raise LogError(
            f"population {found.followed + 1} of {found.generations} is not what the agreed search "
            "asks for; the platform did not follow it"
        )
    if not found.complete:
        raise LogError(
            f"the ledger has {len(found.best_known)} generations and the nodes have "
            f"{found.generations}; the platform leaves something out"
        )
    # Without this, a platform could show any other plan of the best-known set as the best one.
    for entry in ledger:
        _check_revealed(agreement, found.best_known, entry, claim)
    words = f"all {found.followed} populations are those of the agreed search"
    if claim.plan is None:
        return words
    for each in claim.told:
        if each.plan is not None:
            _check_found(agreement, found, each)
    when = f"generation {claim.generation} of {len(found.best_known) - 1}"
    return f"{words}, and the plan is one of its best after {when}"


def _check_revealed(
    agreement: Agreement, found: Sequence[BestKnown], entry: Disclosed, claim: Claim
) -> None:
    """Check that what was revealed is of a best-known set, and shown as it was revealed.

    Else a platform shows any other plan of the set that was revealed as the truly best one.
    """
    payload = entry.payload
    if not isinstance(payload, DisclosedBest | DisclosedFront):
        return
    problem, word = agreement.known_problem, agreement.final_reveal or ""
    for plans in (problem.plans(each.genomes) for each in found):
        request = request_hash("reveal", word, "nothing", pack_candidates(problem, plans))
        if request.hex() == entry.request:
            break
    else:
        raise LogError(
            f"{entry.words} is of other plans than the best that the agreed search found; ask the "
            "operator"
        )
    if claim.plan is None:
        return
    if isinstance(payload, DisclosedBest):
        if claim.plan != plans[payload.index].tolist():
            raise LogError(
                "the platform shows another plan than the one that the nodes revealed to be truly "
                "best; ask the operator"
            )
        return
    front = {tuple(plan) for plan in plans[payload.nondominated].tolist()}
    shown = {tuple(plan) for plan in (claim.plan, *claim.others)}
    if not shown <= front or (claim.others and shown != front):
        raise LogError(
            "the platform shows other plans than those that the nodes revealed to be "
            "non-dominated; ask the operator"
        )


def _check_found(agreement: Agreement, found: Replay, claim: Claim) -> None:
    """Check that plans are the best of a generation, and worth what the nodes disclosed."""
    if claim.generation is None or not 0 <= claim.generation < len(found.best_known):
        raise LogError(
            f"the result is of generation {claim.generation}, and the ledger has "
            f"{len(found.best_known)}; ask the operator for the whole ledger"
        )
    plans = agreement.known_problem.plans(found.best_known[claim.generation].genomes)
    if not claim.all_are_of(plans.tolist()):
        raise LogError(
            "the plan, or one of several, is not among the best that the agreed search found; ask "
            "the operator"
        )
    check_values(found.values[claim.generation], claim)


def _was_asked(agreement: Agreement, plans: NDArray[np.int32], requests: dict[int, str]) -> bool:
    """Return whether these plans are what the node was asked to evaluate, for every objective."""
    packed = pack_candidates(agreement.known_problem, plans)
    for k, request in requests.items():
        terms = agreement.objectives[k]
        if request_hash("evaluate", terms.disclosure, terms.best, packed).hex() != request:
            return False
    return True


def _logged_requests(agreement: Agreement, log: Log) -> dict[int, dict[int, str]]:
    """Return the hashes of the populations by number and objective."""
    logged: dict[int, dict[int, str]] = {}
    for (objective, number), request in LoggedDisclosures.of(log).requests.items():
        if objective in agreement.confidential():
            logged.setdefault(number, {})[objective] = request
    return logged
