"""A study of searches: which problems, settings, disclosures, seeds, and for how long.

docs/experiments.md describes the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from studies.evaluation.instances import (
    InstanceSpec,
    expanded,
    load_plugins,
    named_problem,
    reference_of,
)
from studies.evaluation.run import (
    RunRecord,
    Settings,
    check_disclosure,
    kind_of,
    preset_settings,
    run_search,
)
from studies.evaluation.time_budget import TimeBudget
from studies.study import Job, Rows, Seeds, Study, study_from
from studies.tuning.plan import TuningPlan
from tacit.disclosure import PAPER_CONFIGURATIONS, parse_disclosure
from tacit.errors import FileError, InputError, ParameterError
from tacit.files import read_text, replacing
from tacit.runs import changed as changed
from tacit.search import SearchParameters

SUFFIX = ".toml"


class SearchJob(Job, frozen=True, kw_only=True):
    """One run of a search."""

    instance: InstanceSpec
    settings: tuple[tuple[str, Any], ...] = ()
    """Every setting of the search, by name."""
    disclosure: str
    obfuscate: tuple[str, ...] | None = None
    generations: int
    seed: int = 0
    plugins: tuple[str, ...] = ()

    row: ClassVar[Any] = RunRecord

    @property
    def identity(self) -> SearchJob:
        """Of a file the content counts, not where it lies."""
        if self.instance.digest is None:
            return self
        spec = msgspec.structs.replace(self.instance, file=None)
        return msgspec.structs.replace(self, instance=spec)

    @property
    def label(self) -> str:
        """What tells runs apart as a rule."""
        return f"{self.disclosure} and seed {self.seed}"

    def compute(self) -> RunRecord:
        """Run the search and measure it in every generation."""
        return run_search(self)


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """What is disclosed, of which objectives, and for how long runs go on."""

    disclosure: str = "none"
    obfuscate: tuple[str, ...] | None = None
    generations: int = 500
    budget: TimeBudget | None = None
    plugins: tuple[str, ...] = ()

    def generations_of(self, instance: InstanceSpec, settings: Settings, /) -> int:
        """The last generation of a run: what the budget leaves, and no more than asked for."""
        if self.budget is None:
            return self.generations
        fitting = self.budget.generations(self.disclosure, named_problem(instance), settings)
        return min(self.generations, fitting)

    def job(self, instance: InstanceSpec, settings: Settings, /, *, seed: int) -> SearchJob:
        """A run under these conditions."""
        return SearchJob(
            instance=instance,
            settings=tuple(sorted(msgspec.to_builtins(settings).items())),
            disclosure=self.disclosure,
            obfuscate=self.obfuscate,
            generations=self.generations_of(instance, settings),
            seed=seed,
            plugins=self.plugins,
        )


class SearchStudy(Study, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a study file says, checked.

    >>> study = shipped_study("tsp")
    >>> len(study.disclosures), study.generations, len(study.jobs())
    (14, 500, 868)
    """

    preset: str
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    """Single settings that differ from the preset's."""
    generations: int = 500
    budget: TimeBudget | None = None
    """Cuts the generations of each run to what there is time for."""
    seeds: Seeds = Seeds()
    disclosures: tuple[str, ...] = PAPER_CONFIGURATIONS
    obfuscate: tuple[str, ...] | None = None
    """Names of the objectives that are disclosed this way; the others are public."""
    plugins: tuple[str, ...] = ()
    """Modules to import first, which register operators and disclosures of their own."""
    instances: tuple[InstanceSpec, ...]
    tuning: TuningPlan | None = None

    @property
    def search(self) -> Settings:
        """The settings of the search."""
        return preset_settings(self.preset, self.parameters)

    def conditions(self, disclosure: str, /) -> Conditions:
        """What the runs with this disclosure have in common."""
        return Conditions(
            disclosure=disclosure,
            obfuscate=self.obfuscate,
            generations=self.generations,
            budget=self.budget,
            plugins=self.plugins,
        )

    def jobs(self) -> list[SearchJob]:
        """Every run: instance by instance, disclosure by disclosure, seed by seed."""
        return [job for instance in self.instances for job in self.jobs_on(instance)]

    def jobs_on(self, instance: InstanceSpec, /) -> Iterator[SearchJob]:
        """Every run on an instance."""
        settings = self.search
        for disclosure in self.disclosures:
            conditions = self.conditions(disclosure)
            for seed in self.seeds.all():
                yield conditions.job(instance, settings, seed=seed)

    def quick(self) -> SearchStudy:
        """The same study on its first instance with eleven seeds.

        >>> shipped_study("ap").quick().seeds.count
        11
        """
        seeds = Seeds(self.seeds.first, min(self.seeds.count, 11))
        return msgspec.structs.replace(self, instances=self.instances[:1], seeds=seeds)

    def write(self, rows: Rows, folder: Path, /) -> None:
        """Write rows per generation, per plan of a last set and per run, as Parquet.

        They are the same however, and however often, the study was started, but for the times.
        """
        # Workers, which import this module, need no data frames.
        from studies.evaluation.frames import study_frames

        jobs = self.jobs()
        names = [named_problem(job.instance).name for job in jobs]
        for name, frame in study_frames(jobs, names, [rows[job] for job in jobs]).items():
            with replacing(folder / f"{name}.parquet") as file:
                frame.write_parquet(file, compression="zstd")

    def about(self) -> dict[str, Any]:
        """The file, every setting of the search, optima and ground truths."""
        references = [reference_of(spec) for spec in self.instances]
        yardsticks = {
            each.problem.name: {
                "optimum": each.optimum,
                "ground_truth": None if each.truth is None else each.truth.tolist(),
            }
            for each in references
        }
        settings = msgspec.to_builtins(self.search)
        return {**Study.about(self), "parameters": settings, "yardsticks": yardsticks}


