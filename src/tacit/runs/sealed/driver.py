"""Sealed searches, one plan each: generations in batches, then the one opening.

Exact solutions of several weightings go on in groups, and the plans of a group are opened one after
the other.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.disclosure import SEALED
from tacit.errors import MpcError, NoPlanError
from tacit.problems import Problem
from tacit.runs.driver import LATE_SECONDS, Disclosed, Outcome, Progress, end_of
from tacit.runs.limits import Limits, StopReason
from tacit.runs.plan_values import Values, opened_values
from tacit.runs.result import History
from tacit.runs.sealed.finishing import FEWEST_PHASES, Finishing
from tacit.runs.sealed.pace import MOST_IN_BATCH, Pace
from tacit.runs.sealed.searching import OpenedPlan, SealedSearching
from tacit.runs.summarize import plan_set
from tacit.search.moves import ExactParameters, SealedParameters, named_settings

LEAST_SECONDS = 3.0
"""Left after a start that took longer than it should: the plan has to be opened."""
PHASES_AT_A_TIME = 3
"""Of weightings that are solved together, which take long. A node that dies costs as many."""


@dataclass
class Batches:
    """What is known of one search's course."""

    schedule: list[tuple[int, int, int]] = field(default_factory=list)
    """First generation, how many, and the number of generations then expected."""
    improved: list[bool] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    """When each generation was done, as far as batches tell."""
    turn: int | None = None
    """After which generation the finish began, if it did."""

    def add(self, first: int, count: int, horizon: int) -> None:
        """Add a batch, or lengthen the last one if it expected the same."""
        if self.schedule and self.schedule[-1][2] == horizon:
            first, before, horizon = self.schedule[-1]
            self.schedule[-1] = (first, before + count, horizon)
        else:
            self.schedule.append((first, count, horizon))


