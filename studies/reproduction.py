"""The whole evaluation of the paper in one call: four studies, then the report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from studies.ablation.plan import AblationStudy
from studies.ablation.run_study import AblationRun, run_ablation
from studies.engine_times import EngineTimes
from studies.execution.run_study import StudyRun, run_study
from studies.leakage.check import leakage_blocks
from studies.leakage.plan import LeakageStudy
from studies.leakage.run_study import run_leakage_study
from studies.report.control import PREFIX as CONTROL
from studies.report.control import control_of
from studies.report.edge_variants import edge_blocks
from studies.report.results import Results
from studies.report.table import Block
from studies.report.ties import FiguresByTies, ties_blocks, ties_figures, ties_studies
from studies.report.write import ReportSummary, write_report, write_summary
from studies.study.study import Study, shipped_study
from studies.together.run_study import run_together
from tacit.runs import show_duration

PAPER_STUDIES = ("tsp", "moap-one", "moap-two", "ap")
"""The longest runs first, so that all cores stay busy to the end."""


@dataclass(frozen=True, kw_only=True)
class StudiesBeside:
    """What is studied beside the paper's evaluation, if it is to be in the report."""

    leakage: LeakageStudy | None = None
    """What runs give away."""
    ablation: AblationStudy | None = None
    """The one that sets algorithm and disclosure apart."""
    ties: Sequence[Study] = ()
    """Those of `ties_studies`."""
    both_ends: Study | None = None
    """The TSP with the other variant of edge crossover."""
    together: Sequence[Study] = ()
    """Those of `together_studies`."""


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction came to."""

    outcome: ReportSummary
    seconds: float
    finished: dict[str, StudyRun]


def paper_studies(*, quick: bool) -> list[Study]:
    """The paper's four studies, in full or quick (one instance per class, eleven seeds).

    >>> sum(len(list(study.jobs())) for study in paper_studies(quick=False))
    7378
    >>> sum(len(list(study.jobs())) for study in paper_studies(quick=True))
    616
    """
    studies = [shipped_study(name) for name in PAPER_STUDIES]
    return [study.quick() for study in studies] if quick else studies


def shipped_ties_studies() -> list[Study]:
    """The study of how much depends on the way ties are broken."""
    return ties_studies(shipped_study("moap-two"))


def control_studies(studies: Sequence[Study], /) -> list[Study]:
    """The same studies, smaller and with wrong operators.

    >>> sum(len(list(study.jobs())) for study in control_studies(paper_studies(quick=False)))
    1470
    """
    return [control_of(study) for study in studies]


def both_ends_study(*, quick: bool) -> Study:
    """The TSP with the other variant of edge crossover, in full or quick.

    >>> len(list(both_ends_study(quick=False).jobs()))
    77
    """
    study = shipped_study("tsp-both-ends")
    return study.quick() if quick else study


def reproduce(
    studies: Sequence[Study],
    out: Path,
    pool: Executor,
    /,
    *,
    engine: Callable[[], Sequence[EngineTimes]] = tuple,
    latex: bool = False,
    beside: StudiesBeside | None = None,
    advance: Callable[[str, int], None] | None = None,
) -> Reproduction:
    """Run the studies, write the report and `summary.json` to `out`.

    Those of `control_studies` may be among them.

    `engine` is called for the times of our own engine once the runs are done and the machine is
    quiet.
    """
    started, others = time.monotonic(), beside or StudiesBeside()
    leakage, ablation, both_ends = others.leakage, others.ablation, others.both_ends
    finished = {}
    for study in studies:
        told = None if advance is None else partial(advance, study.name)
        finished[study.name] = run_study(study, out, pool, advance=told)
    runs_seconds = time.monotonic() - started
    by_ties = _figures_by_ties(others.ties, out, pool, advance)
    given_away: list[Block] = []
    if leakage is not None:
        told = None if advance is None else partial(advance, leakage.name)
        given_away = leakage_blocks(run_leakage_study(leakage, out, pool, advance=told))
    crossed: AblationRun | None = None
    if ablation is not None:
        told = None if advance is None else partial(advance, ablation.name)
        crossed = run_ablation(ablation, out, pool, advance=told)
    together: list[Block] = []
    if others.together:
        there = {name: each.store for name, each in finished.items()}
        done = run_together(others.together, out, pool, there=there, advance=advance)
        together = done.blocks(inside=f"{done.folder.name}/")
    measured = list(engine())
    results, control = _results_and_control(studies, finished)
    edge_variants: list[Block] = []
    if both_ends is not None:
        told = None if advance is None else partial(advance, both_ends.name)
        other = run_study(both_ends, out, pool, advance=told).store
        edge_variants = edge_blocks(results, Results({"tsp": both_ends}, {"tsp": other}))
    about = _about(studies, finished, runs_seconds)
    outcome = write_report(
        results,
        out,
        about=about,
        engine=measured,
        latex=latex,
        given_away=given_away,
        studied=[*together, *_ablation_blocks(crossed), *ties_blocks(by_ties)],
        control=control,
        edge_variants=edge_variants,
    )
    seconds = time.monotonic() - started
    write_summary(
        out,
        outcome,
        seconds=seconds,
        seconds_of_runs=round(runs_seconds, 1),
        runs_computed=sum(each.computed for each in finished.values()),
        runs_reused=sum(each.reused for each in finished.values()),
        cores=os.cpu_count(),
        ties=by_ties or "not run",
        ablation=None if crossed is None else crossed.summary(),
    )
    return Reproduction(outcome, seconds, finished)


def _figures_by_ties(
    ties: Sequence[Study],
    out: Path,
    pool: Executor,
    advance: Callable[[str, int], None] | None,
) -> FiguresByTies:
    finished = {}
    for study in ties:
        told = None if advance is None else partial(advance, study.name)
        finished[study.name] = run_study(study, out, pool, advance=told)
    return ties_figures(ties, finished)


def _ablation_blocks(done: AblationRun | None) -> list[Block]:
    return [] if done is None else ["## Algorithm or disclosure?", *done.blocks()]


def _results_and_control(
    studies: Sequence[Study], finished: dict[str, StudyRun]
) -> tuple[Results, Results | None]:
    """The control's results go by the names of the studies that they are compared with."""
    found = []
    for prefix in ("", CONTROL):
        named = {
            study.name.removeprefix(prefix): study
            for study in sorted(studies, key=lambda study: study.name)
            if study.name.startswith(CONTROL) == bool(prefix)
        }
        stores = {name: finished[study.name].store for name, study in named.items()}
        found.append(Results(named, stores))
    return found[0], found[1] if found[1].studies else None


def _about(studies: Sequence[Study], finished: dict[str, StudyRun], seconds: float) -> list[str]:
    computed = sum(each.computed for each in finished.values())
    reused = sum(each.reused for each in finished.values())
    named = ", ".join(
        f"{study.name} (instances: {len(study.instances)}, configurations: "
        f"{len(study.disclosures)}, seeds: {study.seeds.count}, generations: {study.generations})"
        for study in studies
    )
    told = f"{computed} runs were computed in {show_duration(seconds)} on {os.cpu_count()} cores"
    if reused:
        told += f"; {reused} were there from an earlier start"
    return [
        "Beside every figure of Gruber et al. (2026) stands ours, the difference, and z: the "
        "difference in standard errors of both medians.",
        f"Studies: {named}.",
        f"{told}. Each study's folder has one row per run and generation in "
        "generations.parquet, the last sets in fronts.parquet, and the full configuration and "
        "versions in study.json and versions.json.",
    ]
