"""Find text in a picture that lies outside of it, or on other text."""

from __future__ import annotations

from itertools import combinations

import pytest
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text

BETWEEN_NUMBERS, BETWEEN_NAMES = 6.0, 2.0
"""Less than this many pixels between two texts reads as one."""


def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Collects every figure that is saved from now on."""
    figures: list[Figure] = []
    save = Figure.savefig

    def keep(figure: Figure, *args: object, **options: object) -> None:
        save(figure, *args, **options)  # type: ignore[arg-type]
        figures.append(figure)

    monkeypatch.setattr(Figure, "savefig", keep)
    return figures


def texts_outside(figure: Figure) -> list[str]:
    """Texts that the border of the picture cuts."""
    figure.canvas.draw()
    border, of_ticks = figure.bbox, {id(text) for text in _all_ticks(figure)}
    shown = [text for axes in figure.axes for axis in _axes(axes) for text in _shown_ticks(axis)]
    shown += [text for text in figure.findobj(Text) if id(text) not in of_ticks]
    found = []
    for text in shown:
        if text.get_visible() and text.get_text().strip():
            box = text.get_window_extent()
            if min(box.x0, box.y0) < -1 or box.x1 > border.x1 + 1 or box.y1 > border.y1 + 1:
                found.append(text.get_text())
    return found


def colliding_ticks(figure: Figure) -> list[tuple[str, str]]:
    """Neighbouring numbers of an axis that touch."""
    figure.canvas.draw()
    return [
        pair
        for axes in figure.axes
        for axis in _axes(axes)
        for pair in _overlapping(_shown_ticks(axis), BETWEEN_NUMBERS)
    ]


def colliding_labels(figure: Figure) -> list[tuple[str, str]]:
    """Names of points in a panel that touch."""
    figure.canvas.draw()
    found = []
    for axes in figure.axes:
        found += _overlapping([text for text in axes.texts if text.get_text()], BETWEEN_NAMES)
    return found


def _axes(axes: Axes) -> tuple[Axis, Axis]:
    return axes.xaxis, axes.yaxis


def _all_ticks(figure: Figure) -> list[Text]:
    return [
        text
        for axes in figure.axes
        for axis in _axes(axes)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for text in (tick.label1, tick.label2)
    ]


def _shown_ticks(axis: Axis) -> list[Text]:
    """The numbers of the ticks within the view; Matplotlib keeps others, and does not draw them."""
    low, high = sorted(axis.get_view_interval())
    return [
        tick.label1
        for tick in axis.get_major_ticks()
        if axis.axes.axison
        and low <= tick.get_loc() <= high
        and tick.label1.get_visible()
        and tick.label1.get_text()
    ]


def _overlapping(texts: list[Text], gap: float) -> list[tuple[str, str]]:
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    return [
        (one, other)
        for (one, box), (other, other_box) in combinations(boxes, 2)
        if box.padded(gap).overlaps(other_box)
    ]
