"""Sealed tours in studies: run in the clear, tuned at equal time."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from rich.console import Console
from studies.commands.tune import show_tuned
from studies.evaluation.instances import InstanceSpec, named_problem
from studies.evaluation.run import SEALED_SEARCH
from studies.evaluation.study import SearchJob, changed, read_study, shipped_studies, shipped_study
from studies.running import run_study
from studies.tuning.tune import Tuned, TunedSet, tune, tuning_task

from tacit.agreement import tour_groups
from tacit.derived import step_seconds
from tacit.errors import FileError, ParameterError
from tacit.problems import Objective, Tour
from tacit.runs import EngineChoice, Limits
from tacit.search import ClearTour
from tacit.search.moves import TourParameters
from tests.conftest import RunTacit
from tests.support.simulated import solve

SEALED_STUDIES = [name for name in shipped_studies() if name.startswith("sealed-")]
SMALL = """
name = "small"
preset = "sealed-tsp"
parameters = { heat_end = 5 }
generations = 1000
disclosures = ["sealed"]
seeds = { first = 3, count = 2 }

[[instances]]
shipped = "kroD100"

[budget]
seconds = 1
sealed = 10

[tuning]
trials = 3
random_trials = 1
space = { children = [20, 30, 40], heat_start = [100, 300] }
[[tuning.instances]]
shipped = "kroA100"
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.mark.parametrize("name", SEALED_STUDIES)
def test_shipped_studies_tune_apart_from_what_they_evaluate(name: str) -> None:
    study = shipped_study(name)
    assert study.disclosures == ("sealed",)
    assert study.tuning is not None
    evaluated = {named_problem(spec).name for spec in study.instances}
    assert not evaluated & {named_problem(spec).name for spec in study.tuning.instances}
    # The budget decides, not the limit that a study needs as well.
    assert {job.generations for job in study.jobs()} < set(range(300, 10_000))


def test_every_setting_of_a_sealed_search_can_be_tuned(small: Path) -> None:
    for field in fields(TourParameters):
        value = json.dumps(getattr(TourParameters(), field.name))
        space = f"space = {{ {field.name} = [{value}] }}"
        small.write_text(
            SMALL.replace("space = { children = [20, 30, 40], heat_start = [100, 300] }", space)
        )
        assert read_study(small).tuning is not None


def test_a_run_of_a_study_is_that_of_solve(small: Path) -> None:
    study = read_study(small)
    job = study.jobs()[0]
    record = job.compute()
    problem = named_problem(job.instance)
    solved = solve(
        problem,
        disclose="sealed",
        seed=job.seed,
        limits=Limits(generations=job.generations),
        settings=TourParameters(**dict(job.settings)),
        engine=EngineChoice(engine="simulated"),
    )
    worth = problem.fitness(0, np.array([solved.plan], dtype=np.int32))[0]
    assert record.metrics["best_fitness"][-1] == record.front[0, 0] == -worth
    assert len(record.metrics["relative_error"]) == job.generations + 1
    assert 0 <= record.metrics["relative_error"][-1] < record.metrics["relative_error"][0]


def test_rows_of_a_sealed_study(small: Path, tmp_path: Path) -> None:
    study = read_study(small)
    with ThreadPoolExecutor(1) as pool:
        done = run_study(study, tmp_path / "out", pool)
        assert run_study(study, tmp_path / "out", pool).computed == 0
    rows = pl.read_parquet(done.folder / "generations.parquet")
    assert rows["disclosure"].unique().to_list() == ["sealed"]
    assert rows["set_size"].unique().to_list() == [1]


def test_settings_are_compared_at_equal_time() -> None:
    study = shipped_study("sealed-tsp")
    conditions, instance = study.conditions("sealed"), study.instances[0]
    budget = conditions.budget
    assert budget is not None
    assert budget.sealed is not None
    counts = []
    for children in (100, 300, 600):
        settings = TourParameters(children=children)
        counts.append(conditions.generations_of(instance, settings))
        (group,) = tour_groups(named_problem(instance), [(1,)], settings)
        each = budget.sealed * step_seconds(group).generation
        assert counts[-1] * each <= budget.seconds < (counts[-1] + 1) * each
    assert counts[0] > counts[1] > counts[2]


