"""Comparisons and range checks are right for every width, at the declared cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.protocols import less_than, range_check
from tacit.mpc.protocols.less_than import compare_batch
from tacit.mpc.session import Session
from tacit.mpc.shares import BitShare, reconstruct
from tests.mpc.both import check_cost, three_and_four

RNG = np.random.default_rng(6)


@three_and_four
@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 6, 9, 17, 28, 33, 63, 64])
@pytest.mark.parametrize(("n", "m"), [(1, 0), (0, 1), (65, 3), (0, 0)])
def test_signs_and_their_cost(bits: int, n: int, m: int, nodes: int) -> None:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    x = RNG.integers(low, high, n, endpoint=True)
    y = RNG.integers(low, high, m, endpoint=True)
    for edge in (x, y):
        edge[: min(4, len(edge))] = [low, high, 0, -1][: min(4, len(edge))]
    a, b = deal_integers(x, nodes=nodes), deal_integers(y, nodes=nodes)
    run = run_parties(
        lambda s: compare_batch(s, a[s.me], b[s.me], bits=bits, label="c"), nodes=nodes
    )
    for signs in run.results:
        assert (signs.opened == (x < 0)).all()
    assert (reconstruct([signs.kept for signs in run.results]) == (y < 0)).all()
    declared = less_than.cost(nodes, n, m, bits=bits)
    check_cost(run, declared)
    if n + m:
        blocks = max(bits, 2) // 2
        assert declared.rounds == 2 + max(1, (blocks - 1).bit_length())


@pytest.mark.parametrize("bits", [2, 3, 4, 5])
@three_and_four
def test_every_number_split_in_every_way(bits: int, nodes: int) -> None:
    """All pairs of operands u and v of so few bits: the sign is that of u + v."""
    u, v = (each.reshape(-1) for each in np.mgrid[0 : 1 << bits, 0 : 1 << bits].astype(np.uint8))

    async def node(s: Session) -> less_than.Signs:
        known = v if s.me < 2 else u
        return await less_than.compare_known(s, known, known, bits=bits, label="c")

    run = run_parties(node, nodes=nodes)
    expected = (u + v) >> (bits - 1) & 1
    assert all((signs.opened == expected).all() for signs in run.results)
    assert (reconstruct([signs.kept for signs in run.results]) == expected).all()


@three_and_four
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_less_than(data: st.DataObject, nodes: int) -> None:
    bits = data.draw(st.integers(2, 63))
    half = 1 << bits - 2
    numbers = st.integers(-half, half - 1)
    pairs = data.draw(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=70))
    x = deal_integers([p[0] for p in pairs], nodes=nodes)
    y = deal_integers([p[1] for p in pairs], nodes=nodes)
    differences = [a - b for a, b in zip(x, y, strict=True)]

    async def kept(s: Session) -> BitShare:
        mine = differences[s.me]
        return (await compare_batch(s, mine[:0], mine, bits=bits, label="c")).kept

    run = run_parties(kept, nodes=nodes)
    assert reconstruct(run.results).tolist() == [int(a < b) for a, b in pairs]


@three_and_four
@pytest.mark.parametrize("counts", [[1], [3, 1, 7], [10] * 5, [1] * 70])
def test_range_check(counts: list[int], nodes: int) -> None:
    bounds = RNG.integers(1, 1000, len(counts)).tolist()
    weights = [
        RNG.integers(0, bound, c, endpoint=True) for bound, c in zip(bounds, counts, strict=True)
    ]
    expected = np.ones(len(counts), dtype=bool)
    wrong = [-1, None, -(2**63), 2**63 - 1]
    for p in range(0, len(counts), 2):
        value = wrong[p // 2 % 4]
        weights[p][RNG.integers(counts[p])] = bounds[p] + 1 if value is None else value
        expected[p] = False
    shares = deal_integers(np.concatenate(weights), nodes=nodes)
    run = run_parties(
        lambda s: range_check.check_ranges(s, shares[s.me], counts, bounds, label="r"), nodes=nodes
    )
    for result in run.results:
        assert (result == expected).all()
    check_cost(run, range_check.cost(nodes, counts))


@pytest.mark.parametrize("bound", [0, 1, 2**40, 2**63 - 1])
def test_the_ends_of_the_range_belong_to_it(bound: int) -> None:
    shares = deal_integers([0, bound])
    run = run_parties(lambda s: range_check.check_ranges(s, shares[s.me], [2], [bound], label="r"))
    assert run.results[0].tolist() == [True]


def test_many_weights_are_compared_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_check, "CHUNK", 64)
    shares = deal_integers([3] * 100 + [-1] + [4] * 50)
    run = run_parties(
        lambda s: range_check.check_ranges(s, shares[s.me], [100, 51], [9, 9], label="r")
    )
    assert run.results[0].tolist() == [True, False]
    check_cost(run, range_check.cost(3, [100, 51]))
