"""Cycles along which a matching gets cheaper: shares as in the clear, and never a worse plan."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.forest import ClearForest, Coins, Outcome, finish_in_the_clear
from tacit.mpc.forest import warm_start_in_the_clear as warm_start
from tacit.mpc.forest.after_search import cycles
from tacit.mpc.forest.after_search.clear import without_cycles
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.local import run_parties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, deal_bits, reconstruct
from tests.mpc.both import check_cost, three_and_four
from tests.mpc.forest.families import FAMILIES
from tests.mpc.forest.test_after_search import problem, some_plan

LONG_TAIL = [1, 2, 3, 4, 5, 6, 6]
"""Each column is the child of the next; only the last is on a cycle, with itself."""
TWO_CYCLES = [1, 0, 0, 4, 5, 3, 2]
ALL_AROUND = [1, 2, 3, 4, 5, 6, 0]


def _marks(indices: list[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.eye(len(indices), dtype=np.uint8)[indices]


@three_and_four
def test_nodes_take_all_cycles_and_nothing_else(nodes: int) -> None:
    row_of = [2, 0, 1, 6, 5, 4, 3]
    parents = [LONG_TAIL, TWO_CYCLES, ALL_AROUND]
    shape = ForestShape(7, spread=9, weightings=3)
    edges = deal_bits(np.stack([_marks(each) for each in parents]), nodes=nodes)
    matched = deal_bits(np.stack([_marks(row_of)] * 3), nodes=nodes)

    async def node(s: Session) -> tuple[BitShare, ArithmeticShare]:
        return await cycles.cancel_cycles(s, edges[s.me], matched[s.me], shape, label="cycles")

    run = run_parties(node, nodes=nodes)
    bits, numbers = (reconstruct([each[k] for each in run.results]) for k in (0, 1))
    assert np.array_equal(bits & 1, numbers)
    column_of = np.argsort(row_of)
    for k, each in enumerate(parents):
        expected = np.argsort(without_cycles(column_of, np.array(each)))
        assert numbers[k].argmax(axis=1).tolist() == expected.tolist()
    assert numbers[0].argmax(axis=1).tolist() == row_of
    assert numbers[1].argmax(axis=1).tolist() == [0, 2, 1, 5, 4, 6, 3]
    check_cost(run, cycles.cost(nodes, shape))


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(FAMILIES), seed=st.integers(0, 10**6), size=st.integers(1, 12),
    steps=st.integers(0, 12),
)  # fmt: skip
def test_more_steps_never_make_a_plan_worse(name: str, seed: int, size: int, steps: int) -> None:
    asked = problem(name, seed, size, count=1)
    costs = asked.clear_costs(0)
    forest = ClearForest(costs, asked.shape, Coins(seed, [0]))
    totals = []
    for count in (steps, steps + 2):
        first = warm_start(forest, some_plan(asked, seed), asked.layout, steps=count).first
        assert first is not None
        assert sorted(first) == list(range(len(costs)))
        totals.append(costs[np.arange(len(costs)), first].sum())
    assert totals[1] <= totals[0]


def test_cycles_alone_lead_to_proved_optima() -> None:
    """From any plan, without a phase; a cycle that is found late or never would show."""
    for name in FAMILIES:
        if name == "infeasible":
            continue
        for seed in range(3):
            asked = problem(name, seed, 12, count=1)
            costs = asked.clear_costs(0)
            forest = ClearForest(costs, asked.shape, Coins(seed, [0]))
            state = warm_start(forest, some_plan(asked, seed), asked.layout, steps=80)
            answer = finish_in_the_clear(state, costs, asked.layout, asked.shape)
            assert answer.outcome is Outcome.OPTIMUM, (name, seed)
