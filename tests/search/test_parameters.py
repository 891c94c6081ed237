"""Settings, the presets of the paper, and ties: nobody is preferred, a seed decides everything."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ParameterError
from tacit.problems import Problem, generate_assignment
from tacit.search import (
    PRESETS,
    TIES,
    Evolution,
    SearchParameters,
    Ties,
    draw_words,
    parameters_of,
    preset_named,
    random_permutations,
)
from tacit.search.parameters import TieBreaker


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


CANDIDATES, SURVIVORS = 24, 12


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def asked(problem: Problem, parameters: SearchParameters, *, equal: bool) -> list[list[list[int]]]:
    """The sets of ten generations whose candidates are all equally good, or all different."""
    search, rng = Evolution(problem, parameters), generator(5)
    state, sets = search.start(), []
    for _ in range(10):
        genomes = search.ask(state, rng)
        fitness = problem.fitness(0, problem.plans(genomes)) * 1000.0 + np.arange(len(genomes))
        estimates = np.zeros(len(genomes)) if equal else fitness
        state = search.tell(
            state, genomes, np.tile(estimates[:, None], len(problem.objectives)), rng
        )
        sets.append(genomes.tolist())
    return sets


@given(st.integers(0, 2**64), st.integers(0, 500), st.integers(1, 4), st.integers(1, 60))
def test_random_orders_are_permutations_from_a_stream_apart(
    seed: int, generation: int, sorts: int, count: int
) -> None:
    rng = generator(seed)
    before = rng.bit_generator.state
    drawn = TieBreaker("random").orders(sorts, count, rng, generation=generation)
    assert rng.bit_generator.state == before
    assert (np.sort(drawn, axis=1) == np.arange(count)).all()
    bits = np.random.PCG64(seed).jumped(generation + 1)
    words = draw_words(np.random.Generator(bits), sorts * count).reshape(sorts, count)
    assert (drawn == random_permutations(words)).all()
    shared = TieBreaker("shared").orders(sorts, count, rng, generation=generation)
    assert (shared == drawn[0]).all()


def test_every_order_is_as_likely_in_every_sort() -> None:
    rng, breaker = generator(), TieBreaker("random")
    drawn = np.stack([breaker.orders(2, 4, rng, generation=each) for each in range(4800)])
    for sort in (0, 1):
        counted = [
            int((drawn[:, sort] == order).all(axis=1).sum()) for order in permutations(range(4))
        ]
        # 200 each; the standard deviation is 14.
        assert min(counted) > 140
        assert max(counted) < 260
    assert (drawn[:, 0] == drawn[:, 1]).all(axis=1).sum() < 300


@pytest.mark.parametrize("preset", ["paper-ap", "paper-moap"])
def test_equals_survive_equally_often(preset: str) -> None:
    """Where all are equal, the place in the set does not count; otherwise it decides."""
    objectives = 2 if preset == "paper-moap" else 1
    problem = generate_assignment(1, rows=CANDIDATES, objectives=objectives)
    genomes = np.tile(np.arange(CANDIDATES, dtype=np.int32), (CANDIDATES, 1))
    genomes[:, 0] = np.arange(CANDIDATES)  # the first item names the candidate
    survived = {ties: np.zeros(CANDIDATES) for ties in TIES}
    for ties, counted in survived.items():
        few = PRESETS[preset].with_changes(population=SURVIVORS, elites=0, ties=ties)
        search = Evolution(problem, few)
        for seed in range(600):
            state = search.tell(
                search.start(), genomes, np.zeros((CANDIDATES, objectives)), generator(seed)
            )
            counted[state.genomes[:, 0]] += 1
    for ties in ("random", "shared"):
        # 300 of 600 each; the standard deviation is 12.
        assert survived[ties].min() > 240
        assert survived[ties].max() < 360
    # The ends of a front are preferred as ends, whatever their place.
    assert survived["first"][: SURVIVORS - 1].min() == 600
    assert survived["last"][-SURVIVORS + 1 :].min() == 600


@pytest.mark.parametrize("preset", ["paper-ap", "paper-moap"])
@pytest.mark.parametrize("ties", TIES)
def test_the_same_seed_gives_the_same_run(preset: str, ties: Ties) -> None:
    problem = generate_assignment(1, rows=9, objectives=2 if preset == "paper-moap" else 1)
    few = PRESETS[preset].with_changes(population=20, elites=min(3, PRESETS[preset].elites))
    once = asked(problem, few.with_changes(ties=ties), equal=True)
    assert asked(problem, few.with_changes(ties=ties), equal=True) == once
    others = [asked(problem, few.with_changes(ties=each), equal=True) for each in TIES]
    assert others.count(once) <= 2  # with one objective there is one sort, so nothing to share


def test_where_nobody_is_tied_it_does_not_matter() -> None:
    problem = generate_assignment(1, rows=9)
    few = SearchParameters(population=20, elites=3, tournament=3, reevaluate_parents=True)
    runs = [asked(problem, few.with_changes(ties=ties), equal=False) for ties in TIES]
    assert all(run == runs[0] for run in runs)


def test_settings_that_are_unknown_or_wrong_are_refused() -> None:
    written = {"algorithm": "nsga2", "population": 40, "elites": 0}
    assert parameters_of(written).ties == SearchParameters().ties == "random"
    assert parameters_of({**written, "ties": "first"}).ties == "first"
    with pytest.raises(ParameterError, match="'islands'"):
        parameters_of({**written, "islands": 3})
    with pytest.raises(ParameterError, match="expected a whole number, got text"):
        parameters_of({**written, "population": "forty"})
    with pytest.raises(ParameterError, match="'fair'"):
        parameters_of({**written, "ties": "fair"})
