"""Equality of what the nodes received, and the range of weights."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.errors import AbortError
from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.protocols import range_check, same
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare

RNG = np.random.default_rng(8)


def test_same_components() -> None:
    x = deal_integers([1, 2, 3])
    run = run_parties(lambda s: same.check_same_components(s, x[s.me], label="c"))
    assert (run.rounds, run.sent) == (same.cost().rounds, same.cost().sent)


@pytest.mark.parametrize("where", [0, 2])
def test_components_that_differ_are_noticed_by_both_holders(where: int) -> None:
    x = deal_integers([1, 2, 3])
    other = x[1].next.copy()
    other[where] += np.uint64(1)
    x[1] = ArithmeticShare(x[1].mine, other)  # component 2, held with node 2
    said: dict[int, str] = {}

    async def node(s: Session) -> None:
        try:
            await same.check_same_components(s, x[s.me], label="c")
        except AbortError as error:
            said[s.me] = error.peer

    run_parties(node)
    assert said == {1: "node 2", 2: "node 1"}


@pytest.mark.parametrize("byte", [0, 31])
def test_every_byte_of_a_hash_is_compared(byte: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = deal_integers([1, 2, 3])
    send = Session.send

    async def changed(session: Session, peer: int, array: NDArray[np.uint8]) -> None:
        made = array.copy()
        made[byte] ^= session.me == 0
        await send(session, peer, made)

    async def node(s: Session) -> None:
        if s.me == 0:
            await same.check_same_components(s, x[0], label="c")
            return
        with pytest.raises(AbortError, match="node 0"):
            await same.check_same_components(s, x[s.me], label="c")

    monkeypatch.setattr(Session, "send", changed)
    run_parties(node)


@pytest.mark.parametrize("counts", [[1], [3, 1, 7], [10] * 5, [1] * 70])
def test_range_check(counts: list[int]) -> None:
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
    shares = deal_integers(np.concatenate(weights))
    run = run_parties(
        lambda s: range_check.check_ranges(s, shares[s.me], counts, bounds, label="r")
    )
    for result in run.results:
        assert (result == expected).all()
    declared = range_check.cost(counts)
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)


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
    declared = range_check.cost([100, 51])
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)
