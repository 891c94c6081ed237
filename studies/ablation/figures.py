"""Figures of the ablation: gaps by cell, and what of them is algorithm and what disclosure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, log2
from statistics import mean

import msgspec
import numpy as np

from studies.ablation.plan import AblationJob, AblationStudy
from tacit.disclosure import SEALED

OPEN = "none"
LEAST_GAP = 0.01
"""In percent. Smaller gaps count as this one in factors, for which an optimum would be 0."""


class CellFigures(msgspec.Struct, frozen=True):
    """The runs of a cell together; gaps in percent of the optimum."""

    instance: str
    algorithm: str
    disclosure: str
    latency_ms: float
    seconds: float
    candidates: int
    generations: int
    runs: int
    lower: float
    median: float
    upper: float


def figures_of(
    study: AblationStudy, gaps: Mapping[AblationJob, Mapping[int, float]], /
) -> list[CellFigures]:
    """Median and quartiles of each cell."""
    found = []
    courses = study.cells()
    for cell, jobs in study.jobs_by_cell().items():
        candidates, generations = courses[cell]
        values = [gaps[job][generations] for job in jobs]
        lower, middle, upper = np.percentile(values, [25, 50, 75]).round(4).tolist()
        found.append(CellFigures(*cell, candidates, generations, len(values), lower, middle, upper))
    return found


class Setting(msgspec.Struct, frozen=True, order=True):
    """Where cells are compared: on one problem within one budget."""

    instance: str
    latency_ms: float
    seconds: float


Cells = Mapping[tuple[str, str], CellFigures]
"""By algorithm and disclosure."""


def by_setting(figures: Sequence[CellFigures], /) -> dict[Setting, Cells]:
    """Figures by setting, in their order."""
    found: dict[Setting, dict[tuple[str, str], CellFigures]] = {}
    for each in figures:
        setting = Setting(each.instance, each.latency_ms, each.seconds)
        found.setdefault(setting, {})[each.algorithm, each.disclosure] = each
    return dict(found)


@dataclass(frozen=True)
class Effects:
    """Factors between median gaps; above 1 the first of the two has the larger gap."""

    algorithm_open: float
    """Genetic algorithm against annealing, where both see values."""
    algorithm: float
    """The same, over all disclosures that both have (geometric mean)."""
    limits_genetic: float
    """Limited disclosures (geometric mean) against values, for the genetic algorithm."""
    limits_annealing: float
    """The same for annealing."""
    sealing: float
    """Sealed annealing against annealing that sees values: the same steps, in fewer generations."""
    heat: float
    """Sealed search without heat against with."""

    @property
    def interaction(self) -> float:
        """How many times more annealing suffers from limits than the genetic algorithm."""
        return self.limits_annealing / self.limits_genetic


def effects_of(cells: Cells, /) -> Effects:
    """Main effects and interaction in one setting, as factors."""
    logs = {column: log2(max(each.median, LEAST_GAP)) for column, each in cells.items()}
    shared = [text for algorithm, text in logs if algorithm == "genetic"]
    limited = [text for text in shared if text != OPEN]

    def apart(algorithm: str) -> float:
        limits = mean(logs[algorithm, text] for text in limited)
        return float(limits - logs[algorithm, OPEN])

    between = [logs["genetic", text] - logs["annealing", text] for text in shared]
    return Effects(
        algorithm_open=2 ** (logs["genetic", OPEN] - logs["annealing", OPEN]),
        algorithm=2 ** mean(between),
        limits_genetic=2 ** apart("genetic"),
        limits_annealing=2 ** apart("annealing"),
        sealing=2 ** (logs["annealing", SEALED] - logs["annealing", OPEN]),
        heat=2 ** (logs["greedy", SEALED] - logs["annealing", SEALED]),
    )


def sensitivity(
    figures: Sequence[CellFigures], latency_ms: float, percent: float, /
) -> list[float]:
    """By how many percent each cell's gap changes if times are off by this much.

    From how the gap falls between the shortest and the longest budget.
    """
    cells: dict[tuple[str, str, str], list[CellFigures]] = {}
    for each in figures:
        if each.latency_ms == latency_ms:
            cells.setdefault((each.instance, each.algorithm, each.disclosure), []).append(each)
    changes = []
    for line in cells.values():
        in_order = sorted(line, key=lambda each: each.seconds)
        first, last = in_order[0], in_order[-1]
        if first.seconds == last.seconds:
            continue
        fall = log(max(first.median, LEAST_GAP) / max(last.median, LEAST_GAP))
        slope = abs(fall) / log(last.seconds / first.seconds)
        changes.append(100 * ((1 + percent / 100) ** slope - 1))
    return changes
