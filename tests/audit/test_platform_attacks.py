"""Each attack recovers a planted matrix, and does not where the disclosures mean nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.audit.measure import Truth, unit_of
from tacit.audit.node_attacks import from_next_population, view_from_next_population
from tacit.audit.platform_attacks import (
    ATTACKS,
    anchored,
    anchored_in_range,
    anchored_prior,
    anchored_with_frequency,
    by_frequency,
    by_published_plans,
    by_what_is_disclosed,
    from_equations,
    from_known_rows,
    pairwise_regression,
    pointwise_regression,
    ridge_regression,
)
from tacit.audit.unfaithful_platform import (
    answered,
    equally_good,
    random_plans,
    random_view,
    recover_by_crafted,
    recover_from,
)
from tacit.audit.view import View, view_of
from tacit.problems import Problem, generate_assignment, generate_tour
from tests.audit.example import example_record

pytestmark = pytest.mark.slow

SIDE = 10
ROWS = (0, 1, 2)


@cache
def problem(kind: str) -> Problem:
    if kind == "assignment":
        return generate_assignment(11, rows=SIDE, participants=2)
    return generate_tour(11, cities=SIDE)


def truth(kind: str, *, known: tuple[int, ...] = ()) -> Truth:
    objective = problem(kind).objectives[0]
    assert objective.weights is not None
    weights = objective.sign * objective.weights.astype(np.float64)
    return Truth(honest(kind, "order").problem, weights, objective.sign, known)


@cache
def honest(kind: str, disclosure: str) -> View:
    return view_of(example_record(disclosure, problem=problem(kind), generations=40))


@cache
def asked(kind: str, disclosure: str) -> View:
    """Random populations, so that only what is disclosed of them says anything."""
    view = honest(kind, disclosure)
    rng = np.random.default_rng(3)
    plans = random_plans(view, int(view.sizes.sum()), rng)
    return answered(view, truth(kind).weights, plans)


def shuffled(view: View) -> View:
    """The same disclosures, handed to other candidates of the same evaluation."""
    rng = np.random.default_rng(5)
    places = np.lexsort((rng.random(len(view.levels)), view.evaluation_of))
    values = None if view.values is None else view.values[places]
    return replace(view, levels=view.levels[places], values=values)


def correlation(kind: str, estimate: NDArray[np.float64] | None) -> float:
    assert estimate is not None
    return truth(kind).score(estimate).correlation


@pytest.mark.parametrize("kind", ["assignment", "tour"])
@pytest.mark.parametrize(
    ("name", "disclosure", "least"),
    [
        ("regression", "none", 0.98),
        ("regression", "order", 0.9),
        ("equations", "none", 0.9999),
        ("pairwise", "order", 0.98),
        ("pairwise", "quantiles:5", 0.95),
        ("pairwise", "top:5", 0.85),
        ("pointwise", "quantiles:5", 0.95),
        ("pointwise", "buckets:5", 0.95),
        ("pointwise", "top:5", 0.85),
        ("pointwise", "above:80", 0.85),
        ("anchor", "top:5", 0.85),
        ("combination", "top:5", 0.85),
        ("known range", "quantiles:5", 0.9),
    ],
)
def test_attacks_recover_what_is_planted(
    kind: str, name: str, disclosure: str, least: float
) -> None:
    attack = (ATTACKS | {"known range": anchored_in_range})[name]
    view = asked(kind, disclosure)
    assert correlation(kind, attack(view, {})) > least
    assert abs(correlation(kind, attack(shuffled(view), {}))) < 0.45


@pytest.mark.parametrize("disclosure", ["none", "order", "top:5"])
def test_known_rows_help_with_the_others(disclosure: str) -> None:
    view, secret = asked("assignment", disclosure), truth("assignment", known=ROWS)
    weights = secret.weights
    estimate = from_known_rows(view, weights, ROWS)
    assert secret.score(estimate).correlation > 0.85
    # Of the others nothing is looked at.
    blinded = weights.copy()
    blinded[len(ROWS) :] = 0
    assert np.array_equal(estimate, from_known_rows(view, blinded, ROWS))
    noise = from_known_rows(shuffled(view), weights, ROWS)
    assert abs(secret.score(noise).correlation) < 0.45


@pytest.mark.parametrize("kind", ["assignment", "tour"])
def test_counting_survivors_tells_something(kind: str) -> None:
    view = honest(kind, "order")
    found = correlation(kind, by_frequency(view, {}))
    assert found > 0.3
    assert found > correlation(kind, by_published_plans(view, {})) > 0.1
    assert abs(correlation(kind, by_frequency(asked(kind, "order"), {}))) < 0.3


@pytest.mark.parametrize("disclosure", ["none", "order", "top:3", "quantiles:5", "above:90"])
def test_a_node_learns_from_the_next_population(disclosure: str) -> None:
    view = honest("assignment", disclosure)
    assert correlation("assignment", from_next_population(view)) > 0.25
    assert from_next_population(view.first(1)) is None


def test_the_next_population_betrays_exactly_the_best() -> None:
    view = honest("assignment", "top:3")
    guessed = view_from_next_population(view)
    # Of a population's three elites, some may be the same candidate.
    wrong = (guessed.levels == 0) & (view.first(view.evaluations - 1).levels == 1)
    assert guessed.levels.shape == (view.sizes[:-1].sum(),)
    assert wrong.mean() < 0.01


@pytest.mark.parametrize("kind", ["assignment", "tour"])
@pytest.mark.parametrize("disclosure", ["top:5", "quantiles:5", "order", "none"])
def test_asking_at_will_tells_more(kind: str, disclosure: str) -> None:
    view, weights = honest(kind, disclosure), truth(kind).weights
    by_random = correlation(kind, recover_from(random_view(view, weights)))
    by_crafted = correlation(kind, recover_by_crafted(view, weights))
    assert min(by_random, by_crafted) > 0.85


def test_a_planted_bad_plan_moves_the_threshold() -> None:
    view, weights = honest("assignment", "above:95"), truth("assignment").weights
    by_random = correlation("assignment", recover_from(random_view(view, weights)))
    by_crafted = correlation("assignment", recover_by_crafted(view, weights))
    assert by_crafted > by_random + 0.02


def test_crafted_plans_are_plans_and_equally_good() -> None:
    view, secret = honest("tour", "top:5"), truth("tour").weights
    rng = np.random.default_rng(1)
    plans = random_plans(view, 50, rng)
    before = secret[plans, np.roll(plans, -1, axis=1)].sum(axis=1)
    upper = np.triu(secret, 1).ravel()
    after_plans = equally_good(view, plans.copy(), upper, rng)
    after = secret[after_plans, np.roll(after_plans, -1, axis=1)].sum(axis=1)
    assert (np.sort(after_plans, axis=1) == np.arange(SIDE)).all()
    assert after.std() < before.std() / 3


def test_attacks_say_where_they_do_not_apply() -> None:
    exact, ranks = honest("assignment", "none"), honest("assignment", "order")
    for attack in (
        pairwise_regression,
        pointwise_regression,
        anchored,
        anchored_with_frequency,
        anchored_in_range,
    ):
        assert attack(exact, {}) is None
    assert from_equations(ranks, {}) is None
    assert pointwise_regression(ranks, {}) is None
    assert ridge_regression(replace(ranks, levels=np.zeros_like(ranks.levels)), {}) is not None
    silent = view_of(example_record("order", problem=problem("assignment"), best="nothing"))
    assert anchored(silent, {}) is None
    assert anchored_with_frequency(silent, {}) is not None


@pytest.mark.parametrize("disclosure", ["none", "order", "quantiles:5"])
def test_the_attackers_own_scale_is_right(disclosure: str) -> None:
    view, secret = asked("assignment", disclosure), truth("assignment")
    estimate = by_what_is_disclosed(
        view, prior=anchored_prior(replace(view, best=None), np.zeros(SIDE * SIDE)), found={}
    )
    score = secret.score(estimate, unit=unit_of(view, estimate))
    assert score.nrmse < np.sqrt(1 - score.correlation**2) + 0.1
    withheld = replace(view, best=None)
    assert unit_of(withheld, estimate) > 0
