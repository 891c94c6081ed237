"""Tuning: trials until there are enough of them, by any number of processes on one storage."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from tacit.errors import ParameterError
from tacit.experiments.plugins import load_plugins
from tacit.experiments.study import Study
from tacit.experiments.tuning.objective import Assessment
from tacit.experiments.tuning.plan import Choice
from tacit.experiments.tuning.sampling import completed, open_trials, suggested
from tacit.search import preset_named

if TYPE_CHECKING:
    import optuna


class TuningTask(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a process needs to add trials."""

    name: str
    storage: str
    preset: str
    parameters: dict[str, Choice]
    space: dict[str, tuple[Choice, ...]]
    assessment: Assessment
    trials: int
    random_trials: int
    sampler_seed: int = 0


@dataclass(frozen=True)
class TunedSet:
    """A parameter set and what it is worth, smaller being better.

    >>> TunedSet({"tournament": 18}, (0.019,)).total
    0.019
    """

    settings: dict[str, Choice]
    values: tuple[float, ...]

    @property
    def total(self) -> float:
        """The sum of the values, by which the paper picks one of several best sets."""
        return sum(self.values)


@dataclass(frozen=True)
class Tuned:
    """What tuning found: the best set, or all non-dominated ones, smallest total first."""

    best: list[TunedSet]
    trials: list[TunedSet]
    metrics: tuple[str, ...]


def tuning_task(
    study: Study,
    storage: str,
    /,
    *,
    trials: int | None = None,
    disclosure: str = "none",
    within_budget: bool = False,
    sampler_seed: int = 0,
) -> TuningTask:
    """The task of a study's `[tuning]` table, optionally under a disclosure and a time budget.

    >>> from tacit.experiments.study import shipped_study
    >>> task = tuning_task(shipped_study("ap"), "trials.journal", disclosure="top:15")
    >>> task.name, task.trials, len(task.assessment.instances)
    ('ap top:15', 300, 10)
    """
    plan = study.tuning
    if plan is None:
        raise ParameterError(f"the study {study.name} says nothing of tuning; add a [tuning] table")
    generations = study.generations
    if within_budget:
        if study.budget is None:
            raise ParameterError(f"the study {study.name} has no budget; add a [budget] table")
        generations = study.generations_of(disclosure)
    assessment = Assessment(
        instances=plan.instances,
        runs=plan.runs,
        generations=generations,
        disclosure=disclosure,
        obfuscate=study.obfuscate,
        plugins=study.plugins,
    )
    name = study.name if disclosure == "none" else f"{study.name} {disclosure}"
    return TuningTask(
        name=name if generations == study.generations else f"{name} to {generations}",
        storage=storage,
        preset=study.preset,
        parameters=study.parameters,
        space=plan.space,
        assessment=assessment,
        trials=plan.trials if trials is None else trials,
        random_trials=plan.random_trials,
        sampler_seed=sampler_seed,
    )


def add_trials(task: TuningTask, worker: int = 0, /) -> int:
    """Add trials until the storage holds enough; gives how many this process added.

    A set that was drawn before has the same seeds and so the same values, which are taken over.
    """
    load_plugins(task.assessment.plugins)
    trials = _trials_of(task, worker)
    base = preset_named(task.preset).with_changes(**task.parameters)
    added = 0
    while len(done := completed(trials)) < task.trials:
        trial = trials.ask()
        settings = suggested(trial, task.space)
        known = next((list(old.values) for old in done if old.params == settings), None)
        trials.tell(trial, known or task.assessment.values(base.with_changes(**settings)))
        added += 1
    return added


def tune(
    task: TuningTask,
    pool: Executor,
    /,
    *,
    workers: int,
    watch: Callable[[Tuned], None] | None = None,
) -> Tuned:
    """Tune with several processes; `watch` is shown what there is when a trial was added.

    Processes that finish together may leave a trial or two more than asked for.
    """
    trials = _trials_of(task, 0)
    futures = [pool.submit(add_trials, task, worker) for worker in range(workers)]
    seen = -1
    while not all(future.done() for future in futures):
        time.sleep(0.5)
        if watch is not None and (count := len(completed(trials))) > seen:
            seen = count
            watch(outcome(task))
    for future in futures:
        future.result()
    return outcome(task)


def outcome(task: TuningTask, /) -> Tuned:
    """What the storage holds so far."""
    trials = _trials_of(task, 0)
    sets = [TunedSet(dict(trial.params), tuple(trial.values)) for trial in completed(trials)]
    best = [each for each in sets if not any(_dominates(other, each) for other in sets)]
    unique = {tuple(sorted(each.settings.items())): each for each in best}
    ranked = sorted(unique.values(), key=lambda each: each.total)
    return Tuned(ranked, sets, task.assessment.metrics)


def _trials_of(task: TuningTask, worker: int) -> optuna.Study:
    # Each process draws its own stream; a continued one must not draw its first sets again.
    seed = task.sampler_seed + 7919 * worker
    trials = open_trials(
        task.storage, task.name, metrics=len(task.assessment.metrics),
        random_trials=task.random_trials, seed=seed,
    )  # fmt: skip
    already = len(completed(trials))
    if already:
        trials = open_trials(
            task.storage, task.name, metrics=len(task.assessment.metrics),
            random_trials=task.random_trials, seed=seed + 104_729 * already,
        )  # fmt: skip
    return trials


def _dominates(one: TunedSet, other: TunedSet) -> bool:
    pairs = list(zip(one.values, other.values, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)
