"""Settings out of range are refused, and the presets are the paper's tables."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.errors import ParameterError
from tacit.search import PRESETS, SearchParameters, preset_named


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": "annealing"}, "'annealing' is not an algorithm; use genetic or nsga2"),
        ({"population": 1}, "population is 1; give at least 2"),
        ({"population": -5}, "population is -5"),
        ({"elites": -1}, "elites is -1; give 0 or more"),
        ({"elites": 300}, "elites is 300 of a population of 300; leave room"),
        ({"tournament": 0}, "tournament is 0; give at least 1 entrant"),
        ({"crossover_percent": 101}, "crossover_percent is 101; give 0 to 100"),
        ({"mutation_percent": -1}, "mutation_percent is -1; give 0 to 100"),
        ({"crossover": "pmx"}, "'pmx' is not a crossover; use one of cycle"),
        ({"mutation": "flip"}, "'flip' is not a mutation; use one of insert"),
        ({"ties": "fair"}, "'fair' breaks no ties; use one of random, shared, first, last"),
    ],
)
def test_settings_out_of_range_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as refused:
        SearchParameters(**changes)
    assert message in str(refused.value)
    with pytest.raises(ParameterError):
        SearchParameters().with_changes(**changes)


def test_changes_of_none_change_nothing() -> None:
    parameters = SearchParameters()
    assert parameters.with_changes(population=None, mutation=None) == parameters
    assert parameters.with_changes(elites=0).elites == 0
    assert not parameters.with_changes(reevaluate_parents=False).reevaluate_parents


def test_the_presets_are_the_best_sets_of_the_papers_tables() -> None:
    ap, tsp, moap = (PRESETS[f"paper-{kind}"] for kind in ("ap", "tsp", "moap"))
    for one_objective in (ap, tsp):
        assert one_objective.algorithm == "genetic"
        assert (one_objective.population, one_objective.elites) == (300, 15)
        assert not one_objective.reevaluate_parents
    assert (ap.tournament, ap.crossover, ap.crossover_percent) == (18, "cycle", 95)
    assert (ap.mutation, ap.mutation_percent) == ("swap", 100)
    assert (tsp.tournament, tsp.crossover, tsp.crossover_percent) == (20, "edge", 75)
    assert (tsp.mutation, tsp.mutation_percent) == ("inversion", 100)
    assert (moap.algorithm, moap.population, moap.elites) == ("nsga2", 150, 0)
    assert moap.reevaluate_parents
    assert (moap.crossover, moap.crossover_percent) == ("cycle", 100)
    assert (moap.mutation, moap.mutation_percent) == ("swap", 75)
    assert {preset.estimator for preset in PRESETS.values()} == {"linear"}


def test_every_preset_evaluates_300_per_generation() -> None:
    assert {preset.evaluated_per_generation for preset in PRESETS.values()} == {300}


def test_unknown_presets_are_refused() -> None:
    with pytest.raises(ParameterError, match="'best' is not a preset; use one of paper-ap"):
        preset_named("best")
