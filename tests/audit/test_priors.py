"""Attackers who know the structure of costs find more, and gains are beyond what they knew."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.audit import (
    Audit,
    View,
    audit_of,
    first_columns,
    main_attacks,
    prior_named,
    priors_that_fit,
    record_of_plans,
)
from tacit.audit.cost_models import (
    CostModel,
    CurveModel,
    MeetingModel,
    PlaceModel,
    ProductModel,
    Schedule,
    roots_of_steps,
)
from tacit.audit.measure import as_matrix
from tacit.audit.platform_attacks import by_published_plans
from tacit.audit.prior_choice import last_week_of
from tacit.audit.unfaithful_platform import random_plans
from tacit.errors import InputError
from tacit.problems import Problem, generate_assignment, generate_named, generate_tour
from tacit.runs import with_disclosures
from tests.audit.example import example_record

MARGIN = {"low rank": 0.01}
"""By how much more at least; a plain attack on so few cells finds much of a low rank itself."""


@cache
def problem_of(family: str) -> Problem:
    drawn: dict[str, Problem] = {
        "uniform": generate_assignment(7, rows=12),
        "distances": generate_tour(7, cities=24),
    }
    if family == "delays":
        return generate_named("delays", 5, rows=20, columns=30)
    sizes = {"effects": 18, "slots": 18}
    return drawn.get(family) or generate_named(family, 7, rows=12, columns=sizes.get(family))


@cache
def audit(family: str, prior: str, disclosure: str = "top:5") -> Audit:
    problem = problem_of(family)
    record = example_record(disclosure, problem=problem)
    priors = [prior_named(prior, record.problem)]
    return audit_of(record, secret(problem), priors=priors)


def secret(problem: Problem) -> NDArray[np.float64]:
    weights = problem.objectives[0].weights
    assert weights is not None
    return weights.astype(np.float64)


def best_plain(attacked: Audit) -> float:
    found = main_attacks(attacked.view).values()
    return max(attacked.truth.score(each).correlation for each in found)


@pytest.mark.parametrize(
    ("family", "prior"),
    [
        ("distances", "map"),
        ("low-rank", "low rank"),
        ("euclidean", "places"),
        ("slots", "linear schedule"),
        ("delays", "schedule"),
        ("effects", "effects"),
    ],
)
def test_whoever_knows_the_structure_finds_more(family: str, prior: str) -> None:
    attacked = audit(family, prior)
    estimate = attacked.prior.from_disclosed(attacked.view, main_attacks(attacked.view))
    assert estimate is not None
    assert attacked.truth.score(estimate).correlation > best_plain(attacked) + MARGIN.get(
        prior, 0.05
    )


@cache
def published(family: str, prior: str) -> Audit:
    """Nothing but a good plan."""
    problem = problem_of(family)
    objective = problem.objectives[0]
    plan = problem.good_plan(objective.sign * secret(problem)).tolist()
    sealed = with_disclosures(problem, "sealed", "nothing")
    record = record_of_plans(sealed, [plan], search={"algorithm": "sealed"})
    return audit_of(record, secret(problem), priors=[prior_named(prior, record.problem)])


def test_the_steps_along_a_tour_tell_far_more_than_its_ways() -> None:
    attacked = published("distances", "map")
    ways = by_published_plans(attacked.view, {})
    assert ways is not None
    assert attacked.plan_only().correlation > attacked.truth.score(ways).correlation + 0.2


def test_steps_are_counted_the_shorter_way_round() -> None:
    view = audit("distances", "map").view
    plan = view.published.reshape(1, -1)
    tour = np.array(example_record("top:5", problem=problem_of("distances")).published)
    at = np.argsort(tour)
    apart = np.abs(at[:, None] - at)
    assert roots_of_steps(view, plan) == pytest.approx(np.sqrt(np.minimum(apart, 24 - apart)))


def test_candidates_without_values_tell_those_who_know_that_there_is_a_map() -> None:
    measured = audit("distances", "map").node()
    assert measured["map, no values"].who == "node"
    assert measured["map, no values"].correlation > 0.3


@pytest.mark.parametrize(
    ("family", "prior"), [("delays", "schedule"), ("slots", "linear schedule")]
)
def test_a_schedule_tells_most_before_the_run_and_disclosures_add_to_it(
    family: str, prior: str
) -> None:
    alone = audit(family, prior).prior_alone()
    assert alone.correlation > 0.6
    assert alone.gain == 0
    assert audit(family, prior).main().gain > 0.3


def test_who_is_costly_to_delay_gets_an_early_slot() -> None:
    assert published("slots", "linear schedule").plan_only().gain > 0.1


def test_columns_that_nobody_got_are_bad_where_columns_differ() -> None:
    attacked = audit("effects", "effects")
    cells = by_published_plans(attacked.view, {})
    assert cells is not None
    assert attacked.plan_only().correlation > attacked.truth.score(cells).correlation + 0.2


def test_last_weeks_costs_are_where_an_attacker_starts() -> None:
    weights = secret(problem_of("uniform"))
    noise = np.random.Generator(np.random.PCG64(1)).standard_normal(weights.shape)
    change = 0.5 * float(weights.std())
    record = example_record("top:5", problem=problem_of("uniform"))
    attacked = audit_of(record, weights, priors=[last_week_of(weights + change * noise, change)])
    assert 0.8 < attacked.prior_alone().correlation < 0.97
    estimate = attacked.prior.from_disclosed(attacked.view, {})
    assert estimate is not None
    assert attacked.measuring.score(estimate).gain > attacked.plan_only().gain > 0


def test_by_default_every_prior_that_fits_is_tried() -> None:
    for family, names in {
        "uniform": ["range", "low rank", "places"],
        "effects": ["range", "effects", "low rank", "places"],
        "distances": ["map", "range"],
        "delays": ["schedule", "linear schedule", "range", "effects", "low rank", "places"],
    }.items():
        record = example_record("top:5", problem=problem_of(family), generations=1)
        assert [each.name for each in priors_that_fit(record.problem)] == names
    with pytest.raises(InputError, match="does not fit"):
        prior_named("schedule", example_record("top:5", generations=1).problem)


def models() -> dict[str, tuple[CostModel, View, int]]:
    tour, delays = audit("distances", "map").view, audit("delays", "schedule")
    square = audit("euclidean", "places").view
    start = np.random.Generator(np.random.PCG64(3)).standard_normal(144).reshape(12, 12)
    assert isinstance(delays.prior, Schedule)
    curves = CurveModel(delays.prior, delays.view)
    return {
        "map": (PlaceModel(24, 1.0), tour, 48),
        "places": (MeetingModel(start, square), square, 48),
        "low rank": (ProductModel(start, 3, 1.0), square, 72),
        "schedule": (curves, delays.view, len(curves.starts(delays.view)[0])),
    }


@pytest.mark.parametrize("name", ["map", "places", "low rank", "schedule"])
def test_derivatives_are_those_of_the_cells(name: str) -> None:
    model, view, count = models()[name]
    rng = np.random.Generator(np.random.PCG64(5))
    unknowns, direction = rng.standard_normal((2, count))
    by_cell = rng.standard_normal(view.cell_count)
    step = 1e-6
    ahead, behind = (model.cells(unknowns + each * direction) for each in (step, -step))
    slope = float((ahead - behind) @ by_cell) / (2 * step)
    assert float(model.pulled(unknowns, by_cell) @ direction) == pytest.approx(slope, rel=1e-4)
    assert all(start.shape == (count,) for start in model.starts(view))


def test_a_gain_is_the_partial_correlation() -> None:
    attacked = audit("delays", "schedule")
    estimate = attacked.prior.from_disclosed(attacked.view, {})
    assert estimate is not None
    truth = attacked.measuring

    def seen(cells: Any) -> NDArray[np.float64]:
        return truth._counted(as_matrix(truth.problem, np.asarray(cells).ravel()))

    found, true, guess = (
        seen(each) for each in (estimate, truth.weights, attacked.prior.guess(attacked.view))
    )
    xy, xz, yz = (
        float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        for a, b in ((found, true), (found, guess), (true, guess))
    )
    by_hand = (xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2))
    score = truth.score(estimate)
    assert score.gain == pytest.approx(by_hand)
    # Together with the guess: the multiple correlation, which is never less than either alone.
    assert score.correlation == pytest.approx(np.sqrt(yz**2 + (1 - yz**2) * by_hand**2))
    assert score.correlation > max(xy, yz)
    plain = audit("uniform", "range")
    (some,) = list(main_attacks(plain.view).values())[-1:]
    alone = plain.measuring.score(some)
    assert alone.gain == alone.correlation


def test_random_queries_keep_to_what_nodes_accept() -> None:
    view = audit("delays", "schedule").view
    plans = random_plans(view, 200, np.random.Generator(np.random.PCG64(2)))
    forbidden = set(view.problem.forbidden)
    assert not any((row, int(plan[row])) in forbidden for plan in plans for row in range(20))
    assert len({tuple(plan) for plan in plans.tolist()}) > 190


def test_late_is_bad_also_where_values_are_maximized() -> None:
    costs = problem_of("delays")
    bound = costs.objectives[0].weight_bound
    values = replace(
        costs.objectives[0], weights=bound - secret(costs).astype(int), sense="maximize"
    )
    problem = replace(costs, objectives=(values,))
    record = example_record("top:5", problem=problem, generations=3)
    attacked = audit_of(record, secret(problem))
    assert attacked.prior.name == "schedule"
    assert attacked.prior_alone().correlation > 0.6


def test_several_published_tours_are_walked_one_by_one() -> None:
    one = published("distances", "map")
    problem = with_disclosures(problem_of("distances"), "sealed", "nothing")
    objective = problem.objectives[0]
    plan = problem.good_plan(objective.sign * secret(problem)).tolist()
    record = record_of_plans(problem, [plan, plan[::-1]], search={"algorithm": "sealed"})
    again = audit_of(record, secret(problem), priors=one.priors)
    assert again.plan_only().correlation == pytest.approx(one.plan_only().correlation)


@pytest.mark.parametrize(
    ("forbidden", "first"),
    [
        ([(0, 0), (1, 0), (1, 1), (2, 5)], [1, 2, 0]),
        ([(0, 0)], None),
        ([(0, 0), (1, 0), (2, 0)], None),
        ([(0, 1), (1, 1), (2, 2)], None),
        ([], None),
    ],
)
def test_a_schedule_is_a_beginning_of_most_rows(
    forbidden: list[tuple[int, int]], first: list[int] | None
) -> None:
    assert first_columns(forbidden, 3) == first
