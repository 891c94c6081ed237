from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import AbortError
from tacit.mpc.local import deal_integers, reveal
from tacit.mpc.ring import from_ring, public_word, to_ring
from tacit.mpc.shares import (
    COORDINATOR,
    ArithmeticShare,
    BitShare,
    concatenate,
    deal,
    deal_bits,
    gather_sum,
    held_by,
    party_name,
    public_share,
    reconstruct,
    scale,
)
from tests.mpc.both import three_and_four
from tests.mpc.mask_checks import check_every_bit_is_fair

RNG = np.random.default_rng(3)
integers = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20)


@three_and_four
@settings(deadline=None)
@given(values=integers)
def test_ring_and_shares_give_back_what_went_in(values: list[int], nodes: int) -> None:
    assert from_ring(to_ring(values)).tolist() == values
    shares = deal_integers(values, nodes=nodes)
    assert reveal(shares).tolist() == values
    for node, share in enumerate(shares):
        assert sorted(share.parts) == [c for c in range(nodes) if c != node]
        assert tuple(share.parts) == held_by(node, nodes)
    for a, b in combinations(range(nodes), 2):
        # Any two know the secret.
        assert from_ring(sum({**shares[a].parts, **shares[b].parts}.values())).tolist() == values  # type: ignore[arg-type]


@three_and_four
@settings(deadline=None)
@given(values=st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=9))
def test_bit_shares_give_back_what_went_in(values: list[int], nodes: int) -> None:
    words = np.array(values, dtype=np.uint64)
    assert (reconstruct(deal_bits(words, nodes=nodes)) == words).all()


@three_and_four
@settings(deadline=None)
@given(values=integers, factor=st.integers(-(2**40), 2**40))
def test_linear_operations_wrap_as_the_ring_does(
    values: list[int], factor: int, nodes: int
) -> None:
    x = deal_integers(values, nodes=nodes)
    words = to_ring(values)
    assert (reconstruct([s + s for s in x]) == words + words).all()
    assert not reconstruct([s - s for s in x]).any()
    assert (reconstruct([scale(s, factor) for s in x]) == words * public_word(factor)).all()
    assert (reconstruct([s.add_public(words) for s in x]) == words + words).all()
    assert (reconstruct([concatenate([s, s]) for s in x]) == np.tile(words, 2)).all()
    assert (x[0].shape, len(x[0])) == ((len(values),), len(values))
    assert x[0].dtype == np.uint64


@three_and_four
def test_holders_of_a_component_that_hold_different_ones_are_noticed(nodes: int) -> None:
    shares = deal_integers([1, 2], nodes=nodes)
    for node in range(nodes):
        for c in held_by(node, nodes):
            wrong = {**shares[node].parts, c: shares[node].parts[c] + np.uint64(1)}
            others = [*shares[:node], ArithmeticShare(wrong), *shares[node + 1 :]]
            with pytest.raises(AbortError, match="hold different ones"):
                reconstruct(others)


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


@three_and_four
def test_public_values_as_shares(nodes: int) -> None:
    def public(values: np.ndarray, kind: type[ArithmeticShare] | type[BitShare]) -> list[int]:
        made = [public_share(values, kind, me=i, nodes=nodes) for i in range(nodes)]
        return [int(value) for value in reconstruct(made)]

    assert public(np.ones(2, dtype=np.uint8), BitShare) == [1, 1]
    assert public(np.array([5], dtype=np.uint64), ArithmeticShare) == [5]


@three_and_four
def test_no_components_of_one_node_tell_of_the_secret(nodes: int) -> None:
    """Whatever a node makes of its components is any number: sums, differences and XORs."""
    secrets = np.full(400, 7, dtype=np.uint64)
    dealt = deal(secrets, nodes=nodes, source=RNG.bytes)
    for share in (*dealt, *deal_bits(secrets, nodes=nodes, source=RNG.bytes)):
        parts = list(share.parts.values())
        whole = parts[0], sum(parts[1:], parts[0]), np.bitwise_xor.reduce(parts)
        pairs = [seen for a, b in combinations(parts, 2) for seen in (a + b, a - b, a ^ b)]
        for seen in (*parts, *whole, *pairs):
            check_every_bit_is_fair(word.tobytes() for word in seen)


@three_and_four
def test_components_are_fresh_and_names_are_plain(nodes: int) -> None:
    zero = np.zeros(4, dtype=np.uint64)
    first, second = deal(zero, nodes=nodes), deal(zero, nodes=nodes)
    assert all((first[0].parts[c] != second[0].parts[c]).all() for c in held_by(0, nodes))
    assert [party_name(i) for i in (0, 3, COORDINATOR)] == ["node 0", "node 3", "the coordinator"]
