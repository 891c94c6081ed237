"""The report of an audit: as an object, as JSON, and how leakage grew as a picture."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tacit.audit.attacks import BASELINE
from tacit.audit.score.measure import Score
from tacit.disclosure import Leakage
from tacit.files import writing


class Measured(Score, frozen=True):
    """An attack's score, and who could carry it out."""

    who: str = "platform"


class Growth(msgspec.Struct, frozen=True):
    """The strongest attack after this many evaluations."""

    evaluations: int
    measured: Measured


class AuditReport(msgspec.Struct, frozen=True):
    """The report on one run.

    The first figures are those of the strongest attack of a platform that follows the search.
    """

    disclosure: str
    best: str
    problem: str
    evaluations: int
    candidates: int
    prior: str
    """The prior that knows most before the run; gains are beyond its guess."""
    prior_says: str
    correlation: float
    gain: float
    nrmse: float
    best_columns: float
    attacker_plan_quality: float
    strongest: str
    attacks: dict[str, Measured]
    growth: list[Growth]
    counts: dict[str, Leakage]

    def to_json(self) -> bytes:
        """As JSON."""
        return msgspec.json.encode(self)


BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"


def plot_growth(report: AuditReport, path: str | Path, /) -> None:
    """Draw into a PNG, SVG or PDF file, by the file's ending."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    counts = [each.evaluations for each in report.growth]
    growth = [each.measured.correlation for each in report.growth]
    axes.plot(counts, growth, color=BLUE, marker="o", label="platform that follows the search")
    crafted = report.attacks.get("crafted populations")
    if crafted is not None:
        axes.plot([report.evaluations], [crafted.correlation], color=ORANGE, marker="D", ls="",
                  label="platform with unrestricted queries")  # fmt: skip
    baseline = report.attacks[BASELINE].correlation
    axes.axhline(baseline, color=GREY, ls=":", label="the published plan alone")
    axes.set(xlabel="evaluations", ylabel="correlation with the secret weights", ylim=(0, 1.02))
    axes.set_title(f"{report.problem}, {report.disclosure}", fontsize=10)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8)
    with writing(path):
        figure.savefig(path, dpi=150)
