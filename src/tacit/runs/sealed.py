"""Sealed runs: steps in batches until all are made or the deadline comes, then one opening.

How many steps there are is public and fixed before the first one, so a run that ends early
discloses nothing. Weightings of an assignment go on in groups, and the plans of a group are opened
one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tacit.disclosure import SEALED
from tacit.errors import MpcError, RefusedError
from tacit.runs.driver import LATE_SECONDS, Progress, end_of
from tacit.runs.history import Disclosed
from tacit.runs.limits import Limits, StopReason
from tacit.runs.pace import MOST_IN_BATCH, Pace
from tacit.runs.result import History, Outcome, Values, opened_values, plan_set
from tacit.search.moves import named_settings

if TYPE_CHECKING:
    from tacit.agreement import SealedRun
    from tacit.records import SealedPlan


TOGETHER_AT_A_TIME = 12
"""Steps in a batch of weightings that are solved together, which take long: a node that dies costs
the batch that is under way."""
ASK_AGAIN_SECONDS = 0.2
"""How long to wait before a plan that nodes do not open yet is asked for again."""


class SealedSearching(Protocol):
    """A group of sealed searches that advance together, on nodes or in the clear."""

    @property
    def searches(self) -> Sequence[int]:
        """Their numbers."""
        ...

    @property
    def step(self) -> int:
        """How many steps are done."""
        ...

    @property
    def opened(self) -> bool:
        """Whether a plan was opened before, so that nothing but that plan follows."""
        ...

    @property
    def finished(self) -> bool:
        """Whether it was opened that all plans are proved, where that was agreed."""
        ...

    @property
    def seed(self) -> int:
        """What moves and tie-breaks follow from."""
        ...

    def advance(self, count: int, horizon: int, /, *, until: float | None) -> None:
        """Advance by `count` steps of `horizon` in all."""
        ...

    def open(self, search: int, /, *, until: float | None) -> SealedPlan:
        """Open the best plan of one of the searches: once."""
        ...


def steps_within(run: SealedRun, limits: Limits, /) -> int:
    """Return how many steps each search makes, unless its deadline comes before.

    >>> from tacit.agreement import SealedRun
    >>> from tacit.problems import generate_assignment
    >>> from tacit.search.moves import AssignmentParameters
    >>> parameters = AssignmentParameters(generations=20, iterations=120, least=40)
    >>> run = SealedRun(generate_assignment(1), parameters, ((1,),), parameters.steps)
    >>> steps_within(run, Limits(generations=70)), steps_within(run, Limits(generations=9))
    (70, 60)
    """
    given = [n for n in (limits.generations, limits.evaluations) if n is not None]
    # Nodes open no plan before the least steps.
    return max(run.least_steps, min([run.steps, *given]))


@dataclass(eq=False)
class SealedDriver:
    """Runs started searches one after the other, and opens the plan of each; see `SearchDriver`.

    Each search has an equal part of the time that is left, and a group the parts of its searches.
    """

    run: SealedRun
    searches: Sequence[SealedSearching]
    limits: Limits
    engine: str = "simulated"
    spare: float = 0.0
    """Seconds left unused, besides what each search reserves for its opening."""
    account: float = 0.0
    """Seconds that counting the run for balances takes, before its plan is opened."""
    most_in_batch: int = MOST_IN_BATCH
    may_be_late: bool = False
    """Whether its plan may be opened after the deadline, since it cannot be resumed."""
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.problem = self.run.problem
        self._steps = steps_within(self.run, self.limits)
        self._pace = Pace(self._steps, most_in_batch=self.most_in_batch)
        self._pace.account = self.account
        self._begun = time.monotonic()
        self._end: float | None = None
        self._schedules: list[list[list[int]]] = []
        """Per search that was begun its batches: first step, how many, how many expected in all."""
        self._ends: list[list[float]] = []
        """Per search that was begun, when each step was done, as far as batches tell."""
        self._left, self._search = list(self.searches), self.searches[0]
        self._opened: dict[int, SealedPlan] = {}
        self._finished = False
        self._reason: StopReason | None = None
        self._descent = self.run.descent_steps
        self._ratio = 1.0 if self._descent == 0 else self._iteration_ratio()

    def _iteration_ratio(self) -> float:
        """Return how many times longer an iteration takes than a generation, by the model."""
        from tacit.derived import step_seconds

        seconds = step_seconds(self.run.groups[0])
        return seconds.iteration / seconds.generation

    @property
    def seed(self) -> int:
        return self._search.seed

    @property
    def can_resume(self) -> bool:
        """Nothing follows a plan that is opened."""
        return not self._finished

    @property
    def _plans(self) -> list[SealedPlan]:
        """The opened plans, in the order of the weightings."""
        return [self._opened[search] for search in sorted(self._opened)]

    @property
    def opened_searches(self) -> list[int]:
        return [search for search, each in sorted(self._opened.items()) if each.plan]

    def start(self, *, until: float | None = None) -> None:
        self._begun = time.monotonic()
        end = end_of(self.limits, until)
        left = None if end is None else end - self._begun
        self._end = None if left is None else self._begun + left - min(self.spare, 0.1 * left)
        self._next_search()

    def _next_search(self) -> bool:
        """Begin the next group; returns False if there is none."""
        if not self._left:
            return False
        to_come = [len(each.searches) for each in self._left]
        self._search = self._left.pop(0)
        now, part = time.monotonic(), to_come[0] / sum(to_come)
        self._pace.until = None if self._end is None else now + (self._end - now) * part
        self._pace.plans = to_come[0]
        if to_come[0] > 1:
            self._pace.most_in_batch = min(self.most_in_batch, TOGETHER_AT_A_TIME)
        # The group before ended with iterations; this one begins with generations of its descent.
        if self._schedules and self._descent:
            self._pace.expect(self._pace.seconds / self._ratio)
        # Recorded per group, so that everybody can derive the temperatures of each batch again.
        self._schedules.append([])
        self._ends.append([])
        return True

    def advance(self) -> StopReason | None:
        # A group that has ended is opened at once, the last one by `finish`.
        while (reason := self._one_batch()) and self._left:
            self._open()
            if not self._next_search():
                break
        return reason

    def _one_batch(self) -> StopReason | None:
        search, pace = self._search, self._pace
        first, start = search.step, time.monotonic()
        if search.finished:
            return StopReason.OPTIMAL
        batch = None if search.opened else pace.next_batch(first, now=start)
        if batch is None:
            over = pace.generations is not None and first >= pace.generations
            return StopReason.GENERATIONS if over else StopReason.DEADLINE
        count, horizon = batch
        if first < self._descent:
            # Iterations take another time than generations, so that they are measured apart.
            count = min(count, self._descent - first)
        try:
            search.advance(count, horizon, until=pace.latest)
        except MpcError as error:
            return self._gave_up(error)
        now, count = time.monotonic(), search.step - first
        self._note_batch(first, count, horizon)
        self._ends[-1] += [now - self._begun] * count
        pace.measure(first, count, now - start)
        if first < self._descent <= search.step:
            pace.expect(pace.seconds * self._ratio)
        return None

    def _note_batch(self, first: int, count: int, horizon: int) -> None:
        schedule = self._schedules[-1]
        if schedule and schedule[-1][2] == horizon:
            schedule[-1][1] += count  # one entry for all that expected as many steps
        else:
            schedule.append([first, count, horizon])

    def _gave_up(self, error: MpcError) -> StopReason:
        until, reserve = self._pace.until, self._pace.reserve
        late = until is not None and time.monotonic() >= until - 2 * reserve
        # Steps that only just did not fit are nobody's fault.
        if not late or getattr(error, "peer", "") != "the nodes":
            self.notes.append(f"{error}; the plan is that of step {self._search.step}")
        return StopReason.DEADLINE if late else StopReason.NODES

    def _open(self) -> None:
        for search in self._search.searches:
            # An interrupt may come between two openings of a group; a plan is opened once.
            if search in self._opened:
                continue
            # Nodes that are bound to one plan of a group are bound to all: the others may take
            # longer, which is better than to lose them.
            until, first = self._pace.until, search == self._search.searches[0]
            if until is not None and (self.may_be_late or not first):
                # The deadline may be long over if nodes took long to be there.
                until = max(until, time.monotonic()) + LATE_SECONDS
            self._opened[search] = self._open_in_time(search, until)

    def _open_in_time(self, search: int, until: float | None) -> SealedPlan:
        """Open a plan, which nodes refuse after few steps until the deadline has nearly come."""
        from tacit.records import RefusalKind

        while True:
            try:
                return self._search.open(search, until=until)
            except RefusedError as error:
                if error.kind != RefusalKind.EARLY or until is None or self._end is None:
                    raise
                # Nodes count from their own start, and not from the end of the group before.
                until = max(until, self._end)
                if time.monotonic() + ASK_AGAIN_SECONDS > until:
                    raise
                time.sleep(ASK_AGAIN_SECONDS)

    def _drawn_plans(self) -> list[str]:
        """Note how many plans are those of the start, if some are."""
        drawn = sum(each.step == 0 for each in self._plans)
        if not drawn:
            return []
        which = "the plan is the one that it began with"
        if len(self._plans) > 1:
            which = f"{drawn} of {len(self._plans)} plans are those that it began with"
        return [f"no step was finished in time; {which}"]

    def _not_proved(self) -> list[str]:
        """Note how many plans are not proved to be optima, if some are not, and why."""
        count = sum(each.outcome not in (None, "optimum") for each in self._plans)
        if not count:
            return []
        which = (
            "the plan is" if len(self._plans) == 1 else f"{count} of {len(self._plans)} plans are"
        )
        if self._reason is StopReason.INTERRUPTED:
            why = "the run was interrupted before"
        elif self._reason is StopReason.NODES:
            why = "the nodes could not continue"
        elif all(each.step >= self._steps for each in self._plans):
            why = "all its iterations were made; allow more"
        else:
            why = "the deadline came before; take more time"
        return [f"{which} not proved to be the optimum: {why}"]

    def finish(self, reason: StopReason, /) -> None:
        """Open the plan of the last search, or of the one that was interrupted."""
        self._reason = reason
        if reason is StopReason.INTERRUPTED:
            self._reach_least_steps()
        self._open()
        self._finished = True

    def _reach_least_steps(self) -> None:
        """Advance to the least step after which nodes open a plan, usually within a second."""
        # Nodes open no plan before, so without these steps an interrupted run would end with none.
        if self.run.least_steps:
            self._pace.generations = self.run.least_steps
            while self._one_batch() is None:
                pass

    def checkpoint(self) -> None:
        """Save nothing: the nodes keep the state of a search."""

    def progress(self) -> Progress:
        """Time and steps, which is all that there is to see."""
        return Progress(
            generation=sum(search.step for search in self.searches),
            seconds=time.monotonic() - self._begun,
            best=(None,) * len(self.problem.objectives),
            search=max(len(self._schedules) - 1, 0),
            searches=len(self.searches),
            plans=len(self.run.weightings),
            iteration=self._iteration,
            steps=self._steps * len(self.searches),
        )

    @property
    def _iteration(self) -> int | None:
        if self.run.is_exact:
            return max(0, self._search.step - self._descent) or None
        return None

    def plans(self) -> list[list[int]]:
        """The plans, once all are opened."""
        here = [each.plan for each in self._plans if each.plan]
        return here if self._finished else []

    def values(self) -> list[Values]:
        """Of plans for one objective alone, if it was agreed that their value is disclosed."""
        here = [
            opened_values(self.problem, self.run.weightings[search], each.value)
            for search, each in sorted(self._opened.items())
            if each.plan
        ]
        return here if self._finished else []

    @property
    def for_owners(self) -> bool:
        return self._finished and not any(each.plan for each in self._plans)

    def disclosed(self) -> Disclosed:
        """The value of the plan, where it is agreed that it is disclosed.

        A value of several objectives together has no unit; the ledger has it.
        """
        count = len(self.problem.objectives)
        value = self._opened[0].value if self._opened and count == 1 else None
        return (value,) * count

    def outcome(self) -> Outcome:
        """One plan per search, and nothing of how they came about but steps."""
        plans = np.array([each.plan for each in self._plans], dtype=np.int32)
        known = plan_set(self.problem, plans, self._plans[-1].step, self.disclosed())
        generations = [g for ends in self._ends for g in range(1, len(ends) + 1)]
        return Outcome(
            algorithm=SEALED,
            parameters={
                **named_settings(self.run.parameters),
                "weightings": [
                    list(self.run.weightings[search]) for search in sorted(self._opened)
                ],
                **self._groups(),
                "schedule": self._schedules,
            },
            seed=self.seed,
            generations=self._generations(),
            evaluations=len(generations),
            best_known=known,
            estimated_best=known,
            history=History(
                generation=generations,
                disclosed_best=[[None] * len(self.problem.objectives) for _ in generations],
                estimate=[None] * len(generations),
                set_size=[1] * len(generations),
                actual_mean=None,
                actual_best=None,
            ),
            ends=[end for ends in self._ends for end in ends],
            proved=self.proved,
            gaps=self.gaps,
            notes=[
                *self.notes,
                *self._drawn_plans(),
                *self._not_proved(),
                *self._nodes_said(),
            ],
        )

    def _generations(self) -> int:
        """Of all searches whose plans were opened; those that went on together count once."""
        first = [each.searches[0] for each in self.searches]
        return sum(self._opened[search].step for search in first if search in self._opened)

    def _groups(self) -> dict[str, object]:
        """Return which weightings went together, where some did."""
        groups = [list(each.searches) for each in self.searches]
        return {"groups": groups} if len(groups) < len(self.run.weightings) else {}

    @property
    def proved(self) -> bool | None:
        """Whether all plans are proved to be optima; None where nothing was to be proved."""
        if not self.run.is_exact:
            return None
        return bool(self._plans) and all(each.outcome == "optimum" for each in self._plans)

    @property
    def gaps(self) -> list[float] | None:
        """By at most how much each plan is worse than the optimum, where that is disclosed.

        In the user's unit; of several objectives in units of their weighted sum.
        """
        gaps = [each.gap for each in self._plans if each.gap is not None]
        objectives = self.problem.objectives
        scale = objectives[0].scale if len(objectives) == 1 else 1
        return [gap if scale == 1 else gap / scale for gap in gaps] or None

    def _nodes_said(self) -> list[str]:
        """Return the notes of the nodes for the reader of the result."""
        notes = (note for each in self.searches for note in getattr(each, "notes", ()))
        return list(dict.fromkeys(notes))
