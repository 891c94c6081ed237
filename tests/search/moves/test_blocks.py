"""The moves of a block descent: what they change, and that their keys are distinct and fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.search.moves import BlockDescent

SEEDS = st.integers(0, 2**62)


@st.composite
def descents(draw: st.DrawFn, *, weightings: int = 1) -> BlockDescent:
    rows = draw(st.integers(1, 40))
    return BlockDescent(
        rows,
        rows + draw(st.sampled_from([0, 0, 1, 5, 60])),
        draw(st.sampled_from([1, 7, 1000, 10**9])),
        draw(SEEDS),
        tuple(range(weightings)),
    )


def table_of(
    costs: NDArray[np.int64], place_of: NDArray[np.intp], blocks: NDArray[np.integer[Any]]
) -> NDArray[np.int64]:
    """Of each block a line for each row: the costs of its place to all rows of the block."""
    table: NDArray[np.int64] = costs[blocks[:, None], place_of[blocks][:, :, None]]
    return table


def costs_of(descent: BlockDescent, rng: np.random.Generator) -> NDArray[np.int64]:
    costs = np.zeros((descent.places, descent.places), dtype=np.int64)
    shape = (descent.rows, descent.places)
    costs[: descent.rows] = rng.choice([0, 1, descent.spread], shape)
    return costs


@settings(max_examples=80, deadline=None)
@given(descents(), st.integers(1, 200), SEEDS)
def test_gains_are_what_moves_change_of_the_cost(
    descent: BlockDescent, number: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    costs, place_of = costs_of(descent, rng), rng.permutation(descent.places)
    moves = descent.generation(number)
    gains = moves.gains(table_of(costs, place_of, moves.positions))
    assert (gains[:, 0] == 0).all()  # to stay
    rows = np.arange(descent.places)
    for _ in range(5):
        winners = rng.integers(0, moves.children, moves.blocks)
        after = place_of.copy()
        to, source = moves.chosen(winners)
        after[to] = place_of[source]
        assert sorted(after.tolist()) == rows.tolist()
        change = int(costs[rows, after].sum() - costs[rows, place_of].sum())
        assert change == int(gains[np.arange(moves.blocks), winners].sum())


@settings(max_examples=80, deadline=None)
@given(descents(), st.integers(1, 200), SEEDS)
def test_keys_are_distinct_and_fit_their_bits(
    descent: BlockDescent, number: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    moves = descent.generation(number)
    place_of = rng.permutation(descent.places)
    gains = moves.gains(table_of(costs_of(descent, rng), place_of, moves.positions))
    keys = gains * descent.factor + descent.offsets.reshape(gains.shape)
    for block in keys.tolist():
        assert len(set(block)) == len(block)
        assert max(block) - min(block) < 1 << (descent.key_bits - 1)
    assert (moves.blocks, moves.children) == (descent.blocks, descent.children)


@settings(max_examples=40, deadline=None)
@given(descents(), st.integers(1, 50))
def test_blocks_are_disjoint_and_a_generation_repeats(descent: BlockDescent, number: int) -> None:
    first, second = (descent.generation(number) for _ in range(2))
    positions = first.positions.reshape(-1).tolist()
    assert len(set(positions)) == len(positions)
    for name in ("positions", "plus", "minus"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    for one, other in zip(first.runs.expanded(), second.runs.expanded(), strict=True):
        assert np.array_equal(one, other)


def test_every_row_takes_part_and_every_move_of_a_block_is_there() -> None:
    moves = BlockDescent(rows=12, places=12, spread=9, seed=3).generation(1)
    assert sorted(moves.positions.reshape(-1).tolist()) == list(range(12))
    assert moves.children == 1 + 66 + 2 * 220  # to stay, swaps, 3-cycles


def test_blocks_of_weightings_follow_each_other_and_each_moves_as_it_does_alone() -> None:
    together = BlockDescent(rows=9, places=11, spread=9, seed=3, weightings=(0, 4)).generation(2)
    for at, weighting in enumerate((0, 4)):
        alone = BlockDescent(9, 11, 9, 3, (weighting,)).generation(2)
        lines = slice(at * alone.blocks, (at + 1) * alone.blocks)
        children = slice(lines.start * alone.children, lines.stop * alone.children)
        cells = alone.blocks * alone.positions.shape[1] ** 2
        assert np.array_equal(together.positions[lines], alone.positions + 11 * at)
        assert np.array_equal(together.plus[children], alone.plus + cells * at)
        assert np.array_equal(together.minus[children], alone.minus + cells * at)


def test_other_seeds_weightings_and_generations_differ() -> None:
    seen = {
        BlockDescent(30, 30, 9, seed, (weighting,)).generation(number).positions.tobytes()
        for seed in range(3)
        for weighting in range(3)
        for number in (1, 2, 3)
    }
    assert len(seen) == 27