@dataclass(eq=False)
class SealedDriver:
    """Runs started searches one after the other, and opens the plan of each; see `SearchDriver`.

    Each has an equal part of the time that is left, and those that go on together have theirs
    together.
    """

    problem: Problem
    searches: Sequence[SealedSearching]
    limits: Limits
    parameters: SealedParameters | ExactParameters
    weightings: Sequence[Sequence[int]]
    engine: str = "simulated"
    spare: float = 0.0
    """Seconds left unused, besides what each search reserves for its opening."""
    account: float = 0.0
    """Seconds that counting the run for balances takes, before its plan is opened."""
    begun: float | None = None
    """When nodes began to grow a start, if they did: that is part of the time."""
    most_in_batch: int = MOST_IN_BATCH
    may_be_late: bool = False
    """Whether its plan may be opened after the deadline, since nobody resumes it."""
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        given = [n for n in (self.limits.generations, self.limits.evaluations) if n is not None]
        self._pace = Pace(min(given, default=None), most_in_batch=self.most_in_batch)
        self._pace.account = self.account
        self._finishing = self._plan_finish()
        self._begun = time.monotonic()
        self._end: float | None = None
        self._courses: list[Batches] = []
        self._left, self._search = list(self.searches), self.searches[0]
        self._opened: dict[int, OpenedPlan] = {}
        self._finished = False

    def _plan_finish(self) -> Finishing | None:
        parameters = self.parameters
        if isinstance(parameters, ExactParameters) or not parameters.finish:
            return None
        from tacit.engine.derived import finish_rule, finished_course, step_seconds

        courses = [finished_course(self.problem, parameters, each) for each in self.weightings]
        slowest = max((step_seconds(each) for each in courses), key=lambda each: each.phase)
        rule = finish_rule(courses[0].forest.layout)
        return Finishing(
            parameters.finish,
            generation=slowest.generation,
            phase=slowest.phase,
            beginning=slowest.beginning,
            pace=self._pace,
            part=rule.part,
            fewest=min(rule.least, FEWEST_PHASES),
        )

    @property
    def seed(self) -> int:
        """What the public schedule follows from."""
        return self._search.seed

    @property
    def can_resume(self) -> bool:
        """Nothing follows a plan that is opened."""
        return not self._finished

    @property
    def _plans(self) -> list[OpenedPlan]:
        """What was opened, in the order of the weightings."""
        return [self._opened[search] for search in sorted(self._opened)]

    @property
    def opened_searches(self) -> list[int]:
        """The numbers of the weightings whose plans are here."""
        return [search for search, each in sorted(self._opened.items()) if each.plan]

    def start(self, *, until: float | None = None) -> None:
        """Start the clock."""
        self._begun = time.monotonic()
        end = end_of(self.limits, until)
        if end is not None and self.begun is not None:
            grown = self._begun - self.begun
            end = max(end - grown, min(end, self._begun + LEAST_SECONDS))
        left = None if end is None else end - self._begun
        self._end = None if left is None else self._begun + left - min(self.spare, 0.1 * left)
        self._next_search()

    def _follow(self, group: SealedSearching) -> bool:
        """Whether all its plans follow from those that were opened."""
        if not isinstance(self.parameters, ExactParameters) or not self.parameters.bisect:
            return False
        from tacit.engine.agreement import follows

        opened = self._opened.items()
        proved = {k: each.plan for k, each in opened if each.plan and each.outcome == "optimum"}
        return all(follows(search, proved) for search in group.searches)

    def _next_search(self) -> bool:
        """Go on to the next ones whose plans do not follow from others; False if there are none."""
        self._left = [each for each in self._left if not self._follow(each)]
        if not self._left:
            return False
        to_come = [len(each.searches) for each in self._left]
        self._search = self._left.pop(0)
        now, part = time.monotonic(), to_come[0] / sum(to_come)
        self._pace.until = None if self._end is None else now + (self._end - now) * part
        self._pace.plans = to_come[0]
        if isinstance(self.parameters, ExactParameters) and to_come[0] > 1:
            self._pace.most_in_batch = min(self.most_in_batch, PHASES_AT_A_TIME)
        self._courses.append(Batches())
        if self._finishing is not None:
            self._finishing.next_search(now=now)
        return True

    def advance(self) -> StopReason | None:
        """Have the nodes do a batch of generations."""
        while (reason := self._one_batch()) and self._left:
            self._open()
            if not self._next_search():
                break
        return reason

    def _one_batch(self) -> StopReason | None:
        search, course, pace = self._search, self._courses[-1], self._pace
        first, start = search.generation, time.monotonic()
        course.turn = search.turn
        if search.finished:
            return StopReason.OPTIMAL
        batch = None if search.opened or course.turn is not None else self._next_generations(first)
        if batch is None and self._finishing is not None and not search.opened:
            return self._one_batch_of_finish(search, course, self._finishing)
        if batch is None:
            over = pace.generations is not None and first >= pace.generations
            return StopReason.GENERATIONS if over else StopReason.DEADLINE
        try:
            course.improved += search.advance(*batch, until=pace.latest)
        except MpcError as error:
            return self._gave_up(error)
        now, count = time.monotonic(), search.generation - first
        course.add(first, count, batch[1])
        course.ends += [now - self._begun] * count
        pace.measure(first, count, now - start)
        return None

    def _next_generations(self, done: int) -> tuple[int, int] | None:
        """The next generations, if there is time for them beside the finish."""
        if self._finishing is not None:
            self._pace.held_back = self._finishing.needed
        return self._pace.next_batch(done, now=time.monotonic())

    def _one_batch_of_finish(
        self, search: SealedSearching, course: Batches, finishing: Finishing
    ) -> StopReason | None:
        first, start = search.generation, time.monotonic()
        turn = first if course.turn is None else course.turn
        # Where it would be too short, it does not begin.
        worth = course.turn is not None or self._pace.until is None or self._pace.held_back
        count = finishing.next_batch(first - turn, now=start) if worth else 0
        if not count:
            over = first - turn >= finishing.phases
            return StopReason.GENERATIONS if over else StopReason.DEADLINE
        horizon = turn + finishing.phases
        try:
            search.advance(count, horizon, until=self._pace.latest, turn=turn)
        except MpcError as error:
            return self._gave_up(error)
        now, count, course.turn = time.monotonic(), search.generation - first, search.turn
        course.ends += [now - self._begun] * count
        if course.turn is None:
            # Generations that somebody had begun before were brought to their end instead.
            course.add(first, count, horizon)
        else:
            finishing.measure(first - turn, count, now - start)
        return None

    def _gave_up(self, error: MpcError) -> StopReason:
        until, reserve = self._pace.until, self._pace.reserve
        late = until is not None and time.monotonic() >= until - 2 * reserve
        # Generations that only just did not fit are nobody's fault.
        if not late or getattr(error, "peer", "") != "the nodes":
            step = "phase" if isinstance(self.parameters, ExactParameters) else "generation"
            done = self._search.generation
            self.notes.append(f"{error}; the plan is that of {step} {done}")
        return StopReason.DEADLINE if late else StopReason.NODES

    def _open(self) -> None:
        for search in self._search.searches:
            if search in self._opened:
                continue
            # Nodes that are bound to one plan of a group are bound to all: the others may take
            # longer, which is better than to lose them.
            until, first = self._pace.until, search == self._search.searches[0]
            if until is not None and (self.may_be_late or not first):
                until += LATE_SECONDS
            opened = self._search.open(search, until=until)
            if opened.outcome is not None:
                self._check_there_is_one(opened)
            self._opened[search] = opened

    def _check_there_is_one(self, opened: OpenedPlan) -> None:
        if opened.outcome == "infeasible":
            raise NoPlanError("it is proved that every plan has a forbidden pair; allow more pairs")
        if opened.outcome == "none":
            raise NoPlanError(
                "no plan without forbidden pairs was found in time; take more time or phases, or "
                "method=search"
            )

    def _drawn_plans(self) -> list[str]:
        """How many plans are as they were drawn, if some are."""
        drawn = sum(each.generation == 0 and each.outcome is None for each in self._plans)
        if not drawn:
            return []
        which = "the plan is a random one"
        if len(self._plans) > 1:
            which = f"{drawn} of {len(self._plans)} plans are random ones"
        return [f"no generation was finished in time; {which}"]

    def _not_proved(self) -> list[str]:
        """How many plans are not known to be optima, if some are not, and why."""
        count = sum(each.outcome not in (None, "optimum") for each in self._plans)
        if not count:
            return []
        which = (
            "the plan is" if len(self._plans) == 1 else f"{count} of {len(self._plans)} plans are"
        )
        why = "the phases ended before; take more phases, or scaling=true for costs with structure"
        if self._finishing is not None:
            why = "its finish ended before; take a longer finish"
            if self._courses[-1].turn is None:
                return [f"{which} not proved to be the optimum: no time was left for that"]
        return [f"{which} not proved to be the optimum: {why}, and more time"]

    def finish(self, _reason: StopReason, /) -> None:
        """Open the plan of the last search, or of the one that was interrupted."""
        self._open()
        self._finished = True

    def checkpoint(self) -> None:
        """Save nothing: the nodes keep the state of a search."""

    def progress(self) -> Progress:
        """Time and generations, which is all that there is to see."""
        return Progress(
            generation=sum(search.generation for search in self.searches),
            seconds=time.monotonic() - self._begun,
            best=(None,) * len(self.problem.objectives),
            search=max(len(self._courses) - 1, 0),
            searches=len(self.searches),
            plans=len(self.weightings),
        )

    def plans(self) -> list[list[int]]:
        """The plans, once all are opened."""
        here = [each.plan for each in self._plans if each.plan]
        return here if self._finished else []

    def values(self) -> list[Values]:
        """Of plans for one objective alone, if it was agreed that their value is disclosed."""
        here = [
            opened_values(self.problem, self.weightings[search], each.value)
            for search, each in sorted(self._opened.items())
            if each.plan
        ]
        return here if self._finished else []

    @property
    def for_owners(self) -> bool:
        """Whether the plans were opened to their owners, and not here."""
        return self._finished and not any(each.plan for each in self._plans)

    def disclosed(self) -> Disclosed:
        """The value of the plan, where it is agreed that it is disclosed.

        A value of several objectives together has no unit; the ledger has it.
        """
        count = len(self.problem.objectives)
        value = self._opened[0].value if self._opened and count == 1 else None
        return (value,) * count

    def outcome(self) -> Outcome:
        """One plan per search, and nothing of how they came about but generations."""
        plans = np.array([each.plan for each in self._plans], dtype=np.int32)
        known = plan_set(self.problem, plans, self._plans[-1].generation, self.disclosed())
        courses = self._courses
        turns = {"turns": [each.turn for each in courses]} if self._finishing else {}
        generations = [g for each in courses for g in range(1, len(each.ends) + 1)]
        bits: list[bool | None] = [bit for each in courses for bit in each.improved]
        bits = bits or [None] * len(generations)
        return Outcome(
            algorithm=SEALED,
            parameters={
                **named_settings(self.parameters),
                "weightings": [list(self.weightings[search]) for search in sorted(self._opened)],
                **self._groups(),
                "schedule": [[list(batch) for batch in each.schedule] for each in courses],
                **turns,
            },
            seed=self.seed,
            generations=self._generations(),
            evaluations=len(generations),
            best_known=known,
            estimated_best=known,
            history=History(
                generation=generations,
                disclosed_best=[[bit] * len(self.problem.objectives) for bit in bits],
                estimate=[None] * len(generations),
                set_size=[1] * len(generations),
                actual_mean=None,
                actual_best=None,
            ),
            ends=[end for each in courses for end in each.ends],
            proved=self.proved,
            gaps=self.gaps,
            notes=[
                *self.notes,
                *self._drawn_plans(),
                *self._not_proved(),
                *self._nodes_said(),
                *self._forbidden_pairs(known.plans),
            ],
        )

    def _generations(self) -> int:
        """Of all searches whose plans were opened; those that went on together count once."""
        first = [each.searches[0] for each in self.searches]
        return sum(self._opened[search].generation for search in first if search in self._opened)

    def _groups(self) -> dict[str, object]:
        """Which weightings went together, where some did."""
        groups = [list(each.searches) for each in self.searches]
        return {"groups": groups} if len(groups) < len(self.weightings) else {}

    @property
    def proved(self) -> bool | None:
        """Whether all plans are proved to be optima; None where nothing was to be proved."""
        if not isinstance(self.parameters, ExactParameters) and not self.parameters.finish:
            return None
        return bool(self._plans) and all(each.outcome == "optimum" for each in self._plans)

    @property
    def gaps(self) -> list[float] | None:
        """By at most how much each plan is worse than the optimum, where that is disclosed.

        In the user's unit; of several objectives in units of their weighted sum.
        """
        told = [each.gap for each in self._plans if each.gap is not None]
        objectives = self.problem.objectives
        scale = objectives[0].scale if len(objectives) == 1 else 1
        return [gap if scale == 1 else gap / scale for gap in told] or None

    def _nodes_said(self) -> list[str]:
        """What whoever reads the result must know of the nodes, where there are any."""
        said = (note for each in self.searches for note in getattr(each, "notes", ()))
        return list(dict.fromkeys(said))

    def _forbidden_pairs(self, plans: list[list[int]]) -> list[str]:
        """A plan that takes a forbidden pair is said to be one: nobody could see it before."""
        forbidden = self.problem.forbidden
        if forbidden is None:
            return []
        taken = [sum(forbidden[row, column] for row, column in enumerate(p)) for p in plans]
        return [
            f"the plan takes forbidden pairs in {count} rows: the search found none without; "
            "give it more time"
            for count in taken
            if count
        ]
