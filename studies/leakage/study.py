"""The study file of leakage, and its runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from studies.evaluation.instances import InstanceSpec, expanded
from studies.evaluation.study import SearchJob
from studies.leakage.results import AttackResult, BoundResult, LeakageResult
from studies.study import Job, Rows, Study, shipped_text, study_from
from tacit.disclosure import PAPER_CONFIGURATIONS, SEALED
from tacit.files import read_text
from tacit.search import preset_named

MOST_SAMPLED = 30
"""Evaluations of a run of the sample."""
AS_IT_IS = "as it is"
"""The name of runs without a mitigation in the comparison of mitigations."""


class ProblemClass(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Problems of one kind and the search that is run on them."""

    label: str
    family: str = "uniform"
    """The family of the costs."""
    prior: str = "range"
    """What attackers know before the run (`tacit.audit.prior_named`), or `last week`."""
    preset: str
    parameters: dict[str, Any] = {}
    disclosures: tuple[str, ...] | None = None
    """If other than the study's."""
    every_attack: tuple[str, ...] = ()
    """Disclosures under which every attack is tried on the first instance."""
    evaluations: tuple[int, ...] | None = None
    """After how many evaluations to attack, if other than the study's."""
    worst_cases: int = 0
    """The number of instances that are also attacked by unrestricted queries."""
    instances: tuple[InstanceSpec, ...]


class Mitigation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A change of the agreement that may make it leak less."""

    name: str
    best: str = "value"
    parameters: dict[str, Any] = {}


class Mitigations(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which mitigations are measured under which disclosures."""

    disclosures: tuple[str, ...] = ()
    seeds: int = 1
    """The number of runs, from different seeds, per mitigation."""
    options: tuple[Mitigation, ...] = ()


class LeakageJob(Job, frozen=True, kw_only=True):
    """One run that is attacked after some numbers of evaluations."""

    kind: str
    """Of the problem."""
    family: str = "uniform"
    prior: str = "range"
    run: SearchJob
    best: str = "value"
    mitigation: str = ""
    evaluations: tuple[int, ...]
    worst_case: bool = False
    worst_from: int = 0
    """The worst case is measured from this many evaluations on."""

    @property
    def population(self) -> int:
        """How many candidates an evaluation of the search has."""
        return int(dict(self.run.settings)["population"])

    row: ClassVar[Any] = LeakageResult

    @property
    def label(self) -> str:
        """What tells runs apart as a rule."""
        return f"{self.family} costs, {self.run.label}"

    @property
    def effort(self) -> float:
        """Worst cases take longest."""
        return float(self.worst_case)

    def compute(self) -> Any:  # noqa: ANN401 - of the type `row`
        """Run the search and attack it."""
        from studies.leakage.run import measure_leakage

        return measure_leakage(self)


class AttackJob(LeakageJob, frozen=True, kw_only=True):
    """One run on which every attack is tried."""

    row: ClassVar[Any] = AttackResult

    @property
    def effort(self) -> float:
        """As long as a worst case."""
        return 1.0

    def compute(self) -> AttackResult:
        """Run the search and try every attack."""
        from studies.leakage.run import try_attacks

        return try_attacks(self)


class BoundJob(LeakageJob, frozen=True, kw_only=True):
    """One run of which the limit of all attacks is computed."""

    row: ClassVar[Any] = BoundResult

    @property
    def effort(self) -> float:
        """As long as a worst case."""
        return 1.0

    def compute(self) -> BoundResult:
        """Run the search and draw from the posterior."""
        from studies.leakage.posterior import measure_bound

        return measure_bound(self)


