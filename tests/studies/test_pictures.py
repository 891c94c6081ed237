"""No text of the report's pictures is clipped or lies on other text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from studies.pictures import draw_fronts, empty_figure, label_points, set_title
from studies.report.results import COLUMNS, published_figures
from studies.report.write import draw_convergence

from tacit.disclosure import PAPER_CONFIGURATIONS
from tests.support.pictures import colliding_labels, colliding_ticks, drawn, texts_outside

pytest.importorskip("matplotlib")


def test_convergence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures, column = drawn(monkeypatch), COLUMNS["tsp"]
    theirs = published_figures(column)
    curves = {
        text: np.linspace(theirs.initial[text].median, theirs.final[text].median, 501)[None]
        for text in PAPER_CONFIGURATIONS
    }
    draw_convergence(column, curves, theirs, {"top": 170}, tmp_path / "convergence.png")
    assert not texts_outside(figures[0])
    assert not colliding_ticks(figures[0])


def test_fronts_with_numbers_of_six_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    figures = drawn(monkeypatch)
    angle = np.linspace(0, np.pi / 2, 40)
    truth = np.stack([50_300 + 48_300 * np.sin(angle), 43_500 + 55_000 * np.cos(angle)], axis=1)
    fronts = dict.fromkeys(PAPER_CONFIGURATIONS, 0.95 * truth)
    draw_fronts(fronts, truth, tmp_path / "fronts.png")
    assert not texts_outside(figures[0])
    assert not colliding_ticks(figures[0])


@pytest.mark.parametrize("width", [5, 10])
def test_names_of_points_that_lie_close_together(width: int) -> None:
    figure = empty_figure(width, 4.4)
    axes = figure.subplots()
    # Most disclosures lie side by side at the bottom, as they do in the study of leakage.
    points = [(2.4 + 0.12 * k, 0.01 * (k % 3), text) for k, text in enumerate(PAPER_CONFIGURATIONS)]
    for x, y, _ in points:
        axes.plot(x, y, marker="o")
    axes.set(ylim=(-0.03, 1), title="assignment", xlabel="gap to the optimum, %")
    set_title(figure, "after 300 evaluations; " + 3 * "filled: agreed search, hollow: others, ")
    label_points(axes, points)
    assert len(axes.texts) >= len(points)
    assert not texts_outside(figure)
    assert not colliding_ticks(figure)
    assert not colliding_labels(figure)
