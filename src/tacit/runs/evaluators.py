"""What evaluates a run's candidates: this process, three local nodes, or three nodes elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.disclosure import Estimator, estimator_named
from tacit.engine import ClearObjective, ObjectiveEvaluator, SideBySide, SimulatedObjective
from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.runs.limits import Limits
from tacit.search import SearchParameters

if TYPE_CHECKING:
    from tacit.engine.agreement.terms import PinnedSearch
    from tacit.engine.coordinator.secure import SecureEngine

ENGINES = ("nodes", "simulated")
UNLIMITED_EVALUATIONS = 1_000_000
"""What an agreement allows where neither generations nor evaluations are limited."""


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    """Where confidential objectives are evaluated.

    >>> EngineChoice(engine="cloud")
    Traceback (most recent call last):
    tacit.errors.ParameterError: 'cloud' is not an engine; use nodes or simulated
    """

    engine: str = "nodes"
    cluster: str | Path | None = None
    """The cluster.toml of nodes elsewhere; without it they are started here."""
    ledger: str | Path | None = None
    """Where to write everything that the nodes reveal."""
    reveal_best: bool = False
    """Whether the nodes tell at the end which of the best-known plans is truly best."""

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ParameterError(f"{self.engine!r} is not an engine; use {' or '.join(ENGINES)}")
        if self.engine == "simulated" and (self.cluster or self.ledger):
            raise ParameterError("a simulation has neither nodes nor a ledger; leave them out")


def simulated_evaluator(problem: Problem, estimator: Estimator, /) -> SideBySide:
    """An evaluator in this process: sums for public objectives, a simulation for the others."""
    evaluators: list[ObjectiveEvaluator] = []
    for k, objective in enumerate(problem.objectives):
        if objective.confidential:
            evaluators.append(SimulatedObjective(problem, k, estimator=estimator))
        else:
            evaluators.append(ClearObjective(problem, k))
    return SideBySide(tuple(evaluators))


@contextmanager
def evaluator_for(
    problem: Problem,
    parameters: SearchParameters,
    limits: Limits,
    choice: EngineChoice,
    /,
    *,
    seed: int,
    announce: Callable[[str], None],
) -> Iterator[tuple[str, SideBySide]]:
    """The evaluator of a run and the name of its engine, ready to be used.

    >>> from tacit.problems import generate_assignment
    >>> with evaluator_for(generate_assignment(1, rows=3), SearchParameters(), Limits(),
    ...                    EngineChoice(engine="simulated"), seed=1, announce=print) as made:
    ...     made[0]
    'simulated'
    """
    estimator = estimator_named(parameters.estimator)
    confidential = any(objective.confidential for objective in problem.objectives)
    if choice.engine == "simulated" or not confidential:
        yield "simulated", simulated_evaluator(problem, estimator)
        return
    with ExitStack() as stack:
        engine = _start_nodes(problem, parameters, limits, choice, stack, seed, announce)
        yield "nodes", SideBySide(tuple(_on_nodes(problem, engine, estimator)))


def _start_nodes(
    problem: Problem,
    parameters: SearchParameters,
    limits: Limits,
    choice: EngineChoice,
    stack: ExitStack,
    seed: int,
    announce: Callable[[str], None],
) -> SecureEngine:
    """An engine for evaluations in this run's limits; `stack` ends it."""

    def pinned() -> PinnedSearch:
        from tacit.engine.agreement.terms import PinnedSearch

        settings = asdict(parameters)
        return PinnedSearch(settings.pop("algorithm"), settings, seed)

    sizes = sorted((parameters.fewest_evaluated, parameters.evaluated_per_generation))
    return started_engine(
        problem,
        choice,
        stack,
        announce,
        search=pinned,
        evaluations=allowed_evaluations(limits),
        population=(sizes[0], sizes[1]),
    )


def started_engine(
    problem: Problem,
    choice: EngineChoice,
    stack: ExitStack,
    announce: Callable[[str], None],
    /,
    *,
    search: Callable[[], PinnedSearch],
    evaluations: int,
    population: tuple[int, int],
) -> SecureEngine:
    """An engine on nodes here or elsewhere, with the inputs checked; `stack` ends it."""
    # Here, since a simulation needs none of what nodes need.
    try:
        from tacit.engine.identity.config import load_cluster_config
        from tacit.engine.local.cluster import LocalCluster
        from tacit.engine.local.engine import open_engine
        from tacit.engine.records.ledger import Ledger
    except ImportError as error:
        raise ParameterError(
            f"nodes need {error.name}; pip install 'tacit[node]', or use the simulated engine"
        ) from None

    if choice.cluster is not None:
        cluster = load_cluster_config(Path(choice.cluster))
    else:
        announce("starting three nodes on this machine")
        cluster = stack.enter_context(LocalCluster()).config
    engine, signatures, sealed = open_engine(
        problem,
        cluster,
        search=search(),
        evaluations=evaluations,
        population=population,
        reveal_best=choice.reveal_best,
        ledger=Ledger(None if choice.ledger is None else Path(choice.ledger)),
    )
    stack.enter_context(engine)
    announce("sealing the weights and checking them on the nodes")
    engine.start(signatures, sealed)
    return engine


def _on_nodes(
    problem: Problem, engine: SecureEngine, estimator: Estimator
) -> Iterator[ObjectiveEvaluator]:
    from tacit.engine.coordinator.secure import SecureObjective

    for k, objective in enumerate(problem.objectives):
        if objective.confidential:
            yield SecureObjective(engine, k, estimator=estimator)
        else:
            yield ClearObjective(problem, k)


def allowed_evaluations(limits: Limits, /) -> int:
    """How many evaluations an agreement must allow for a run with these limits.

    >>> allowed_evaluations(Limits(generations=500))
    501
    """
    most = [] if limits.generations is None else [limits.generations + 1]
    most += [] if limits.evaluations is None else [limits.evaluations]
    return min(most, default=UNLIMITED_EVALUATIONS)
