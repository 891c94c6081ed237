import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.linear import subtract
from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.protocols import less_than
from tacit.mpc.protocols.less_than import compare_batch
from tacit.mpc.session import Session
from tacit.mpc.shares import BitShare, reconstruct

RNG = np.random.default_rng(6)


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5, 6, 9, 17, 28, 32, 33, 63, 64])
@pytest.mark.parametrize(("n", "m"), [(1, 0), (0, 1), (65, 3), (130, 70), (0, 0)])
def test_signs_and_their_cost(bits: int, n: int, m: int) -> None:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    x = RNG.integers(low, high, n, endpoint=True)
    y = RNG.integers(low, high, m, endpoint=True)
    for edge in (x, y):
        edge[: min(4, len(edge))] = [low, high, 0, -1][: min(4, len(edge))]
    a, b = deal_integers(x), deal_integers(y)
    run = run_parties(lambda s: compare_batch(s, a[s.me], b[s.me], bits=bits, label="c"))
    for signs in run.results:
        assert (signs.opened == (x < 0)).all()
    assert (reconstruct([signs.kept for signs in run.results]) == (y < 0)).all()
    declared = less_than.cost(n, m, bits=bits)
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)
    if n + m:
        carries = max(bits, 2) - 1
        assert declared.rounds == 1 + max(1, (carries - 1).bit_length())
        assert declared.rounds <= 2 + int(np.ceil(np.log2(bits)))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_less_than(data: st.DataObject) -> None:
    bits = data.draw(st.integers(2, 63))
    half = 1 << bits - 2
    numbers = st.integers(-half, half - 1)
    pairs = data.draw(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=70))
    x, y = deal_integers([p[0] for p in pairs]), deal_integers([p[1] for p in pairs])
    differences = [subtract(a, b) for a, b in zip(x, y, strict=True)]

    async def kept(s: Session) -> BitShare:
        mine = differences[s.me]
        return (await compare_batch(s, mine[:0], mine, bits=bits, label="c")).kept

    run = run_parties(kept)
    assert reconstruct(run.results).tolist() == [int(a < b) for a, b in pairs]