class LeakageStudy(Study, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the study file says."""

    evaluations: tuple[int, ...]
    disclosures: tuple[str, ...] = PAPER_CONFIGURATIONS
    sealed_generations: int = 0
    """The most steps of sealed runs, whose plans are attacked as well; 0 for none."""
    bounded: str | None = None
    """A disclosure of bits under which the limit of all attacks is computed, on one run."""
    classes: tuple[ProblemClass, ...]
    mitigations: Mitigations = Mitigations()

    def jobs(self) -> list[LeakageJob]:
        """Every run to attack, on which to try every attack, and to bound."""
        return [*self.attacked(), *self.attack_jobs(), *self.bound_jobs()]

    def attacked(self) -> Iterator[LeakageJob]:
        """Every run to attack."""
        for each in self.classes:
            for number, instance in enumerate(expanded(each.instances, Path())):
                chosen = self.disclosures if each.disclosures is None else each.disclosures
                for disclosure in (*chosen, *[SEALED] * bool(self.sealed_generations)):
                    yield self._job(
                        each,
                        instance,
                        disclosure,
                        worst_case=number < each.worst_cases,
                        again=number > 0,
                    )
        if not self.mitigations.options:
            return
        first = self.classes[0]
        instance = expanded(first.instances, Path())[0]
        for disclosure in self.mitigations.disclosures:
            for mitigation in (Mitigation(name=AS_IT_IS), *self.mitigations.options):
                for seed in range(self.mitigations.seeds):
                    yield self._job(first, instance, disclosure, mitigation=mitigation, seed=seed)

    def attack_jobs(self) -> Iterator[AttackJob]:
        """Runs on which every attack is tried."""
        for each in self.classes:
            for disclosure in each.every_attack:
                job = self._job(each, expanded(each.instances, Path())[0], disclosure)
                yield AttackJob(**fields_of(job))

    def bound_jobs(self) -> Iterator[BoundJob]:
        """The first run under the bounded disclosure, at its end."""
        if self.bounded is not None:
            first = self.classes[0]
            job = self._job(first, expanded(first.instances, Path())[0], self.bounded)
            yield BoundJob(**fields_of(job) | {"evaluations": job.evaluations[-1:]})

    def _job(
        self,
        each: ProblemClass,
        instance: InstanceSpec,
        disclosure: str,
        *,
        worst_case: bool = False,
        again: bool = False,
        mitigation: Mitigation | None = None,
        seed: int = 0,
    ) -> LeakageJob:
        chosen = mitigation or Mitigation(name="")
        search = preset_named(each.preset).with_changes(**(each.parameters | chosen.parameters))
        evaluations = each.evaluations or self.evaluations
        lengths = {SEALED: self.sealed_generations}
        run = SearchJob(
            instance=instance,
            settings=tuple(sorted(msgspec.to_builtins(search).items())),
            disclosure=disclosure,
            generations=lengths.get(disclosure, max(evaluations) - 1),
            seed=seed,
        )
        return LeakageJob(
            kind=each.label,
            family=each.family,
            prior=each.prior,
            run=run,
            best=chosen.best,
            mitigation=chosen.name,
            evaluations=evaluations if mitigation is None else evaluations[-1:],
            worst_case=worst_case,
            # It takes the most time, so further instances have only the last point.
            worst_from=max(evaluations) if worst_case and again else 0,
        )

    def write(self, rows: Rows, folder: Path, /) -> None:
        """Write `leakage.json`, which the audit ships, `tables.md`, and two plots."""
        from studies.leakage.tables import write_leakage

        write_leakage(self, rows, folder)

    def sampled(self) -> LeakageStudy:
        """One short run of each family of costs under `top:15`, and its sealed plan."""
        families = {(each.label, each.family, each.prior): each for each in self.classes}
        few = []
        for each in families.values():
            points = each.evaluations or self.evaluations
            short = [count for count in points if count <= MOST_SAMPLED]
            (spec, *_) = expanded(each.instances, Path())
            few.append(
                msgspec.structs.replace(
                    each, instances=(spec,), evaluations=(max(short or points[:1]),),
                    disclosures=("top:15",), every_attack=(), worst_cases=0,
                )
            )  # fmt: skip
        return msgspec.structs.replace(
            self, classes=tuple(few), bounded=None, mitigations=Mitigations()
        )

    def quick(self) -> LeakageStudy:
        """A few disclosures on one instance, without worst cases and mitigations."""
        first = self.classes[0]
        few = msgspec.structs.replace(
            first, instances=first.instances[:1], worst_cases=0, every_attack=()
        )
        (spec, *_) = expanded(few.instances, Path())
        return msgspec.structs.replace(
            self,
            disclosures=("none", "order", "quantiles:5", "top:15"),
            sealed_generations=0,
            bounded=None,
            evaluations=tuple(self.evaluations[-2:]),
            classes=(msgspec.structs.replace(few, instances=(spec,)),),
            mitigations=Mitigations(),
        )


def fields_of(job: LeakageJob, /) -> dict[str, Any]:
    """The fields of a job by name."""
    return {name: getattr(job, name) for name in job.__struct_fields__}


def shipped_leakage_study() -> LeakageStudy:
    """The study of the package."""
    name = "leakage.toml"
    return leakage_study_from(shipped_text("studies.leakage", name), name)


def read_leakage_study(path: Path, /) -> LeakageStudy:
    """Read a study of leakage from its file."""
    return leakage_study_from(read_text(path), str(path))


def leakage_study_from(text: str, path: str, /) -> LeakageStudy:
    """Read a study of leakage.

    >>> leakage_study_from("name = 1", "x.toml")
    Traceback (most recent call last):
    tacit.errors.FileError: x.toml: at name: expected text, got a whole number; see docs/leakage.md
    """
    return study_from(text, path, LeakageStudy, see="docs/leakage.md")
