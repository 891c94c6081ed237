"""Products, conversions and openings: right, and at the declared cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.local import deal_integers, reveal, run_parties
from tacit.mpc.protocols import halves, opening, pairwise
from tacit.mpc.ring import to_ring
from tacit.mpc.shares import deal_bits, reconstruct
from tests.mpc.both import check_cost, three_and_four

SIZES = [1, 2, 65, 200]
RNG = np.random.default_rng(5)


def some(n: int) -> np.ndarray:
    return RNG.integers(-(2**63), 2**63, n)


@three_and_four
@pytest.mark.parametrize("n", SIZES)
def test_multiply(n: int, nodes: int) -> None:
    x, y = some(n), some(n)
    a, b = deal_integers(x, nodes=nodes), deal_integers(y, nodes=nodes)
    run = run_parties(lambda s: pairwise.multiply(s, a[s.me], b[s.me], label="m"), nodes=nodes)
    assert (reconstruct(run.results) == to_ring(x) * to_ring(y)).all()
    check_cost(run, pairwise.cost(nodes, n))


@three_and_four
@pytest.mark.parametrize("n", SIZES)
def test_and(n: int, nodes: int) -> None:
    x, y = to_ring(some(n)), to_ring(some(n))
    a, b = deal_bits(x, nodes=nodes), deal_bits(y, nodes=nodes)
    run = run_parties(lambda s: pairwise.and_bits(s, a[s.me], b[s.me], label="m"), nodes=nodes)
    assert (reconstruct(run.results) == x & y).all()
    check_cost(run, pairwise.cost(nodes, n))


@three_and_four
def test_any_bilinear_operation_in_any_ring(nodes: int) -> None:
    x, y = (RNG.integers(0, 2**32, shape) for shape in ((2, 3), (3, 5)))
    a, b = (
        [
            share.map(lambda part: part.astype(np.uint32))
            for share in deal_integers(each, nodes=nodes)
        ]
        for each in (x, y)
    )
    run = run_parties(
        lambda s: pairwise.product(s, a[s.me], b[s.me], np.matmul, label="m"), nodes=nodes
    )
    assert (reconstruct(run.results) == (x @ y).astype(np.uint32)).all()
    check_cost(run, pairwise.cost(nodes, 10, itemsize=4))


@three_and_four
@settings(max_examples=15, deadline=None)
@given(values=st.lists(st.integers(0, 1), min_size=1, max_size=70))
def test_bits_to_arithmetic(values: list[int], nodes: int) -> None:
    c = deal_bits(np.array(values, dtype=np.uint8), nodes=nodes)
    run = run_parties(lambda s: halves.bits_to_arithmetic(s, c[s.me], label="b"), nodes=nodes)
    assert reconstruct(run.results).tolist() == values
    check_cost(run, halves.cost_of_conversion(nodes, len(values)))


@three_and_four
@pytest.mark.parametrize("n", SIZES)
def test_opening(n: int, nodes: int) -> None:
    x = some(n)
    a = deal_integers(x, nodes=nodes)
    run = run_parties(lambda s: opening.open_to_nodes(s, a[s.me]), nodes=nodes)
    assert all((r == to_ring(x)).all() for r in run.results)
    check_cost(run, opening.cost_to_nodes(nodes, n))
    for told in (False, True):
        out = run_parties(
            lambda s: opening.disclose(s, a[s.me], told=told),  # noqa: B023
            lambda s: opening.receive_opened(s, n),
            nodes=nodes,
        )
        assert (out.coordinator == to_ring(x)).all()
        for result in out.results:
            assert np.array_equal(result, to_ring(x)) if told else result is None  # type: ignore[arg-type]
        check_cost(out, opening.cost_to_coordinator(nodes, n, told=told))
        assert out.rounds == 1


@three_and_four
def test_opening_bits(nodes: int) -> None:
    x = np.array([1, 0, 1], dtype=np.uint8)
    a = deal_bits(x, nodes=nodes)
    run = run_parties(lambda s: opening.open_to_nodes(s, a[s.me]), nodes=nodes)
    assert all((r == x).all() for r in run.results)
    check_cost(run, opening.cost_to_nodes(nodes, 3, itemsize=1))


@three_and_four
@settings(max_examples=15, deadline=None)
@given(
    chosen=st.lists(
        st.tuples(st.integers(0, 1), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=9
    )
)
def test_choice(chosen: list[tuple[int, int]], nodes: int) -> None:
    bits, numbers = zip(*chosen, strict=True)
    c = deal_bits(np.array(bits, dtype=np.uint8), nodes=nodes)
    x = deal_integers(numbers, nodes=nodes)
    run = run_parties(lambda s: halves.choose(s, c[s.me], x[s.me], label="c"), nodes=nodes)
    assert reveal(run.results).tolist() == [bit * number for bit, number in chosen]
    check_cost(run, halves.cost_of_choice(nodes, len(chosen)))
