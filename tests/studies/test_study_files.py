from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from studies.evaluation.instances import named_problem
from studies.evaluation.run import run_search
from studies.evaluation.study import read_study, shipped_study, study_named
from studies.report.reproduction import PAPER_STUDIES

from tacit.disclosure import PAPER_CONFIGURATIONS
from tacit.errors import FileError, ParameterError
from tacit.search import PRESETS

Write = Callable[..., Path]


@pytest.mark.parametrize("name", PAPER_STUDIES)
def test_shipped_studies_are_the_papers(name: str) -> None:
    study = shipped_study(name)
    assert study.disclosures == PAPER_CONFIGURATIONS
    assert list(study.seeds.all()) == list(range(31))
    assert study.generations == 500


TUNED = ("ap", "tsp", "moap")


@pytest.mark.parametrize("name", TUNED)
def test_shipped_studies_tune_as_the_paper_does(name: str) -> None:
    study = shipped_study(name)
    assert study.tuning is not None
    assert (study.tuning.trials, study.tuning.random_trials, study.tuning.runs) == (300, 50, 3)
    evaluated = [named_problem(spec).name for spec in study.instances]
    tuned = [named_problem(spec).name for spec in study.tuning.instances]
    assert not set(evaluated) & set(tuned)
    if name == "tsp":
        assert evaluated == ["kroD100", "kroE100"]
        assert tuned == ["kroA100", "kroB100", "kroC100"]
    else:
        assert (len(evaluated), len(tuned)) == (5, 10)
        assert sorted(evaluated)[0] == evaluated[0]


@pytest.mark.parametrize("name", TUNED)
def test_search_spaces_contain_the_papers_best_sets(name: str) -> None:
    study = shipped_study(name)
    assert study.tuning is not None
    best = PRESETS[study.preset]
    for setting, choices in study.tuning.space.items():
        assert getattr(best, setting) in choices
    percents = tuple(range(60, 101, 5))
    assert study.tuning.space["mutation_percent"] == percents
    assert study.tuning.space["crossover_percent"] == percents
    assert len(study.tuning.space["mutation"]) == 4
    assert len(study.tuning.space["crossover"]) == 3


def test_moap_scenarios_obfuscate_one_and_two_objectives() -> None:
    assert shipped_study("moap-one").obfuscate == ("weight 1",)
    assert shipped_study("moap-two").obfuscate == ("weight 1", "weight 2")
    assert shipped_study("moap-one").instances == shipped_study("moap-two").instances
    assert shipped_study("moap-one").instances == shipped_study("moap").instances


def test_runs_with_the_same_seed_start_from_the_same_population(small_study: Write) -> None:
    study = read_study(small_study())
    none, top = (
        [job for job in study.jobs() if job.disclosure == name] for name in study.disclosures
    )
    for one, other in zip(none, top, strict=True):
        # The best of the first fifteen is the best of all.
        assert (
            run_search(one).metrics["best_fitness"][0]
            == run_search(other).metrics["best_fitness"][0]
        )


def test_a_budget_cuts_the_generations_of_each_disclosure(small_study: Write) -> None:
    more = "[budget]\nseconds = 5\nevaluation_seconds = { none = 0.1, top = 1 }\n"
    study = read_study(small_study(generations=30, more=more))
    generations = {job.disclosure: job.generations for job in study.jobs()}
    assert generations == {"none": 30, "top:15": 4}


def test_instances_of_all_sources(tmp_path: Path, small_study: Write) -> None:
    (tmp_path / "costs.csv").write_text("1,2\n3,4\n")
    more = '[[instances]]\nfile = "costs.csv"\n[[instances]]\nshipped = "rd100"\n'
    study = read_study(small_study(more=more))
    names = [named_problem(spec).name for spec in study.instances]
    assert names == ["ap1K10x10", "ap1K10x10-02", "costs", "rd100"]
    key = next(job.key for job in study.jobs() if job.instance.file)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (tmp_path / "small.toml").rename(moved / "small.toml")
    (tmp_path / "costs.csv").rename(moved / "costs.csv")
    again = read_study(moved / "small.toml")
    assert next(job.key for job in again.jobs() if job.instance.file) == key
    (moved / "costs.csv").write_text("1,2\n3,5\n")
    changed = read_study(moved / "small.toml")
    assert next(job.key for job in changed.jobs() if job.instance.file) != key


