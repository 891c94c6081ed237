"""The study of the ablation: its file, clocks and cells, and each run's gaps to the optimum."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from studies.ablation.annealing import platform_annealing
from studies.evaluation.instances import (
    InstanceSpec,
    Reference,
    expanded,
    named_problem,
    reference_of,
)
from studies.evaluation.run import Settings, obfuscated, preset_settings
from studies.evaluation.study import SearchJob
from studies.evaluation.time_budget import sealed_generations, tour_group
from studies.statistics import relative_error
from studies.study import Job, Rows, Seeds, Study, shipped_text, study_from
from tacit.disclosure import SEALED, parse_disclosure, split_disclosure
from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.runs import Limits, Progress, drive, simulated_driver
from tacit.search import ClearTour, SearchParameters
from tacit.search.moves import TourParameters

Algorithm = Literal["genetic", "annealing", "greedy"]
COLD = {"heat_start": 1, "heat_end": 1, "cycles": 1}
"""Annealing without heat: the control that tells what the noise is good for."""


class Clock(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The engine's pace at one delay between its nodes, and the budgets to compare within.

    >>> clock = Clock(latency_ms=0, budgets=(1,), sealed=1.5,
    ...               evaluation={"top": ((100, 0.004), (300, 0.010))})
    >>> clock.evaluation_seconds("top:15", 200)
    0.007
    """

    latency_ms: float
    budgets: tuple[float, ...]
    """In seconds."""
    error_percent: float = 0.0
    """How far the times may be off."""
    sealed: float
    """How many times what the model says a sealed generation takes."""
    evaluation: dict[str, tuple[tuple[int, float], ...]]
    """Per method the measured sets: how many candidates, how many seconds."""

    def evaluation_seconds(self, disclosure: str, candidates: int, /) -> float:
        """What an evaluation of so many candidates takes, linear between measured sets."""
        method, _ = split_disclosure(disclosure)
        measured = sorted(self.evaluation.get(method, ()))
        for (fewer, shorter), (more, longer) in pairwise(measured):
            if fewer <= candidates <= more:
                share = (candidates - fewer) / (more - fewer)
                return shorter + share * (longer - shorter)
        raise ParameterError(
            f"no evaluation of {candidates} candidates under {method} lies between measured ones; "
            "add its seconds to the clock"
        )

    def sealed_generations(
        self, seconds: float, problem: Problem, parameters: TourParameters, /
    ) -> int:
        """How many generations of a sealed search a budget has time for."""
        delay = self.latency_ms / 1000
        return sealed_generations(seconds, self.sealed, problem, parameters, delay=delay)

    def evaluations(self, seconds: float, disclosure: str, candidates: int, /) -> int:
        """How many evaluations a budget has time for."""
        return math.floor(seconds / self.evaluation_seconds(disclosure, candidates))


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Problems with the same presets."""

    label: str
    genetic: str
    annealing: str
    limited: dict[str, dict[str, Any]] = {}
    """By method, what differs from annealing's preset where ranks take the place of values."""
    instances: tuple[InstanceSpec, ...]

    def settings(self, algorithm: Algorithm, disclosure: str, /) -> Settings:
        """The settings of a search under a disclosure."""
        if algorithm == "genetic":
            return preset_settings(self.genetic)
        method, _ = split_disclosure(disclosure)
        changes = COLD if algorithm == "greedy" else self.limited.get(method, {})
        return preset_settings(self.annealing, changes)


class AblationCell(NamedTuple):
    """Runs that differ by their seed alone."""

    instance: str
    algorithm: Algorithm
    disclosure: str
    latency_ms: float
    seconds: float


class Course(NamedTuple):
    """How the runs of a cell go."""

    candidates: int
    """Plans per generation; of a sealed search those that the nodes compare."""
    generations: int


class AblationResult(msgspec.Struct, frozen=True):
    """The gap to the optimum in percent, by the number of generations that there was time for."""

    gaps: dict[int, float]


