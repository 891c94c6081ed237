"""A search by the disclosed groups of a Pareto score."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.problems import generate_assignment
from tacit.runs import Limits, with_disclosures
from tacit.search import PRESETS, Evolution, SearchParameters
from tacit.search.evolution import DisclosedGroups, selection_scheme
from tests.support.simulated import solve

TWO = PRESETS["paper-moap"].with_changes(population=20, tournament=3)


def test_the_best_groups_survive_and_win_tournaments() -> None:
    scheme = DisclosedGroups(entrants=2)
    groups = np.array([2, 0, 1, 0, 2, 1])
    estimates = np.repeat(-groups[:, None].astype(float), 2, axis=1)
    genomes = np.arange(6, dtype=np.int32)[:, None]
    order = np.array([[5, 4, 3, 2, 1, 0]], dtype=np.int32)
    state = scheme.survivors(genomes, estimates, order, 4)
    assert state.genomes[:, 0].tolist() == [3, 1, 5, 2]
    assert state.front_of.tolist() == [0, 0, 1, 1]
    assert state.estimated_best().tolist() == [0, 1]
    last, first = 2**32 - 1, 0
    words = np.array([[last, first], [first, last], [last, last]], dtype=np.uint32)
    assert scheme.parents(state, words).tolist() == [0, 0, 3]


def test_of_a_whole_order_all_survivors_are_the_best_set() -> None:
    """One plan alone would be no front."""
    estimates = -np.array([[3.0, 3.0], [0.0, 0.0], [2.0, 2.0], [1.0, 1.0]])
    order = np.array([[0, 1, 2, 3]], dtype=np.int32)
    state = DisclosedGroups(2).survivors(np.zeros((4, 1), np.int32), estimates, order, 3)
    assert state.estimates[:, 0].tolist() == [0, -1, -2]
    assert state.estimated_best().tolist() == [0, 1, 2]


def test_it_is_chosen_where_objectives_are_evaluated_together() -> None:
    problem = generate_assignment(1, rows=5, objectives=2)
    assert selection_scheme(TWO, together=True) == DisclosedGroups(3)
    together = Evolution(with_disclosures(problem, "pareto:order", None), TWO)
    assert together._scheme == DisclosedGroups(3)
    assert Evolution(problem, TWO)._scheme != DisclosedGroups(3)


@pytest.mark.parametrize("disclose", ["pareto:order", "pareto:quantiles:5", "pareto:top:6"])
def test_it_finds_better_plans_in_both_objectives(disclose: str) -> None:
    problem = generate_assignment(3, rows=12, objectives=2)
    result = solve(
        problem,
        disclose=disclose,
        settings=TWO,
        limits=Limits(generations=40),
        seed=1,
        engine="simulated",
    )
    first, last = (np.array(result.history.actual_mean)[k] for k in (0, -1))
    assert (last > 1.15 * first).all()
    sizes = set(result.history.set_size)
    assert sizes <= ({20} if disclose.endswith("order") else {4, 6, 8})


def test_the_same_seed_gives_the_same_run() -> None:
    problem = generate_assignment(3, rows=9, objectives=3)
    runs = [
        solve(
            problem,
            disclose="pareto:quantiles:4",
            settings=SearchParameters(
                algorithm="nsga2", population=12, elites=0, reevaluate_parents=True, tournament=2
            ),
            limits=Limits(generations=5),
            seed=2,
            engine="simulated",
        ).to_json(timing=False)
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
