"""The whole evaluation of the paper in one call: all studies, then the report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.ablation.study import AblationStudy, shipped_ablation
from studies.ablation.summary import effects_by_setting, figures_of, report_blocks
from studies.evaluation.study import SearchStudy, shipped_study
from studies.leakage.study import LeakageStudy, shipped_leakage_study
from studies.leakage.tables import leakage_blocks
from studies.report.own_engine import EngineTimes
from studies.report.results import Results
from studies.report.variants import CONTROL_PREFIX as CONTROL
from studies.report.variants import control_of, edge_blocks, ties_blocks, ties_figures, ties_studies
from studies.report.write import ReportSummary, write_report, write_summary
from studies.running import Advance, Finished, run_study
from studies.study import Study
from studies.tables import Block
from studies.together import TogetherStudy, together_study
from tacit.runs import show_duration

PAPER_STUDIES = ("tsp", "moap-one", "moap-two", "ap")
"""The longest runs first, so that all cores stay busy to the end."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The paper's studies, and what is studied beside them, if it is to be in the report."""

    paper: Sequence[SearchStudy]
    control: Sequence[SearchStudy] = ()
    """The same studies with wrong operators."""
    leakage: LeakageStudy | None = None
    ablation: AblationStudy | None = None
    ties: Sequence[SearchStudy] = ()
    """Those of `ties_studies`."""
    both_ends: SearchStudy | None = None
    """The TSP with the other variant of edge crossover."""
    together: TogetherStudy | None = None

    def studies(self) -> list[Study]:
        """All of them, in the order in which they are run."""
        others = (self.leakage, self.ablation, self.together, self.both_ends)
        beside = [study for study in others if study is not None]
        return [*self.paper, *self.control, *self.ties, *beside]


def paper_studies() -> list[SearchStudy]:
    """The paper's four studies.

    >>> sum(len(study.jobs()) for study in paper_studies())
    7378
    >>> sum(len(study.quick().jobs()) for study in paper_studies())
    616
    """
    return [shipped_study(name) for name in PAPER_STUDIES]


def whole_evaluation() -> Evaluation:
    """Everything that the report has.

    >>> sum(len(study.jobs()) for study in whole_evaluation().control)
    1470
    """
    paper = paper_studies()
    return Evaluation(
        paper=paper,
        control=[control_of(study) for study in paper],
        leakage=shipped_leakage_study().sampled(),
        ablation=shipped_ablation(),
        ties=ties_studies(shipped_study("moap-two")),
        both_ends=shipped_study("tsp-both-ends"),
        together=together_study(),
    )


def quick_evaluation() -> Evaluation:
    """One instance per class, eleven seeds; neither control nor ties."""
    return Evaluation(
        paper=[study.quick() for study in paper_studies()],
        leakage=shipped_leakage_study().sampled(),
        ablation=shipped_ablation().quick(),
        both_ends=shipped_study("tsp-both-ends").quick(),
        together=together_study().quick(),
    )


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction came to."""

    outcome: ReportSummary
    seconds: float
    finished: dict[str, Finished]


def reproduce(
    evaluation: Evaluation,
    out: Path,
    pool: Executor,
    /,
    *,
    engine: Callable[[], Sequence[EngineTimes]] = tuple,
    latex: bool = False,
    advance: Advance | None = None,
) -> Reproduction:
    """Run the studies, write the report and `summary.json` to `out`.

    `engine` is called for the times of our own engine once the runs are done and the machine is
    quiet.
    """
    started = time.monotonic()
    finished: dict[str, Finished] = {}
    for study in evaluation.studies():
        finished[study.name] = run_study(study, out, pool, advance=advance)
    rows = {job: row for each in finished.values() for job, row in each.rows.items()}
    compared = [finished[study.name] for study in (*evaluation.paper, *evaluation.control)]
    by_ties = ties_figures(evaluation.ties, rows)
    by_name = sorted(evaluation.paper, key=lambda study: study.name)
    results = Results({study.name: study for study in by_name}, rows)
    outcome = write_report(
        results,
        out,
        about=_about(compared),
        engine=list(engine()),
        latex=latex,
        given_away=_given_away(evaluation.leakage, rows),
        studied=[*_beside(evaluation, rows), *ties_blocks(by_ties)],
        control=_control(evaluation.control, rows),
        edge_variants=(
            edge_blocks(results, Results({"tsp": evaluation.both_ends}, rows))
            if evaluation.both_ends is not None
            else []
        ),
    )
    seconds = time.monotonic() - started
    write_summary(
        out,
        outcome,
        seconds=seconds,
        seconds_of_runs=round(sum(each.seconds for each in compared), 1),
        runs_computed=sum(each.computed for each in compared),
        runs_reused=sum(each.reused for each in compared),
        cores=os.cpu_count(),
        ties=by_ties or "not run",
        ablation=_effects(evaluation.ablation, finished),
    )
    return Reproduction(outcome, seconds, finished)


def _given_away(study: LeakageStudy | None, rows: dict[Any, Any]) -> list[Block]:
    return [] if study is None else leakage_blocks(study, rows)


def _beside(evaluation: Evaluation, rows: dict[Any, Any]) -> list[Block]:
    together, ablation = evaluation.together, evaluation.ablation
    return [
        *([] if together is None else together.blocks(rows)),
        *([] if ablation is None else report_blocks(ablation, rows)),
    ]


def _effects(
    study: AblationStudy | None, finished: dict[str, Finished]
) -> dict[str, object] | None:
    if study is None:
        return None
    done = finished[study.name]
    return {
        "effects": effects_by_setting(figures_of(study, done.rows)),
        "runs_computed": done.computed,
        "seconds": round(done.seconds, 1),
    }


def _control(studies: Sequence[SearchStudy], rows: dict[Any, Any]) -> Results | None:
    """The control goes by the names of the studies that it is compared with."""
    by_name = sorted(studies, key=lambda study: study.name)
    named = {study.name.removeprefix(CONTROL): study for study in by_name}
    return Results(named, rows) if named else None


def _about(finished: Sequence[Finished]) -> list[str]:
    computed = sum(each.computed for each in finished)
    reused = sum(each.reused for each in finished)
    seconds = sum(each.seconds for each in finished)
    named = ", ".join(_named(each.study) for each in finished)
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


def _named(study: Study) -> str:
    assert isinstance(study, SearchStudy), "the paper's studies are of searches"
    return (
        f"{study.name} (instances: {len(study.instances)}, configurations: "
        f"{len(study.disclosures)}, seeds: {study.seeds.count}, generations: {study.generations})"
    )
