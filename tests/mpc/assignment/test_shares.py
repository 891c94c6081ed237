"""The protocol gives what the clear twin gives after every step, at the cost that it declares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.mpc.assignment import AssignmentShape, exchange, iterations
from tacit.mpc.assignment.clear import on_cycles
from tacit.mpc.assignment.proof import rung_of
from tacit.mpc.local import run_parties
from tacit.mpc.protocols.minimum import levels_for
from tacit.mpc.shares import deal_bits, reconstruct
from tests.mpc.assignment import hard_costs
from tests.mpc.assignment.problems import FAMILIES, Asked, Solved, check_state, first_plan
from tests.mpc.both import check_cost, three_and_four


def check(asked: Asked, batches: list[int], *, nodes: int = 3) -> Solved:
    """Compare states, plans and cost with the twin's and with what is declared."""
    made = asked.on_shares(batches, nodes=nodes)
    lines = made.lines()
    for weighting in range(len(asked.weights)):
        plan = first_plan(made.states(0), weighting)
        if asked.start is not None:
            assert plan == list(asked.start)
        clear = asked.clear(weighting, plan, batches)
        for number, state in enumerate(clear):
            check_state(made.states(number), weighting, state)
        twin, last = asked.twin(weighting), clear[-1]
        # The prices of before the first iteration prove nothing.
        gap = twin.gap(last) if last.step > asked.generations else None
        heads = [twin.total(last), int(gap == 0)]
        if asked.ladder:
            heads.append(0 if gap is None else rung_of(gap, asked.ladder))
        places = last.column_of[: asked.layout.rows]
        columns = [int(asked.layout.columns[place]) for place in places]
        assert lines[weighting].tolist() == [*heads, *columns]
        if gap == 0:
            assert heads[0] == asked.optimum(weighting)
    check_cost(made.run, asked.declared(nodes, batches))
    return made


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("family", FAMILIES)
def test_all_families_on_shares_are_those_in_the_clear_after_every_step(
    family: str, lag: int
) -> None:
    asked = Asked.family(family, 3, 8, lag=lag, generations=1, gap=10)
    check(asked, [1] * 7)


@three_and_four
@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("size", [1, 2, 3, 9])
def test_several_weightings_and_batches_of_several_steps(size: int, lag: int, nodes: int) -> None:
    costs = [hard_costs.FAMILIES[name](size, 1) for name in ("uniform", "three values")]
    check(Asked.square(np.stack(costs), lag=lag, generations=2), [1, 3, 1, 4], nodes=nodes)


@three_and_four
@pytest.mark.parametrize("family", ["delays", "sparse", "ap"])
def test_public_and_drawn_starts_with_three_and_four_nodes(family: str, nodes: int) -> None:
    asked = Asked.family(family, 2, 6, lag=1, generations=1, gap=3, weightings=2)
    assert (asked.start is None) == (family == "ap")
    check(asked, [3, 2], nodes=nodes)


@pytest.mark.parametrize("lag", [0, 1])
def test_where_a_batch_ends_changes_nothing(lag: int) -> None:
    """A test in flight is dropped at the end of a batch, and made up for in the next."""
    costs = hard_costs.FAMILIES["uniform"](9, 4)
    asked = Asked.square(costs, start=tuple(np.random.default_rng(1).permutation(9)), lag=lag)
    whole = asked.on_shares([12]).states(1)
    parts = asked.on_shares([5, 1, 6]).states(3)
    for name in ("matched", "matching", "prices", "parents"):
        one, other = ([getattr(state, name) for state in held] for held in (whole, parts))
        assert np.array_equal(reconstruct(one), reconstruct(other)), name
    check_state(whole, 0, asked.clear(0, asked.start or (), [12])[-1])


