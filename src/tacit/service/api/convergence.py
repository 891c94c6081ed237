"""The plot of a run's progress, drawn in a process of its own.

Drawing takes a tenth of a second or more, and the main process has deadlines to keep.
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Sequence
from typing import Any

from tacit.errors import ServiceError

DRAW_SECONDS = 30.0
MOST_POINTS = 2000


async def convergence_png(reports: Sequence[dict[str, Any]], names: Sequence[str], /) -> bytes:
    """The told best values over time as a PNG.

    >>> import asyncio
    >>> asyncio.run(convergence_png([], ["delay"]))[1:4]
    b'PNG'
    """
    step = max(1, len(reports) // MOST_POINTS)
    points = [(each.get("seconds"), each.get("best") or []) for each in reports]
    asked = json.dumps({"points": [*points[::step], *points[-1:]], "names": list(names)})
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tacit.service.api.convergence",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(DRAW_SECONDS):
            picture, _ = await process.communicate(asked.encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode != 0:
        raise ServiceError("the plot cannot be drawn now; take progress.csv instead")
    return picture


def draw(asked: dict[str, Any], /) -> bytes:
    """Draw it here.

    >>> draw({"points": [[0.0, [9.0]], [1.0, [7.5]]], "names": ["delay"]})[1:4]
    b'PNG'
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(asked["names"]), squeeze=False, sharex=True)[:, 0]
    for number, (name, axis) in enumerate(zip(asked["names"], axes, strict=True)):
        told = [
            (seconds, best[number])
            for seconds, best in asked["points"]
            if number < len(best) and isinstance(best[number], (int, float))
        ]
        axis.step([at for at, _ in told], [value for _, value in told], where="post")
        axis.set_ylabel(name.replace("$", r"\$")[:60])
        axis.grid(visible=True, alpha=0.3)
    axes[-1].set_xlabel("seconds")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150)
    return picture.getvalue()


if __name__ == "__main__":
    sys.stdout.buffer.write(draw(json.load(sys.stdin)))
