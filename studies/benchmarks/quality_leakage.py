"""The README's picture: how good a disclosure's plans are, and what it gives away.

    python -m studies.benchmarks.quality_leakage        draws docs/figures/quality-leakage.png

Both come from the README's own table, whose cells are held to files of measurements.
"""

from __future__ import annotations

import re

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, ScalarFormatter

from studies.benchmarks.measuring import ROOT

PICTURE = ROOT / "docs" / "figures" / "quality-leakage.png"
COLUMNS = {"assignment 100 x 100": (2, 5), "tour, kroD100": (3, 6)}
"""Per panel the columns of quality and of what is recovered."""


def cells() -> dict[str, list[str]]:
    """The rows of the table, by disclosure."""
    found = {}
    for line in (ROOT / "README.md").read_text().splitlines():
        parts = [each.strip() for each in line.strip("|").split("|")]
        if len(parts) == 7 and re.fullmatch(r"`[a-z:0-9]+`", parts[0]):
            found[parts[0].strip("`")] = parts
    return found


def points(quality: int, recovered: int) -> dict[str, tuple[float, float]]:
    """What is recovered, and the gap to the optimum in percent, by disclosure."""
    made = {}
    for name, row in cells().items():
        gap = abs(float(row[quality].split()[0]) - 100)
        made[name] = float(row[recovered].split()[0]), gap
    return made


def draw() -> Figure:
    """Two panels; best is at the lower left."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, (title, columns) in zip(figure.subplots(1, 2), COLUMNS.items(), strict=True):
        for name, (told, gap) in points(*columns).items():
            sealed = name == "sealed"
            color = "tab:green" if sealed else "tab:gray"
            axes.scatter(told, max(gap, 0.05), s=120 if sealed else 40, color=color, zorder=3,
                         marker="*" if sealed else "o")  # fmt: skip
            if sealed or name in ("top:15", "above:95", "order", "quantiles:5"):
                text = name if gap else f"{name}, no gap"
                axes.annotate(text, (told, max(gap, 0.05)), xytext=(-6, 6), ha="right",
                              textcoords="offset points", fontsize=9)  # fmt: skip
        axes.set(title=title, xlim=(0, 1.05), yscale="log", ylabel="gap to the optimum in percent",
                 xlabel="recovered of the weights (correlation)")  # fmt: skip
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_yticks([0.1, 0.3, 1, 3] if "assignment" in title else [1, 3, 10, 30])
        axes.grid(alpha=0.3)
    return figure


if __name__ == "__main__":
    draw().savefig(PICTURE, dpi=110)
