"""The ablation in the report: gaps by cell, effects, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from studies.ablation.figures import (
    OPEN,
    CellFigures,
    Effects,
    Setting,
    by_setting,
    effects_of,
    sensitivity,
)
from studies.ablation.plan import AblationStudy
from studies.report.table import Block, Cell, ReportTable, plain
from tacit.disclosure import SEALED

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


def ablation_blocks(study: AblationStudy, figures: Sequence[CellFigures], /) -> list[Block]:
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


def gap_table(figures: Sequence[CellFigures], latency_ms: float, /) -> ReportTable:
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


def _gap(each: CellFigures) -> str:
    return f"{each.median:.2f} ({each.lower:.2f} to {each.upper:.2f})"


def effects_table(figures: Sequence[CellFigures], /) -> ReportTable:
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


def where(key: Setting, /) -> str:
    """A problem and a budget in words."""
    return f"{key.instance}, {key.seconds:g} s, {key.latency_ms:g} ms"


def sentences(figures: Sequence[CellFigures], /) -> list[str]:
    """The comparison that was confounded, taken apart, for the longest budget of each problem."""
    told, longest = [], {}
    for key in by_setting(figures):
        longest[key.instance, key.latency_ms] = key
    for key in longest.values():
        cells = by_setting(figures)[key]
        told.append(_sentence(key, effects_of(cells), {c: f.median for c, f in cells.items()}))
    return told


def _sentence(key: Setting, effects: Effects, gaps: dict[tuple[str, str], float]) -> str:
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
