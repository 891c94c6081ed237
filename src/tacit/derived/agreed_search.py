"""The search that an agreement pins, followed step by step, and what a node derives of it.

It is a function of the agreement, its seed and what was disclosed. So the platform that runs it,
the nodes that evaluate for it and whoever checks it afterwards all find the same populations. A
node evaluates two of them and nothing else, so that a platform cannot choose what it asks: the one
that comes now, and the one before, which may have to be computed again where a node failed before
it had its answer.

An operator of a node allows some agreements and not others. A node checks that when it takes an
agreement. It also says what it allows when it offers a sealing key, so that whoever drafts an
agreement knows before anybody has signed it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.agreement.draft import weights_digest
from tacit.agreement.sizes import working_bytes
from tacit.agreement.terms import Agreement
from tacit.disclosure import estimator_named
from tacit.errors import AgreementError, ParameterError, RefusedError
from tacit.evaluators import ClearObjective, ObjectiveEvaluation, as_evaluation
from tacit.mpc import party_name
from tacit.problems import Evaluation, Problem
from tacit.records.ledger import DisclosedLabels
from tacit.records.messages import Allowed
from tacit.records.requests import pack_candidates, request_hash
from tacit.search import Evolution, SearchParameters, parameters_of, resembles_a_preset, warm_up

Weights = NDArray[np.int64]


def agreed_parameters(agreement: Agreement, /) -> SearchParameters:
    settings = {"algorithm": agreement.search.algorithm, **agreement.search.parameters}
    try:
        return parameters_of(settings)
    except ParameterError as error:
        raise ParameterError(f"the agreed search cannot be run ({error}); agree anew") from None


def with_public_weights(agreement: Agreement, weights: Mapping[int, Weights], /) -> Problem:
    """Return the problem as everybody knows it; public weights must be the agreed ones."""
    problem = agreement.known_problem
    objectives = list(problem.objectives)
    for k, objective in enumerate(objectives):
        if objective.confidential:
            continue
        given = weights.get(k)
        # Platform, nodes and reviewers must compute with the same numbers, or their populations
        # differ.
        if given is None or weights_digest(given) != agreement.objectives[k].public_weights:
            raise AgreementError(
                f"the public weights of {objective.name!r} are missing or not the agreed ones; "
                "give the problem file"
            )
        objectives[k] = replace(objective, weights=given)
    return replace(problem, objectives=tuple(objectives))


def check_derivable(agreement: Agreement, /) -> None:
    """Refuse an agreement whose populations do not follow from the answers alone."""
    if agreement.sealed or agreement.search.populations == "chosen":
        return
    parameters, limits = agreed_parameters(agreement), agreement.limits
    fewest, most = sorted((parameters.fewest_evaluated, parameters.evaluated_per_generation))
    if fewest < limits.population_min or most > limits.population_max:
        raise AgreementError(
            f"the agreed search evaluates {fewest} to {most} candidates, and the limits are "
            f"{limits.population_min} and {limits.population_max}; draft it again"
        )
    Evolution(agreement.known_problem, parameters)


def may_be_followed(agreement: Agreement, /) -> bool:
    """Return whether the leakage of the search was measured: sealed, or like a preset."""
    if agreement.sealed or agreement.search.populations == "chosen":
        return True
    objectives = len(agreement.objectives)
    return resembles_a_preset(agreed_parameters(agreement), objectives=objectives)


class AgreedSearch:
    """The pinned search between two evaluations: the population that comes next."""

    def __init__(self, agreement: Agreement, seed: int, public: Mapping[int, Weights], /) -> None:
        self.problem = with_public_weights(agreement, public)
        self.parameters = agreed_parameters(agreement)
        self._estimator = estimator_named(self.parameters.estimator)
        self._search = Evolution(self.problem, self.parameters)
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self.state = self._search.start()
        self._ask()

    def _ask(self) -> None:
        self._genomes = self._search.ask(self.state, self._rng)
        self.plans = self.problem.plans(self._genomes)
        """The candidates that are evaluated next."""

    def warm_up(self) -> None:
        """Compile all kernels before any clock runs."""
        warm_up(self.problem, self.parameters)

    def evaluation_of(
        self, objective: int, labels: NDArray[np.int64], best: int | bool | None, /
    ) -> ObjectiveEvaluation:
        """Return the estimates that follow from an answer of the nodes."""
        return as_evaluation(labels, best, self.problem.objectives[objective], self._estimator)

    def tell(self, confidential: Mapping[int, ObjectiveEvaluation], /) -> Evaluation:
        """Take the evaluations of `plans`, and advance to the next population."""
        together = self.problem.evaluates_together
        parts = [
            confidential[0 if together else k]
            if each.confidential
            else ClearObjective(self.problem, k).evaluate(self.plans, until=None)
            for k, each in enumerate(self.problem.objectives)
        ]
        evaluation = _together(parts)
        self.state = self._search.tell(self.state, self._genomes, evaluation.estimates, self._rng)
        self._ask()
        return evaluation


def _together(parts: Sequence[ObjectiveEvaluation]) -> Evaluation:
    return Evaluation(
        np.stack([part.estimates for part in parts], axis=1),
        tuple(part.disclosed for part in parts),
        tuple(part.best for part in parts),
    )


class Population:
    """Candidates of one generation."""

    def __init__(self, agreement: Agreement, plans: NDArray[np.int32], /) -> None:
        self._agreement, self.plans = agreement, plans

    @cached_property
    def requests(self) -> dict[int, bytes]:
        """Return for each evaluated objective the hash that names the request for it."""
        packed = pack_candidates(self._agreement.known_problem, self.plans)
        return {
            k: request_hash("evaluate", terms.disclosure, terms.best, packed)
            for k, terms in enumerate(self._agreement.objectives)
            if k in self._agreement.evaluated()
        }


class DerivedSearch:
    """The agreed search at a node, as far as all answers are there."""

    def __init__(
        self, agreement: Agreement, seed: int, public: Mapping[int, NDArray[np.int64]], /
    ) -> None:
        self._agreement = agreement
        self._search = AgreedSearch(agreement, seed, public)
        self._objectives = agreement.evaluated()
        self._pending: dict[int, ObjectiveEvaluation] = {}
        self.completed = 0
        """Populations of which every objective was answered."""
        self.current = Population(agreement, self._search.plans)
        self.previous: Population | None = None
        self._best_sets: set[bytes] = set()
        self._best_plans: set[bytes] = set()
        """The plans of all these sets, where one of them is counted for equity."""

    def warm_up(self) -> None:
        """Compile all kernels before any clock runs."""
        self._search.warm_up()

    def find(self, objective: int, request: bytes, /) -> Population | None:
        """Return the population that a request names, if it may be asked for."""
        for population in (self.current, self.previous):
            if population is not None and population.requests.get(objective) == request:
                return population
        return None

    def lacks(self, objective: int, request: bytes, /) -> bool:
        """Return whether the answer to this request is missing."""
        return objective not in self._pending and self.current.requests[objective] == request

    def take(self, objective: int, answer: DisclosedLabels, /) -> None:
        """Take an answer to the current population; the last of its objectives leads to the next.

        Only where the search `lacks` it: the same answer twice would move the search on twice.
        """
        labels = np.array(answer.labels, dtype=np.int64)
        self._pending[objective] = self._search.evaluation_of(objective, labels, answer.best)
        # The search moves on from all objectives at once, whichever of them is answered first.
        if len(self._pending) < len(self._objectives):
            return
        self._search.tell(self._pending)
        self._pending.clear()
        self.completed += 1
        state = self._search.state
        best = self._search.problem.plans(state.genomes[state.estimated_best()])
        # A final reveal is about one of these sets: a platform that could name any set would have
        # the nodes compare plans of its own choice.
        self._best_sets.add(_set_hash(best))
        if self._agreement.equity is not None:
            self._best_plans.update(_set_hash(plan) for plan in best)
        self.previous = self.current
        self.current = Population(self._agreement, self._search.plans)

    def has_best_set(self, plans: NDArray[np.integer[Any]], /) -> bool:
        """Return whether these plans are the estimated-best set of some generation."""
        return _set_hash(plans) in self._best_sets

    def has_best_plan(self, plan: NDArray[np.integer[Any]], /) -> bool:
        """Return whether this plan is one of the estimated best of some generation."""
        return _set_hash(plan) in self._best_plans


def _set_hash(plans: NDArray[np.integer[Any]]) -> bytes:
    # Half a digest, since one is kept per generation: 128 bits still rule out another set that
    # fits.
    return hashlib.sha256(np.ascontiguousarray(plans, dtype="<i4").tobytes()).digest()[:16]


MEGABYTE = 1_000_000


def objection(agreement: Agreement, allowed: Allowed, /) -> str | None:
    """Return why a node refuses an agreement by what its operator allows; None if it does not."""
    chosen = not agreement.sealed and agreement.search.populations == "chosen"
    if chosen and not allowed.chosen_populations:
        return (
            "under this agreement the platform chooses what is evaluated, and could learn far "
            "more than by its search; let the nodes derive the populations"
        )
    if not allowed.any_search and not may_be_followed(agreement):
        return (
            "nobody measured what the agreed search gives away: take the settings of a preset, "
            "with 100 candidates or more, no fewer elites and at most two objectives, or ask the "
            "operator of the node for any_search"
        )
    needed = working_bytes(agreement)
    if needed > allowed.most_working_megabytes * MEGABYTE:
        return (
            f"the agreement needs {needed // MEGABYTE} MB of memory; this node allows "
            f"{allowed.most_working_megabytes}: make the problem or its population smaller, or "
            "ask the operator of the node"
        )
    return None


def check_nodes_allow(agreement: Agreement, allowed: Iterable[Allowed | None], /) -> None:
    """Refuse a draft that a node would refuse; a node that offers no rules (None) is skipped."""
    for node, each in enumerate(allowed):
        why = None if each is None else objection(agreement, each)
        if why is not None:
            raise RefusedError(party_name(node), why)
