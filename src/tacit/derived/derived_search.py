"""What a node derives by itself: the population to evaluate now, and the one before it.

A node evaluates these two and nothing else, so that a platform cannot choose what it asks. The one
before may have to be computed again where a node failed before it had its answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.agreement.terms import Agreement
from tacit.derived.agreed_search import AgreedSearch
from tacit.evaluators import ObjectiveEvaluation
from tacit.records.ledger import DisclosedLabels
from tacit.records.requests import pack_candidates, request_hash


class Population:
    """Candidates of one generation."""

    def __init__(self, agreement: Agreement, plans: NDArray[np.int32], /) -> None:
        self._agreement, self.plans = agreement, plans

    @cached_property
    def requests(self) -> dict[int, bytes]:
        """Per objective that is asked for, the hash that names the request to evaluate it."""
        packed = pack_candidates(self._agreement.known_problem, self.plans)
        return {
            k: request_hash("evaluate", terms.disclosure, terms.best, packed)
            for k, terms in enumerate(self._agreement.objectives)
            if k in self._agreement.evaluated()
        }


class DerivedSearch:
    """The agreed search at a node, as far as all its answers go."""

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
        """Of all these sets, where one of the plans is to be counted."""

    def warm_up(self) -> None:
        """Compile everything before any clock runs."""
        self._search.warm_up()

    def find(self, objective: int, request: bytes, /) -> Population | None:
        """The population that a request names, if it is one that may be asked for."""
        for population in (self.current, self.previous):
            if population is not None and population.requests.get(objective) == request:
                return population
        return None

    def lacks(self, objective: int, request: bytes, /) -> bool:
        """Whether the answer to this request is not here yet."""
        return objective not in self._pending and self.current.requests[objective] == request

    def take(self, objective: int, answer: DisclosedLabels, /) -> None:
        """Take an answer to the current population; the last of its objectives leads to the next.

        Whoever calls it knows that the search `lacks` it.
        """
        labels = np.array(answer.labels, dtype=np.int64)
        self._pending[objective] = self._search.told(objective, labels, answer.best)
        if len(self._pending) < len(self._objectives):
            return
        self._search.tell(self._pending)
        self._pending.clear()
        self.completed += 1
        state = self._search.state
        best = self._search.problem.plans(state.genomes[state.estimated_best()])
        self._best_sets.add(_set_hash(best))
        if self._agreement.equity is not None:
            self._best_plans.update(_set_hash(plan) for plan in best)
        self.previous = self.current
        self.current = Population(self._agreement, self._search.plans)

    def found(self, plans: NDArray[np.integer[Any]], /) -> bool:
        """Whether these plans are the estimated-best set of some generation."""
        return _set_hash(plans) in self._best_sets

    def found_one(self, plan: NDArray[np.integer[Any]], /) -> bool:
        """Whether this plan is one of the estimated best of some generation."""
        return _set_hash(plan) in self._best_plans


def _set_hash(plans: NDArray[np.integer[Any]]) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(plans, dtype="<i4").tobytes()).digest()[:16]
