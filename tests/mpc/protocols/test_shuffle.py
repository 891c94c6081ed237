import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.local import deal_integers, reveal, run_parties
from tacit.mpc.protocols import labels, shuffle
from tacit.mpc.protocols.shuffle import SecretPermutation, draw_order
from tacit.mpc.ring import from_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, deal_bits, reconstruct

RNG = np.random.default_rng(7)
SIZES = [1, 2, 3, 10, 64, 300]


def composed(orders: list[SecretPermutation]) -> np.ndarray:
    """The original position of each shuffled one."""
    p = {**orders[0].known, **orders[1].known}
    path: np.ndarray = np.arange(len(p[0]))[p[1]][p[0]][p[2]]
    return path


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("columns", [1, 2])
def test_shuffle_there_and_back(n: int, columns: int) -> None:
    x = RNG.integers(-(2**63), 2**63, (n, columns))
    shares = deal_integers(x)

    async def there(s: Session) -> tuple[SecretPermutation, ArithmeticShare]:
        order = draw_order(s, n, label="o")
        return order, await shuffle.shuffle(s, shares[s.me], order, label="s")

    run = run_parties(there)
    mixed = [share for _, share in run.results]
    orders = [order for order, _ in run.results]
    assert (reveal(mixed) == x[composed(orders)]).all()
    declared = shuffle.cost(n, row_bytes=8 * columns)
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)
    back = run_parties(
        lambda s: shuffle.unshuffle_to_coordinator(s, mixed[s.me], orders[s.me], label="b"),
        lambda s: shuffle.receive_unshuffled(s, (n, columns)),
    )
    assert (from_ring(back.coordinator) == x).all()
    declared = shuffle.cost_to_coordinator(n, row_bytes=8 * columns)
    assert (back.rounds, back.sent) == (declared.rounds, declared.sent)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 255), min_size=1, max_size=40))
def test_shuffle_of_bits_there_and_back(values: list[int]) -> None:
    x = np.array(values, dtype=np.uint8)
    shares = deal_bits(x)

    async def node(s: Session) -> BitShare:
        order = draw_order(s, len(x), label="o")
        mixed = await shuffle.shuffle(s, shares[s.me], order, label="s")
        await shuffle.unshuffle_to_coordinator(s, mixed, order, label="b")
        return mixed

    run = run_parties(
        node, lambda s: shuffle.receive_unshuffled(s, len(x), dtype=np.uint8, xor=True)
    )
    assert sorted(reconstruct(run.results).tolist()) == sorted(values)
    assert run.coordinator.tolist() == values


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("width", [0, 1, 3])
def test_back_to_the_coordinator(n: int, width: int) -> None:
    rows = RNG.integers(0, 256, (n, width), dtype=np.uint8)

    async def node(s: Session) -> SecretPermutation:
        order = draw_order(s, n, label="o")
        orders.append(order)
        await ready(s)
        mixed = shares[0][s.me] if shares else None
        assert mixed is not None
        await shuffle.unshuffle_to_coordinator(s, mixed, order, label="b")
        return order

    async def ready(s: Session) -> None:
        # Only the test knows the whole order, once all three nodes have drawn.
        while len(orders) < 3:
            await asyncio.sleep(0)
        if not shares:
            known = {c: p for order in orders for c, p in order.known.items()}
            path = np.arange(n)[known[1]][known[0]][known[2]]
            shares.append(deal_bits(rows[path]))

    orders: list[SecretPermutation] = []
    shares: list[list[BitShare]] = []
    run = run_parties(
        node,
        lambda s: shuffle.receive_unshuffled(s, (n, width), dtype=np.uint8, xor=True),
    )
    assert (run.coordinator == rows).all()
    declared = shuffle.cost_to_coordinator(n, row_bytes=width)
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)


@pytest.mark.parametrize("n", SIZES)
def test_labels_to_the_coordinator_and_to_shares(n: int) -> None:
    public = RNG.integers(0, 2**32, n, dtype=np.uint32)

    async def out(s: Session) -> SecretPermutation:
        order = draw_order(s, n, label="o")
        await labels.labels_to_coordinator(s, public, order, label="l")
        return order

    run = run_parties(out, lambda s: labels.receive_labels(s, n))
    original = np.empty_like(public)
    original[composed(run.results)] = public
    assert (run.coordinator == original).all()
    declared = labels.cost_to_coordinator(n)
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)

    orders = run.results
    words = public.astype(np.uint64)
    shared = run_parties(lambda s: labels.labels_to_shares(s, words, orders[s.me], label="l"))
    assert (reconstruct(shared.results) == original).all()
    for i in range(3):
        assert (shared.results[i].next == shared.results[(i + 1) % 3].mine).all()
    declared = labels.cost_to_shares(n)
    assert (shared.rounds, shared.sent) == (declared.rounds, declared.sent)
