"""Sealed searches of a problem with local weights, simulated or on nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tacit.disclosure import BestMode, Sealed
from tacit.errors import AgreementError, ParameterError
from tacit.problems import Problem
from tacit.runs.engine_choice import Announce, EngineChoice, engine_on_nodes
from tacit.runs.limits import Limits
from tacit.runs.sealed import SealedDriver
from tacit.runs.settings import Checkpointing, default_weightings
from tacit.search import ClearTour, weighted_values
from tacit.search.moves import AssignmentParameters, SealedParameters

if TYPE_CHECKING:
    from tacit.agreement import PinnedSearch, SealedGroup, SealedRun
    from tacit.derived import ClearRun
    from tacit.records import SealedPlan


class SimulatedSearch:
    """The nodes' clear twin of a group: the same steps, from weights and a start in the clear."""

    opened = False

    def __init__(self, run: SealedRun, group: SealedGroup, /) -> None:
        from tacit.agreement import AssignmentGroup
        from tacit.derived import ClearRun
        from tacit.search.moves import TourParameters

        self._run, self.seed, self.searches = run, group.seed, group.searches
        self.twins: dict[int, ClearTour | ClearRun] = {}
        """By weighting, for studies, which may look at everything."""
        for search in group.searches:
            factors = run.weightings[search]
            if isinstance(group, AssignmentGroup):
                values = weighted_values(run.problem, factors)
                self.twins[search] = ClearRun(group, search, values)
            else:
                assert isinstance(run.parameters, TourParameters)
                self.twins[search] = ClearTour.drawn(
                    run.problem, run.parameters, factors, seed=group.seed, stream=search
                )
        self.finished = False

    @property
    def step(self) -> int:
        return self.twins[self.searches[0]].step

    def advance(
        self,
        count: int,
        horizon: int,
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> None:
        """Advance by so many steps; a batch ends at a checkpoint, where `finished` is opened."""
        checkpoints = self._run.checkpoints
        # Nodes open at a checkpoint whether all is proved, so a batch must not pass one.
        count = min([count, *(step - self.step for step in checkpoints if step > self.step)])
        for twin in self.twins.values():
            twin.advance(count, horizon=horizon)
        if self.step in checkpoints:
            self.finished = all(twin.is_proved for twin in self.twins.values())

    def open(
        self,
        search: int,
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> SealedPlan:
        from tacit.records import OUTCOMES, SealedPlan

        twin = self.twins[search]
        value = twin.value if self._run.opens_value else None
        outcome = OUTCOMES[twin.is_proved] if self._run.is_exact else None
        return SealedPlan(twin.plan(), value, twin.step, outcome, twin.gap)


FOR_OWNERS = (
    "each owner got its own rows of the plan, sealed; all owners are here, so it is put together"
)

NOT_SEALED = "this is a simulation: nothing was sealed to the owners of the plan"


@contextmanager
def local_sealed(
    problem: Problem,
    parameters: SealedParameters,
    limits: Limits,
    choice: EngineChoice,
    announce: Announce,
    /,
    *,
    seed: int,
    saving: Checkpointing,
    weightings: Sequence[Sequence[int]] | None,
) -> Iterator[SealedDriver]:
    """Searches on nodes or simulated, ready to start."""
    if seed < 0:
        raise ParameterError(f"seed is {seed}; give 0 or more")
    check_sealed_limits(problem, limits)
    factors = tuple(tuple(each) for each in weightings or default_weightings(problem))
    run = sealed_run(problem, parameters, factors, limits, choice)
    try:
        _check(problem, choice, saving, factors)
        groups = run.groups
    except AgreementError as error:
        # Nobody has agreed on anything yet: a setting does not fit.
        raise ParameterError(str(error)) from None
    if choice.engine == "simulated":
        # On nodes the seed follows from the inputs instead.
        twins = [SimulatedSearch(run, group.seeded(seed)) for group in groups]
        simulation = SealedDriver(run, twins, limits)
        if choice.plan == "owners":
            simulation.notes.append(NOT_SEALED)
        yield simulation
        return

    def pinned() -> PinnedSearch:
        from tacit.agreement import pin_sealed

        return pin_sealed(parameters, factors)

    with engine_on_nodes(
        problem,
        choice,
        announce,
        search=pinned,
        evaluations=run.steps,
        population=(1, 1),
    ) as engine:
        searches = engine.sealed_groups()
        announce("drawing the secret start")
        for search in searches:
            search.start()
        driver = SealedDriver(run, searches, limits, engine="nodes")
        # Nobody can resume a run of this process, so that a late plan is better than none.
        driver.may_be_late = True
        if choice.plan == "owners":
            driver.notes.append(FOR_OWNERS)
        yield driver


def sealed_run(
    problem: Problem,
    parameters: SealedParameters,
    weightings: tuple[tuple[int, ...], ...],
    limits: Limits,
    choice: EngineChoice,
    /,
) -> SealedRun:
    """Return what an agreement about this run would say of it."""
    from tacit.agreement import SealedRun

    return SealedRun(
        problem,
        parameters,
        weightings,
        steps=agreed_steps(problem, parameters, limits),
        for_owners=choice.plan == "owners",
        opens_value=problem.objectives[0].best_mode is BestMode.VALUE,
    )


def agreed_steps(problem: Problem, parameters: SealedParameters, limits: Limits, /) -> int:
    """Return how many steps an agreement about a run with these limits allows."""
    if isinstance(parameters, AssignmentParameters):
        return parameters.steps
    from tacit.derived import tour_length

    given = [n for n in (limits.generations, limits.evaluations) if n is not None]
    # Without a deadline somebody has said how many generations there are.
    most = [] if limits.deadline is None and given else [tour_length(problem)]
    return min([*most, *given])


def check_sealed_limits(problem: Problem, limits: Limits, /) -> None:
    """Refuse what a sealed search cannot know or do."""
    if limits.target is not None or limits.stall is not None:
        raise ParameterError(
            "a sealed search discloses no values while it runs, so it cannot stop at one; limit "
            "its time or its generations"
        )
    unsealed = [o.name for o in problem.objectives if not isinstance(o.disclosure, Sealed)]
    public = [o.name for o in problem.objectives if not o.confidential]
    if unsealed or public:
        raise ParameterError(
            f"objective {(unsealed + public)[0]!r} is not sealed and others are; seal all "
            "confidential objectives, with none public"
        )


def _check(
    problem: Problem,
    choice: EngineChoice,
    saving: Checkpointing,
    weightings: Sequence[Sequence[int]],
) -> None:
    if saving.file is not None or saving.resume is not None:
        raise ParameterError(
            "a sealed search has nothing to save here: the nodes keep its state; leave the "
            "checkpoint out"
        )
    if choice.reveal_best:
        raise ParameterError("a sealed search opens its best plan anyway; leave reveal_best out")
    if problem.objectives[0].best_mode is BestMode.IMPROVEMENT:
        from tacit.agreement import NO_IMPROVEMENTS

        raise ParameterError(NO_IMPROVEMENTS)
    if any(len(each) != len(problem.objectives) for each in weightings):
        raise ParameterError(f"a weighting needs {len(problem.objectives)} factors, as in 3:1")
