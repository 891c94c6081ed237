"""What a plan may lack, rounded up to a ladder: the clear forest's, true, and nothing else."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.forest import ForestShape, ForestState, bound_of, certificate, ladder, outcome
from tacit.mpc.forest.clear_outcome import finish_in_the_clear
from tacit.mpc.forest.told import gap
from tacit.mpc.local import deal_integers, parties, run_parties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare
from tests.mpc.both import check_cost, three_and_four
from tests.mpc.forest.families import FAMILIES
from tests.mpc.forest.problems import opened
from tests.mpc.forest.test_checkpoint import Unmasked
from tests.mpc.forest.test_forest import problem
from tests.mpc.remembered_masks import RememberedMasks
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import CHANCE, corrected_p
from tests.mpc.secrecy.weakened import SURE, fixed_for, split_alike


@three_and_four
@pytest.mark.parametrize("name", ["uniform", "infeasible"])
def test_nodes_find_the_rung_of_the_clear_forest_at_the_declared_cost(
    nodes: int, name: str
) -> None:
    asked = problem(name, 3, 5, count=1, weightings=2)
    layout, shape = asked.layout, asked.shape
    steps = ladder(3, layout.rows * layout.spread)
    states = [asked.clear(k) for k in range(2)]
    dealt = deal_integers(asked.weights, nodes=nodes)
    held = [state for state, _ in asked.on_shares(nodes).results]

    async def node(s: Session) -> outcome.Answer:
        costs = asked.shared_costs(dealt[s.me])
        return await outcome.finish(s, held[s.me], costs, layout, shape, steps=steps)

    run = run_parties(node, nodes=nodes)
    rungs = opened([answer.rung for answer in run.results])[:, 0].tolist()
    clear = [
        finish_in_the_clear(state, asked.clear_costs(k), layout, shape, steps=steps).rung
        for k, (state, _) in enumerate(states)
    ]
    assert rungs == clear
    check_cost(run, outcome.cost(nodes, layout, shape, steps=steps))
    # It takes no round more, and few bytes.
    without: Cost = outcome.cost(nodes, layout, shape)
    assert run.rounds == without.rounds


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(FAMILIES),
    seed=st.integers(0, 10**6),
    size=st.integers(1, 9),
    count=st.integers(1, 6),
    base=st.integers(2, 12),
)
def test_no_plan_is_better_by_more(name: str, seed: int, size: int, count: int, base: int) -> None:
    asked = problem(name, seed, size, count=count)
    state, _ = asked.clear()
    steps = ladder(base, asked.layout.rows * asked.layout.spread)
    found = finish_in_the_clear(state, asked.clear_costs(0), asked.layout, asked.shape, steps=steps)
    if not found.outcome.has_plan:
        assert found.rung == 0
        return
    best, bound = asked.optimum(), bound_of(found.rung, steps)
    assert best is not None
    assert best <= asked.value(found.plan) <= best + bound
    assert (bound == 0) == found.outcome.is_proved
    # No finer than agreed: the step below does not hold.
    exact = found.gap // asked.shape.scale
    assert bound in (steps[-1], min(step for step in steps if step >= exact))


def test_bounds_that_do_not_hold_give_the_lowest_rung() -> None:
    asked = problem("uniform", 3, 5, count=1)
    state, _ = asked.clear()
    steps, costs = ladder(2, 99), asked.clear_costs(0)
    wrong = replace(state, prices=state.prices + asked.shape.bound)
    found = finish_in_the_clear(wrong, costs, asked.layout, asked.shape, steps=steps)
    assert found.rung == 0


SHAPE = ForestShape(2, 9)
STEPS = ladder(4, 18)


def p_of_same_view(nodes: int, masks: type[RememberedMasks] = RememberedMasks) -> float:
    """Node 1 sees the same of two plans whose gaps differ within a step."""
    observer = 1

    async def lines(prices: list[int], numbers: range) -> NDArray[np.uint8]:
        def split(values: list[int] | list[list[int]]) -> list[ArithmeticShare]:
            shares = split_alike(np.array(values)[None], observer, nodes=nodes)
            return [share.map(lambda part: part.astype(SHAPE.word)) for share in shares]

        costs, matching = split([[0, 15], [0, 27]]), split([[1, 0], [0, 1]])
        dual, none = split(prices), split([0, 0])

        async def node(s: Session) -> None:
            state = ForestState(None, matching[s.me], dual[s.me], none[s.me], none[s.me])  # type: ignore[arg-type]
            allowed = np.zeros((2, 2), dtype=bool)
            await certificate.prove(
                s, costs[s.me], matching[s.me], state, allowed, SHAPE, steps=STEPS
            )

        made = []
        for number in numbers:
            with letters_seen() as arrived:
                source = fixed_for(observer, number, masks, nodes=nodes)
                await parties(node, nodes=nodes, masks=source)
            seen = [each.reshape(-1).view(np.uint8) for each in arrived[observer]]
            made.append(np.unpackbits(np.concatenate(seen))[:400])
        return np.array(made, dtype=np.uint8)

    async def compared() -> float:
        first = await lines([0, 12], range(24))
        return corrected_p(first, await lines([0, 11], range(24, 48)))

    assert gap.rung_of(27 - 12, STEPS, scale=3) == gap.rung_of(27 - 11, STEPS, scale=3) == 1
    return asyncio.run(compared())


def test_a_node_sees_nothing_of_the_gap() -> None:
    assert p_of_same_view(3) > CHANCE


def test_products_without_masks_would_show_it() -> None:
    assert p_of_same_view(3, Unmasked) < SURE
