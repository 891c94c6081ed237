"""The ablation from its file to its tables."""

from __future__ import annotations

from importlib.resources import files

import msgspec
import pytest
from studies.ablation.study import AblationCell, Clock, ablation_from, shipped_ablation
from studies.ablation.summary import (
    AblationFigures,
    ablation_blocks,
    by_setting,
    effects_of,
    effects_table,
    gap_table,
    sensitivity,
)

from tacit.errors import FileError, ParameterError
from tests.studies.tiny_studies import ABLATION


def test_every_cell_has_the_generations_that_there_is_time_for() -> None:
    cells = ablation_from(ABLATION, "tiny.toml").cells()
    found = {each[1:3]: cells[each] for each in cells if each.seconds == 0.4}
    # The initial population takes one of the 40, or 20, evaluations.
    assert found["genetic", "none"] == (300, 39)
    assert found["genetic", "top:5"] == (300, 19)
    # The parent and the children of the preset, or of what differs from it under `top`.
    assert found["annealing", "none"] == (300, 40)
    assert found["annealing", "top:5"] == (21, 20)
    assert found["annealing", "sealed"] == found["greedy", "sealed"] == (300, 34)


def test_the_recorded_sealed_runs_are_as_long_as_the_study_says() -> None:
    recorded = (files("studies") / "data" / "ablation.json").read_bytes()
    figures = msgspec.convert(msgspec.json.decode(recorded)["cells"], list[AblationFigures])
    courses = {tuple(cell): course for cell, course in shipped_ablation().cells().items()}
    sealed = [each for each in figures if each.disclosure == "sealed"]
    assert len(sealed) == 16
    for each in sealed:
        cell = (each.instance, each.algorithm, each.disclosure, each.latency_ms, each.seconds)
        assert courses[cell] == (each.candidates, each.generations)


def test_a_run_of_annealing_has_the_length_of_its_budget() -> None:
    study = ablation_from(ABLATION, "tiny.toml")
    jobs = study.jobs_by_cell()[AblationCell("kroD100", "annealing", "top:5", 0, 0.1)]
    assert [job.read_at for job in jobs] == [(5,)] * 3
    gaps = [job.compute().gaps for job in jobs]
    assert all(list(each) == [5] for each in gaps)
    assert len({each[5] for each in gaps}) > 1


def test_more_time_never_hurts_a_genetic_algorithm_that_sees_values() -> None:
    study = ablation_from(ABLATION, "tiny.toml")
    job = study.jobs_by_cell()[AblationCell("kroD100", "genetic", "none", 0, 0.4)][0]
    assert job.read_at == (9, 39)
    gaps = job.compute().gaps
    assert 0 <= gaps[39] <= gaps[9]


def figures(medians: dict[tuple[str, str], float]) -> list[AblationFigures]:
    return [
        AblationFigures(
            "p", algorithm, disclosure, 0, 1, 300, 10, 11, median / 2, median, 2 * median
        )
        for (algorithm, disclosure), median in medians.items()
    ]


MEDIANS = {
    ("genetic", "none"): 4.0, ("genetic", "order"): 6.0, ("genetic", "top:15"): 24.0,
    ("annealing", "none"): 1.0, ("annealing", "order"): 2.0, ("annealing", "top:15"): 32.0,
    ("annealing", "sealed"): 1.5, ("greedy", "sealed"): 6.0,
}  # fmt: skip


def test_effects_are_factors_between_medians() -> None:
    (cells,) = by_setting(figures(MEDIANS)).values()
    effects = effects_of(cells)
    assert effects.algorithm_open == pytest.approx(4)
    assert effects.algorithm == pytest.approx((4 * 3 * 0.75) ** (1 / 3))
    assert effects.limits_genetic == pytest.approx(3)
    assert effects.limits_annealing == pytest.approx(8)
    assert effects.interaction == pytest.approx(8 / 3)
    assert (effects.sealing, effects.heat) == pytest.approx((1.5, 4))


def test_an_optimum_leaves_factors_finite() -> None:
    (cells,) = by_setting(figures(MEDIANS | {("annealing", "none"): 0.0})).values()
    assert effects_of(cells).algorithm_open == pytest.approx(400)


def test_tables_and_sentences_say_what_was_found() -> None:
    found = figures(MEDIANS)
    gaps = gap_table(found, 0).markdown()
    assert "| annealing | none | **1.00 (0.50 to 2.00)** |" in gaps
    assert "| without heat | sealed | 6.00 (3.00 to 12.00) |" in gaps
    assert "| p, 1 s, 0 ms | 4.00 | 2.08 | 3.00 | 8.00 | 2.67 | 1.50 | 4.00 |" in (
        effects_table(found).markdown()
    )
    study = ablation_from(ABLATION, "tiny.toml")
    text = str(ablation_blocks(study, found)[-1])
    assert "gap of 1.50 %, the genetic algorithm 6.00 % under order" in text
    assert "algorithm alone makes a factor of 4.00" in text
    assert "sealing multiplies annealing's gap by 1.50" in text


def test_an_error_of_the_clock_counts_as_much_as_the_gap_falls_with_time() -> None:
    short = figures({("genetic", "none"): 8.0, ("genetic", "order"): 3.0})
    long = [
        msgspec.structs.replace(each, seconds=4, median=median)
        for each, median in zip(short, (2.0, 3.0), strict=True)
    ]
    # A quarter of the gap in four times the time: as much more time, as much less gap.
    assert sensitivity([*short, *long], 0, 20) == pytest.approx([20, 0])
    assert sensitivity(short, 0, 20) == []


def test_the_shipped_study_crosses_both_algorithms_with_every_disclosure() -> None:
    study = shipped_ablation()
    jobs = study.jobs()
    assert len({job.key for job in jobs}) == len(jobs)
    assert study.seeds.count >= 7
    for clock in study.clocks:
        assert len(clock.budgets) >= 2
    crossed = {disclosure for algorithm, disclosure in study.columns() if algorithm == "genetic"}
    assert crossed == {"none", "order", "quantiles:20", "top:15"}
    assert crossed < {text for algorithm, text in study.columns() if algorithm == "annealing"}
    assert len(study.quick().jobs()) < len(jobs) / 4


def test_what_was_not_measured_is_refused() -> None:
    clock = Clock(latency_ms=0, budgets=(1,), sealed=1.5,
                  evaluation={"top": ((100, 0.004), (300, 0.010))})  # fmt: skip
    with pytest.raises(ParameterError, match="301 candidates under top"):
        clock.evaluation_seconds("top:15", 301)
    with pytest.raises(ParameterError, match="under order"):
        clock.evaluation_seconds("order", 200)
    with pytest.raises(ParameterError, match="leave no generation"):
        ablation_from(ABLATION.replace("[0.1, 0.4]", "[0.01]"), "tiny.toml").cells()
    with pytest.raises(FileError, match=r"odd\.toml.*colour"):
        ablation_from("colour = 1\n" + ABLATION, "odd.toml")
