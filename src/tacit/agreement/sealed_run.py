"""A sealed run as its agreement pins it: what is searched, in which stages, and what is opened.

An agreement names one search per weighting of its objectives; each opens one plan. `SealedRun` is
read once from the agreement, and everything public of the run follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.agreement.sealed_groups import SealedGroup, grouped_searches
from tacit.errors import AgreementError, ParameterError, ProblemError
from tacit.mpc.assignment import heads
from tacit.problems import Problem
from tacit.search.moves import (
    AssignmentParameters,
    SealedParameters,
    TourParameters,
    named_settings,
)

MOST_TOURS, MOST_ASSIGNMENTS = 64, 128
"""Weightings of one run."""
MOST_FACTOR = 1 << 20
LEAST_SHARE = 1 / 1024
"""Of the largest value of a pair, the sum of all factors times bounds. An objective with less of it
hardly ever changes a plan, and counts as nothing."""
NO_IMPROVEMENTS = (
    "a sealed run has no plans on the way that could be told to improve; disclose the best value "
    "or nothing"
)
for _kind in (TourParameters, AssignmentParameters):
    msgspec.json.Decoder(_kind)  # before threads meet them; see `terms.read_agreement`


class StageKind(StrEnum):
    """What the nodes do in a stage."""

    START = "start"
    """Draw the first plan, or take the public one. It takes no step."""
    ANNEALING = "annealing"
    """Generations of moves of a tour."""
    DESCENT = "descent"
    """Generations of block descent of an assignment."""
    CYCLES = "cycles"
    """Iterations that cancel negative cycles. At the end of a batch the plan is proved, or not."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Steps of one kind. Steps are numbered from 1, through all stages of a run."""

    kind: StageKind
    first: int = 0
    """How many steps come before it."""
    end: int = 0
    """How many steps there are with it."""


