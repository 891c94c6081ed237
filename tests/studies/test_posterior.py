from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from studies.leakage.posterior import HALF_RANGE, Posterior, bound_of, constraints_of

from tacit.audit.record import RecordedProblem
from tacit.audit.view import View, cells_of
from tacit.disclosure import parse_disclosure
from tacit.errors import InputError


def view_on(
    weights: NDArray[np.float64],
    sets: Sequence[NDArray[np.int32]],
    /,
    *,
    disclosure: str = "top:2",
    best: bool = False,
) -> View:
    """What is disclosed of some sets of plans, for weights in units of their spread."""
    side = len(weights)
    problem = RecordedProblem("small", "assignment", side, side, False, [], [])
    fitness = [weights[np.arange(side), plans].sum(axis=1) for plans in sets]
    method = parse_disclosure(disclosure)
    ranked = [np.argsort(np.argsort(each)) for each in fitness]
    plans = np.concatenate(sets)
    spread = 1000 / np.sqrt(12)
    values = np.array([each.max() for each in fitness]) * spread + side * 500
    return View(
        problem=problem, disclosure=disclosure, search={}, seed=None,
        sizes=np.array([len(each) for each in sets]), plans=plans,
        cells=cells_of(problem, plans),
        levels=np.concatenate([method.levels(method.disclose(each)) for each in ranked]),
        values=None, best=values if best else None, published=np.zeros(0, dtype=np.int32),
        plans_published=1,
        weight_bound=1000, sign=1,
    )  # fmt: skip


def random_sets(
    rng: np.random.Generator, side: int, count: int, size: int
) -> list[NDArray[np.int32]]:
    """Sets of different random plans."""
    return [
        np.array([rng.permutation(side) for _ in range(size)], dtype=np.int32) for _ in range(count)
    ]


def prior(rng: np.random.Generator, *shape: int) -> NDArray[np.float64]:
    return rng.uniform(-HALF_RANGE, HALF_RANGE, shape)


def test_the_mean_is_that_of_all_weights_that_fit() -> None:
    rng = np.random.default_rng(3)
    secret = prior(rng, 3, 3)
    plans = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 0, 1], [2, 1, 0]], dtype=np.int32)
    sets = [plans[[0, 1, 2, 3]], plans[[1, 2, 4]], plans[[0, 3, 4, 4]]]
    view = view_on(secret, sets, disclosure="top:1")
    many = prior(rng, 200_000, 3, 3)
    fits = np.ones(len(many), dtype=np.bool_)
    for each in sets:
        fitness = many[:, np.arange(3), each].sum(axis=2)
        best = secret[np.arange(3), each].sum(axis=1).argmax()
        fits &= fitness.argmax(axis=1) == best
    assert 1000 < fits.sum() < 100_000
    posterior = Posterior(view)
    drawn = posterior.draws(posterior.first_point(rng), sweeps=4000, dropped=100, rng=rng)
    expected = many[fits].mean(axis=0).ravel()
    assert drawn.violated == 0
    assert np.abs(expected).max() > 0.3
    assert drawn.mean == pytest.approx(expected, abs=0.08)
    lengths = [float((posterior.centred(each.ravel()) ** 2).sum()) for each in many[fits][:3000]]
    assert drawn.length == pytest.approx(np.sqrt(np.mean(lengths)), rel=0.04)


def test_the_limit_is_what_the_mean_reaches_on_average() -> None:
    rng = np.random.default_rng(5)
    limits, reached, rough = [], [], []
    for _ in range(16):
        secret = prior(rng, 6, 6)
        view = view_on(secret, random_sets(rng, 6, count=8, size=12), disclosure="top:3")
        bound = bound_of(view, sweeps=600, dropped=100)
        assert bound.violated == 0
        true, posterior = secret.ravel(), Posterior(view)
        limits.append(bound.limit)
        reached.append(_correlation(posterior, bound.estimate, true))
        first = posterior.first_point(rng)
        rough.append(_correlation(posterior, first, true))
    assert np.mean(reached) == pytest.approx(np.mean(limits), abs=0.05)
    assert 0.4 < np.mean(limits) < 0.9
    assert np.mean(rough) < np.mean(limits) - 0.03


def _correlation(
    posterior: Posterior, one: NDArray[np.float64], other: NDArray[np.float64]
) -> float:
    return float(np.corrcoef(posterior.centred(one), posterior.centred(other))[0, 1])


def test_the_first_point_has_the_disclosed_best_values() -> None:
    rng = np.random.default_rng(1)
    secret = prior(rng, 8, 8)
    sets = random_sets(rng, 8, count=5, size=20)
    view = view_on(secret, sets, best=True)
    first = Posterior(view).first_point(rng).reshape(8, 8)
    for each in sets:
        true, found = (of[np.arange(8), each].sum(axis=1).max() for of in (secret, first))
        assert found == pytest.approx(true, abs=0.5)


def test_two_plans_at_the_threshold_are_not_forced_to_be_equal() -> None:
    one, other, third = [0, 1, 2], [1, 0, 2], [2, 1, 0]
    twice = np.array([one, other, one, other, third], dtype=np.int32)
    once = np.array([one, other, one, third, third], dtype=np.int32)
    view = view_on(np.zeros((3, 3)), [twice, once])
    view = replace(view, levels=np.array([0, 0, 1, 1, 1] * 2))
    constraints, _ = constraints_of(view)
    # Of the first set the copies outside are left out; one plan at the threshold is no problem.
    assert constraints.begins.tolist() == [0, 3, 8]
    assert constraints.rest.tolist() == [2, 5]


def test_only_groups_by_rank_have_a_bound() -> None:
    rng = np.random.default_rng(1)
    view = view_on(prior(rng, 4, 4), random_sets(rng, 4, count=2, size=6), disclosure="above:80")
    with pytest.raises(InputError, match="take top"):
        bound_of(view, sweeps=2, dropped=1)
