"""The final reveal tells which candidates nobody dominates, for the declared cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings

from tacit.disclosure import nondominated
from tacit.errors import AbortError
from tacit.mpc import FitnessBound, Session
from tacit.mpc.disclose.dominance import ParetoWidths
from tacit.mpc.disclose.front import (
    Front,
    collect_front,
    cost,
    read_front,
    reveal_front,
)
from tacit.mpc.local import deal_integers, run_parties
from tests.mpc.both import check_cost, three_and_four
from tests.mpc.disclose import twin
from tests.mpc.disclose.test_pareto_score import crowded


def run(values: twin.Values, bounds: list[FitnessBound], nodes: int, *, shown: bool) -> Front:
    shares = [deal_integers(list(line), nodes=nodes) for line in values]
    widths = ParetoWidths(bounds, len(values[0]))

    async def node(s: Session) -> None:
        await reveal_front(s, [each[s.me] for each in shares], widths, values=shown)

    made = run_parties(node, lambda s: collect_front(s, widths, values=shown), nodes=nodes)
    check_cost(made, cost(nodes, widths, values=shown))
    front: Front = made.coordinator
    return front


@three_and_four
@settings(max_examples=8, deadline=None)
@given(case=crowded())
@example(case=([[0], [0]], [FitnessBound(0, 0)] * 2))
@example(case=([[2, 2, 2], [5, 5, 5]], [FitnessBound(0, 6)] * 2))
@example(case=([[-3, -1, -1, -2], [-1, -3, -3, -2]], [FitnessBound(-3, 0)] * 2))
def test_ties_and_duplicates(case: tuple[list[list[int]], list[FitnessBound]], nodes: int) -> None:
    values, bounds = case
    n = len(values[0])
    first = [i for i in range(n) if not any(twin.dominates(values, j, i) for j in range(n))]
    assert nondominated(np.array(values)).tolist() == first
    bare, full = (run(values, bounds, nodes, shown=shown) for shown in (False, True))
    assert bare.nondominated.tolist() == full.nondominated.tolist() == first
    assert bare.values is None
    assert full.values is not None
    assert full.values.tolist() == [[line[i] for line in values] for i in first]


def test_wide_values_are_revealed() -> None:
    bounds = [FitnessBound(-(2**30), 0), FitnessBound(-50, 0)]
    values = [[-(2**30), -7, -5, 0], [0, -8, -9, -50]]
    told = run(values, bounds, 4, shown=True)
    assert told.nondominated.tolist() == [0, 1, 2, 3]
    assert told.values is not None
    assert told.values.T.tolist() == values


def test_noise_is_refused() -> None:
    widths = ParetoWidths([FitnessBound(0, 9)] * 2, 2)
    words = np.array([[3, 4], [0, 0]], dtype=np.uint64)
    assert read_front(np.array([1, 0], np.uint8), words, widths).nondominated.tolist() == [0]
    for bits, chosen in (
        ([2, 0], words),
        ([0, 0], words),
        ([0, 1], words),
        ([1, 0], words * np.uint64(4)),
    ):
        with pytest.raises(AbortError, match="of no front; the answer is noise"):
            read_front(np.array(bits, np.uint8), chosen, widths)