@dataclass(frozen=True)
class SealedRun:
    """Everything public of a sealed run: its stages, its weightings, and what it opens.

    >>> from tacit.problems import generate_assignment
    >>> settings = AssignmentParameters(generations=20, iterations=90, least=30, checkpoints="48")
    >>> run = SealedRun(generate_assignment(1, rows=100), settings, ((1,),), settings.steps)
    >>> [(stage.kind.value, stage.first, stage.end) for stage in run.stages]
    [('start', 0, 0), ('descent', 0, 20), ('cycles', 20, 110)]
    >>> run.least_steps, run.checkpoints, run.opened_heads
    (50, (68,), 1)
    """

    problem: Problem
    """Without its weights, unless it is simulated."""
    parameters: SealedParameters
    weightings: tuple[tuple[int, ...], ...]
    """One list of whole factors per search, one factor for each objective."""
    steps: int
    """How many steps each search makes at most."""
    for_owners: bool = False
    """Whether each plan is opened to its owners alone, each its own rows."""
    opens_value: bool = False
    """Whether the value of each plan is opened with it."""

    @classmethod
    def read(
        cls,
        settings: Mapping[str, bool | int | str],
        problem: Problem,
        /,
        *,
        steps: int,
        for_owners: bool,
        opens_value: bool,
    ) -> SealedRun:
        """Read the settings that an agreement pins, or refuse them with an `AgreementError`."""
        # The settings name no kind of problem; only tours have children.
        named = dict(settings)
        written = str(named.pop("weightings", ""))
        kind: type[SealedParameters] = (
            TourParameters if "children" in named else AssignmentParameters
        )
        unknown = set(named) - {field.name for field in fields(kind)}
        if unknown:
            raise AgreementError(f"a sealed search has no setting {min(unknown)!r}; leave it out")
        try:
            parameters: SealedParameters = msgspec.convert(named, type=kind)
            weightings = tuple(
                tuple(int(factor) for factor in each.split(":")) for each in written.split()
            )
        except (msgspec.ValidationError, ParameterError, ValueError) as error:
            raise AgreementError(f"the sealed search's settings are wrong ({error})") from None
        return cls(problem, parameters, weightings, steps, for_owners, opens_value)

    @cached_property
    def groups(self) -> tuple[SealedGroup, ...]:
        """Return the searches, those that run together as one group, with the seed 0."""
        try:
            # Sizes do not depend on the seed, which is known only when the inputs are frozen.
            return grouped_searches(self.problem, self.weightings, self.parameters)
        except ProblemError as error:
            raise AgreementError(str(error)) from None

    def group_of(self, search: int, /) -> SealedGroup:
        return next(group for group in self.groups if search in group.searches)

    @property
    def is_exact(self) -> bool:
        """Return whether a plan comes with a proof that it is the optimum, if there is one."""
        return self._assignment is not None

    @property
    def _assignment(self) -> AssignmentParameters | None:
        return self.parameters if isinstance(self.parameters, AssignmentParameters) else None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Return what the nodes do, in this order, before they open the plans."""
        start, parameters = Stage(StageKind.START), self.parameters
        if isinstance(parameters, TourParameters):
            return start, Stage(StageKind.ANNEALING, 0, self.steps)
        before = parameters.generations
        return (
            start,
            Stage(StageKind.DESCENT, 0, before),
            Stage(StageKind.CYCLES, before, parameters.steps),
        )

    def stages_between(self, first: int, end: int, /) -> list[Stage]:
        """Return the stages of the steps after `first` up to `end`, each cut to these.

        Without a step it is the start.

        >>> from tacit.problems import generate_assignment
        >>> settings = AssignmentParameters(generations=20, iterations=90)
        >>> run = SealedRun(generate_assignment(1, rows=100), settings, ((1,),), settings.steps)
        >>> [(stage.kind.value, stage.end) for stage in run.stages_between(18, 24)]
        [('descent', 20), ('cycles', 24)]
        """
        # The start comes before the first step and takes none, so a batch without steps is the
        # start.
        if end == 0:
            return [self.stages[0]]
        cut = (Stage(each.kind, max(first, each.first), min(end, each.end)) for each in self.stages)
        return [each for each in cut if each.first < each.end]

    @property
    def descent_steps(self) -> int:
        """Return how many generations of block descent come before the iterations."""
        return 0 if self._assignment is None else self._assignment.generations

    @property
    def least_steps(self) -> int:
        """Return before how many steps no plan is opened while there is time left."""
        return 0 if self._assignment is None else self._assignment.least_steps

    @property
    def seconds(self) -> int:
        """Return after how many seconds a plan may be opened early; 0 for never."""
        return 0 if self._assignment is None else self._assignment.seconds

    @property
    def checkpoints(self) -> tuple[int, ...]:
        """The steps after which it is opened whether all plans of a group are proved.

        After the last step the plan itself says what is proved.
        """
        settings = self._assignment
        if settings is None:
            return ()
        named = (settings.generations + iteration for iteration in settings.checkpoint_iterations)
        return tuple(step for step in named if step < settings.steps)

    @property
    def gap(self) -> int:
        """Return the base to whose powers a plan's gap is rounded up; 0 where it is not opened."""
        return 0 if self._assignment is None else self._assignment.gap

    @property
    def heads(self) -> int:
        """Return how many words precede a secret plan's columns: value, proof, perhaps the gap."""
        return heads(steps=(0,) if self.gap else ()) if self.is_exact else 1

    @property
    def opened_heads(self) -> int:
        """Return how many of these words are opened: the value only where that was agreed."""
        return self.heads - (not self.opens_value)

    def check(self) -> None:
        """Refuse a run that contradicts itself, or whose numbers or messages are too large."""
        moves = self.problem.sealed_moves
        if moves is None:
            raise AgreementError(
                f"plans of the kind {self.problem.kind!r} cannot be found by a sealed run; choose "
                "another disclosure"
            )
        if (moves == "tour") == self.is_exact:
            raise AgreementError(
                f"the sealed run has settings of another kind than {moves}; draft anew"
            )
        self._check_weightings()
        for group in self.groups:
            group.check_sizes()
        if self._assignment is not None:
            _check_steps(self._assignment, self.steps)

    def _check_weightings(self) -> None:
        weightings = self.weightings
        most = MOST_ASSIGNMENTS if self.is_exact else MOST_TOURS
        if not 1 <= len(weightings) <= most:
            raise AgreementError(f"{len(weightings)} weightings; give one per plan, 1 to {most}")
        for factors in weightings:
            fits = all(0 <= factor <= MOST_FACTOR for factor in factors) and any(factors)
            if len(factors) != len(self.problem.objectives) or not fits:
                raise AgreementError(
                    f"the weighting {_written(factors)} does not fit; give each "
                    f"objective a factor of 0 to {MOST_FACTOR}, not all 0"
                )
        # Two plans of one weighting would tell more of the costs than the one that was agreed on.
        # So would two that differ only by an objective that has no say beside the others.
        shares = shares_of_objectives(self.problem, weightings)
        for number, share in enumerate(shares):
            apart = np.abs(shares[number + 1 :] - share).max(axis=1)
            if (apart < LEAST_SHARE).any():
                other = number + 1 + int(np.argmax(apart < LEAST_SHARE))
                raise AgreementError(
                    f"the weightings {_written(weightings[number])} and "
                    f"{_written(weightings[other])} are the same, and would open two plans of one: "
                    "factor times weight_bound of each objective has the same share of the sum, to "
                    f"{LEAST_SHARE:.1%}; give one of them, with larger factors where bounds are "
                    "smaller, and one objective one weighting"
                )


