from __future__ import annotations

from pathlib import Path

import pytest
from studies.evaluation.run import observed_leakage
from studies.evaluation.study import first_run_with, shipped_study
from studies.evaluation.time_budget import PAPER_BUDGET, TimeBudget, comparison_generations
from studies.report import own_engine
from studies.report.own_engine import EngineTimes, Timed, read_engine_times
from studies.report.results import published

from tacit.disclosure.leakage import leakage
from tacit.errors import FileError, ParameterError


def test_the_papers_budget_and_comparison_generations() -> None:
    assert PAPER_BUDGET.seconds == published()["time_budget_s"] == 135.27
    assert PAPER_BUDGET.evaluation_seconds == published()["evaluation_seconds"]
    assert comparison_generations(PAPER_BUDGET) == published()["comparison_generation"]
    assert list(comparison_generations(PAPER_BUDGET).values()) == [500, 54, 181, 172, 109, 170]


def test_a_budget_without_a_methods_time_says_so() -> None:
    with pytest.raises(ParameterError, match="nothing of top"):
        TimeBudget(10, {"none": 1}).last_generation("top:15")
    with pytest.raises(ParameterError, match="takes no time"):
        TimeBudget(10, {"none": 0}).last_generation("none")


def test_engine_times_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "times.json"
    path.write_text(
        '{"population": 300, "size": 100, "latency_ms": 10, "disclosures": {"none": '
        '{"seconds": 0.2, "rounds": 10, "bytes_per_node": 5, "ratio_to_mpyc": null}, '
        '"buckets:5": {"seconds": 2.45, "each_seconds": [2.4, 2.5]}}}'
    )
    (times,) = read_engine_times(path)
    assert times.generations() == {"none": 500, "buckets": 39}
    assert times.generations_in_papers_seconds() == {"none": 500, "buckets": 54}
    path.write_text(f"[{path.read_text()}, {path.read_text()}]")
    assert len(read_engine_times(path)) == 2
    path.write_text(path.read_text().replace('"none"', '"order"'))
    with pytest.raises(FileError, match="times of none"):
        read_engine_times(path)
    path.write_text('{"population": 300}')
    with pytest.raises(FileError, match="bench engine"):
        read_engine_times(path)
    with pytest.raises(FileError, match="there is no such file"):
        read_engine_times(tmp_path / "gone.json")


def test_nothing_is_made_up_where_the_bench_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_engine, "_succeeds", lambda command: False)
    assert own_engine.measure_engine() == []
    fake = EngineTimes(300, 100, 0, {"order": Timed(0.01)})
    monkeypatch.setattr(own_engine, "_succeeds", lambda command: True)
    monkeypatch.setattr(own_engine, "_printed", lambda c: fake if "--latency" in c else None)
    assert own_engine.measure_engine() == [fake, fake]


def test_the_papers_counts_and_its_slip() -> None:
    told = published()["leakage"]
    computed = {
        text: leakage(text, population=300, evaluations=500)
        for text in ("none", "order", "quantiles:10", "top:30")
    }
    assert computed["none"].equations == told["none"]["equations"] == 11_249_925_000
    assert computed["order"].equations == told["order"]["equations"] == 124_750
    assert computed["order"].across_populations == told["order"]["across_populations"]
    assert computed["order"].inequations == 22_425_000
    assert told["order"]["inequations"] == 22_450_000
    assert computed["quantiles:10"].inequations == told["quantiles:10"]["inequations"]
    assert computed["top:30"].inequations == told["top:30"]["inequations"]


@pytest.mark.parametrize("text", ["top:15", "quantiles:20"])
def test_a_run_gives_away_what_the_formula_says(text: str) -> None:
    job = first_run_with(shipped_study("ap"), text, evaluations=4)
    found = observed_leakage(job)
    assert found == leakage(text, population=300, evaluations=4)


def test_a_run_under_buckets_gives_away_equations_where_a_best_is_alone() -> None:
    found = observed_leakage(first_run_with(shipped_study("ap"), "buckets:20", evaluations=30))
    assert found.equations > 0
    assert found.inequations is not None
    assert 0 < found.inequations < 30 * 300 * 299 // 2