def shipped_studies() -> tuple[str, ...]:
    """Names of the studies in the package.

    >>> shipped_studies()
    ('ap', 'ap-wide', 'moap', 'moap-one', 'moap-pareto', 'moap-two', 'sealed-tsp', 'tsp', \
'tsp-both-ends', 'tsp-wide')
    """
    entries = (entry.name for entry in (files("studies") / "evaluation").iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in entries if name.endswith(SUFFIX)))


def shipped_study(name: str, /) -> SearchStudy:
    """Read a study of the package."""
    if name not in shipped_studies():
        raise ParameterError(
            f"no study {name!r} is shipped; use one of {', '.join(shipped_studies())} or a file"
        )
    with as_file(files("studies") / "evaluation" / f"{name}{SUFFIX}") as path:
        return read_study(path)


def study_named(name_or_path: str, /) -> SearchStudy:
    """A study of the package by its name, or any study by its file."""
    if name_or_path in shipped_studies():
        return shipped_study(name_or_path)
    if name_or_path.endswith(SUFFIX) or Path(name_or_path).exists():
        return read_study(name_or_path)
    return shipped_study(name_or_path)


def read_study(path: str | Path, /) -> SearchStudy:
    """Read and check a study file; the message of an error names the place and the remedy."""
    study = study_from(read_text(path), path, SearchStudy, see="docs/experiments.md")
    try:
        load_plugins(study.plugins, beside=Path(path).parent)
        return _checked(study, Path(path).parent)
    except FileError:
        raise
    except InputError as error:
        raise FileError(path, None, str(error), "correct the study") from None


def _checked(study: SearchStudy, folder: Path) -> SearchStudy:
    """Refuse what would only fail later, and make the list of instances explicit."""
    if not study.name or not study.name.replace("-", "").replace("_", "").isalnum():
        raise ParameterError(f"{study.name!r} is no name for a folder; use letters and dashes")
    if study.generations < 1:
        raise ParameterError(f"generations is {study.generations}; give at least 1")
    if study.seeds.count < 1 or study.seeds.first < 0:
        raise ParameterError("seeds count from 0 or more, and there is at least one; correct them")
    if not study.disclosures or len(set(study.disclosures)) < len(study.disclosures):
        raise ParameterError("disclosures are none or stand twice; name each once")
    settings = study.search
    for disclosure in study.disclosures:
        parsed = parse_disclosure(disclosure)
        check_disclosure(settings, disclosure)
        if isinstance(settings, SearchParameters):
            parsed.check_population(settings.fewest_evaluated)
    instances = expanded(study.instances, folder)
    tuning = study.tuning
    if tuning is not None:
        tuning.check(settings)
        tuning = msgspec.structs.replace(tuning, instances=expanded(tuning.instances, folder))
    for spec in (*instances, *(tuning.instances if tuning else ())):
        kind_of(settings).check_problem(named_problem(spec))
    _check_instances(study, instances)
    return msgspec.structs.replace(study, instances=instances, tuning=tuning)


def _check_instances(study: SearchStudy, instances: tuple[InstanceSpec, ...]) -> None:
    names = []
    for spec in instances:
        problem = named_problem(spec)
        names.append(problem.name)
        for disclosure in study.disclosures:
            if study.conditions(disclosure).generations_of(spec, study.search) < 1:
                raise ParameterError(f"the budget leaves no generation for {disclosure}; raise it")
        known = [objective.name for objective in problem.objectives]
        for name in study.obfuscate or ():
            if name not in known:
                raise ParameterError(
                    f"{problem.name} has no objective {name!r} to obfuscate; "
                    f"it has {', '.join(known)}"
                )
    if not names:
        raise ParameterError("there are no instances; add an [[instances]] table")
    if len(set(names)) < len(names):
        raise ParameterError(f"two instances share a name in {', '.join(names)}; name them apart")


def first_run_with(study: SearchStudy, disclosure: str, /, *, evaluations: int) -> SearchJob:
    """The first run of a study under a disclosure, cut to so many evaluations."""
    chosen = msgspec.structs.replace(study, disclosures=(disclosure,), budget=None)
    job = chosen.jobs()[0]
    return msgspec.structs.replace(job, generations=min(evaluations - 1, study.generations))
