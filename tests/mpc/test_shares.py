import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.linear import add, add_public, concatenate, gather_sum, scale, subtract
from tacit.mpc.local import deal_integers, reveal
from tacit.mpc.ring import from_ring, public_word, to_ring
from tacit.mpc.shares import (
    ArithmeticShare,
    BitShare,
    deal,
    deal_bits,
    party_name,
    public_share,
    reconstruct,
)
from tests.mpc.fairness import check_every_bit_is_fair

RNG = np.random.default_rng(3)
integers = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20)


@settings(deadline=None)
@given(integers)
def test_ring_and_shares_give_back_what_went_in(values: list[int]) -> None:
    assert from_ring(to_ring(values)).tolist() == values
    shares = deal_integers(values)
    assert reveal(shares).tolist() == values
    for i in range(3):
        assert (shares[i].next == shares[(i + 1) % 3].mine).all()


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=9))
def test_bit_shares_give_back_what_went_in(values: list[int]) -> None:
    words = np.array(values, dtype=np.uint64)
    assert (reconstruct(deal_bits(words)) == words).all()


@settings(deadline=None)
@given(integers, st.integers(-(2**40), 2**40))
def test_linear_operations_wrap_as_the_ring_does(values: list[int], factor: int) -> None:
    x = deal_integers(values)
    words = to_ring(values)
    assert (reconstruct([add(s, s) for s in x]) == words + words).all()
    assert not reconstruct([subtract(s, s) for s in x]).any()
    assert (reconstruct([scale(s, factor) for s in x]) == words * public_word(factor)).all()
    plus = [add_public(s, words, me=i) for i, s in enumerate(x)]
    assert (reconstruct(plus) == words + words).all()
    assert len(concatenate([x[0], x[0]])) == 2 * len(values)


def test_scaling_by_public_words() -> None:
    x = deal_integers([1, 2])
    by = to_ring([3, -4])
    assert reveal([scale(s, by) for s in x]).tolist() == [3, -8]


def test_fitness_of_assignments_and_tours() -> None:
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 1000, (7, 9))
    shares = deal_integers(weights)
    plans = np.array([rng.permutation(9)[:7] for _ in range(5)])
    rows = np.arange(7)[None, :]
    expected = weights[rows, plans].sum(axis=1)
    assert (reveal([gather_sum(w, rows, plans) for w in shares]) == expected).all()
    assert (reveal([gather_sum(w, rows, plans, negate=True) for w in shares]) == -expected).all()
    factors = rng.integers(0, 9, (5, 7))
    weighted = (factors * weights[rows, plans]).sum(axis=1)
    assert (reveal([gather_sum(w, rows, plans, factors) for w in shares]) == weighted).all()
    square = rng.integers(0, 1000, (6, 6))
    tours = np.array([rng.permutation(6) for _ in range(4)])
    lengths = square[tours, np.roll(tours, -1, axis=1)].sum(axis=1)
    made = [gather_sum(w, tours, np.roll(tours, -1, axis=1)) for w in deal_integers(square)]
    assert (reveal(made) == lengths).all()


def test_public_values_as_shares() -> None:
    ones = np.ones(2, dtype=np.uint8)
    assert reconstruct([public_share(ones, BitShare, me=i) for i in range(3)]).tolist() == [1, 1]
    words = np.array([5], dtype=np.uint64)
    made = [public_share(words, ArithmeticShare, me=i) for i in range(3)]
    assert reconstruct(made).tolist() == [5]


def test_no_two_components_tell_of_the_secret() -> None:
    """Whatever a node makes of its two components is any number: their sum, difference and XOR."""
    secrets = np.full(400, 7, dtype=np.uint64)
    for share in (*deal(secrets, source=RNG.bytes), *deal_bits(secrets, source=RNG.bytes)):
        a, b = share.mine, share.next
        for seen in (a, b, a + b, a - b, a ^ b):
            check_every_bit_is_fair(word.tobytes() for word in seen)


def test_components_are_fresh_and_names_are_plain() -> None:
    zero = np.zeros(4, dtype=np.uint64)
    first, second = deal(zero), deal(zero)
    assert (first[0].mine != second[0].mine).all()
    assert [party_name(i) for i in range(4)] == ["node 0", "node 1", "node 2", "the coordinator"]
