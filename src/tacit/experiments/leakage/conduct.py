"""Conducting the study of leakage: attack what is missing, then the table and the pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tacit.experiments.leakage.perform import LeakageResult, perform_leakage
from tacit.experiments.leakage.pictures import draw_growth, draw_privacy
from tacit.experiments.leakage.plan import LeakageJob, LeakageStudy
from tacit.experiments.leakage.tables import leakage_table_entries, leakage_tables
from tacit.experiments.store import versions, write_whole


@dataclass(frozen=True)
class LeakageConducted:
    """What was done."""

    folder: Path
    results: list[LeakageResult]
    computed: int
    seconds: float


def conduct_leakage(
    study: LeakageStudy,
    out: Path,
    pool: Executor,
    /,
    *,
    advance: Callable[[int], None] | None = None,
) -> LeakageConducted:
    """Bring the study to its end in `out`/name; finished runs are not computed again.

    There are then `leakage.json`, which is the table that the audit ships, `tables.md`, and the
    plots `privacy.png` and `growth.png`.
    """
    started = time.monotonic()
    folder = out / study.name
    jobs = list(study.jobs())
    missing = [job for job in jobs if not _path(folder, job).exists()]
    if advance is not None:
        advance(len(jobs) - len(missing))
    # The longest first, so that all cores stay busy to the end.
    ordered = sorted(missing, key=lambda job: not job.worst_case)
    futures = {pool.submit(perform_leakage, job): job for job in ordered}
    for future in as_completed(futures):
        write_whole(_path(folder, futures[future]), future.result())
        if advance is not None:
            advance(1)
    results = [
        msgspec.json.decode(_path(folder, job).read_bytes(), type=LeakageResult) for job in jobs
    ]
    _write(study, folder, results)
    return LeakageConducted(folder, results, len(missing), time.monotonic() - started)


def _path(folder: Path, job: LeakageJob) -> Path:
    return folder / "runs" / f"{job.key}.json"


def _write(study: LeakageStudy, folder: Path, results: list[LeakageResult]) -> None:
    table = {"format": "tacit-leakage/1", "entries": leakage_table_entries(results)}
    about = {"study": msgspec.to_builtins(study), "versions": versions()}
    written = "\n\n".join(each.markdown() for each in leakage_tables(results)) + "\n"
    write_whole(folder / "leakage.json", _json(table))
    write_whole(folder / "study.json", _json(about))
    write_whole(folder / "tables.md", written.encode())
    draw_privacy(results, folder / "privacy.png")
    draw_growth(results, folder / "growth.png")


def _json(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"
