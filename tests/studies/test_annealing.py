"""The platform's annealing is that of the sealed search, but for what it sees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from studies.ablation.annealing import RANK, PlatformAnnealing, platform_annealing

from tacit.disclosure import Disclosure, Exact, parse_disclosure
from tacit.errors import ParameterError
from tacit.evaluators import ObjectiveEvaluation, SimulatedObjective
from tacit.problems import Objective, Problem, Tour, generate_tour, shipped_problem
from tacit.search import ClearTour
from tacit.search.moves import TourParameters, sealed_parameters_for


def directed(cities: int) -> Tour:
    """Ways that differ forth and back."""
    lengths = np.random.default_rng(3).integers(1, 1000, (cities, cities))
    objective = Objective("length", lengths * (1 - np.eye(cities, dtype=int)), sense="minimize")
    return Tour(name="directed", rows=cities, columns=cities, objectives=(objective,))


SMALL, SETTINGS = generate_tour(3, cities=20), TourParameters(children=30)
PROBLEMS = {
    "drawn": (SMALL, SETTINGS),
    "windows": (SMALL, TourParameters(children=20, windows=3, levels=2)),
    "directed": (directed(20), TourParameters(children=40, swap_percent=10, exchange_percent=45)),
    "map": (shipped_problem("kroD100"), sealed_parameters_for("tour")),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_seeing_values_gives_the_plans_of_the_sealed_search(name: str) -> None:
    problem, parameters = PROBLEMS[name]
    sealed = ClearTour.drawn(problem, parameters, seed=7)
    seeing = platform_annealing(problem, parameters, Exact(), seed=7)
    changed = 0
    for _ in range(60):
        before = seeing.plan()
        sealed.advance(1, horizon=60)
        seeing.advance(1, horizon=60)
        assert seeing.plan().tolist() == sealed.table[0, :, -1].tolist()
        assert seeing.best_plans().tolist() == [sealed.plan()]
        changed += not np.array_equal(before, seeing.plan())
    assert changed > 10


class Watched(SimulatedObjective):
    """Keeps what was evaluated and what was shown of it."""

    def evaluate(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> ObjectiveEvaluation:
        self.seen = super().evaluate(candidates, until=until)
        self.candidates = candidates
        return self.seen


def watched(problem: Problem, parameters: TourParameters, text: str) -> PlatformAnnealing:
    search = platform_annealing(problem, parameters, parse_disclosure(text), seed=1)
    objective = replace(problem.objectives[0], disclosure=parse_disclosure(text))
    search.evaluator = Watched(replace(problem, objectives=(objective,)), 0)
    return search


@pytest.mark.parametrize("text", ["order", "quantiles:5", "top:7"])
def test_a_set_is_the_parent_and_each_child_once(text: str) -> None:
    search = watched(*PROBLEMS["windows"], text)
    parent, moves = search.plan(), search.schedule.generation(0, horizon=10).moves
    search.advance(1, horizon=10)
    plans = search.evaluator.candidates  # type: ignore[attr-defined]
    assert len(plans) == search.candidates == 1 + 3 * 20
    assert plans[0].tolist() == parent.tolist()
    for block in range(3):
        for child in range(1, 21):
            expected = parent.copy()
            to, source = moves.chosen(np.where(np.arange(3) == block, child, 0))
            expected[to] = parent[source]
            assert plans[20 * block + child].tolist() == expected.tolist()
    assert (np.sort(plans, axis=1) == np.arange(20)).all()


@pytest.mark.parametrize(
    ("text", "shown", "ranks"),
    [
        # The parent, first of the set, counts as the first of its group.
        ("order", [2, 0, 1, 3], [2, 0, 1, 3]),
        ("top:2", [True, True, False, False], [0, 0.5, 2.5, 2.5]),
        ("top:1", [False, True, False, False], [1, 0, 2, 2]),
        ("quantiles:2", [1, 0, 0, 1], [2, 0.5, 0.5, 2.5]),
    ],
)
def test_groups_count_as_their_middle(text: str, shown: list[int], ranks: list[float]) -> None:
    problem, parameters = PROBLEMS["drawn"]
    search = platform_annealing(problem, parameters, parse_disclosure(text), seed=1)
    standing = search._standing(ObjectiveEvaluation(np.zeros(4), np.array(shown), 9))
    assert (-standing / RANK).tolist() == ranks


def values_along(disclosure: Disclosure, parameters: TourParameters) -> list[int]:
    search = platform_annealing(SMALL, parameters, disclosure, seed=2)
    values = []
    for _ in range(40):
        search.advance(1, horizon=40)
        values.append(int(SMALL.fitness(0, search.plan()[None])[0]))
    return values


def test_a_cold_platform_never_leaves_a_plan_for_one_that_ranks_below() -> None:
    cold = TourParameters(children=30, heat_start=1, heat_end=1)
    values = values_along(parse_disclosure("order"), cold)
    assert values == sorted(values)
    hot = replace(cold, heat_start=5000, heat_end=5000)
    values = values_along(parse_disclosure("order"), hot)
    assert values != sorted(values)


@pytest.mark.parametrize("text", ["order", "top:5"])
def test_the_best_known_set_has_the_best_plan_that_was_evaluated(text: str) -> None:
    search = watched(SMALL, SETTINGS, text)
    highest = -(10**9)
    for _ in range(30):
        search.advance(1, horizon=30)
        evaluated = search.evaluator.candidates  # type: ignore[attr-defined]
        highest = max(highest, int(SMALL.fitness(0, evaluated).max()))
        assert SMALL.fitness(0, search.best_plans()).max() == highest
        assert len(search.best_plans()) == {"order": 1, "top:5": 5}[text]


def test_a_step_after_which_the_best_is_lower_is_taken_back() -> None:
    search = watched(SMALL, SETTINGS, "top:15")
    best, taken_back = [-(10**9)], 0
    for _ in range(40):
        before = search._parent
        search.advance(1, horizon=40)
        parent = search._parent
        assert parent is not None
        kept = parent is not before
        assert kept == (search.evaluator.seen.best >= best[-1])  # type: ignore[attr-defined]
        taken_back += not kept
        best.append(parent.best)
    assert best == sorted(best)
    assert 0 < taken_back < 40


def test_ranks_of_single_plans_let_a_step_stay_after_which_the_best_is_lower() -> None:
    hot = TourParameters(children=30, heat_start=2000, heat_end=2000)
    search = watched(SMALL, hot, "order")
    best = []
    for _ in range(20):
        went_to = search.plan()
        search.advance(1, horizon=20)
        assert search._parent is not None
        assert search._parent.content.tolist() == went_to.tolist()
        best.append(search._parent.best)
    assert best != sorted(best)


def test_several_parents_are_refused() -> None:
    with pytest.raises(ParameterError, match="one parent"):
        platform_annealing(SMALL, TourParameters(parents=2), Exact(), seed=1)
