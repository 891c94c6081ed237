"""Draw the plot of a run's progress in a process of its own.

Drawing takes a second of the processor, and the main process has deadlines to keep. So one plot is
drawn at a time, at a low priority, and none twice.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Sequence
from typing import Any

from tacit.service.access.limits import ConcurrencyLimit, compute_in_background
from tacit.service.execution.progress_file import progress_points

DRAW_SECONDS = 40.0
"""On a busy machine a second of work takes over 15 s, behind everything else."""
WAIT_SECONDS = 15.0
"""For the plots before; both together are less than proxies wait."""
MOST_WAITING = 3
"""Plots that an account may wait for."""
MOST_KEPT = 64
NO_VALUES = "the best value is not disclosed while this run goes on"
"""In place of a curve, of a sealed search or where the best is withheld."""


class Plots:
    """Draws plots, and keeps the last of them."""

    def __init__(self) -> None:
        self._limit = ConcurrencyLimit("plots", at_once=1, each=MOST_WAITING, within=WAIT_SECONDS)
        self._kept: dict[bytes, bytes] = {}
        self.drawn = 0

    async def convergence(self, account: str, progress: str, names: Sequence[str], /) -> bytes:
        """The disclosed best values over time as a PNG, from a run's progress as CSV."""
        question = json.dumps({"progress": progress, "names": list(names)}).encode()
        digest = hashlib.sha256(question).digest()
        if (kept := self._kept.get(digest)) is not None:
            return kept
        async with self._limit.slot(account):
            # The request before may have been for the same plot.
            if digest not in self._kept:
                failed = "the plot cannot be drawn now; take progress.csv instead"
                self._kept[digest] = await compute_in_background(
                    __name__, question, within=DRAW_SECONDS, failed=failed
                )
                self.drawn += 1
                while len(self._kept) > MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
            return self._kept[digest]


def draw(question: dict[str, Any], /) -> bytes:
    """Draw the plot in this process."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(question["names"]), squeeze=False, sharex=True)[:, 0]
    for number, (name, axis) in enumerate(zip(question["names"], axes, strict=True)):
        column = "best" if number == 0 else f"best_{number + 1}"
        points = progress_points(question["progress"], column=column)
        if points:
            axis.step(*zip(*points, strict=True), where="post")
        else:
            axis.text(0.5, 0.5, NO_VALUES, ha="center", va="center", transform=axis.transAxes)
        axis.set_ylabel(name.replace("$", r"\$")[:60])
        axis.grid(visible=True, alpha=0.3)
    axes[-1].set_xlabel("seconds")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150)
    return picture.getvalue()


if __name__ == "__main__":
    sys.stdout.buffer.write(draw(json.load(sys.stdin)))