@pytest.mark.slow
def test_tuning_of_a_sealed_search_goes_on_where_it_stopped(small: Path, tmp_path: Path) -> None:
    study, place = read_study(small), str(tmp_path / "trials.journal")
    with ThreadPoolExecutor(1) as pool:
        first = tune(tuning_task(study, place, trials=2), pool, workers=1)
        task = tuning_task(study, place)
        tuned = tune(task, pool, workers=1)
    assert task.name == "small in 1 s"
    assert len(tuned.trials) == 3
    assert tuned.trials[:2] == first.trials
    (instance,) = task.assessment.instances
    for trial in tuned.trials:
        settings = changed(study.search, trial.settings)
        by_hand = [
            task.assessment.conditions.job(instance, settings, seed=seed).compute()
            for seed in range(3)
        ]
        errors = [record.metrics["relative_error"][-1] for record in by_hand]
        assert trial.values == (np.median(errors),)


@pytest.mark.processes
def test_the_command_prints_all_trials_as_json(
    small: Path, tmp_path: Path, run_here: RunTacit
) -> None:
    done = run_here("tune", small, "--workers", "1", "--json", "--held-out", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = msgspec.json.decode(done.stdout)
    assert len(printed["trials"]) == 3
    # Where several sets tie for the best, all of them are tried.
    assert {"ours", "sealed-tsp"} <= set(printed["held_out"])


def test_a_set_stands_beside_the_presets_where_the_paper_has_none(small: Path) -> None:
    study = read_study(small)
    found = Tuned([TunedSet({"children": 40}, (0.01,))], [], ("relative_error",))
    console = Console(record=True, width=80)
    show_tuned(found, study, console)
    shown = [line.split() for line in console.export_text().splitlines()]
    assert ["setting", "ours", "sealed-tsp"] in shown
    assert ["children", "40", str(study.search.children)] in shown  # type: ignore[union-attr]
    assert ["relative_error", "0.0100", "-"] in shown


BAD = {
    "space = { children = [20, 30, 40]": (
        "space = { tournament = [2]",
        "'tournament' is (not )?a setting",
    ),
    "children = [20, 30, 40]": ("children = [20, 10001]", "a set with children = 10001: children"),
    "[20, 30, 40], heat_start = [100, 300]": (
        "[20, 30], heat_start = [300, 100], heat_end = [5, 200]",
        "a set with heat_start = 100 and heat_end = 200: the temperature rises",
    ),
    "[100, 300] }": ("['hot'] }", "no valid first set: heat_start is 'hot'"),
    '["sealed"]': ('["none"]', "a sealed search cannot disclose none"),
    '"sealed-tsp"': ('"paper-tsp"', "needs the settings of a sealed search|setting of a sealed"),
    "sealed = 10": ("evaluation_seconds = { none = 1 }\nother = 10", "is unknown"),
    "sealed = 10\n": ("", "nothing of sealed"),
    'shipped = "kroD100"': ('generate = "assignment"\nsize = 9', "ap1K9x9 is no tour"),
    'shipped = "kroA100"': ('generate = "delays"\nsize = 8', "is no tour"),
    "seconds = 1": ("seconds = 0.001", "no generation for sealed"),
    "= 10\n": ("= 0\n", "takes no time"),
}


@pytest.mark.parametrize(("old", "new", "told"), [(old, *others) for old, others in BAD.items()])
def test_bad_studies_are_refused(small: Path, old: str, new: str, told: str) -> None:
    assert old in SMALL
    small.write_text(SMALL.replace(old, new, 1))
    with pytest.raises(FileError, match=told):
        read_study(small)


def test_disclosures_and_searches_that_do_not_fit(small: Path) -> None:
    with pytest.raises(ParameterError, match="cannot disclose top:15"):
        tuning_task(read_study(small), "unused", disclosure="top:15")
    with pytest.raises(ParameterError, match="take the preset sealed-tsp"):
        tuning_task(shipped_study("ap"), "unused", disclosure="sealed")


def test_a_tour_of_two_objectives_is_refused() -> None:
    ways = np.ones((4, 4), dtype=np.int64)
    both = tuple(Objective(name, ways, sense="minimize") for name in ("length", "time"))
    problem = Tour(name="both", rows=4, columns=4, objectives=both)
    with pytest.raises(ParameterError, match="both has 2 objectives"):
        SEALED_SEARCH.check_problem(problem)


def test_the_best_of_all_parents_counts_from_the_first_generation_on() -> None:
    instance = InstanceSpec(generate="tour", size=12, seed=1)
    problem = named_problem(instance)
    for seed in range(20):
        settings = TourParameters(children=3, parents=8)
        twin = ClearTour.drawn(problem, settings, seed=seed)
        twin.advance(1, horizon=1)
        job = SearchJob(
            instance=instance,
            settings=tuple(asdict(settings).items()),
            disclosure="sealed",
            generations=1,
            seed=seed,
        )
        # Studies have lengths, which count the other way.
        assert job.compute().metrics["best_fitness"][1] == -twin.value
