"""The range of weights."""

import numpy as np
import pytest

from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.protocols import range_check
from tests.mpc.both import check_cost, three_and_four

RNG = np.random.default_rng(8)


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
