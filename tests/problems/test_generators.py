"""Random problems and families of costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.disclosure import Exact, Top
from tacit.errors import ParameterError
from tacit.problems import (
    Assignment,
    generate_assignment,
    generate_family,
    generate_named,
    generate_tour,
    optimum,
)
from tacit.problems.generators import FAMILIES, POSSIBLE, RANK, dealt_rows, uniform_integers


def pcg(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@given(st.integers(0, 2**64), st.integers(1, 6), st.integers(0, 4), st.integers(1, 3), st.data())
def test_assignments(seed: int, rows: int, more: int, objectives: int, data: Any) -> None:
    up_to = data.draw(st.integers(0, 10**6))
    participants = data.draw(st.integers(1, rows))
    options = {
        "rows": rows,
        "columns": rows + more,
        "objectives": objectives,
        "weights_up_to": up_to,
        "participants": participants,
    }
    problem = generate_assignment(seed, **options)
    again = generate_assignment(pcg(seed), **options)
    assert len(problem.objectives) == objectives
    for drawn, same in zip(problem.objectives, again.objectives, strict=True):
        assert drawn.weights is not None
        assert same.weights is not None
        assert drawn.weights.shape == (rows, rows + more)
        assert drawn.weights.min() >= 0
        assert drawn.weights.max() <= up_to == drawn.weight_bound
        assert np.array_equal(drawn.weights, same.weights)
    sizes = [len(participant.rows) for participant in problem.participants]
    assert max(sizes) - min(sizes) <= 1
    assert [row for p in problem.participants for row in p.rows] == list(range(rows))


def test_names_as_in_the_paper() -> None:
    rng = pcg(1)
    first, second = (generate_assignment(rng, rows=5, number=i) for i in (1, 2))
    assert (first.name, second.name) == ("ap1K5x5", "ap1K5x5-02")
    assert generate_assignment(1, rows=20, columns=30, objectives=2).name == "ap2K20x30"
    assert generate_assignment(1, rows=3, weights_up_to=50).name == "ap1W50_3x3"
    assert generate_tour(1, cities=5, number=11).name == "tour1K5-11"
    assert generate_tour(1, cities=5, side=50).name == "tourW50_5"


def test_a_series_goes_on_where_the_first_problem_ended() -> None:
    rng = pcg(7)
    first, second = (generate_assignment(rng, rows=4).objectives[0].weights for _ in range(2))
    alone = generate_assignment(7, rows=4).objectives[0].weights
    assert first is not None
    assert second is not None
    assert first.tolist() == (alone.tolist() if alone is not None else None)
    assert first.tolist() != second.tolist()


def test_the_stream_is_made_of_raw_words() -> None:
    """Recomputed from 64-bit words in plain Python, low half first."""
    raw = [int(word) for word in np.random.PCG64(42).random_raw(3)]
    halves = [half for word in raw for half in (word & 0xFFFFFFFF, word >> 32)]
    expected = [(half * 1001) >> 32 for half in halves]
    assert uniform_integers(pcg(42), 6, up_to=1000).tolist() == expected
    assert uniform_integers(pcg(42), 5, up_to=1000).tolist() == expected[:5]


def test_weights_are_uniform() -> None:
    counts = np.bincount(uniform_integers(pcg(5), 100_000, up_to=9), minlength=10)
    chi_squared = float(((counts - 10_000) ** 2 / 10_000).sum())
    assert chi_squared < 27.9  # 0.1 % of fair draws lie beyond, nine degrees of freedom


def test_tours_are_measured_between_their_cities() -> None:
    problem = generate_tour(3, cities=6, participants=3, disclosure=Top(5))
    assert problem.coordinates is not None
    weights = problem.objectives[0].weights
    assert weights is not None
    step = problem.coordinates[0] - problem.coordinates[1]
    assert weights[0, 1] == np.floor(np.hypot(*step) + 0.5)
    assert (weights == weights.T).all()
    assert len(problem.participants) == 3
    assert problem.objectives[0].disclosure == Top(5)


def test_one_disclosure_for_all_or_one_each() -> None:
    both = generate_assignment(1, rows=2, objectives=2, disclosures=(Top(3),))
    assert [o.disclosure for o in both.objectives] == [Top(3), Top(3)]
    each = generate_assignment(1, rows=2, objectives=2, disclosures=(Top(3), Exact()))
    assert [o.disclosure for o in each.objectives] == [Top(3), Exact()]
    with pytest.raises(ParameterError, match="2 disclosures do not fit 3 objectives"):
        generate_assignment(1, rows=2, objectives=3, disclosures=(Top(3), Exact()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 0}, "rows is 0; give at least 1"),
        ({"columns": -1}, "columns is -1"),
        ({"objectives": 0}, "objectives is 0"),
        ({"weights_up_to": -1}, "weights up to -1 cannot be drawn; use 0 to 1000000000"),
        ({"participants": 101}, "101 participants cannot share 100 rows; use 1 to 100"),
    ],
)
def test_settings_out_of_range(options: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        generate_assignment(1, **options)


def test_bad_seeds_and_generators() -> None:
    with pytest.raises(ParameterError, match="seed is -1; give 0 or more"):
        generate_tour(-1)
    with pytest.raises(ParameterError, match="use a Generator on PCG64"):
        generate_tour(np.random.Generator(np.random.MT19937(1)))
    with pytest.raises(ParameterError, match="give at least 2"):
        generate_tour(1, cities=1)
    with pytest.raises(ParameterError, match="0 participants cannot share 3 rows"):
        dealt_rows(3, 0)


def drawn(name: str, seed: int = 3) -> tuple[Assignment, NDArray[np.int64]]:
    problem = generate_family(name, seed, rows=12, columns=15)
    weights = problem.objectives[0].weights
    assert weights is not None
    return problem, weights


@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_whole_bounded_solvable_and_the_same_from_a_seed(name: str) -> None:
    problem, weights = drawn(name)
    assert weights.dtype.kind == "i"
    assert weights.shape == (12, 15)
    assert 0 <= weights.min() <= weights.max() <= problem.objectives[0].weight_bound
    assert optimum(problem) is not None
    assert (drawn(name)[1] == weights).all()
    assert (drawn(name, seed=4)[1] != weights).any()
    assert generate_named(name, 3, rows=12, columns=15).name == problem.name


def test_rows_and_columns_have_effects() -> None:
    _, weights = drawn("effects")
    rest = weights - weights.mean(axis=0) - weights.mean(axis=1)[:, None] + weights.mean()
    assert rest.var() < weights.var() / 3


def test_low_rank_is_low() -> None:
    _, weights = drawn("low-rank")
    sizes = np.linalg.svd(weights.astype(float), compute_uv=False)
    assert sizes[RANK - 1] > 20 > 10 > sizes[RANK]


def test_rank_one_pairs_large_with_small() -> None:
    _, weights = drawn("rank-one")
    sizes = np.linalg.svd(weights.astype(float), compute_uv=False)
    assert sizes[0] > 500 > 10 > sizes[1]


def test_sparse_rows_have_few_possible_columns_and_a_plan() -> None:
    problem, weights = drawn("sparse")
    assert problem.forbidden is not None
    possible = (~problem.forbidden).sum(axis=1)
    assert (possible >= POSSIBLE).all()
    assert (possible <= POSSIBLE + 1).all()
    assert (weights[problem.forbidden] == problem.objectives[0].weight_bound).all()


def test_distances_obey_the_triangle_inequality() -> None:
    _, weights = drawn("euclidean")
    for i in range(12):
        through = weights[i] + weights[:, :, None] + weights[:, None, :]
        assert (weights[i][None, :, None] <= through + 2).all()


def test_slots_cost_a_rate_per_delay_from_a_time_of_their_own() -> None:
    problem, weights = drawn("slots")
    assert problem.forbidden is not None
    first = problem.forbidden.sum(axis=1)
    assert (np.diff(first) >= 0).all()
    for row, start in enumerate(first):
        assert problem.forbidden[row, :start].all()
        delays = np.arange(15 - start)
        assert (weights[row, start:] == delays * weights[row, start + 1]).all() or start == 14


def test_ties_are_many() -> None:
    assert len(np.unique(drawn("ties")[1])) <= 11


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(ParameterError, match="effects, low-rank"):
        generate_family("odd", 1)
    with pytest.raises(ParameterError, match="5 rows cannot each get one of 4 columns"):
        generate_family("ties", 1, rows=5, columns=4)
