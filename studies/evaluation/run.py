"""Run one search and measure it in every generation, or record it for an audit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from studies.evaluation.instances import Reference, load_plugins, reference_of
from studies.statistics import distances_plus, normalized, relative_error
from tacit.agreement import SealedRun
from tacit.audit import Record, Recorder, counts_of, view_of
from tacit.disclosure import SEALED, BestMode, Leakage, Pareto, parse_disclosure
from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.runs import (
    GenerationView,
    Limits,
    Progress,
    SealedDriver,
    SearchDriver,
    SimulatedSearch,
    drive,
    simulated_driver,
)
from tacit.runs import changed as changed
from tacit.search import PRESETS, ClearTour, SearchParameters, preset_named
from tacit.search.moves import SEALED_PRESETS, TourParameters, sealed_parameters_for

Settings = SearchParameters | TourParameters
"""Sealed assignments are solved exactly and have nothing to compare."""


@dataclass(frozen=True)
class SearchKind:
    """What studies need to know of a kind of search."""

    settings: type[Settings]
    usual_disclosure: str
    mismatch: str
    """Says that a disclosure of this kind does not fit settings of another."""
    settings_take_time: bool = False
    """Whether settings change how long a generation takes, so that the budget always counts."""
    most_objectives: int | None = None
    moves: str | None = None
    """What plans a search of this kind is of, if not of any."""

    def check_problem(self, problem: Problem, /) -> None:
        """Refuse a problem that studies of such searches do not take."""
        if self.moves is not None and problem.sealed_moves != self.moves:
            raise ParameterError(
                f"{problem.name} is no {self.moves}; studies of {self.usual_disclosure} searches "
                f"take no other kind"
            )
        count = len(problem.objectives)
        if self.most_objectives is not None and count > self.most_objectives:
            raise ParameterError(
                f"{problem.name} has {count} objectives; studies of {self.usual_disclosure} "
                "searches take problems of one"
            )


EVALUATING = SearchKind(
    SearchParameters, "none", "a sealed search cannot disclose {}; take another preset"
)
SEALED_SEARCH = SearchKind(
    TourParameters,
    SEALED,
    "{} needs the settings of a sealed search; take the preset " + " or ".join(SEALED_PRESETS),
    settings_take_time=True,
    most_objectives=1,
    moves="tour",
)


def kind_of(settings: Settings, /) -> SearchKind:
    """The kind of search that these settings are for."""
    return {kind.settings: kind for kind in (EVALUATING, SEALED_SEARCH)}[type(settings)]


def kind_under(disclosure: str, /) -> SearchKind:
    """The kind of search that can have this disclosure."""
    return {SEALED: SEALED_SEARCH}.get(disclosure, EVALUATING)


def preset_settings(preset: str, changes: Mapping[str, Any] | None = None, /) -> Settings:
    """The settings of a preset, some of them changed."""
    presets: dict[str, Settings] = {name: preset_named(name) for name in PRESETS}
    presets |= {name: sealed_parameters_for(moves) for name, moves in SEALED_PRESETS.items()}
    if preset not in presets:
        raise ParameterError(f"{preset!r} is not a preset; use one of {', '.join(presets)}")
    return changed(presets[preset], changes or {})


def settings_of(disclosure: str, values: Mapping[str, Any], /) -> Settings:
    """The settings of a run with this disclosure."""
    return kind_under(disclosure).settings(**values)


def check_disclosure(settings: Settings, disclosure: str, /) -> None:
    """Refuse a disclosure that a search with such settings cannot have.

    >>> check_disclosure(TourParameters(), "top:15")
    Traceback (most recent call last):
    tacit.errors.ParameterError: a sealed search cannot disclose top:15; take another preset
    """
    fitting = kind_under(disclosure)
    if fitting is not kind_of(settings):
        raise ParameterError(fitting.mismatch.format(disclosure))


if TYPE_CHECKING:
    from studies.evaluation.study import SearchJob

SINGLE = ("set_size", "mean_fitness", "best_fitness", "relative_error")
MULTIPLE = ("set_size", "gd_plus", "igd_plus", "gd_plus_normalized", "igd_plus_normalized")


@dataclass(frozen=True, eq=False)
class RunRecord:
    """What a run leaves behind: one entry per generation and metric, and its last set."""

    metrics: dict[str, NDArray[np.float64]]
    front: NDArray[np.float64]
    """What the last estimated-best set is worth: a row per plan, a column per objective."""
    seconds: float


def run_search(job: SearchJob, /) -> RunRecord:
    """Run a search on a simulated engine and measure it in every generation."""
    load_plugins(job.plugins)
    reference = reference_of(job.instance)
    driver, measure = _measured_search(job, reference)
    started = time.perf_counter()
    drive(driver, observe=measure)
    seconds = time.perf_counter() - started
    front = np.array(driver.outcome().estimated_best.actual, dtype=np.float64)
    return RunRecord(measure.arrays(), front, seconds)


def _measured_search(job: SearchJob, reference: Reference) -> tuple[SearchDriver, _Measurements]:
    """The search of a job on a simulated engine, and what measures it."""
    settings = settings_of(job.disclosure, dict(job.settings))
    problem, limits = reference.problem, Limits(generations=job.generations)
    if isinstance(settings, SearchParameters):
        driver = simulated_driver(obfuscated(problem, job), settings, limits, seed=job.seed)
        return driver, _Measurements(reference)
    run = SealedRun(problem, settings, ((1,),), job.generations)
    search = SimulatedSearch(run, run.groups[0].seeded(job.seed))
    twin = search.twins[0]
    assert isinstance(twin, ClearTour)
    return SealedDriver(run, [search], limits, most_in_batch=1), _OpenMeasurements(reference, twin)


def obfuscated(problem: Problem, job: SearchJob, /) -> Problem:
    """The problem with the job's disclosure on the objectives that are to be obfuscated."""
    disclosure = parse_disclosure(job.disclosure)
    objectives = []
    for objective in problem.objectives:
        hidden = job.obfuscate is None or objective.name in job.obfuscate
        best = BestMode.NOTHING if isinstance(disclosure, Pareto) else objective.best_mode
        objectives.append(
            replace(objective, confidential=hidden, disclosure=disclosure, best_mode=best)
        )
    if not any(objective.confidential for objective in objectives):
        raise ParameterError(f"nothing of {problem.name} is obfuscated; name an objective")
    return replace(problem, objectives=tuple(objectives))


