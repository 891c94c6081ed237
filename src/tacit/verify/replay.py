"""Did the platform follow the agreed search? Replay it from the ledger, compare with a node's log.

The search is a function of the agreement, its seed and what was revealed. So each population can be
computed again, and its hash must be the one that the node logged under that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Estimator, estimator_named
from tacit.engine import ClearObjective, ObjectiveEvaluation
from tacit.engine.agreement.draft import weights_digest
from tacit.engine.agreement.seed import search_seed
from tacit.engine.agreement.terms import Agreement
from tacit.engine.evaluators.decode import as_evaluation
from tacit.engine.records.ledger import LedgerEntry
from tacit.engine.wire.request import pack_candidates, request_hash
from tacit.errors import LogError
from tacit.problems import Evaluation, Problem
from tacit.runs.best_known import BestKnown, update_best_known
from tacit.search import Evolution, SearchParameters


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
    """The best-known set after each generation that the ledger tells of."""

    @property
    def complete(self) -> bool:
        """Whether every logged population is the one that the search asks for."""
        return self.generations == self.followed


def replay(
    agreement: Agreement,
    entries: Sequence[dict[str, Any]],
    ledger: Sequence[LedgerEntry],
    /,
    *,
    public: Problem | None = None,
) -> Replay:
    """Follow the search generation by generation, up to the first that differs.

    `entries` are those of a verified log, `public` has the weights of public objectives.
    """
    problem = _with_public_weights(agreement.known_problem, agreement, public)
    logged = _logged_requests(agreement, entries)
    if not logged:
        raise LogError("the log has no evaluation; give the log of this agreement")
    told = {(entry.number, entry.objective): entry for entry in ledger}
    settings = {"algorithm": agreement.search.algorithm, **agreement.search.parameters}
    parameters = msgspec.convert(settings, type=SearchParameters)
    frozen = {e["objective"]: e for e in entries if e["event"] == "frozen"}
    digests, words = ({k: e[what] for k, e in frozen.items()} for what in ("manifests", "word"))
    rng = np.random.Generator(np.random.PCG64(search_seed(agreement, digests, words)))
    search = Evolution(problem, parameters)
    state = search.start()
    estimator = estimator_named(parameters.estimator)
    known: list[BestKnown] = []
    unanswered = False
    for done, number in enumerate(sorted(logged)):
        # After a power cut nodes leave numbers out, and what was not answered under one is asked
        # for again under another: the same population, so it tells nothing else.
        if not unanswered:
            genomes = search.ask(state, rng)
            plans = problem.plans(genomes)
        if not _was_asked(agreement, plans, logged[number]):
            return Replay(len(logged), done, differs=not unanswered, best_known=known)
        parts = [
            _evaluation(problem, k, plans, told.get((number, k)), estimator)
            for k in range(len(problem.objectives))
        ]
        evaluated = [part for part in parts if part is not None]
        unanswered = len(evaluated) < len(parts)
        if unanswered:  # asked for, but nothing was revealed
            continue
        evaluation = Evaluation(
            np.stack([part.estimates for part in evaluated], axis=1),
            tuple(part.disclosed for part in evaluated),
            tuple(part.best for part in evaluated),
        )
        state = search.tell(state, genomes, evaluation.estimates)
        known.append(update_best_known(known[-1] if known else None, state, evaluation)[0])
    return Replay(len(logged), len(logged), best_known=known)


def _was_asked(agreement: Agreement, plans: NDArray[np.int32], requests: dict[int, str]) -> bool:
    """Whether these plans are what the node was asked to evaluate, for every objective."""
    packed = pack_candidates(agreement.known_problem, plans)
    for k, request in requests.items():
        terms = agreement.objectives[k]
        if request_hash("evaluate", terms.disclosure, terms.best, packed).hex() != request:
            return False
    return True


def _evaluation(
    problem: Problem,
    k: int,
    plans: NDArray[np.int32],
    entry: LedgerEntry | None,
    estimator: Estimator,
) -> ObjectiveEvaluation | None:
    """What the search was told of an objective, or None if the ledger does not say."""
    objective = problem.objectives[k]
    if not objective.confidential:
        return ClearObjective(problem, k).evaluate(plans, until=None)
    if entry is None:
        return None
    return as_evaluation(
        np.array(entry.disclosed, dtype=np.int64),
        entry.best,
        disclosure=objective.disclosure,
        best_mode=objective.best_mode,
        estimator=estimator,
    )


def _logged_requests(
    agreement: Agreement, entries: Sequence[dict[str, Any]]
) -> dict[int, dict[int, str]]:
    """The hashes of the populations by number and objective.

    A node that was away caught up with what its peers were asked meanwhile.
    """
    logged: dict[int, dict[int, str]] = {}
    for entry in entries:
        known = entry["event"] in ("evaluate", "caught up") and entry["request"]
        if known and entry["objective"] in agreement.confidential():
            logged.setdefault(entry["number"], {})[entry["objective"]] = entry["request"]
    return logged


def _with_public_weights(problem: Problem, agreement: Agreement, public: Problem | None) -> Problem:
    objectives = []
    for k, objective in enumerate(problem.objectives):
        if not objective.confidential:
            weights = None if public is None else public.objectives[k].weights
            if weights is None or weights_digest(weights) != agreement.objectives[k].public_weights:
                raise LogError(
                    f"the public weights of {objective.name!r} are missing or not the agreed ones; "
                    "give the problem file"
                )
            objective = replace(objective, weights=weights)
        objectives.append(objective)
    return replace(problem, objectives=tuple(objectives))