def shares_of_objectives(
    problem: Problem, weightings: Sequence[Sequence[int]], /
) -> NDArray[np.float64]:
    """Return what share each weighting gives each objective: factor times bound, of their sum.

    >>> from tacit.problems import generate_assignment
    >>> shares_of_objectives(generate_assignment(1, rows=3, objectives=2), [(3, 1), (0, 2)])
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    bounds = [each.weight_bound for each in problem.objectives]
    most = [[f * b for f, b in zip(each, bounds, strict=True)] for each in weightings]
    # Divisions of whole numbers, which are the same on every machine.
    return np.array([[each / sum(line) for each in line] for line in most])


def plans_by_objective(problem: Problem, weightings: Sequence[Sequence[int]], /) -> list[int]:
    """Return of how many of the plans each objective has a say.

    >>> from tacit.problems import generate_assignment
    >>> plans_by_objective(generate_assignment(1, rows=3, objectives=2), [(1, 0), (1, 1)])
    [2, 1]
    """
    shares = shares_of_objectives(problem, weightings)
    return [int(each) for each in (shares >= LEAST_SHARE).sum(axis=0)]


def _written(factors: Sequence[int]) -> str:
    return ":".join(map(str, factors))


def pinned_settings(
    parameters: SealedParameters, weightings: Sequence[Sequence[int]], /
) -> dict[str, bool | int | str]:
    """Return the settings as an agreement pins them; `SealedRun.read` reads them."""
    written = " ".join(map(_written, weightings))
    return {**named_settings(parameters), "weightings": written}


def _check_steps(parameters: AssignmentParameters, agreed: int) -> None:
    if parameters.iterations < 1 or agreed != parameters.steps:
        raise AgreementError(
            f"a sealed assignment has {parameters.steps} generations and iterations; allow as "
            f"many evaluations, not {agreed}"
        )
    if parameters.least > parameters.iterations:
        raise AgreementError(
            f"{parameters.least} iterations at least of {parameters.iterations}; name fewer"
        )
    late = [each for each in parameters.checkpoint_iterations if each >= parameters.iterations]
    if late:
        raise AgreementError(
            f"a checkpoint after iteration {late[0]} of {parameters.iterations} comes with the "
            "plan or later; leave it out"
        )