@dataclass(eq=False)
class _Measurements:
    """Watches a search and keeps one row of metrics per generation."""

    reference: Reference
    rows: list[tuple[float, ...]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._several = len(self.reference.problem.objectives) > 1
        truth = self.reference.truth
        self._even_truth = None if truth is None else normalized(truth, truth)

    def __call__(self, progress: Progress) -> None:
        view = progress.evaluated
        if view is None or view.record.actual_mean is None or view.record.actual_best is None:
            raise ParameterError("the weights are not here; studies need them to measure")
        record = view.record
        if self._several:
            self.rows.append(self._distances(view))
        else:
            mean, best = view.record.actual_mean[0], view.record.actual_best[0]
            self.rows.append(self._errors(record.set_size, mean, best))

    def _errors(self, size: int, mean: float, best: float) -> tuple[float, ...]:
        objective, optimum = self.reference.problem.objectives[0], self.reference.optimum
        mean, best = objective.sign * mean, objective.sign * best
        error = float("nan") if optimum is None else relative_error(mean, optimum)
        return size, mean / objective.scale, best / objective.scale, error

    def _distances(self, view: GenerationView) -> tuple[float, ...]:
        truth = self.reference.truth
        if truth is None or self._even_truth is None or view.actual is None:
            return (view.record.set_size, *[float("nan")] * 4)
        found = np.stack(view.actual, axis=1).astype(np.float64)
        even = normalized(found, truth)
        return (
            view.record.set_size,
            *distances_plus(found, truth),
            *distances_plus(even, self._even_truth),
        )

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        names = MULTIPLE if self._several else SINGLE
        table = np.array(self.rows, dtype=np.float64)
        return {name: table[:, k] for k, name in enumerate(names)}


@dataclass(eq=False)
class _OpenMeasurements(_Measurements):
    """Looks at the best plan of a search that would hide it, from the start on."""

    search: ClearTour

    def __post_init__(self) -> None:
        super().__post_init__()
        self._add()

    def __call__(self, progress: Progress) -> None:  # noqa: ARG002 - it tells nothing
        self._add()

    def _add(self) -> None:
        fitness = int(self.reference.problem.fitness(0, self.search.best()[None])[0])
        self.rows.append(self._errors(1, fitness, fitness))


def observed_leakage(job: SearchJob, /) -> Leakage:
    """Count the equations and inequations of a run, as if no candidate came twice.

    A best bucket with a single candidate names the best, so each pair of such sets is an equation.
    """
    return counts_of(view_of(recorded(job)), repeats=True)


def recorded(job: SearchJob, /, *, best: BestMode = BestMode.VALUE) -> Record:
    """The record of a job's run, on a simulated engine."""
    problem = obfuscated(reference_of(job.instance).problem, job)
    objectives = tuple(replace(each, best_mode=best) for each in problem.objectives)
    problem = replace(problem, objectives=objectives)
    parameters, limits = SearchParameters(**dict(job.settings)), Limits(generations=job.generations)
    driver, recorder = simulated_driver(problem, parameters, limits, seed=job.seed), Recorder()
    drive(driver, observe=recorder)
    return recorder.record(driver.plans()[0])