def test_costs_that_need_words_of_64_bits() -> None:
    asked = Asked.square(np.random.default_rng(1).integers(0, 10**10, (5, 5)), generations=2, gap=9)
    assert asked.shape.word == np.uint64
    assert Asked.family("sparse", 1, 8).shape.word == np.uint32
    check(asked, [2, 9])


def test_extreme_costs_at_the_end_of_words_of_32_bits() -> None:
    """Costs of 0 and C alone, with the largest C of which the sums fit."""
    size = 6
    largest = max(
        c for c in range(2**26, 2**27, 2**20) if AssignmentShape(size, c).word == np.uint32
    )
    costs = np.random.default_rng(2).integers(0, 2, (size, size)) * largest
    asked = Asked.square(costs, start=tuple(range(size)), gap=1000)
    assert asked.shape.word == np.uint32
    check(asked, [1, 1, 1, 8])


@pytest.mark.slow
@pytest.mark.parametrize("lag", [0, 1])
def test_minima_of_300_columns_are_found_in_three_levels(lag: int) -> None:
    assert levels_for(300) == 3
    start = tuple(int(each) for each in np.random.default_rng(1).permutation(300))
    asked = Asked.square(hard_costs.FAMILIES["uniform"](300, 1), start=start, lag=lag)
    check(asked, [2])


@pytest.mark.slow
def test_100_rows_are_proved() -> None:
    start = tuple(int(each) for each in np.random.default_rng(1).permutation(100))
    asked = replace(Asked.family("ap", 1, 100, lag=1, generations=20, gap=2), start=start)
    assert check(asked, [20, 120]).lines()[0, 1] == 1


def test_capacities_and_forbidden_pairs() -> None:
    """Two rows share column 0, which has a capacity of 2; row 0 must not have column 1."""
    costs = np.array([[[3, 0], [4, 9], [5, 1]]])
    forbidden = np.array([[False, True], [False, False], [False, False]])
    layout = replace(Asked.square(costs[:, :2]).layout, rows=3, columns=(0, 0, 1), spread=9)
    asked = Asked(costs, replace(layout, forbidden=forbidden), start=(0, 2, 1), generations=1)
    assert check(asked, [9]).lines()[0].tolist() == [8, 1, 0, 0, 1]


def test_rounds_of_an_iteration_with_100_columns() -> None:
    shape = AssignmentShape(100, spread=1000)
    rounds = [
        iterations.cost_of_iterations(3, shape, count=12, lag=lag).rounds
        - iterations.cost_of_iterations(3, shape, count=2, lag=lag).rounds
        for lag in (0, 1)
    ]
    assert rounds == [280, 150]


@three_and_four
@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 20])
def test_the_polynomial_finds_all_columns_on_cycles(size: int, nodes: int) -> None:
    rng = np.random.default_rng(size)
    index = np.arange(size)
    chosen = np.stack([rng.integers(0, size, size) for _ in range(12)] + [np.roll(index, 1)])
    edges = np.eye(size, dtype=np.uint8)[chosen]
    edges[:, index, index] = 0
    rows = np.eye(size, dtype=np.uint8)[np.stack([rng.permutation(size) for _ in chosen])]
    parents, matched = deal_bits(edges, nodes=nodes), deal_bits(rows, nodes=nodes)
    run = run_parties(
        lambda s: exchange.on_cycles(s, parents[s.me], matched[s.me], label="cycles"), nodes=nodes
    )
    found = reconstruct([each for each, _ in run.results])
    assert (found == np.stack([on_cycles(each) for each in chosen])).all()
    taken = reconstruct([each for _, each in run.results])
    assert (taken == np.matmul(edges, rows) % 2).all()
    check_cost(run, exchange.cost_of_cycles(nodes, len(chosen), size))


def test_coefficients_of_the_multiples_of_each_length_add_up_to_one() -> None:
    for size in (1, 2, 7, 64, 100, 333):
        f = exchange.coefficients(size)
        assert all(sum(f[length::length]) % 2 == 1 for length in range(1, size + 1))
