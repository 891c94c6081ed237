"""Running the ablation: compute what is missing, then write the figures and the plot."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from studies.ablation.figures import CellFigures, by_setting, effects_of, figures_of
from studies.ablation.pictures import draw_gaps
from studies.ablation.plan import AblationJob, AblationStudy
from studies.ablation.run_job import AblationResult, run_ablation_job
from studies.ablation.tables import ablation_blocks, where
from studies.execution.store import versions, write_json, write_whole
from studies.report.table import Block, ReportPage

PICTURE = "gaps.png"


@dataclass(frozen=True)
class AblationRun:
    """What was done."""

    folder: Path
    study: AblationStudy
    figures: list[CellFigures]
    computed: int
    seconds: float

    def blocks(self) -> list[Block]:
        """What the report has of it."""
        told = ablation_blocks(self.study, self.figures)
        caption = "Gap to the optimum against time: median, and lower to upper quartile"
        return [*told, (f"{self.folder.name}/{PICTURE}", caption)]

    def summary(self) -> dict[str, object]:
        """Effects by problem and budget, and what it took."""
        return {
            "effects": {
                where(key): {name: round(value, 3) for name, value in asdict(effects_of(c)).items()}
                for key, c in by_setting(self.figures).items()
            },
            "runs_computed": self.computed,
            "seconds": round(self.seconds, 1),
        }


def run_ablation(
    study: AblationStudy,
    out: Path,
    pool: Executor,
    /,
    *,
    advance: Callable[[int], None] | None = None,
) -> AblationRun:
    """Bring the ablation to its end in `out`/name; finished runs are not computed again.

    It writes `ablation.json`, `tables.md` and the plot.
    """
    started = time.monotonic()
    folder, jobs = out / study.name, study.jobs()
    missing = [job for job in jobs if not _path(folder, job).exists()]
    if advance is not None:
        advance(len(jobs) - len(missing))
    # The longest first, so that all cores stay busy to the end.
    missing.sort(key=lambda job: -job.run.generations)
    futures = {pool.submit(run_ablation_job, job): job for job in missing}
    for future in as_completed(futures):
        write_whole(_path(folder, futures[future]), future.result())
        if advance is not None:
            advance(1)
    gaps = {job: _read(_path(folder, job)).gaps for job in jobs}
    seconds = time.monotonic() - started
    done = AblationRun(folder, study, figures_of(study, gaps), len(missing), seconds)
    _write(done)
    return done


def _path(folder: Path, job: AblationJob) -> Path:
    return folder / "runs" / f"{job.key}.json"


def _read(path: Path) -> AblationResult:
    return msgspec.json.decode(path.read_bytes(), type=AblationResult)


def _write(done: AblationRun) -> None:
    draw_gaps(done.study, done.figures, done.folder / PICTURE)
    write_json(done.folder / "ablation.json", {"format": "tacit-ablation/1", "cells": done.figures})
    about = {"study": msgspec.to_builtins(done.study), "versions": versions()}
    write_json(done.folder / "study.json", about)
    page = ReportPage(done.study.title, ablation_blocks(done.study, done.figures))
    write_whole(done.folder / "tables.md", page.markdown().encode())
