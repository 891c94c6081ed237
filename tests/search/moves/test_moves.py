"""Children are permutations, and their gains are what they would change of the plan's value."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.problems import Assignment, Objective, Tour
from tacit.search.moves import (
    AssignmentParameters,
    MoveSet,
    PublicShape,
    TourParameters,
    TourSchedule,
    fitted_parameters,
    public_shape,
)
from tacit.search.moves.schedule import gumbel_noise, gumbel_quantiles, noise_span

SEEDS = st.integers(0, 2**62)


def table_of(shape: PublicShape, rng: np.random.Generator) -> NDArray[np.int64]:
    cells = rng.integers(
        shape.low, shape.low + shape.spread, (shape.columns, shape.rows), endpoint=True
    )
    if shape.symmetric:
        cells = np.triu(cells) + np.triu(cells, 1).T
    return np.column_stack([cells, np.arange(shape.columns)])


def value_of(table: NDArray[np.int64], shape: PublicShape) -> int:
    at = np.arange(shape.rows)
    return int(table[at, (at + 1) % shape.rows].sum())


def moved(table: NDArray[np.int64], moves: MoveSet, winners: NDArray[np.intp]) -> NDArray[np.int64]:
    made = table.copy()
    to, source = moves.chosen(winners)
    made[to] = made[source]
    made[:, to] = made[:, source]
    return made


@st.composite
def schedules(draw: st.DrawFn) -> TourSchedule:
    rows = draw(st.integers(2, 12))
    shape = PublicShape(
        "tour",
        rows,
        rows,
        low=draw(st.integers(-50, 0)),
        spread=draw(st.sampled_from([1, 7, 1000, 10**9])),
        symmetric=draw(st.booleans()),
    )
    swaps, exchanges = draw(st.sampled_from([(0, 0), (50, 0), (100, 0), (10, 50), (0, 100)]))
    parameters = TourParameters(
        children=draw(st.integers(1, 40)),
        window_percent=draw(st.sampled_from([1, 30, 66, 100])),
        windows=draw(st.sampled_from([1, 1, 2, 3])),
        swap_percent=swaps,
        exchange_percent=exchanges,
        cycles=draw(st.integers(1, 3)),
    )
    return TourSchedule(shape, parameters, seed=draw(SEEDS), stream=draw(st.integers(0, 3)))


@settings(max_examples=120, deadline=None)
@given(schedules(), st.integers(0, 200), SEEDS)
def test_gains_are_what_children_change(schedule: TourSchedule, number: int, seed: int) -> None:
    shape = schedule.shape
    rng = np.random.default_rng(seed)
    table = table_of(shape, rng)
    now = schedule.generation(number, horizon=100)
    moves, gains = now.moves, now.moves.gains(table)
    assert (gains[:, 0] == 0).all()  # child 0 is the parent
    for _ in range(5):
        winners = rng.integers(0, moves.children, moves.blocks)
        after = moved(table, moves, winners)
        assert sorted(after[:, -1].tolist()) == list(range(shape.columns))
        gained = int(gains[np.arange(moves.blocks), winners].sum())
        assert value_of(after, shape) - value_of(table, shape) == gained


@settings(max_examples=120, deadline=None)
@given(schedules(), st.integers(0, 200), SEEDS)
def test_keys_are_distinct_and_fit_their_bits(
    schedule: TourSchedule, number: int, seed: int
) -> None:
    table = table_of(schedule.shape, np.random.default_rng(seed))
    now = schedule.generation(number, horizon=50)
    gains = now.moves.gains(table)
    keys = gains * schedule.gain_factor + now.offsets.reshape(gains.shape)
    for block in keys.tolist():
        assert len(set(block)) == len(block)
        assert max(block) - min(block) < 1 << (schedule.key_bits - 1)
    assert (now.moves.blocks, now.moves.children) == (schedule.blocks, schedule.children)


HALVES = np.arange(40) < 20


def cost_of_change(symmetric: bool) -> NDArray[np.bool_]:
    """Where a tour of 40 costs most: what is cheapest in one half is dearest in the other."""
    near = np.eye(40, k=1, dtype=bool) | np.eye(40, k=39, dtype=bool).T
    if symmetric:
        near |= near.T
    within = HALVES[:, None] & HALVES
    return (near & within) | (~near & ~HALVES[:, None] & ~HALVES)


@pytest.mark.parametrize(
    ("symmetric", "spread", "heat", "moves"),
    [
        (True, 1366, 1, (0, 0)),  # 6 * 1366 is just above a power of two
        (True, 682, 10_000, (0, 0)),  # noise counts most
        (False, 1000, 1, (100, 0)),  # inversions turn many legs
    ],
)
def test_keys_as_far_apart_as_can_be_fit_their_bits(
    symmetric: bool, spread: int, heat: int, moves: tuple[int, int]
) -> None:
    shape = PublicShape("tour", 40, 40, low=0, spread=spread, symmetric=symmetric)
    parameters = TourParameters(
        children=300,
        swap_percent=moves[0],
        exchange_percent=moves[1],
        heat_start=heat,
        heat_end=min(heat, 30),
    )
    schedule = TourSchedule(shape, parameters, seed=5)
    table = np.column_stack([spread * cost_of_change(symmetric), np.arange(40)])
    apart = 0
    for number in range(12):
        now = schedule.generation(number, horizon=1000)
        keys = now.moves.gains(table) * schedule.gain_factor + now.offsets.reshape(1, -1)
        apart = max(apart, int(keys.max() - keys.min()))
    assert 1 << (schedule.key_bits - 3) < apart < 1 << (schedule.key_bits - 1)


def test_plans_as_far_apart_as_can_be_fit_their_bits() -> None:
    shape = PublicShape("tour", rows=8, columns=8, low=0, spread=1024)
    dearest, cheapest = (np.full((8, 8), cost) for cost in (1024, 0))
    apart = value_of(dearest, shape) - value_of(cheapest, shape)
    assert apart < 1 << (TourSchedule(shape, TourParameters(), seed=1).total_bits - 1)


def test_a_forbidden_pair_is_worse_than_anything_allowed() -> None:
    pays = Objective("pays", None, sense="minimize", weight_bound=9)
    forbidden = np.eye(4, dtype=bool)
    problem = Assignment(name="p", rows=4, columns=4, objectives=(pays,), forbidden=forbidden)
    shape = public_shape(problem, (3,))
    assert shape.allowed_spread == 27
    best = shape.low + shape.spread
    worst_allowed = best - shape.allowed_spread
    assert shape.low + 3 * best < 4 * worst_allowed


@settings(max_examples=60, deadline=None)
@given(schedules(), st.integers(0, 50))
def test_blocks_are_disjoint_and_a_generation_repeats(schedule: TourSchedule, number: int) -> None:
    first, second = (schedule.generation(number, horizon=60) for _ in range(2))
    positions = first.moves.positions.reshape(-1)
    assert len(set(positions.tolist())) == len(positions)
    assert np.array_equal(first.offsets, second.offsets)
    for name in ("positions", "plus", "minus", "turns"):
        assert np.array_equal(getattr(first.moves, name), getattr(second.moves, name))
    for one, other in zip(first.moves.runs.expanded(), second.moves.runs.expanded(), strict=True):
        assert np.array_equal(one, other)


def test_exchanges_turn_no_leg_and_move_segments_of_any_length() -> None:
    shape = PublicShape("tour", rows=40, columns=40, low=0, spread=9, symmetric=False)
    parameters = TourParameters(children=200, swap_percent=0, exchange_percent=100)
    runs = TourSchedule(shape, parameters, seed=3).generation(0, horizon=1).moves.runs
    assert (runs.step == 1).all()
    assert runs.length.max() > 15


def test_only_directed_tours_have_exchanges_where_nothing_is_said() -> None:
    ways = np.arange(36).reshape(6, 6)
    directed, symmetric = (
        Tour(name="t", rows=6, columns=6, objectives=(Objective("km", each, sense="minimize"),))
        for each in (ways, ways + ways.T)
    )
    assert fitted_parameters(directed).exchange_percent > fitted_parameters(directed).swap_percent
    assert fitted_parameters(symmetric).exchange_percent == 0


def test_the_quantiles_are_these_numbers_everywhere() -> None:
    digest = hashlib.sha256(gumbel_quantiles().astype("<i8").tobytes()).hexdigest()
    assert digest == "1951aae746dff54ff388a5be9887d044af8f29091914a946415838e52edd966e"


def test_noise_is_gumbel_noise() -> None:
    words = np.random.default_rng(1).integers(0, 2**64, 20_000, dtype=np.uint64)
    noise = gumbel_noise(words, 1000)
    assert abs(noise.mean() - 577.2) < 30
    assert abs(noise.std() - 1282.5) < 30
    assert noise.max() - noise.min() <= noise_span(1000)


def test_other_seeds_streams_and_generations_differ() -> None:
    shape = PublicShape("tour", rows=30, columns=30, low=0, spread=1000)
    settings_ = TourParameters(children=20)
    made = [
        TourSchedule(shape, settings_, seed=seed, stream=stream).generation(number, horizon=9)
        for seed in range(3)
        for stream in range(3)
        for number in range(3)
    ]
    assert len({each.offsets.tobytes() for each in made}) == 27
    assert len({each.moves.plus.tobytes() for each in made}) == 27


def test_the_temperature_falls_and_rises_again_with_cycles() -> None:
    shape = PublicShape("tour", rows=9, columns=9, low=0, spread=1000)
    once = TourSchedule(shape, TourParameters(), seed=1)
    steps = [once.heat_step(g, 100) for g in range(120)]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, 1024)
    twice = TourSchedule(shape, TourParameters(cycles=2), seed=1)
    assert [twice.heat_step(g, 100) for g in (0, 49, 50, 99, 100)] == [0, 1003, 0, 1003, 1024]


def test_a_run_ends_without_noise_where_that_is_set() -> None:
    shape = PublicShape("tour", rows=9, columns=9, low=0, spread=1000)
    parameters = TourParameters(children=9, heat_end=100, descent_percent=10)
    schedule = TourSchedule(shape, parameters, seed=1)
    ties = np.arange(schedule.children - 1, -1, -1)
    descends = [np.array_equal(schedule.generation(g, horizon=50).offsets, ties) for g in range(55)]
    assert descends == [g >= 45 for g in range(55)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"descent_percent": 101}, "give 0 to 100"),
        ({"swap_percent": 60, "exchange_percent": 50}, "no more than 100 together"),
        ({"children": 0}, "give 1 to"),
        ({"heat_start": 1, "heat_end": 2}, "let it fall"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        TourParameters(**changes)


@pytest.mark.parametrize(
    "checkpoints", ["5:3", "4:4", "0", "3:x", ":".join(map(str, range(1, 18)))]
)
def test_checkpoints_are_few_and_in_their_order(checkpoints: str) -> None:
    assert AssignmentParameters(checkpoints="3:5").checkpoint_iterations == (3, 5)
    with pytest.raises(ParameterError, match="checkpoints"):
        AssignmentParameters(checkpoints=checkpoints)


@pytest.mark.parametrize("gap", [-1, 1, 1001])
def test_a_gap_is_rounded_to_powers_of_two_at_least(gap: int) -> None:
    with pytest.raises(ParameterError, match="gap"):
        AssignmentParameters(gap=gap)