class AblationJob(Job, frozen=True, kw_only=True):
    """One run, and the generations whose plans are measured."""

    algorithm: Algorithm
    run: SearchJob
    read_at: tuple[int, ...]
    row: ClassVar[Any] = AblationResult

    @property
    def label(self) -> str:
        """What tells runs apart as a rule."""
        return f"{self.algorithm}, {self.run.label}"

    @property
    def effort(self) -> float:
        """Its length."""
        return self.run.generations

    def compute(self) -> AblationResult:
        """Run the search, and measure its plans."""
        from studies.ablation.study import gaps_of

        return AblationResult(gaps_of(self))


class AblationStudy(Study, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the study file says.

    >>> study = shipped_ablation()
    >>> len(study.cells()), len(study.jobs())
    (80, 392)
    """

    disclosures: tuple[str, ...]
    seeds: Seeds = Seeds()
    clocks: tuple[Clock, ...]
    families: tuple[Family, ...]

    def columns(self) -> list[tuple[Algorithm, str]]:
        """Algorithms and disclosures: those that cross, the sealed search, and its control."""
        crossed: tuple[Algorithm, ...] = ("genetic", "annealing")
        both = [(algorithm, text) for algorithm in crossed for text in self.disclosures]
        return [*both, ("annealing", SEALED), ("greedy", SEALED)]

    def cells(self) -> dict[AblationCell, Course]:
        """All cells, and how many generations each has time for."""
        found = {}
        for family in self.families:
            for spec in expanded(family.instances, Path()):
                for algorithm, disclosure in self.columns():
                    for clock in self.clocks:
                        for seconds in clock.budgets:
                            cell = AblationCell(named_problem(spec).name, algorithm, disclosure,
                                        clock.latency_ms, seconds)  # fmt: skip
                            found[cell] = _course(family, spec, cell, clock)
        return found

    def jobs(self) -> list[AblationJob]:
        """All runs, each once."""
        return list(dict.fromkeys(job for jobs in self.jobs_by_cell().values() for job in jobs))

    def jobs_by_cell(self) -> dict[AblationCell, list[AblationJob]]:
        """The run of each seed by cell.

        A genetic algorithm does not know how long it will run, so one run serves all budgets. The
        temperature of annealing depends on it.
        """
        courses = self.cells()
        longest: dict[tuple[str, Algorithm, str], set[int]] = {}
        for cell, course in courses.items():
            longest.setdefault(cell[:3], set()).add(course.generations)
        places = {
            named_problem(spec).name: (family, spec)
            for family in self.families
            for spec in expanded(family.instances, Path())
        }
        return {
            cell: list(
                self._runs(
                    *places[cell.instance],
                    cell,
                    longest[cell[:3]] if cell.algorithm == "genetic" else {course.generations},
                )
            )
            for cell, course in courses.items()
        }

    def _runs(
        self, family: Family, spec: InstanceSpec, cell: AblationCell, read_at: set[int]
    ) -> Iterator[AblationJob]:
        settings = family.settings(cell.algorithm, cell.disclosure)
        for seed in self.seeds.all():
            run = SearchJob(
                instance=spec,
                settings=tuple(sorted(msgspec.to_builtins(settings).items())),
                disclosure=cell.disclosure,
                generations=max(read_at),
                seed=seed,
            )
            yield AblationJob(algorithm=cell.algorithm, run=run, read_at=tuple(sorted(read_at)))

    def quick(self) -> AblationStudy:
        """The first instance of each family within the first budget, from three seeds."""
        first = self.clocks[0]
        return msgspec.structs.replace(
            self,
            seeds=Seeds(self.seeds.first, 3),
            clocks=(msgspec.structs.replace(first, budgets=first.budgets[:1]),),
            families=tuple(
                msgspec.structs.replace(each, instances=each.instances[:1])
                for each in self.families
            ),
        )

    def write(self, rows: Rows, folder: Path, /) -> None:
        """Write `ablation.json`, `tables.md` and `gaps.png`."""
        from studies.ablation.summary import write_ablation

        write_ablation(self, rows, folder)


def _course(family: Family, spec: InstanceSpec, cell: AblationCell, clock: Clock) -> Course:
    settings = family.settings(cell.algorithm, cell.disclosure)
    if isinstance(settings, SearchParameters):
        candidates = settings.evaluated_per_generation
        # The initial population is evaluated too.
        generations = clock.evaluations(cell.seconds, cell.disclosure, candidates) - 1
    else:
        candidates = _candidates(spec, settings)
        if cell.disclosure == SEALED:
            problem = named_problem(spec)
            generations = clock.sealed_generations(cell.seconds, problem, settings)
        else:
            generations = clock.evaluations(cell.seconds, cell.disclosure, candidates)
    if generations < 1:
        raise ParameterError(f"{cell.seconds:g} s leave no generation to {cell}; raise the budget")
    return Course(candidates, generations)


@cache
def _candidates(spec: InstanceSpec, settings: TourParameters) -> int:
    """The parent and all children of a generation."""
    schedule = tour_group(named_problem(spec), settings).schedule
    return 1 + schedule.blocks * (schedule.children - 1)


def shipped_ablation() -> AblationStudy:
    """The study of the package."""
    name = "ablation.toml"
    return ablation_from(shipped_text("studies.ablation", name), name)


def ablation_from(text: str, path: str, /) -> AblationStudy:
    """Read an ablation.

    >>> ablation_from("name = 1", "x.toml")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    tacit.errors.FileError: x.toml: at name: expected text, got a whole number; see ...
    """
    return study_from(text, path, AblationStudy, see="docs/experiments.md")


def gaps_of(job: AblationJob, /) -> dict[int, float]:
    """Compute a run: the gap in percent by the number of generations."""
    compute = _genetic if job.algorithm == "genetic" else _annealing
    return compute(job, reference_of(job.run.instance))


def _gap(reference: Reference, plans: NDArray[np.int32]) -> float:
    """Of the truly best of some plans, which the engine reveals at the end of a run."""
    problem = reference.problem
    if reference.optimum is None:
        raise ParameterError(f"the optimum of {problem.name} is not known; leave it out")
    objective = problem.objectives[0]
    value = objective.sign * int(problem.fitness(0, plans).max())
    return 100 * relative_error(value, reference.optimum)


def _genetic(job: AblationJob, reference: Reference) -> dict[int, float]:
    settings = SearchParameters(**dict(job.run.settings))
    problem, limits = (
        obfuscated(reference.problem, job.run),
        Limits(generations=job.run.generations),
    )
    driver = simulated_driver(problem, settings, limits, seed=job.run.seed)
    gaps = {}

    def look(progress: Progress) -> None:
        known = driver.now.best_known
        if progress.generation in job.read_at and known is not None:
            gaps[progress.generation] = _gap(reference, problem.plans(known.genomes))

    drive(driver, observe=look)
    return gaps


def _annealing(job: AblationJob, reference: Reference) -> dict[int, float]:
    parameters = TourParameters(**dict(job.run.settings))
    generations, problem = job.run.generations, reference.problem
    if job.run.disclosure in (SEALED, "none"):
        # A platform that sees values takes the same steps (a test compares them), only slower here.
        sealed = ClearTour.drawn(problem, parameters, seed=job.run.seed)
        sealed.advance(generations, horizon=generations)
        plans = sealed.best()[None]
    else:
        disclosure = parse_disclosure(job.run.disclosure)
        search = platform_annealing(problem, parameters, disclosure, seed=job.run.seed)
        search.advance(generations, horizon=generations)
        plans = search.best_plans()
    return {generations: _gap(reference, plans)}
