"""A study: which problems, which search, which disclosures, which seeds, for how long.

Studies are TOML files. Everything that a result depends on is in the file, so that two people who
run it get the same rows. docs/experiments.md describes the format.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import msgspec

from studies.execution.job import Conditions, Job
from studies.execution.time_budget import TimeBudget
from studies.study.instances import InstanceSpec, expanded, named_problem
from studies.study.plugins import load_plugins
from studies.study.settings import Settings, check_disclosure, kind_of, preset_settings
from studies.tuning.plan import TuningPlan
from tacit.disclosure import PAPER_CONFIGURATIONS, parse_disclosure
from tacit.errors import FileError, InputError, ParameterError
from tacit.files import read_toml
from tacit.plain_text import decoders_words
from tacit.search import SearchParameters

SUFFIX = ".toml"


class Seeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Run seeds, counted up from the first."""

    first: int = 0
    count: int = 31

    def all(self) -> range:
        """Every seed."""
        return range(self.first, self.first + self.count)


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a study file says, checked.

    >>> study = shipped_study("tsp")
    >>> len(study.disclosures), study.generations, len(list(study.jobs()))
    (14, 500, 868)
    """

    name: str
    title: str = ""
    preset: str
    parameters: dict[str, Any] = {}
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

    def jobs(self) -> Iterator[Job]:
        """Every run of the study, in the order of its rows."""
        settings = self.search
        for instance in self.instances:
            for disclosure in self.disclosures:
                conditions = self.conditions(disclosure)
                for seed in self.seeds.all():
                    yield conditions.job(instance, settings, seed=seed)

    def quick(self) -> Study:
        """The same study on its first instance with eleven seeds.

        >>> shipped_study("ap").quick().seeds.count
        11
        """
        seeds = Seeds(self.seeds.first, min(self.seeds.count, 11))
        return msgspec.structs.replace(self, instances=self.instances[:1], seeds=seeds)


def shipped_studies() -> tuple[str, ...]:
    """Names of the studies in the package.

    >>> shipped_studies()
    ('ap', 'ap-wide', 'moap', 'moap-one', 'moap-pareto', 'moap-two', 'sealed-tsp', 'tsp', \
'tsp-both-ends', 'tsp-wide')
    """
    entries = (entry.name for entry in (files("studies") / "evaluation").iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in entries if name.endswith(SUFFIX)))


def shipped_study(name: str, /) -> Study:
    """Read a study of the package."""
    if name not in shipped_studies():
        raise ParameterError(
            f"no study {name!r} is shipped; use one of {', '.join(shipped_studies())} or a file"
        )
    with as_file(files("studies") / "evaluation" / f"{name}{SUFFIX}") as path:
        return read_study(path)


def study_named(name_or_path: str, /) -> Study:
    """A study of the package by its name, or any study by its file."""
    if name_or_path in shipped_studies():
        return shipped_study(name_or_path)
    if name_or_path.endswith(SUFFIX) or Path(name_or_path).exists():
        return read_study(name_or_path)
    return shipped_study(name_or_path)


def read_study(path: str | Path, /) -> Study:
    """Read and check a study file; the message of an error names the place and the remedy."""
    raw = read_toml(path)
    if raw.get("disclosures") == "paper":
        raw["disclosures"] = list(PAPER_CONFIGURATIONS)
    study = _converted(path, raw)
    try:
        load_plugins(study.plugins, beside=Path(path).parent)
        return _checked(study, Path(path).parent)
    except FileError:
        raise
    except InputError as error:
        raise FileError(path, None, str(error), "correct the study") from None


def _converted(path: str | Path, raw: object) -> Study:
    try:
        return msgspec.convert(raw, Study)
    except msgspec.ValidationError as error:
        remedy = "see docs/experiments.md for what may stand here"
        raise FileError(path, None, decoders_words(error), remedy) from None


def _checked(study: Study, folder: Path) -> Study:
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


def _check_instances(study: Study, instances: tuple[InstanceSpec, ...]) -> None:
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
