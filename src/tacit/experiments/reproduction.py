"""The whole evaluation of the paper in one call: four studies, then the report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tacit.experiments.engine_times import EngineTimes
from tacit.experiments.execution.run_study import StudyRun, run_study
from tacit.experiments.leakage.plan import LeakageStudy
from tacit.experiments.leakage.run_study import LeakageStudyRun, run_leakage_study
from tacit.experiments.report.edge_variants import edge_blocks
from tacit.experiments.report.results import Results
from tacit.experiments.report.table import Block
from tacit.experiments.report.write import ReportSummary, write_report, write_summary
from tacit.experiments.study.study import Study, shipped_study
from tacit.runs import show_duration

PAPER_STUDIES = ("tsp", "moap-one", "moap-two", "ap")
"""The longest runs first, so that all cores stay busy to the end."""


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


def both_ends_study(*, quick: bool) -> Study:
    """The TSP with the other variant of edge crossover, in full or quick.

    >>> len(list(both_ends_study(quick=False).jobs()))
    217
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
    leakage: LeakageStudy | None = None,
    both_ends: Study | None = None,
    advance: Callable[[str, int], None] | None = None,
) -> Reproduction:
    """Run the studies, write the report and `summary.json` to `out`.

    `leakage` is the study of what runs give away, `both_ends` the TSP with the other variant of
    edge crossover, if these are to be in the report.

    `engine` is called for the times of our own engine once the runs are done and the machine is
    quiet.
    """
    started = time.monotonic()
    finished = {}
    for study in studies:
        told = None if advance is None else partial(advance, study.name)
        finished[study.name] = run_study(study, out, pool, advance=told)
    runs_seconds = time.monotonic() - started
    given_away: list[Block] = []
    if leakage is not None:
        told = None if advance is None else partial(advance, leakage.name)
        given_away = _leakage_blocks(run_leakage_study(leakage, out, pool, advance=told))
    measured = list(engine())
    order = sorted(studies, key=lambda study: study.name)
    results = Results(
        {study.name: study for study in order},
        {study.name: finished[study.name].store for study in order},
    )
    edge_variants: list[Block] = []
    if both_ends is not None:
        told = None if advance is None else partial(advance, both_ends.name)
        other = run_study(both_ends, out, pool, advance=told).store
        edge_variants = edge_blocks(results, Results({"tsp": both_ends}, {"tsp": other}))
    about = _about(studies, finished, runs_seconds)
    outcome = write_report(
        results, out, about=about, engine=measured, latex=latex, given_away=given_away,
        edge_variants=edge_variants,
    )  # fmt: skip
    seconds = time.monotonic() - started
    write_summary(
        out,
        outcome,
        seconds=seconds,
        seconds_of_runs=round(runs_seconds, 1),
        runs_computed=sum(each.computed for each in finished.values()),
        runs_reused=sum(each.reused for each in finished.values()),
        cores=os.cpu_count(),
        engine=[_engine_entry(times) for times in measured] or "not measured",
    )
    return Reproduction(outcome, seconds, finished)


def _leakage_blocks(done: LeakageStudyRun) -> list[Block]:
    name = done.folder.name
    return [
        "Measured by attacking recorded runs: the correlation of the matrix that a curious "
        "platform recovers with the secret one, rows and columns centred. See docs/leakage.md.",
        *done.tables(),
        (f"{name}/privacy.png", "Privacy against the quality of the solution"),
        (f"{name}/growth.png", "Leakage against evaluations"),
    ]


def _engine_entry(times: EngineTimes) -> dict[str, object]:
    return {
        "latency_ms": times.latency_ms,
        "seconds": times.by_method(),
        "generations": times.generations(),
    }


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
        "Beside every figure of Gruber et al. (2026) stands ours, the difference, and whether the "
        "paper's median lies within the spread: no further away than the larger of the two "
        "interquartile ranges, or between the medians of our instances.",
        f"Studies: {named}.",
        f"{told}. Each study's folder has one row per run and generation in "
        "generations.parquet, the last sets in fronts.parquet, and the full configuration and "
        "versions in study.json and versions.json.",
    ]
