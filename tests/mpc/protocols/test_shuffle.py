import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.local import PartiesRun, deal_integers, reveal, run_parties
from tacit.mpc.protocols import shuffle
from tacit.mpc.protocols.shuffle import SecretPermutation, draw_order
from tacit.mpc.ring import from_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, deal_bits, reconstruct
from tests.mpc.both import check_cost, three_and_four

RNG = np.random.default_rng(7)
SIZES = [1, 2, 3, 64, 300]
STAGES = {3: 2, 4: 3}
"""Rounds of a shuffle."""


def composed(orders: list[SecretPermutation]) -> np.ndarray:
    """The original position of each shuffled one."""
    p = {c: order for each in orders for c, order in each.known.items()}
    path = np.arange(len(p[0]))
    for c in sorted(p):
        path = path[p[c]]
    return path


def orders_of(n: int, nodes: int) -> list[SecretPermutation]:
    async def node(s: Session) -> SecretPermutation:
        return draw_order(s, n, label="o")

    return run_parties(node, nodes=nodes).results


def check_told(run: PartiesRun[np.ndarray | None], rows: np.ndarray, *, told: bool) -> None:
    assert (run.coordinator == rows).all()
    for result in run.results:
        assert result is None or told
        assert not told or (result is not None and (result == rows).all())


@three_and_four
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [1, 2])
def test_shuffle_there_and_back(n: int, columns: int, nodes: int) -> None:
    x = RNG.integers(-(2**63), 2**63, (n, columns))
    shares = deal_integers(x, nodes=nodes)
    orders = orders_of(n, nodes)

    async def there(s: Session) -> ArithmeticShare:
        return await shuffle.shuffle(s, shares[s.me], orders[s.me], label="s")

    run = run_parties(there, nodes=nodes)
    assert (reveal(run.results) == x[composed(orders)]).all()
    assert all(  # the components are new
        (share.parts[c] != old.parts[c]).any()
        for share, old in zip(run.results, shares, strict=True)
        for c in share.parts
    )
    check_cost(run, shuffle.cost(nodes, (n, columns)))
    assert run.rounds == STAGES[nodes]
    back = run_parties(
        lambda s: shuffle.unshuffle_to_coordinator(s, run.results[s.me], orders[s.me], label="b"),
        lambda s: shuffle.receive_unshuffled(s, (n, columns)),
        nodes=nodes,
    )
    assert (from_ring(back.coordinator) == x).all()
    word = np.dtype(np.uint64)
    check_cost(
        back, shuffle.cost_to_coordinator(nodes, (n, columns), word, public=False, told=False)
    )
    assert back.rounds == STAGES[nodes]


@three_and_four
@settings(max_examples=15, deadline=None)
@given(values=st.lists(st.integers(0, 255), min_size=1, max_size=40))
def test_shuffle_of_bits_there_and_back(values: list[int], nodes: int) -> None:
    x = np.array(values, dtype=np.uint8)
    shares = deal_bits(x, nodes=nodes)

    async def node(s: Session) -> BitShare:
        order = draw_order(s, len(x), label="o")
        mixed = await shuffle.shuffle(s, shares[s.me], order, label="s")
        await shuffle.unshuffle_to_coordinator(s, mixed, order, label="b")
        return mixed

    run = run_parties(
        node,
        lambda s: shuffle.receive_unshuffled(s, (len(x),), dtype=np.uint8, xor=True),
        nodes=nodes,
    )
    assert sorted(reconstruct(run.results).tolist()) == sorted(values)
    assert run.coordinator.tolist() == values


@three_and_four
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("width", [0, 1, 3])
@pytest.mark.parametrize("told", [False, True])
def test_back_to_the_coordinator(n: int, width: int, told: bool, nodes: int) -> None:
    rows = RNG.integers(0, 256, (n, width), dtype=np.uint8)
    orders = orders_of(n, nodes)
    mixed = deal_bits(rows[composed(orders)], nodes=nodes)
    run = run_parties(
        lambda s: shuffle.unshuffle_to_coordinator(
            s, mixed[s.me], orders[s.me], label="b", told=told
        ),
        lambda s: shuffle.receive_unshuffled(s, (n, width), dtype=np.uint8, xor=True),
        nodes=nodes,
    )
    check_told(run, rows, told=told)
    byte = np.dtype(np.uint8)
    check_cost(run, shuffle.cost_to_coordinator(nodes, (n, width), byte, public=False, told=told))


@three_and_four
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("told", [False, True])
def test_labels_to_the_coordinator_and_to_shares(n: int, told: bool, nodes: int) -> None:
    public = RNG.integers(0, 2**32, n, dtype=np.uint32)
    orders = orders_of(n, nodes)
    original = np.empty_like(public)
    original[composed(orders)] = public
    run = run_parties(
        lambda s: shuffle.labels_to_coordinator(s, public, orders[s.me], label="l", told=told),
        lambda s: shuffle.receive_unshuffled(s, (n,), dtype=np.uint32, xor=True),
        nodes=nodes,
    )
    check_told(run, original, told=told)
    label = np.dtype(np.uint32)
    check_cost(run, shuffle.cost_to_coordinator(nodes, (n,), label, public=True, told=told))
    words = public.astype(np.uint64)
    shared = run_parties(
        lambda s: shuffle.labels_to_shares(s, words, orders[s.me], label="l", kind=ArithmeticShare),
        nodes=nodes,
    )
    assert (reconstruct(shared.results) == original).all()
    check_cost(shared, shuffle.cost_to_shares(nodes, n))
    assert shared.rounds == STAGES[nodes]


def test_nobody_can_apply_a_permutation_that_it_lacks() -> None:
    order = SecretPermutation({0: np.array([1, 0]), 1: np.array([0, 1])})
    with pytest.raises(KeyError):
        order.apply(2, np.array([1, 2]), back=False)
