"""Objectives that are evaluated together, beside those that are evaluated apart: GD+ and IGD+."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from studies.evaluation.study import SearchJob, SearchStudy, shipped_study
from studies.pictures import COLOURS, OTHER, draw_fronts, empty_figure, set_title
from studies.report.results import Column, Results
from studies.statistics import ALPHA, Samples, Spread, duel
from studies.study import Rows, Seeds, Study
from studies.tables import Block, Cell, ReportTable, write_study
from tacit.disclosure import split_disclosure

APART, TOGETHER = "moap-two", "moap-pareto"
"""The study whose objectives are evaluated and obfuscated apart, and the other one."""
COMPARED = ("none", "quantiles:5", "top:60")
"""What is taken of the first."""
METRICS = {"GD+": "gd_plus", "IGD+": "igd_plus"}

LastValues = Mapping[str, Sequence[Samples]]
"""By configuration: per instance one value per seed, seeds in the same order everywhere."""


class Compared(msgspec.Struct, frozen=True):
    """Two configurations on the same instances and seeds."""

    correlation: float
    """Matched-pairs rank-biserial: -1 where the first is smaller, so better, in every pair."""
    p: float
    """Of a two-sided Wilcoxon signed-rank test."""


class TogetherStanding(msgspec.Struct, frozen=True):
    """One configuration by one metric."""

    median: float
    iqr: float
    ratio: float
    """Its median over that of NSGA-II without obfuscation."""
    ratios: list[float]
    """The same on each instance."""
    against_none: Compared
    against_apart: Compared | None
    """Against the same disclosure of each objective apart, where that was run."""


class TogetherFigures(msgspec.Struct, frozen=True):
    """All standings: by metric, then by configuration."""

    instances: list[str]
    seeds: int
    generations: int
    standings: dict[str, dict[str, TogetherStanding]]


def last_values(results: Results, metric: str, /) -> LastValues:
    """The last generation of both studies, apart first."""
    found: dict[str, list[Samples]] = {}
    for study in (APART, TOGETHER):
        column = Column(f"{study} {metric}", study, METRICS[metric], "")
        for instance in results.instances(study):
            for name, runs in results.curves(column, instance).items():
                if study == TOGETHER or name in COMPARED:
                    found.setdefault(name, []).append(runs[:, -1])
    return found


def standings_of(values: LastValues, /) -> dict[str, TogetherStanding]:
    """Each configuration beside NSGA-II without obfuscation, and beside its own kind apart.

    >>> one = [np.array([4.0, 2.0]), np.array([6.0, 4.0])]
    >>> found = standings_of({"none": one, "pareto:order": [each / 2 for each in one]})
    >>> found["pareto:order"].ratio, found["pareto:order"].against_none.correlation
    (0.5, -1.0)
    """
    # Paired by instance and seed: both are in the same order for all configurations.
    pooled = {name: np.concatenate(runs) for name, runs in values.items()}
    plain = {name: [float(np.median(each)) for each in runs] for name, runs in values.items()}

    def compared(name: str, other: str) -> Compared:
        found = duel(pooled[name], pooled[other])
        return Compared(found.correlation, found.p)

    standings = {}
    for name, sample in pooled.items():
        spread, apart = Spread.of(sample), name.removeprefix("pareto:")
        standings[name] = TogetherStanding(
            median=spread.median,
            iqr=spread.iqr,
            ratio=spread.median / float(np.median(pooled["none"])),
            ratios=[own / none for own, none in zip(plain[name], plain["none"], strict=True)],
            against_none=compared(name, "none"),
            against_apart=compared(name, apart) if apart != name and apart in pooled else None,
        )
    return standings


def together_figures(results: Results, /) -> TogetherFigures:
    """The figures of finished runs of both studies."""
    study = results.studies[TOGETHER]
    return TogetherFigures(
        instances=results.instances(TOGETHER),
        seeds=study.seeds.count,
        generations=study.generations,
        standings={metric: standings_of(last_values(results, metric)) for metric in METRICS},
    )


ALLOWED = 1.1
"""A median that is at most so many times that without obfuscation counts as no loss."""
CLAIMED = ("pareto:quantiles:20", "pareto:quantiles:5", "pareto:top:60")
INTRODUCTION = (
    "One engine evaluates all objectives together and discloses an order of their Pareto score "
    "(docs/protocols/pareto.md), beside objectives that are evaluated and obfuscated apart, and "
    "beside NSGA-II without obfuscation."
)


def together_blocks(figures: TogetherFigures, /) -> list[Block]:
    """The section, without its pictures."""
    tables = [standing_table(figures, metric) for metric in figures.standings]
    return ["## Several objectives in one evaluation", INTRODUCTION, *tables, verdict(figures)]


def standing_table(figures: TogetherFigures, metric: str, /) -> ReportTable:
    """Median, ratio, tests and effect sizes of each configuration."""
    rows = tuple(
        (
            Cell(name),
            Cell(f"{each.median:,.0f} ({each.iqr:,.0f})"),
            Cell(f"{each.ratio:.2f}"),
            Cell(f"{min(each.ratios):.2f} to {max(each.ratios):.2f}"),
            _compared(each.against_none) if name != "none" else Cell(""),
            _compared(each.against_apart) if each.against_apart is not None else Cell(""),
        )
        for name, each in figures.standings[metric].items()
    )
    return ReportTable(
        f"table-together-{metric.lower().rstrip('+')}",
        f"{metric} at generation {figures.generations}, {len(figures.instances)} instances, "
        f"{figures.seeds} seeds",
        ("configuration", "median (IQR)", "of none", "instance by instance", "against none",
         "against apart"),
        rows,
        "Smaller is better. Of none: the median over that of NSGA-II without obfuscation. Against: "
        "matched-pairs rank-biserial correlation over all instances and seeds, -1 where it is "
        "better in every pair, and p of the two-sided Wilcoxon signed-rank test; highlighted "
        "where significant at 5 %.",
    )  # fmt: skip


def _compared(found: Compared) -> Cell:
    p = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    return Cell(f"{found.correlation + 0.0:.2f}, {p}", found.p < ALPHA)


def verdict(figures: TogetherFigures, /) -> str:
    """Whether the claimed configurations lose nothing."""
    ratios = {
        name: {metric: each[name].ratio for metric, each in figures.standings.items()}
        for name in CLAIMED
    }
    told = "; ".join(
        f"`{name}` " + ", ".join(f"{metric} {ratio:.2f}" for metric, ratio in found.items())
        for name, found in ratios.items()
    )
    most = max(ratio for found in ratios.values() for ratio in found.values())
    holds = "at most" if most <= ALLOWED else "more than"
    return (
        f"Medians over those without obfuscation: {told}. The largest is {most:.2f}, {holds} the "
        f"{ALLOWED} that counts as no loss."
    )


def draw_spread(results: Results, path: Path, /) -> None:
    """A box per configuration and metric, over all instances and seeds."""
    figure = empty_figure(10, 4.8)
    panels = figure.subplots(1, len(METRICS), sharey=True)
    for metric, axes in zip(METRICS, panels, strict=True):
        values = last_values(results, metric)
        names = list(values)
        drawn = axes.boxplot(
            [np.concatenate(values[name]) for name in names],
            patch_artist=True,
            showfliers=False,
            widths=0.6,
        )
        for name, box in zip(names, drawn["boxes"], strict=True):
            method, _ = split_disclosure(name.removeprefix("pareto:"))
            box.set_facecolor(COLOURS.get(method, OTHER) if name != "none" else "#FFFFFF")
            box.set_alpha(0.7)
        axes.set_xticks(range(1, len(names) + 1), names, fontsize=8, rotation=60, ha="right")
        axes.set(yscale="log", title=metric)
        axes.grid(alpha=0.25)
    set_title(figure, "boxes: quartiles over all instances and seeds; smaller is better")
    figure.savefig(path, dpi=110)


def draw_median_fronts(results: Results, path: Path, /) -> None:
    """The last sets of the runs with the median IGD+ on the first instance."""
    instance = results.instances(TOGETHER)[0]
    fronts: dict[str, NDArray[np.float64]] = {}
    for study in (APART, TOGETHER):
        column = Column(f"{study} igd+", study, METRICS["IGD+"], "")
        found = results.median_fronts(column, instance)
        fronts |= {n: each for n, each in found.items() if study == TOGETHER or n in COMPARED}
    draw_fronts(fronts, results.truth(TOGETHER, instance), path)


SPREAD, FRONTS = "spread.png", "fronts.png"


class TogetherStudy(Study, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The configurations that are compared.

    >>> len(together_study().jobs()), len(together_study().quick().jobs())
    (1395, 99)
    """

    parts: tuple[SearchStudy, SearchStudy]
    """Objectives apart and together."""

    def jobs(self) -> list[SearchJob]:
        """The runs of both parts."""
        return [job for part in self.parts for job in part.jobs()]

    def quick(self) -> TogetherStudy:
        """One instance, eleven seeds."""
        apart, together = self.parts
        return msgspec.structs.replace(self, parts=(apart.quick(), together.quick()))

    def write(self, rows: Rows, folder: Path, /) -> None:
        """Write `together.json`, `tables.md`, `spread.png` and `fronts.png`."""
        results = self.results(rows)
        figures = together_figures(results)
        _, _, *tables = together_blocks(figures)
        write_study(folder, self.name, figures, tables)
        draw_spread(results, folder / SPREAD)
        draw_median_fronts(results, folder / FRONTS)

    def results(self, rows: Rows, /) -> Results:
        """The runs of both parts by their names."""
        return Results({part.name: part for part in self.parts}, rows)

    def blocks(self, rows: Rows, /) -> list[Block]:
        """The section of the report."""
        return [
            *together_blocks(together_figures(self.results(rows))),
            (f"{self.name}/{SPREAD}", "GD+ and IGD+ at the last generation, by configuration"),
            (f"{self.name}/{FRONTS}", "Last sets of the runs with the median IGD+"),
        ]


def together_study(*, seeds: int | None = None) -> TogetherStudy:
    """The shipped study, optionally with another number of seeds per instance."""
    apart = msgspec.structs.replace(shipped_study(APART), disclosures=COMPARED)
    parts = [apart, shipped_study(TOGETHER)]
    if seeds is not None:
        parts = [
            msgspec.structs.replace(each, seeds=Seeds(each.seeds.first, seeds)) for each in parts
        ]
    return TogetherStudy(name="together", parts=(parts[0], parts[1]))
