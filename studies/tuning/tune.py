"""Tuning: trials until there are enough of them, by any number of machines on one storage.

The best sets are then tried on the evaluation instances, which tuning never saw.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from studies.evaluation.instances import InstanceSpec, load_plugins, named_problem
from studies.evaluation.run import (
    Settings,
    changed,
    check_disclosure,
    kind_of,
    preset_settings,
    run_search,
)
from studies.evaluation.study import Conditions, SearchStudy
from studies.report.results import published
from studies.tuning.plan import Choice, ask_new_set, completed, mark_failed, open_trials
from tacit.errors import ParameterError

if TYPE_CHECKING:
    import optuna
from collections.abc import Mapping

SINGLE_METRICS = ("relative_error",)
MULTIPLE_METRICS = ("gd_plus_normalized", "igd_plus_normalized")


class Assessment(msgspec.Struct, frozen=True, kw_only=True):
    """How parameter sets are assessed; the smaller the values, the better."""

    instances: tuple[InstanceSpec, ...]
    runs: int = 3
    conditions: Conditions = Conditions()

    @property
    def metrics(self) -> tuple[str, ...]:
        """One metric for one objective, two for several."""
        several = len(named_problem(self.instances[0]).objectives) > 1
        return MULTIPLE_METRICS if several else SINGLE_METRICS

    def values(self, settings: Settings, /) -> tuple[float, ...]:
        """Assess a parameter set, one value per metric."""
        medians = [self._medians(instance, settings) for instance in self.instances]
        return tuple(float(value) for value in np.mean(medians, axis=0))

    def _medians(self, instance: InstanceSpec, settings: Settings) -> Sequence[float]:
        last = []
        for seed in range(self.runs):
            metrics = run_search(self.conditions.job(instance, settings, seed=seed)).metrics
            last.append([metrics[name][-1] for name in self.metrics])
        # The median over seeds: one run that goes astray must not decide about a set.
        medians: list[float] = np.median(last, axis=0).tolist()
        return medians


def assessed(assessment: Assessment, settings: Settings, /) -> tuple[float, ...]:
    """Assess a parameter set in a process that may not have loaded the plugins yet."""
    load_plugins(assessment.conditions.plugins)
    return assessment.values(settings)


class TuningTask(msgspec.Struct, frozen=True, kw_only=True):
    """What to tune, on what, and where the trials are kept."""

    name: str
    storage: str
    preset: str
    parameters: dict[str, Choice]
    space: dict[str, tuple[Choice, ...]]
    assessment: Assessment
    trials: int
    random_trials: int
    sampler_seed: int = 0

    @property
    def base(self) -> Settings:
        """The settings that trials change."""
        return preset_settings(self.preset, self.parameters)


@dataclass(frozen=True)
class TunedSet:
    """A parameter set and its values; smaller is better."""

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
    study: SearchStudy,
    storage: str,
    /,
    *,
    trials: int | None = None,
    disclosure: str | None = None,
    within_budget: bool = False,
    sampler_seed: int = 0,
) -> TuningTask:
    """The task of a study's `[tuning]` table, optionally under a disclosure and a time budget.

    Settings of a sealed search change how long its generations take, so their budget always counts.
    """
    plan = study.tuning
    if plan is None:
        raise ParameterError(f"the study {study.name} has no tuning; add a [tuning] table")
    kind = kind_of(study.search)
    disclosure = disclosure or kind.usual_disclosure
    check_disclosure(study.search, disclosure)
    conditions = study.conditions(disclosure)
    if within_budget and conditions.budget is None:
        raise ParameterError(f"the study {study.name} has no budget; add a [budget] table")
    if not (within_budget or kind.settings_take_time):
        conditions = msgspec.structs.replace(conditions, budget=None)
    assessment = Assessment(instances=plan.instances, runs=plan.runs, conditions=conditions)
    name = study.name if disclosure == kind.usual_disclosure else f"{study.name} {disclosure}"
    budget = conditions.budget
    return TuningTask(
        name=name if budget is None else f"{name} in {budget.seconds:g} s",
        storage=storage,
        preset=study.preset,
        parameters=study.parameters,
        space=plan.space,
        assessment=assessment,
        trials=plan.trials if trials is None else trials,
        random_trials=plan.random_trials,
        sampler_seed=sampler_seed,
    )


def tune(
    task: TuningTask,
    pool: Executor,
    /,
    *,
    workers: int,
    watch: Callable[[Tuned], None] | None = None,
) -> Tuned:
    """Add trials until the storage holds enough, several at a time.

    Other processes and machines may do the same on the same storage. No set is drawn twice, so a
    space smaller than the number of trials ends when it is exhausted. `watch` gets what there is
    whenever a trial was added.
    """
    trials = open_trials(
        task.storage,
        task.name,
        metrics=len(task.assessment.metrics),
        random_trials=task.random_trials,
        seed=task.sampler_seed,
    )
    most = min(task.trials, prod(len(choices) for choices in task.space.values()))
    base = task.base
    pending: dict[Future[tuple[float, ...]], optuna.Trial] = {}
    try:
        while True:
            done = completed(trials)
            while len(pending) < workers and len(done) + len(pending) < most:
                # With the sets under way, whose values the sampler does not know yet: none is tried
                # twice.
                drawn = [old.params for old in (*done, *pending.values())]
                trial = ask_new_set(trials, task.space, drawn, seed=task.sampler_seed)
                chosen = changed(base, trial.params)
                pending[pool.submit(assessed, task.assessment, chosen)] = trial
            if watch is not None:
                watch(_found(task, done))
            if not pending:
                return _found(task, done)
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                trials.tell(pending[future], list(future.result()))
                del pending[future]
    except BaseException:
        for future, trial in pending.items():
            future.cancel()
            mark_failed(trials, trial)
        raise


def _found(task: TuningTask, trials: Sequence[optuna.trial.FrozenTrial]) -> Tuned:
    sets = [TunedSet(dict(trial.params), tuple(trial.values)) for trial in trials]
    best = [each for each in sets if not any(_dominates(other, each) for other in sets)]
    unique = {tuple(sorted(each.settings.items())): each for each in best}
    ranked = sorted(unique.values(), key=lambda each: each.total)
    return Tuned(ranked, sets, task.assessment.metrics)


def _dominates(one: TunedSet, other: TunedSet) -> bool:
    pairs = list(zip(one.values, other.values, strict=True))
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def published_sets(study: str, /) -> list[TunedSet]:
    """The paper's best sets for a study, the one it continues with last.

    >>> published_sets("ap")[0].values
    (0.019,)
    >>> published_sets("my-study")  # a name starts with that of a class of the paper, or has none
    []
    """
    entry = published()["tuned"].get(study.partition("-")[0])
    if entry is None:
        return []
    return [
        TunedSet(dict(settings), tuple(values))
        for settings, values in zip(entry["sets"], entry["values"], strict=True)
    ]


def known_set(study: SearchStudy, /) -> tuple[str, TunedSet]:
    """What a tuned set is compared with, and whose it is; of a preset no values are on record.

    >>> from studies.evaluation.study import shipped_study
    >>> known_set(shipped_study("sealed-tsp"))[0]
    'sealed-tsp'
    """
    paper = published_sets(study.name)
    if paper:
        return "the paper's", paper[-1]
    return study.preset, TunedSet(asdict(study.search), ())


def rows_beside(theirs: TunedSet, tuned: Tuned, /) -> list[tuple[str, str, str]]:
    """Rows of setting, ours and theirs, the values last."""
    ours = tuned.best[0]
    rows = [
        (name, str(value), str(theirs.settings.get(name, "-")))
        for name, value in ours.settings.items()
    ]
    for k, metric in enumerate(tuned.metrics):
        published_value = f"{theirs.values[k]:.4f}" if theirs.values else "-"
        rows.append((metric, f"{ours.values[k]:.4f}", published_value))
    return rows


MOST_SETS = 5
"""A front may have many sets; those with the smallest totals are tried."""


def our_names(count: int, /) -> list[str]:
    """How our sets are named in what is written, the one with the smallest total first.

    >>> our_names(3)
    ['ours', 'ours, set 2', 'ours, set 3']
    """
    return ["ours", *(f"ours, set {k}" for k in range(2, min(count, MOST_SETS) + 1))]


def their_names(preset: str, count: int, /) -> list[str]:
    """How the paper's sets are named: the last is the one that it continues with, its preset.

    >>> their_names("paper-moap", 2)
    ["the paper's set 1", 'paper-moap']
    """
    return [*(f"the paper's set {k}" for k in range(1, count)), preset]


def held_out_sets(study: SearchStudy, tuned: Tuned, /) -> dict[str, dict[str, Choice]]:
    """Our best sets, the preset's and the others of the paper, by their names."""
    ours = zip(our_names(len(tuned.best)), tuned.best, strict=False)
    paper = published_sets(study.name)
    theirs = zip(their_names(study.preset, len(paper))[:-1], paper, strict=False)
    others = {name: each.settings for name, each in (*ours, *theirs)}
    return {**others, study.preset: {}}


def held_out_values(
    study: SearchStudy,
    task: TuningTask,
    sets: Mapping[str, Mapping[str, Choice]],
    pool: Executor,
    /,
    *,
    runs: int,
) -> dict[str, tuple[float, ...]]:
    """The values of sets on the study's evaluation instances, which tuning never saw.

    The best of many trials owes some of its value to luck; these do not.
    """
    fresh = msgspec.structs.replace(task.assessment, instances=study.instances, runs=runs)
    futures = {
        name: pool.submit(assessed, fresh, changed(task.base, settings))
        for name, settings in sets.items()
    }
    return {name: future.result() for name, future in futures.items()}
