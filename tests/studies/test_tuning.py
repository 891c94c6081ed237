from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np
import pytest
from studies.evaluation.run import run_search
from studies.evaluation.study import SearchStudy, read_study, shipped_study
from studies.evaluation.time_budget import PAPER_BUDGET
from studies.running import executor
from studies.tuning.tune import Tuned, TuningTask, published_sets, rows_beside, tune, tuning_task

from tacit.errors import ParameterError

pytestmark = pytest.mark.slow

Write = Callable[..., Path]
TUNING = """
[tuning]
trials = 4
random_trials = 2
space = { tournament = [2, 4, 6], mutation = ["swap", "insert"] }
[[tuning.instances]]
generate = "assignment"
size = 8
seed = 7
numbers = [1, 2]
"""


@pytest.fixture
def study(small_study: Write) -> SearchStudy:
    return read_study(small_study(more=TUNING))


def tuned_with(task: TuningTask) -> Tuned:
    with ThreadPoolExecutor(1) as pool:
        return tune(task, pool, workers=1)


def test_tuning_goes_on_where_it_stopped(study: SearchStudy, tmp_path: Path) -> None:
    place = str(tmp_path / "trials.journal")
    first = tuned_with(tuning_task(study, place, trials=3)).trials
    assert len(first) == 3
    tuned = tuned_with(tuning_task(study, place, trials=5))
    assert tuned.trials[:3] == first
    assert len(tuned.trials) == 5
    assert tuned.best[0].total == min(each.total for each in tuned.trials)
    assert tuned_with(tuning_task(study, place, trials=5)) == tuned


def test_no_set_is_drawn_twice_and_a_small_space_is_exhausted(
    study: SearchStudy, tmp_path: Path
) -> None:
    tuned = tuned_with(tuning_task(study, str(tmp_path / "trials.journal"), trials=50))
    assert len(tuned.trials) == 6
    assert len({tuple(sorted(each.settings.items())) for each in tuned.trials}) == 6


@pytest.mark.study
@pytest.mark.processes
def test_several_processes_share_a_storage(study: SearchStudy, tmp_path: Path) -> None:
    task = tuning_task(study, f"sqlite:///{tmp_path / 'trials.db'}")
    seen: list[int] = []
    with executor(workers=2) as pool:
        tuned = tune(task, pool, workers=2, watch=lambda now: seen.append(len(now.trials)))
        again = tune(task, pool, workers=2)
    assert len(tuned.trials) == 4
    assert seen[-1] == 4
    assert again == tuned


def test_an_interrupted_trial_is_given_up_and_another_takes_its_place(
    study: SearchStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tuning_task(study, str(tmp_path / "trials.journal"), trials=2)

    def interrupted(*_: object) -> tuple[float, ...]:
        raise KeyboardInterrupt

    monkeypatch.setattr("studies.tuning.tune.assessed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tuned_with(task)
    monkeypatch.undo()
    assert len(tuned_with(task).trials) == 2


def test_a_set_is_worth_the_mean_over_instances_of_medians_over_three_runs(
    study: SearchStudy,
) -> None:
    task = tuning_task(study, "unused")
    assert task.assessment.runs == 3
    by_hand = []
    for instance in task.assessment.instances:
        errors = []
        for seed in (0, 1, 2):
            job = msgspec.structs.replace(
                study.jobs()[0], instance=instance, seed=seed, disclosure="none"
            )
            errors.append(run_search(job).metrics["relative_error"][-1])
        by_hand.append(np.median(errors))
    (value,) = task.assessment.values(study.search)
    assert value == pytest.approx(np.mean(by_hand))


def test_two_objectives_are_tuned_for_both_distances(tmp_path: Path) -> None:
    study = shipped_study("moap")
    plan = study.tuning
    assert plan is not None
    small = msgspec.structs.replace(plan.instances[0], size=8)
    study = msgspec.structs.replace(
        study,
        generations=5,
        tuning=msgspec.structs.replace(plan, instances=(small,), trials=3, runs=1),
    )
    task = tuning_task(study, str(tmp_path / "two.journal"))
    tuned = tuned_with(task)
    assert tuned.metrics == ("gd_plus_normalized", "igd_plus_normalized")
    assert all(len(each.values) == 2 for each in tuned.trials)
    totals = [each.total for each in tuned.best]
    assert totals == sorted(totals)
    assert rows_beside(published_sets(study.name)[-1], tuned)[-1][2] == "0.1270"


def test_under_a_disclosure_and_a_budget(study: SearchStudy) -> None:
    budgeted = msgspec.structs.replace(study, generations=500, budget=PAPER_BUDGET)
    task = tuning_task(budgeted, "unused", disclosure="top:15", within_budget=True)
    conditions = task.assessment.conditions
    assert conditions.generations_of(study.instances[0], study.search) == 170
    assert conditions.disclosure == "top:15"
    assert task.name == "small top:15 in 135.27 s"
    with pytest.raises(ParameterError, match="no budget"):
        tuning_task(study, "unused", within_budget=True)
    with pytest.raises(ParameterError, match="has no tuning"):
        tuning_task(msgspec.structs.replace(study, tuning=None), "unused")


def test_the_papers_sets() -> None:
    assert published_sets("tsp")[0].values == (0.043,)
    assert [each.values for each in published_sets("moap-one")] == [(0.116, 0.126), (0.113, 0.127)]
