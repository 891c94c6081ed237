"""The result of a run, as an object and as JSON.

Everything but `timing` is a function of the problem, the settings and the seed, and compares byte
for byte. Values are in the user's own unit: unscaled, costs positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Exact
from tacit.errors import FileError
from tacit.evaluators import RevealedFront
from tacit.files import other_version, read_bytes, writing
from tacit.plain_text import decoders_words
from tacit.problems import Problem
from tacit.runs.history import Disclosed, GenerationRecord
from tacit.runs.limits import StopReason

FORMAT: Literal["tacit-result/1"] = "tacit-result/1"


class ProblemSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which problem was solved."""

    name: str
    kind: str
    rows: int
    columns: int


class ObjectiveSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was known of one objective."""

    name: str
    sense: str
    confidential: bool
    disclosure: str
    best: str
    scale: int


class PlanSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set of plans, the generation it comes from, and what it is worth."""

    generation: int
    disclosed: list[float | bool | None] = msgspec.field(name="told")
    """What each objective disclosed of its best fitness then."""
    plans: list[list[int]]
    actual: list[list[float]] | None
    """The actual value of each plan per objective, where the caller may know it."""


class FrontSummary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the final reveal disclosed: which plans of the best-known set are non-dominated."""

    nondominated: list[int]
    """Their places in it; of plans with the same values the first."""
    values: list[list[float]] | None
    """Of each of them its value per objective, if that was agreed."""


class History(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry per generation in every list."""

    generation: list[int]
    disclosed_best: list[list[float | bool | None]] = msgspec.field(name="told_best")
    estimate: list[float | None]
    set_size: list[int]
    actual_mean: list[list[float]] | None
    actual_best: list[list[float]] | None


class Timing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What differs from machine to machine."""

    seconds: float
    """From the start of the run to its end."""
    set_up_seconds: float
    """Compiling and preparing, before the start."""
    generation_seconds: list[float]
    """When each generation was done."""


class Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What `solve` returns.

    `plan` is the one to use: plan[r] is the column of row r, or the tour. It is the first of the
    best-known set, or the best one of it if that was to be revealed; `estimated_best` is the
    paper's result, the estimated-best set of the last generation.
    """

    format: Literal["tacit-result/1"]
    problem: ProblemSummary
    objectives: list[ObjectiveSummary]
    engine: str
    algorithm: str
    parameters: dict[str, Any]
    seed: int
    stopped: str
    generations: int
    evaluations: int
    plan: list[int]
    named_plan: list[tuple[str, str]] | None
    """The plan in the problem's own names, where it has them: who gets what, or the legs."""
    value: list[float] | None
    """The actual value of the plan per objective, where the caller may know it."""
    optimum: float | None
    percent_of_optimum: float | None
    best_known: PlanSet
    estimated_best: PlanSet
    history: History
    timing: Timing | None
    notes: list[str] = []
    """What went wrong on the way, such as a node that was lost."""
    proved: bool | None = None
    """Whether the plan is proved to be the optimum, where the exact solver was asked for it."""
    gaps: list[float] | None = None
    """By at most how much each plan is worse than the optimum, where that was agreed on."""
    front: FrontSummary | None = None
    """What was revealed at the end of several objectives, if that was agreed."""
    nodes: int = 0
    """How many nodes computed it, which decides what they promise; 0 where none did."""

    def to_json(self, *, timing: bool = True) -> bytes:
        """As JSON; without timing it is the same on every machine."""
        shown = self if timing else msgspec.structs.replace(self, timing=None)
        return msgspec.json.encode(shown)

    def save(self, path: str | Path, /) -> None:
        with writing(path):
            Path(path).write_bytes(self.to_json() + b"\n")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a search found: its result without the problem and the time."""

    algorithm: str
    parameters: dict[str, object]
    seed: int
    generations: int
    evaluations: int
    best_known: PlanSet
    estimated_best: PlanSet
    history: History
    ends: list[float]
    """When each generation was done."""
    notes: list[str] = field(default_factory=list)
    proved: bool | None = None
    """Whether all its plans are proved to be optima; None where nothing is proved."""
    gaps: list[float] | None = None
    """By at most how much each plan is worse than the optimum, where that was agreed."""
    best_plan: int = 0
    """Which plan of the best-known set is the one to use."""
    front: FrontSummary | None = None
    """What was revealed at the end of several objectives, if that was agreed."""


_READ = msgspec.json.Decoder(Result)


def load_result(path: str | Path, /) -> Result:
    data = read_bytes(path)
    try:
        return _READ.decode(data)
    except msgspec.DecodeError as error:
        what = other_version(data, FORMAT) or f"is not a result ({decoders_words(error)})"
        raise FileError(path, None, what, "give a file of tacit solve") from None


def summarize(
    problem: Problem,
    outcome: Outcome,
    reason: StopReason,
    timing: Timing,
    /,
    *,
    engine: str,
    optimum: int | None,
) -> Result:
    """The result of a search. `optimum` is scaled, in the user's sense."""
    known, chosen = outcome.best_known, outcome.best_plan
    value = None if known.actual is None else known.actual[chosen]
    scale = problem.objectives[0].scale
    return Result(
        format=FORMAT,
        problem=ProblemSummary(problem.name, problem.kind, problem.rows, problem.columns),
        objectives=[
            ObjectiveSummary(
                name=objective.name,
                sense=objective.sense,
                confidential=objective.confidential,
                disclosure=objective.disclosure.text if objective.confidential else "public",
                best=objective.best_mode.value,
                scale=objective.scale,
            )
            for objective in problem.objectives
        ],
        engine=engine,
        algorithm=outcome.algorithm,
        parameters=outcome.parameters,
        seed=outcome.seed,
        stopped=reason.value,
        generations=outcome.generations,
        evaluations=outcome.evaluations,
        plan=known.plans[chosen],
        named_plan=problem.named_plan(known.plans[chosen]),
        value=value,
        optimum=None if optimum is None else optimum / scale,
        percent_of_optimum=percent_of_optimum(value, optimum, scale),
        best_known=known,
        estimated_best=outcome.estimated_best,
        history=outcome.history,
        timing=timing,
        notes=outcome.notes,
        proved=outcome.proved,
        gaps=outcome.gaps,
        front=outcome.front,
    )


