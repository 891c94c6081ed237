"""Performing one run and measuring it in every generation."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import estimator_named, parse_disclosure
from tacit.errors import ParameterError
from tacit.experiments.execution.job import Job
from tacit.experiments.execution.run_sealed_job import sealed_best
from tacit.experiments.quality import (
    generational_distance_plus,
    inverted_generational_distance_plus,
    normalized,
    relative_error,
)
from tacit.experiments.study.instances import Yardstick, reference_of
from tacit.experiments.study.plugins import load_plugins
from tacit.experiments.study.settings import settings_of
from tacit.problems import Problem
from tacit.runs import GenerationView, Limits, Run, simulated_evaluator
from tacit.search import SearchParameters
from tacit.search.moves import SealedParameters

SINGLE = ("set_size", "mean_fitness", "best_fitness", "relative_error")
MULTIPLE = ("set_size", "gd_plus", "igd_plus", "gd_plus_normalized", "igd_plus_normalized")


@dataclass(frozen=True, eq=False)
class RunRecord:
    """What a run leaves behind: one entry per generation and metric, and its last set."""

    metrics: dict[str, NDArray[np.float64]]
    front: NDArray[np.float64]
    """What the last estimated-best set is worth: a row per plan, a column per objective."""
    seconds: float

    def encoded(self) -> bytes:
        """The record as the bytes of an .npz file."""
        buffer = io.BytesIO()
        np.savez_compressed(
            buffer, front=self.front, seconds=np.array(self.seconds), allow_pickle=False,
            **{f"m_{name}": values for name, values in self.metrics.items()},
        )  # fmt: skip
        return buffer.getvalue()

    @classmethod
    def decoded(cls, content: bytes, /) -> RunRecord:
        """Read `encoded` back.

        >>> record = RunRecord({"gd_plus": np.ones(2)}, np.zeros((1, 2)), 0.5)
        >>> RunRecord.decoded(record.encoded()).metrics
        {'gd_plus': array([1., 1.])}
        """
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            metrics = {name[2:]: stored[name] for name in stored.files if name.startswith("m_")}
            return cls(metrics, stored["front"], float(stored["seconds"]))


def perform(job: Job, /) -> RunRecord:
    """Compute a run.

    >>> from tacit.experiments.study.instances import InstanceSpec
    >>> job = Job(instance=InstanceSpec(generate="assignment", size=8, seed=1),
    ...           disclosure="order", generations=20)
    >>> float(perform(job).metrics["relative_error"][-1]) < 0.2
    True
    """
    load_plugins(job.plugins)
    reference = reference_of(job.instance)
    settings = settings_of(job.disclosure, dict(job.settings))
    if isinstance(settings, SealedParameters):
        return _sealed_record(job, reference, settings)
    return _evaluating_record(job, reference, settings)


def _evaluating_record(job: Job, reference: Yardstick, parameters: SearchParameters) -> RunRecord:
    problem = obfuscated(reference.problem, job)
    measure = _Measurements(reference)
    started = time.perf_counter()
    run = Run(
        problem,
        parameters,
        simulated_evaluator(problem, estimator_named(parameters.estimator)),
        seed=job.seed,
        limits=Limits(generations=job.generations),
        observe=measure,
    )
    run.to_its_limits()
    seconds = time.perf_counter() - started
    state = run.now.search
    worth = fitness_of(problem, state.genomes[state.estimated_best()])
    signs = np.array([each.sign / each.scale for each in problem.objectives])
    return RunRecord(measure.arrays(), worth * signs, seconds)


def _sealed_record(job: Job, reference: Yardstick, parameters: SealedParameters) -> RunRecord:
    started = time.perf_counter()
    fitness = sealed_best(reference.problem, parameters, job.generations, seed=job.seed)
    seconds = time.perf_counter() - started
    (objective,) = reference.problem.objectives
    values = fitness * objective.sign
    worth, optimum = values / objective.scale, reference.optimum
    unknown = np.full(len(worth), np.nan)
    errors = unknown if optimum is None else [relative_error(each, optimum) for each in values]
    columns = (np.ones(len(worth)), worth, worth, np.array(errors))
    return RunRecord(dict(zip(SINGLE, columns, strict=True)), worth[-1:, None], seconds)


def perform_encoded(job: Job, /) -> bytes:
    """Compute a run and give its record as bytes, which is what travels between processes."""
    return perform(job).encoded()


def obfuscated(problem: Problem, job: Job, /) -> Problem:
    """The problem with the job's disclosure on the objectives that are to be obfuscated."""
    disclosure = parse_disclosure(job.disclosure)
    objectives = []
    for objective in problem.objectives:
        hidden = job.obfuscate is None or objective.name in job.obfuscate
        objectives.append(replace(objective, confidential=hidden, disclosure=disclosure))
    if not any(objective.confidential for objective in objectives):
        raise ParameterError(f"nothing of {problem.name} is obfuscated; name an objective")
    return replace(problem, objectives=tuple(objectives))


def fitness_of(problem: Problem, genomes: NDArray[np.int32], /) -> NDArray[np.float64]:
    """Internal fitness of genomes, one column per objective."""
    plans = problem.plans(genomes)
    columns = [problem.fitness(k, plans) for k in range(len(problem.objectives))]
    return np.stack(columns, axis=1).astype(np.float64)


@dataclass(eq=False)
class _Measurements:
    """Watches a run and keeps one row of metrics per generation."""

    reference: Yardstick
    rows: list[tuple[float, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._several = len(self.reference.problem.objectives) > 1
        truth = self.reference.truth
        self._even_truth = None if truth is None else normalized(truth, truth)

    def __call__(self, view: GenerationView) -> None:
        self.rows.append(self._distances(view) if self._several else self._errors(view))

    def _errors(self, view: GenerationView) -> tuple[float, ...]:
        objective = self.reference.problem.objectives[0]
        record = view.record
        if record.actual_mean is None or record.actual_best is None:
            raise ParameterError("the weights are not here; studies need them to measure")
        mean = objective.sign * record.actual_mean[0]
        best = objective.sign * record.actual_best[0]
        optimum = self.reference.optimum
        error = float("nan") if optimum is None else relative_error(mean, optimum)
        return record.set_size, mean / objective.scale, best / objective.scale, error

    def _distances(self, view: GenerationView) -> tuple[float, ...]:
        state, truth = view.state, self.reference.truth
        if truth is None or self._even_truth is None:
            return (view.record.set_size, *[float("nan")] * 4)
        found = fitness_of(self.reference.problem, state.genomes[state.estimated_best()])
        even = normalized(found, truth)
        return (
            view.record.set_size,
            generational_distance_plus(found, truth),
            inverted_generational_distance_plus(found, truth),
            generational_distance_plus(even, self._even_truth),
            inverted_generational_distance_plus(even, self._even_truth),
        )

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        names = MULTIPLE if self._several else SINGLE
        table = np.array(self.rows, dtype=np.float64)
        return {name: table[:, k] for k, name in enumerate(names)}
