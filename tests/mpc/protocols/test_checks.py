"""Equality of what the nodes received, and the range of weights."""

import numpy as np
import pytest

from tacit.errors import AbortError
from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.protocols import range_check, same
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare
from tacit.mpc.transport.frame import Buffer
from tests.mpc.both import check_cost, three_and_four
from tests.mpc.tampering import Sent, tampered

RNG = np.random.default_rng(8)


@three_and_four
def test_same_components(nodes: int) -> None:
    x = deal_integers([1, 2, 3], nodes=nodes)
    run = run_parties(lambda s: same.check_same_components(s, x[s.me], label="c"), nodes=nodes)
    check_cost(run, same.cost(nodes))


async def blamed(session: Session, share: ArithmeticShare) -> str:
    """Whom a node blames for a component that differs, if anybody."""
    try:
        await same.check_same_components(session, share, label="c")
    except AbortError as error:
        return error.peer
    return ""


@three_and_four
@pytest.mark.parametrize("where", [0, 2])
def test_components_that_differ_are_noticed_by_all_holders(where: int, nodes: int) -> None:
    x = deal_integers([1, 2, 3], nodes=nodes)
    other = x[1].parts[2].copy()
    other[where] += np.uint64(1)
    x[1] = ArithmeticShare({**x[1].parts, 2: other})
    said = run_parties(lambda s: blamed(s, x[s.me]), nodes=nodes).results
    holders = [node for node in range(nodes) if node != 2]
    for node in range(nodes):
        if node == 1:
            assert said[1] == " and ".join(f"node {h}" for h in holders if h != 1)
        else:
            assert said[node] == ("node 1" if node in holders else "")


@three_and_four
@pytest.mark.parametrize("byte", [0, -1])
def test_every_byte_of_a_hash_is_compared(byte: int, nodes: int) -> None:
    x = deal_integers([1, 2, 3], nodes=nodes)

    def flip(frame: Sent) -> list[Buffer]:
        changed = bytearray(frame.payload)
        changed[byte] ^= 1
        return [bytes(changed) if frame.sender == 0 else frame.payload]

    with tampered(flip):
        said = run_parties(lambda s: blamed(s, x[s.me]), nodes=nodes).results
    assert said == ["", *["node 0"] * (nodes - 1)]


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
