"""The search that an agreement pins, followed step by step.

It is a function of the agreement, its seed and what was disclosed. So the platform that runs it,
the nodes that evaluate for it and whoever checks it afterwards all find the same populations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.agreement.draft import weights_digest
from tacit.agreement.terms import Agreement
from tacit.disclosure import estimator_named
from tacit.errors import AgreementError, ParameterError
from tacit.evaluators import ClearObjective, ObjectiveEvaluation, as_evaluation
from tacit.problems import Evaluation, Problem
from tacit.search import Evolution, SearchParameters, parameters_of, resembles_a_preset, warm_up

Weights = NDArray[np.int64]


def agreed_parameters(agreement: Agreement, /) -> SearchParameters:
    """The settings of the pinned search."""
    settings = {"algorithm": agreement.search.algorithm, **agreement.search.parameters}
    try:
        return parameters_of(settings)
    except ParameterError as error:
        raise ParameterError(f"the agreed search cannot be run ({error}); agree anew") from None


def with_public_weights(agreement: Agreement, weights: Mapping[int, Weights], /) -> Problem:
    """The problem as everybody knows it; weights of a public objective must be the agreed ones."""
    problem = agreement.known_problem
    objectives = list(problem.objectives)
    for k, objective in enumerate(objectives):
        if objective.confidential:
            continue
        given = weights.get(k)
        if given is None or weights_digest(given) != agreement.objectives[k].public_weights:
            raise AgreementError(
                f"the public weights of {objective.name!r} are missing or not the agreed ones; "
                "give the problem file"
            )
        objectives[k] = replace(objective, weights=given)
    return replace(problem, objectives=tuple(objectives))


def check_derivable(agreement: Agreement, /) -> None:
    """Refuse an agreement whose populations cannot be derived by whoever has only the answers."""
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
    """Whether what the search gives away is known: it is sealed, or resembles a preset."""
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
        """What is evaluated next."""

    def warm_up(self) -> None:
        """Compile everything before any clock runs."""
        warm_up(self.problem, self.parameters)

    def told(
        self, objective: int, labels: NDArray[np.int64], best: int | bool | None, /
    ) -> ObjectiveEvaluation:
        """What an answer of the nodes means for the search."""
        return as_evaluation(labels, best, self.problem.objectives[objective], self._estimator)

    def tell(self, confidential: Mapping[int, ObjectiveEvaluation], /) -> Evaluation:
        """Take what the nodes disclosed of `plans`, and go on to the next population."""
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
