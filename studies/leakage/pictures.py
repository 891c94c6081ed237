"""The two plots that matter: privacy against quality, and leakage against evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from studies.leakage.results import LeakageResult
from studies.leakage.tables import Group, grouped
from studies.pictures import COLOURS, OTHER, empty_figure, label_points, set_title
from tacit.disclosure import split_disclosure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = {"none": "o", "buckets": "s", "above": "^", "order": "D", "quantiles": "v", "top": "P",
           "sealed": "*"}  # fmt: skip
CURVES = ("none", "order", "quantiles:5", "buckets:5", "top:60", "above:90", "top:15")


def draw_privacy(results: Sequence[LeakageResult], path: Path, /) -> None:
    """Privacy (1 - correlation) against the gap to the optimum; hollow: the worst case."""
    labels = _labels(results)
    figure, panels = _figure(len(labels))
    named: list[list[tuple[float, float, str]]] = [[] for _ in labels]
    for label, axes, names in zip(labels, panels, named, strict=True):
        for (*_, disclosure), runs in _largest(results, label).items():
            method, _ = split_disclosure(disclosure)
            colour, marker = COLOURS.get(method, OTHER), MARKERS.get(method, "x")
            gap = median(each.gap_percent for each in runs)
            private = 1 - median(each.points[-1].honest for each in runs)
            axes.plot(gap, private, marker=marker, color=colour, ls="", ms=7)
            names.append((gap, private, disclosure))
            ends = [each.points[-1] for each in runs]
            if worst := [each.worst for each in ends if each.worst is not None]:
                axes.plot(
                    gap, 1 - median(worst), marker=marker, mfc="none", mec=colour, ls="", ms=7
                )
        axes.axhline(1 - _plan_only(results, label), color="#777777", ls=":", lw=1)
        axes.set(title=label, xlabel="gap to the optimum, %", ylim=(-0.03, 1))
        axes.grid(alpha=0.25)
    panels[0].set_ylabel("privacy: 1 - correlation")
    set_title(
        figure,
        f"after {results[0].points[-1].evaluations} evaluations; filled: agreed search, hollow: "
        "unrestricted queries, dotted: the published plan alone",
    )
    for axes, names in zip(panels, named, strict=True):
        label_points(axes, names)
    figure.savefig(path, dpi=100)


def draw_growth(results: Sequence[LeakageResult], path: Path, /) -> None:
    """Correlation against evaluations; dashed: the worst case."""
    labels = _labels(results)
    figure, panels = _figure(len(labels))
    for label, axes in zip(labels, panels, strict=True):
        for (*_, disclosure), runs in _largest(results, label).items():
            if disclosure not in CURVES:
                continue
            method, _ = split_disclosure(disclosure)
            colour, marker = COLOURS.get(method, OTHER), MARKERS.get(method, "x")
            alpha = 0.55 if disclosure == "top:60" else 1.0
            counts = [point.evaluations for point in runs[0].points]
            honest = [median(each.points[k].honest for each in runs) for k in range(len(counts))]
            axes.plot(counts, honest, color=colour, marker=marker, label=disclosure, alpha=alpha)
            worst = [(p.evaluations, p.worst) for p in runs[0].points if p.worst is not None]
            if worst:
                axes.plot(*zip(*worst, strict=True), color=colour, ls="--", lw=1, alpha=alpha)
        axes.axhline(_plan_only(results, label), color="#777777", ls=":", lw=1)
        axes.set(title=label, xlabel="evaluations", xscale="log", ylim=(0, 1.03))
        axes.grid(alpha=0.25)
    panels[0].set_ylabel("correlation with the secret weights")
    panels[0].legend(fontsize=7)
    set_title(
        figure,
        "solid: agreed search, dashed: unrestricted queries, dotted: the published plan alone",
    )
    figure.savefig(path, dpi=100)


def _labels(results: Sequence[LeakageResult]) -> list[str]:
    return list(dict.fromkeys(each.label for each in results))


def _largest(results: Sequence[LeakageResult], label: str) -> dict[Group, list[LeakageResult]]:
    """The runs on the largest problems with the largest population."""
    groups = grouped(each for each in results if each.label == label)
    largest = max(key[3:5] for key in groups)
    return {key: runs for key, runs in groups.items() if key[3:5] == largest}


def _plan_only(results: Sequence[LeakageResult], label: str) -> float:
    return median(each.plan_only for runs in _largest(results, label).values() for each in runs)


def _figure(count: int) -> tuple[Figure, list[Axes]]:
    figure = empty_figure(5 * count, 4.4)
    return figure, list(figure.subplots(1, count, squeeze=False)[0])
