"""Running the study: both parts, then tables, figures and pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from studies.execution.run_study import run_study
from studies.execution.store import Store, write_json, write_whole
from studies.report.results import Results
from studies.report.table import Block, ReportTable
from studies.study.study import Seeds, Study, shipped_study
from studies.together.figures import (
    APART,
    COMPARED,
    TOGETHER,
    TogetherFigures,
    together_figures,
)
from studies.together.pictures import draw_median_fronts, draw_spread
from studies.together.tables import together_blocks

FOLDER = "together"
SPREAD, FRONTS = "spread.png", "fronts.png"


@dataclass(frozen=True)
class TogetherRun:
    """What was done."""

    folder: Path
    figures: TogetherFigures
    computed: int

    def blocks(self, *, inside: str = "") -> list[Block]:
        """The section of the report; `inside` is where its pictures lie from there."""
        return [
            *together_blocks(self.figures),
            (f"{inside}{SPREAD}", "GD+ and IGD+ at the last generation, by configuration"),
            (f"{inside}{FRONTS}", "Last sets of the runs with the median IGD+"),
        ]


def together_studies(*, quick: bool, seeds: int | None = None) -> list[Study]:
    """The configurations that are compared, in full or quick (one instance, eleven seeds).

    >>> [len(list(each.jobs())) for each in together_studies(quick=False)]
    [465, 930]
    """
    apart = msgspec.structs.replace(shipped_study(APART), disclosures=COMPARED)
    studies = [apart, shipped_study(TOGETHER)]
    if seeds is not None:
        studies = [
            msgspec.structs.replace(each, seeds=Seeds(each.seeds.first, seeds)) for each in studies
        ]
    return [each.quick() for each in studies] if quick else studies


def run_together(
    studies: Sequence[Study],
    out: Path,
    pool: Executor,
    /,
    *,
    there: Mapping[str, Store] | None = None,
    advance: Callable[[str, int], None] | None = None,
) -> TogetherRun:
    """Run both studies in `out`, and write `together.json`, `tables.md` and the pictures.

    `there` has what was run already, by the name of the study.
    """
    stores = dict(there or {})
    computed = 0
    for study in studies:
        if study.name in stores:
            continue
        told = None if advance is None else partial(advance, study.name)
        done = run_study(study, out / FOLDER, pool, advance=told)
        stores[study.name], computed = done.store, computed + done.computed
    results = Results({study.name: study for study in studies}, stores)
    run = TogetherRun(out / FOLDER, together_figures(results), computed)
    write_json(run.folder / "together.json", run.figures)
    write_whole(run.folder / "tables.md", _written(run).encode())
    draw_spread(results, run.folder / SPREAD)
    draw_median_fronts(results, run.folder / FRONTS)
    return run


def _written(run: TogetherRun) -> str:
    lines = [
        block.markdown() if isinstance(block, ReportTable) else block
        for block in together_blocks(run.figures)
        if not isinstance(block, tuple)
    ]
    return "\n\n".join(lines[2:]) + "\n"
