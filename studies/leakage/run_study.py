"""Running the study of leakage: attack what is missing, then write the table and the pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from studies.execution.store import versions, write_json, write_whole
from studies.leakage.bound import BoundResult, bound_table, measure_bound
from studies.leakage.pictures import draw_growth, draw_privacy
from studies.leakage.plan import LeakageJob, LeakageStudy
from studies.leakage.results import LeakageResult
from studies.leakage.run_job import AttackResult, measure_leakage, try_attacks
from studies.leakage.tables import attack_table, leakage_table_entries, leakage_tables
from studies.report.table import ReportTable

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class LeakageStudyRun:
    """What was done."""

    folder: Path
    results: list[LeakageResult]
    attacks: list[AttackResult]
    bounds: list[BoundResult]
    computed: int
    seconds: float

    def tables(self) -> list[ReportTable]:
        """All results as readable tables."""
        tables = leakage_tables(self.results)
        if self.bounds:
            tables.append(bound_table(self.bounds, [self._reached(each) for each in self.bounds]))
        return [*tables, attack_table(self.attacks)] if self.attacks else tables

    def _reached(self, bound: BoundResult) -> float:
        """What the strongest attack reached on the run that a bound is about."""
        return next(
            each.points[-1].honest
            for each in self.results
            if (each.instance, each.disclosure, each.population)
            == (bound.instance, bound.disclosure, bound.population)
        )


def run_leakage_study(
    study: LeakageStudy,
    out: Path,
    pool: Executor,
    /,
    *,
    advance: Callable[[int], None] | None = None,
) -> LeakageStudyRun:
    """Bring the study to its end in `out`/name; finished runs are not computed again.

    It writes `leakage.json`, which is the table that the audit ships, `tables.md`, and the
    plots `privacy.png` and `growth.png`.
    """
    started = time.monotonic()
    folder = out / study.name
    work = [(job, measure_leakage, _path(folder, job)) for job in study.jobs()]
    work += [(job, try_attacks, _path(folder, job, "-attacks")) for job in study.attack_jobs()]
    work += [(job, measure_bound, _path(folder, job, "-bound")) for job in study.bound_jobs()]
    missing = [each for each in work if not each[2].exists()]
    if advance is not None:
        advance(len(work) - len(missing))
    # The longest first, so that all cores stay busy to the end.
    missing.sort(key=lambda each: not (each[0].worst_case or each[1] is not measure_leakage))
    futures = {pool.submit(task, job): path for job, task, path in missing}
    for future in as_completed(futures):
        write_whole(futures[future], future.result())
        if advance is not None:
            advance(1)
    done = LeakageStudyRun(
        folder,
        [_read(path, LeakageResult) for _, task, path in work if task is measure_leakage],
        [_read(path, AttackResult) for _, task, path in work if task is try_attacks],
        [_read(path, BoundResult) for _, task, path in work if task is measure_bound],
        len(missing),
        time.monotonic() - started,
    )
    _write(study, done)
    return done


def _path(folder: Path, job: LeakageJob, suffix: str = "") -> Path:
    return folder / "runs" / f"{job.key}{suffix}.json"


def _read(path: Path, kind: type[Kind]) -> Kind:
    return msgspec.json.decode(path.read_bytes(), type=kind)


def _write(study: LeakageStudy, done: LeakageStudyRun) -> None:
    folder, results = done.folder, done.results
    table = {"format": "tacit-leakage/2", "entries": leakage_table_entries(results)}
    about = {"study": msgspec.to_builtins(study), "versions": versions()}
    written = "\n\n".join(each.markdown() for each in done.tables()) + "\n"
    write_json(folder / "leakage.json", table)
    write_json(folder / "study.json", about)
    write_whole(folder / "tables.md", written.encode())
    draw_privacy(results, folder / "privacy.png")
    draw_growth(results, folder / "growth.png")
