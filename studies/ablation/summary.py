"""Figures of the ablation by cell, what is algorithm and what disclosure, tables and the plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import log, log2
from pathlib import Path
from statistics import mean, median

import msgspec
import numpy as np

from studies.ablation.study import AblationJob, AblationResult, AblationStudy
from studies.pictures import COLOURS, OTHER, empty_figure
from studies.study import Rows
from studies.tables import Block, Cell, ReportTable, plain, write_study
from tacit.disclosure import SEALED, split_disclosure

OPEN = "none"
LEAST_GAP = 0.01
"""In percent. Smaller gaps count as this one in factors, for which an optimum would be 0."""


class AblationFigures(msgspec.Struct, frozen=True):
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
    study: AblationStudy, rows: Mapping[AblationJob, AblationResult], /
) -> list[AblationFigures]:
    """Median and quartiles of each cell."""
    found = []
    courses = study.cells()
    for cell, jobs in study.jobs_by_cell().items():
        candidates, generations = courses[cell]
        values = [rows[job].gaps[generations] for job in jobs]
        lower, middle, upper = np.percentile(values, [25, 50, 75]).round(4).tolist()
        found.append(
            AblationFigures(*cell, candidates, generations, len(values), lower, middle, upper)
        )
    return found


class AblationSetting(msgspec.Struct, frozen=True, order=True):
    """Where cells are compared: on one problem within one budget."""

    instance: str
    latency_ms: float
    seconds: float


Cells = Mapping[tuple[str, str], AblationFigures]
"""By algorithm and disclosure."""


def by_setting(figures: Sequence[AblationFigures], /) -> dict[AblationSetting, Cells]:
    """Figures by setting, in their order."""
    found: dict[AblationSetting, dict[tuple[str, str], AblationFigures]] = {}
    for each in figures:
        setting = AblationSetting(each.instance, each.latency_ms, each.seconds)
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
    # In logarithms effects are factors, and their means are geometric.
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
    figures: Sequence[AblationFigures], latency_ms: float, percent: float, /
) -> list[float]:
    """By how many percent each cell's gap changes if times are off by this much.

    From how the gap falls between the shortest and the longest budget.
    """
    cells: dict[tuple[str, str, str], list[AblationFigures]] = {}
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
        # As if gaps fell by a power of the time between the two budgets.
        slope = abs(fall) / log(last.seconds / first.seconds)
        changes.append(100 * ((1 + percent / 100) ** slope - 1))
    return changes


NAMES = {"genetic": "genetic algorithm", "annealing": "annealing", "greedy": "without heat"}
ABOUT = (
    "Does a sealed tour end better because of its algorithm or because of its disclosure? "
    "Both algorithms run under the same disclosures, at equal time on our own engine. Annealing "
    "under none is the sealed search, step by step, by a platform that sees every value. With less "
    "than values it goes by ranks: a child counts as the middle of the group that a disclosure "
    "puts it into, the parent as the first of its own; under quantiles and top, whose groups hide "
    "how good a step was, it is taken back if the best that the next set discloses is lower. "
    "A sealed genetic algorithm does not exist "
    "here: nodes would have to recombine plans that none of them knows, and such a crossover on "
    "shares is not built. Sealed annealing without heat is a control that only climbs.",
    "A plan counts as it would be published: the best so far, or under a limited disclosure the "
    "truly best of the best-known set, which the engine reveals at the end. Time is that of "
    "evaluations and of sealed generations by the study's clocks; what the platform computes by "
    "itself is not counted. With none the values determine the weights after a few dozen "
    "evaluations, so a platform that wants the optimum need not search at all; both algorithms "
    "ignore that.",
)


def ablation_blocks(study: AblationStudy, figures: Sequence[AblationFigures], /) -> list[Block]:
    """Tables of gaps and effects, and what is algorithm and what is disclosure."""
    gaps = [gap_table(figures, clock.latency_ms) for clock in study.clocks]
    errors = [
        _error(clock.latency_ms, clock.error_percent, changes)
        for clock in study.clocks
        if (changes := sensitivity(figures, clock.latency_ms, clock.error_percent))
    ]
    return [*ABOUT, *errors, *gaps, effects_table(figures), *sentences(figures)]


def _error(latency_ms: float, percent: float, changes: Sequence[float]) -> str:
    return (
        f"Times at {latency_ms:g} ms may be off by {percent:g} %. By how gaps fall between the two "
        f"budgets, that changes the gap of a cell by {median(changes):.0f} % in the median, and by "
        f"{max(changes):.0f} % in the cell that depends most on time."
    )


def gap_table(figures: Sequence[AblationFigures], latency_ms: float, /) -> ReportTable:
    """Median gap and quartiles, a row per algorithm and disclosure."""
    settings = {key: cells for key, cells in by_setting(figures).items()
                if key.latency_ms == latency_ms}  # fmt: skip
    best = {key: min(each.median for each in cells.values()) for key, cells in settings.items()}
    rows = []
    for column in next(iter(settings.values())):
        algorithm, disclosure = column
        shown = [
            Cell(_gap(cells[column]), cells[column].median == best[key])
            for key, cells in settings.items()
        ]
        rows.append((*plain(NAMES[algorithm], disclosure), *shown))
    return ReportTable(
        f"table-ablation-{latency_ms:g}ms",
        f"Gap to the optimum in percent at equal time, {latency_ms:g} ms delay",
        ("algorithm", "disclosure", *(f"{key.instance}, {key.seconds:g} s" for key in settings)),
        tuple(rows),
        f"Medians of {figures[0].runs} runs (lower to upper quartile); the smallest are marked.",
    )


def _gap(each: AblationFigures) -> str:
    return f"{each.median:.2f} ({each.lower:.2f} to {each.upper:.2f})"


def effects_table(figures: Sequence[AblationFigures], /) -> ReportTable:
    """Main effects and interaction as factors, a row per problem and budget."""
    rows = []
    for key, cells in by_setting(figures).items():
        effects = effects_of(cells)
        factors = (
            effects.algorithm_open,
            effects.algorithm,
            effects.limits_genetic,
            effects.limits_annealing,
            effects.interaction,
            effects.sealing,
            effects.heat,
        )
        rows.append(plain(where(key), *(f"{factor:.2f}" for factor in factors)))
    return ReportTable(
        "table-ablation-effects",
        "What is algorithm and what is disclosure: factors between median gaps",
        ("problem and budget", "algorithm, values seen", "algorithm, all disclosures",
         "limits, genetic algorithm", "limits, annealing", "interaction", "sealing", "no heat"),
        tuple(rows),
        "Algorithm: the gap of the genetic algorithm divided by that of annealing. Limits: the gap "
        "under order, quantiles and top (geometric mean) divided by that under none. "
        "Interaction: the second of these divided by the first. Sealing: sealed annealing "
        "divided by annealing under none. No heat: sealed climbing divided by sealed annealing. "
        "Gaps below 0.01 % count as 0.01 %; where some are, factors say little more than which "
        "is larger.",
    )  # fmt: skip


def where(key: AblationSetting, /) -> str:
    """A problem and a budget in words."""
    return f"{key.instance}, {key.seconds:g} s, {key.latency_ms:g} ms"


def sentences(figures: Sequence[AblationFigures], /) -> list[str]:
    """The comparison that was confounded, taken apart, for the longest budget of each problem."""
    told, longest = [], {}
    for key in by_setting(figures):
        longest[key.instance, key.latency_ms] = key
    for key in longest.values():
        cells = by_setting(figures)[key]
        told.append(_sentence(key, effects_of(cells), {c: f.median for c, f in cells.items()}))
    return told


def _sentence(key: AblationSetting, effects: Effects, gaps: dict[tuple[str, str], float]) -> str:
    limited = [text for algorithm, text in gaps if algorithm == "genetic" and text != OPEN]
    favourite = min(limited, key=lambda text: gaps["genetic", text])
    sealed, other = gaps["annealing", SEALED], gaps["genetic", favourite]
    return (
        f"{where(key)}: sealed annealing has a gap of {sealed:.2f} %, the genetic algorithm "
        f"{other:.2f} % under {favourite}, its best limited disclosure, and "
        f"{gaps['genetic', OPEN]:.2f} % under none. Seeing values, annealing has "
        f"{gaps['annealing', OPEN]:.2f} %. So the algorithm alone makes a factor of "
        f"{effects.algorithm_open:.2f} between the genetic algorithm and annealing, and sealing "
        f"multiplies annealing's gap by {effects.sealing:.2f}. Limits multiply the gap of the "
        f"genetic algorithm by {effects.limits_genetic:.2f} and that of annealing by "
        f"{effects.limits_annealing:.2f}."
    )


LINES = {"genetic": ("--", "s"), "annealing": ("-", "o"), "greedy": (":", "x")}
"""Style and marker by algorithm; colours tell disclosures apart."""
APART = 0.04
"""Cells lie beside each other, so that their quartiles can be seen."""


def draw_gaps(study: AblationStudy, figures: Sequence[AblationFigures], path: Path, /) -> None:
    """Medians with quartiles on logarithmic axes."""
    instances = list(dict.fromkeys(each.instance for each in figures))
    delays = [clock.latency_ms for clock in study.clocks]
    budgets = {clock.latency_ms: clock.budgets for clock in study.clocks}
    figure = empty_figure(4.2 * len(instances), 3.6 * len(delays) + 0.6)
    panels = figure.subplots(len(delays), len(instances), squeeze=False)
    for line, delay in zip(panels, delays, strict=True):
        for axes, instance in zip(line, instances, strict=True):
            for place, (algorithm, disclosure) in enumerate(study.columns()):
                mine = [
                    each
                    for each in figures
                    if (each.instance, each.latency_ms) == (instance, delay)
                    and (each.algorithm, each.disclosure) == (algorithm, disclosure)
                ]
                method = SEALED if disclosure == SEALED else split_disclosure(disclosure)[0]
                style, marker = LINES[algorithm]
                middle = [max(each.median, LEAST_GAP) for each in mine]
                below = [m - max(e.lower, LEAST_GAP) for m, e in zip(middle, mine, strict=True)]
                above = [max(e.upper, m) - m for m, e in zip(middle, mine, strict=True)]
                shift = (1 + APART) ** (place - len(study.columns()) / 2)
                axes.errorbar([each.seconds * shift for each in mine], middle,
                              yerr=[below, above], color=COLOURS.get(method, OTHER), ls=style,
                              marker=marker, ms=4, lw=1.2, elinewidth=0.7,
                              label=f"{algorithm}, {disclosure}")  # fmt: skip
            axes.set(xscale="log", yscale="log", xlabel="seconds",
                     title=f"{instance}, {delay:g} ms")  # fmt: skip
            axes.set_xticks(budgets[delay], [f"{seconds:g}" for seconds in budgets[delay]])
            axes.minorticks_off()
            axes.yaxis.set_major_formatter("{x:g}")
            axes.grid(alpha=0.25)
        line[0].set_ylabel("gap to the optimum, %")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)


PICTURE = "gaps.png"


def write_ablation(study: AblationStudy, rows: Rows, folder: Path, /) -> None:
    """Write `ablation.json`, `tables.md` and the plot."""
    figures = figures_of(study, rows)
    content = {"format": "tacit-ablation/1", "cells": figures}
    write_study(folder, "ablation", content, ablation_blocks(study, figures), title=study.title)
    draw_gaps(study, figures, folder / PICTURE)


def report_blocks(study: AblationStudy, rows: Rows, /) -> list[Block]:
    """The section of the report."""
    caption = "Gap to the optimum against time: median, and lower to upper quartile"
    told = ablation_blocks(study, figures_of(study, rows))
    return ["## Algorithm or disclosure?", *told, (f"{study.name}/{PICTURE}", caption)]


def effects_by_setting(figures: Sequence[AblationFigures], /) -> dict[str, dict[str, float]]:
    """Effects by problem and budget, for `summary.json`."""
    return {
        where(key): {name: round(value, 3) for name, value in asdict(effects_of(cells)).items()}
        for key, cells in by_setting(figures).items()
    }