def percent_of_optimum(
    value: list[float] | None, optimum: int | None, scale: int, /
) -> float | None:
    """Return a value in percent of the optimum; a cost above it gives more than 100.

    >>> percent_of_optimum([49.0], 100, 2)
    98.0
    """
    if value is None or len(value) != 1 or not optimum:
        return None
    return 100 * value[0] * scale / optimum


def plan_set(
    problem: Problem,
    plans: NDArray[np.int32],
    generation: int,
    disclosed: Disclosed,
    /,
) -> PlanSet:
    actual = None
    if all(objective.weights is not None for objective in problem.objectives):
        columns = [
            [objective.to_user(int(fitness)) for fitness in problem.fitness(k, plans)]
            for k, objective in enumerate(problem.objectives)
        ]
        actual = [list(values) for values in zip(*columns, strict=True)]
    return PlanSet(generation, disclosed_to_user(problem, disclosed), plans.tolist(), actual)


def front_of(problem: Problem, revealed: RevealedFront, /) -> FrontSummary:
    """Convert what was revealed at the end to the user's unit."""
    values = revealed.values
    if values is None:
        return FrontSummary(revealed.nondominated, None)
    lines = [
        [each.to_user(value) for each, value in zip(problem.objectives, line, strict=True)]
        for line in values
    ]
    return FrontSummary(revealed.nondominated, lines)


def disclosed_to_user(problem: Problem, disclosed: Disclosed, /) -> list[float | bool | None]:
    """Convert disclosed best values to the user's unit; bits and None stay as they are."""
    return [
        best if best is None or isinstance(best, bool) else objective.to_user(best)
        for objective, best in zip(problem.objectives, disclosed, strict=True)
    ]


def history_lists(problem: Problem, history: list[GenerationRecord], /) -> History:
    """The records of all generations, column by column, in the user's unit."""
    objectives = problem.objectives
    actual = history[0].actual_mean is not None

    def to_user(values: tuple[float, ...] | None) -> list[float]:
        return [each.to_user(value) for each, value in zip(objectives, values or (), strict=True)]

    return History(
        generation=[record.generation for record in history],
        disclosed_best=[disclosed_to_user(problem, each.disclosed_best) for each in history],
        estimate=[
            None
            if record.largest_estimate is None
            else objectives[0].to_user(record.largest_estimate)
            for record in history
        ],
        set_size=[record.set_size for record in history],
        actual_mean=[to_user(record.actual_mean) for record in history] if actual else None,
        actual_best=[to_user(record.actual_best) for record in history] if actual else None,
    )


# Values of a plan in the user's unit, as far as they are known: never those of another plan.


Values = list[float | None]
"""Per objective, the plan's value, or None where it was not disclosed."""


def evaluated_values(problem: Problem, estimates: NDArray[np.float64], /) -> list[Values]:
    """Values of evaluated plans: an objective that is public or fully disclosed has exact ones.

    >>> from tacit.problems import Assignment, Objective
    >>> pay, rest = Objective("pay", None, weight_bound=9), Objective("rest", None, weight_bound=9)
    >>> problem = Assignment(name="p", rows=2, columns=2, objectives=(pay, rest))
    >>> evaluated_values(problem, np.array([[4.0, 8.0]]))
    [[4, 8]]
    """
    exact = [
        not problem.evaluates_together
        and (not each.confidential or isinstance(each.disclosure, Exact))
        for each in problem.objectives
    ]
    return [
        [
            # Other estimates only order the plans, and must not be shown as values.
            objective.to_user(int(estimate)) if is_exact else None
            for objective, estimate, is_exact in zip(problem.objectives, row, exact, strict=True)
        ]
        for row in estimates.tolist()
    ]


def opened_values(problem: Problem, weighting: Sequence[int], value: int | None, /) -> Values:
    """Values of an opened plan: a weighted total is a value where one objective alone counts.

    >>> from tacit.problems import Assignment, Objective
    >>> pay, rest = Objective("pay", None, weight_bound=9), Objective("rest", None, weight_bound=9)
    >>> problem = Assignment(name="p", rows=2, columns=2, objectives=(pay, rest))
    >>> opened_values(problem, (4, 0), 32), opened_values(problem, (3, 1), 32)
    ([8, None], [None, None])
    """
    alone = sum(factor > 0 for factor in weighting) == 1
    return [
        # Exact: where one objective alone counts, the total is a multiple of its factor.
        objective.to_user(value // factor) if alone and factor and value is not None else None
        for objective, factor in zip(problem.objectives, weighting, strict=True)
    ]
