"""A sealed assignment on running nodes, with the rounds, bytes and processor time that it takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from studies.benchmarks.engine import processor_seconds
from tacit.agreement import pin_sealed
from tacit.derived import KnownTime
from tacit.disclosure import BestMode, Sealed
from tacit.local import LocalCluster, open_engine
from tacit.problems import Problem
from tacit.runs import Limits, SealedDriver, drive, sealed_settings
from tacit.search.moves import AssignmentParameters


class Counted:
    """Searches of a group whose rounds and bytes add up."""

    def __init__(self, search: Any) -> None:
        self._search, self.rounds, self.sent = search, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._search, name)

    def advance(self, count: int, horizon: int, /, *, until: float | None) -> None:
        """Go on, and count."""
        self._search.advance(count, horizon, until=until)
        rounds, sent = self._search.cost
        self.rounds, self.sent = self.rounds + rounds, self.sent + sent


@dataclass(frozen=True)
class Solved:
    """What was opened, and what it took from the first step to the last plan."""

    opened: list[Any]
    groups: list[int]
    seconds: float
    processor_seconds: float
    """Of all nodes."""
    rounds: int
    bytes_per_node: int
    """Of the node that sends most."""

    @property
    def proved(self) -> int:
        """How many plans are proved to be optima."""
        return sum(each.outcome == "optimum" for each in self.opened)


def settings_for(
    problem: Problem,
    weightings: Sequence[Sequence[int]],
    changes: dict[str, object],
    /,
    *,
    deadline: float | None,
    nodes: int,
    delay: float,
) -> AssignmentParameters:
    """Return the settings for so much time; checkpoints that come with the plan are left out."""
    time_known = KnownTime(deadline=deadline, nodes=nodes, delay=delay)
    plain = {name: value for name, value in changes.items() if name != "checkpoints"}
    parameters = sealed_settings(problem, plain, time=time_known, weightings=weightings)
    if not isinstance(parameters, AssignmentParameters):
        raise TypeError(f"{problem.name} is no assignment")
    told = str(changes.get("checkpoints", "")).split(":")
    early = [each for each in told if each and int(each) < parameters.iterations]
    return replace(parameters, checkpoints=":".join(early))


def solved(
    cluster: LocalCluster,
    problem: Problem,
    weightings: Sequence[Sequence[int]],
    parameters: AssignmentParameters,
    /,
    *,
    deadline: float | None = None,
) -> Solved:
    """Solve all weightings."""
    hidden = {"disclosure": Sealed(), "best_mode": BestMode.NOTHING}
    objectives = tuple(replace(each, **hidden) for each in problem.objectives)  # type: ignore[arg-type]
    sealed = replace(problem, objectives=objectives)
    engine, signatures, rows = open_engine(
        sealed,
        cluster.config,
        search=pin_sealed(parameters, weightings),
        evaluations=parameters.steps,
        population=(1, 1),
    )
    with engine:
        engine.start(signatures, rows)
        groups = [Counted(each) for each in engine.sealed_groups()]
        used = sum(processor_seconds(node.pid) for node in cluster.processes)
        begun = time.perf_counter()
        for each in groups:
            each.start()
        run = engine.agreement.sealed_run
        driver = SealedDriver(run, groups, Limits(deadline=deadline))
        driver.may_be_late = True
        drive(driver)
        seconds = time.perf_counter() - begun
        used = sum(processor_seconds(node.pid) for node in cluster.processes) - used
        engine.end_agreement()
    return Solved(
        [driver._opened[k] for k in range(len(weightings))],
        [len(each.searches) for each in groups],
        seconds,
        used,
        sum(each.rounds for each in groups),
        sum(each.sent for each in groups),
    )
