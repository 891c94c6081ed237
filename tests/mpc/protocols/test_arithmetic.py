"""Products, conversions and openings: right, and at the declared cost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.protocols import b2a, bit_and, multiply, opening
from tacit.mpc.ring import to_ring
from tacit.mpc.shares import deal_bits, reconstruct

SIZES = [1, 2, 63, 64, 65, 200]
RNG = np.random.default_rng(5)


def some(n: int) -> np.ndarray:
    return RNG.integers(-(2**63), 2**63, n)


@pytest.mark.parametrize("n", SIZES)
def test_multiply(n: int) -> None:
    x, y = some(n), some(n)
    a, b = deal_integers(x), deal_integers(y)
    run = run_parties(lambda s: multiply.multiply(s, a[s.me], b[s.me], label="m"))
    assert (reconstruct(run.results) == to_ring(x) * to_ring(y)).all()
    assert (run.rounds, run.sent) == (multiply.cost(n).rounds, multiply.cost(n).sent)


@pytest.mark.parametrize("n", SIZES)
def test_and(n: int) -> None:
    x, y = to_ring(some(n)), to_ring(some(n))
    a, b = deal_bits(x), deal_bits(y)
    run = run_parties(lambda s: bit_and.and_bits(s, a[s.me], b[s.me], label="m"))
    assert (reconstruct(run.results) == x & y).all()
    assert (run.rounds, run.sent) == (bit_and.cost(n).rounds, bit_and.cost(n).sent)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 1), min_size=1, max_size=70))
def test_bits_to_arithmetic(values: list[int]) -> None:
    c = deal_bits(np.array(values, dtype=np.uint8))
    run = run_parties(lambda s: b2a.bits_to_arithmetic(s, c[s.me], label="b"))
    assert reconstruct(run.results).tolist() == values
    declared = b2a.cost(len(values))
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)


@pytest.mark.parametrize("n", SIZES)
def test_opening(n: int) -> None:
    x = some(n)
    a = deal_integers(x)
    run = run_parties(lambda s: opening.open_to_nodes(s, a[s.me]))
    assert all((r == to_ring(x)).all() for r in run.results)
    assert (run.rounds, run.sent) == (1, opening.cost_to_nodes(n).sent)
    out = run_parties(
        lambda s: opening.open_to_coordinator(s, a[s.me], label="o"),
        lambda s: opening.receive_opened(s, n),
    )
    assert (out.coordinator == to_ring(x)).all()
    assert (out.rounds, out.sent) == (1, opening.cost_to_coordinator(n).sent)


def test_opening_bits() -> None:
    x = np.array([1, 0, 1], dtype=np.uint8)
    a = deal_bits(x)
    run = run_parties(lambda s: opening.open_to_nodes(s, a[s.me]))
    assert all((r == x).all() for r in run.results)
    assert run.sent == opening.cost_to_nodes(3, itemsize=1).sent
