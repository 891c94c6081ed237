"""Running the study of equity: all series, then figures, tables and the plot."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import msgspec

from studies.equity.audit import AuditFigures, audit
from studies.equity.figures import CellFigures, figures_of
from studies.equity.pictures import draw_equity
from studies.equity.plan import Cell, EquityStudy
from studies.equity.series import Series, run_series
from studies.equity.tables import equity_blocks
from studies.execution.store import versions, write_json, write_whole
from studies.report.table import Block, ReportPage

PICTURE = "spread.png"
FORMAT = "tacit-equity/1"


@dataclass(frozen=True)
class EquityRun:
    """What was done."""

    folder: Path
    study: EquityStudy
    figures: list[CellFigures]
    audits: list[AuditFigures]
    seconds: float

    def blocks(self) -> list[Block]:
        """What the report has of it."""
        told = equity_blocks(self.study, self.figures, self.audits)
        return [*told, (f"{self.folder.name}/{PICTURE}", "Spread of saved shares")]


def run_equity(
    study: EquityStudy,
    out: Path,
    pool: Executor,
    /,
    *,
    advance: Callable[[int], None] | None = None,
) -> EquityRun:
    """Run the study in `out`/name: `equity.json`, `tables.md` and the plot."""
    started = time.monotonic()
    cells, audited = study.cells(), study.audited()
    count = len(cells)
    waiting = [pool.submit(_series_of, cell, study) for cell in (*cells, *audited)]
    made: list[CellFigures] = []
    audits: list[AuditFigures] = []
    for number, (cell, future) in enumerate(zip((*cells, *audited), waiting, strict=True)):
        series = future.result()
        if number < count:
            made.append(figures_of(cell, series))
        else:
            audits.append(audit(cell, series))
        if advance is not None:
            advance(1)
    done = EquityRun(out / study.name, study, made, audits, time.monotonic() - started)
    _write(done)
    return done


def _series_of(cell: Cell, study: EquityStudy) -> list[Series]:
    return [run_series(cell.setting, seed, study.runs) for seed in range(study.series)]


def _write(done: EquityRun) -> None:
    draw_equity(done.study, done.figures, done.folder / PICTURE)
    content = {"format": FORMAT, "cells": done.figures, "audits": done.audits}
    write_json(done.folder / "equity.json", content)
    about = {"study": msgspec.to_builtins(done.study), "versions": versions()}
    write_json(done.folder / "study.json", about)
    page = ReportPage(done.study.title, equity_blocks(done.study, done.figures, done.audits))
    write_whole(done.folder / "tables.md", page.markdown().encode())