BAD = {
    "unknown field": ('colour = "red"', "colour"),
    "wrong type": ("[tuning]\ntrials = 'many'\nspace = {}\ninstances = []", "trials"),
    "no such file": ('[[instances]]\nfile = "gone.json"', "gone.json is not there"),
    "two sources": ('[[instances]]\nshipped = "rd100"\ngenerate = "tour"', "generate and shipped"),
    "no source": ("[[instances]]\nsize = 4", "no source"),
    "twice": ('[[instances]]\ngenerate = "assignment"\nsize = 10\nseed = 5', "share a name"),
    "series": ('[[instances]]\nshipped = "rd100"\nnumbers = [1, 2]', "leave them out"),
    "budget": ("[budget]\nseconds = 5\nevaluation_seconds = { none = 0.1 }", "nothing of top"),
    "no time": ("[budget]\nseconds = 1\nevaluation_seconds = { none = 1, top = 1 }", "no gener"),
    "space": ("[tuning]\nspace = { luck = [1] }\ninstances = [{ shipped = 'rd100' }]", "luck"),
    "no choice": ("[tuning]\nspace = { elites = [] }\ninstances = []", "no choice"),
    "make": ('[[instances]]\nmake = "nothing.here"', "cannot be imported"),
    "not a problem": ('[[instances]]\nmake = "time.monotonic"', "gives no Problem"),
    "no function": ('[[instances]]\nmake = "math.pi"', "no function pi"),
}  # fmt: skip


@pytest.mark.parametrize(("more", "told"), BAD.values(), ids=BAD)
def test_bad_files_are_refused_with_the_reason(small_study: Write, more: str, told: str) -> None:
    path = small_study(more="" if "=" in more.split("\n")[0] else more)
    if "=" in more.split("\n")[0]:
        path.write_text(more + "\n" + path.read_text())
    with pytest.raises(FileError, match=told) as caught:
        read_study(path)
    assert "small.toml" in str(caught.value)


CHANGES = {
    "generations = 8": ("generations = 0", "generations is 0"),
    'name = "small"': ('name = "../up"', "no name for a folder"),
    "count = 2": ("count = 0", "there is at least one"),
    '["none", "top:15"]': ('["none", "none"]', "stand twice"),
    '"top:15"': ('"top:61"', "needs at least 61"),
    '["none", "top': ('["none", "tip', "is not a disclosure"),
    "elites = 5": ("colour = 5", "'colour' is not a setting"),
    '"paper-ap"': ('"paper"', "is not a preset"),
    "seeds": ("obfuscate = ['pay']\nseeds", "no objective 'pay'"),
    "generations": ("plugins = ['nowhere_at_all']\ngenerations", "plugin nowhere_at_all"),
    "[[instances]]": ("[[instances", "is not TOML"),
}


@pytest.mark.parametrize(("old", "new", "told"), [(o, *nt) for o, nt in CHANGES.items()])
def test_bad_values_are_refused(small_study: Write, old: str, new: str, told: str) -> None:
    path = small_study()
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(FileError, match=told):
        read_study(path)


def test_names_and_paths_that_are_not_there() -> None:
    with pytest.raises(ParameterError, match="no study 'nothing' is shipped"):
        study_named("nothing")
    with pytest.raises(FileError, match="there is no such file"):
        study_named("nothing.toml")


def test_the_key_of_a_run_depends_on_all_that_its_rows_depend_on(small_study: Write) -> None:
    jobs = list(read_study(small_study()).jobs())
    keys = {job.key for job in jobs}
    assert len(keys) == len(jobs) == 8
    job = jobs[0]
    for change in (
        {"seed": 9},
        {"generations": 9},
        {"disclosure": "order"},
        {"obfuscate": ("weight",)},
        {"settings": (*job.settings[:-1], ("tournament", 5))},
        {"plugins": ("x",)},
    ):
        assert msgspec.structs.replace(job, **change).key != job.key


def test_a_run_is_a_function_of_its_job(small_study: Write) -> None:
    job = read_study(small_study()).jobs()[0]
    one, other = run_search(job), run_search(job)
    for name, values in one.metrics.items():
        np.testing.assert_array_equal(values, other.metrics[name])
    np.testing.assert_array_equal(one.front, other.front)
