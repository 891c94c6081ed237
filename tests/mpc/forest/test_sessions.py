"""A forest in sessions of their own over links: greetings go with its first letters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import numpy as np
import pytest

from tacit.mpc import COORDINATOR, Context, agree_epoch, open_session
from tacit.mpc.cost import Cost
from tacit.mpc.epoch import greeting_cost
from tacit.mpc.forest import (
    ForestState,
    advance,
    checked,
    finish,
    first_duals,
    outcome,
    phases,
    start,
)
from tacit.mpc.letters import Letter
from tacit.mpc.local import deal_integers, run_linked, run_parties
from tacit.mpc.session import Session
from tacit.mpc.transport import Mux
from tests.mpc.both import three_and_four
from tests.mpc.forest.problems import Problem

ASKED = Problem(
    np.random.default_rng(1).integers(0, 10, (1, 3, 3)), checked([1, 2, 2], [3, 3, 1], size=3)
)


def measured(nodes: int, work: Callable[[Session], Awaitable[object]]) -> tuple[int, list[int]]:
    """Rounds, and the bytes of each node, in a session with keys and greetings."""

    async def party(me: int, muxes: dict[int, Mux]) -> tuple[int, int]:
        if me == COORDINATOR:
            return 0, 0
        epoch = await agree_epoch(me, {k: m for k, m in muxes.items() if k != COORDINATOR})
        peers = {k: m for k, m in muxes.items() if k != COORDINATOR}
        context = Context(b"agreement", 0, 1, 0, b"request")
        async with open_session(context, me=me, muxes=peers, epoch=epoch, timeout=60.0) as s:
            await work(s)
            return s.depth, s.sent

    results = run_linked(party, nodes=nodes)[:nodes]
    return max(depth for depth, _ in results), [sent for _, sent in results]


@pytest.mark.parametrize("step", ["start", "phase", "filter", "end"])
@three_and_four
def test_a_session_of_its_own_costs_what_is_declared(step: str, nodes: int) -> None:
    shape, coins, layout = ASKED.shape, ASKED.coins, ASKED.layout
    costs = [ASKED.shared_costs(share) for share in deal_integers(ASKED.weights, nodes=nodes)]
    states: list[ForestState] = run_parties(
        lambda s: start(s, costs[s.me], shape, coins), nodes=nodes
    ).results
    phase = ASKED.schedule[2 if step == "filter" else 1]

    async def work(s: Session) -> object:
        if step == "start":
            return await start(s, costs[s.me], shape, coins)
        if step == "end":
            return await finish(s, states[s.me], costs[s.me], layout, shape)
        return await advance(s, states[s.me], costs[s.me], [phase], shape, coins)

    declared: dict[str, tuple[Cost, list[Letter]]] = {
        "start": (first_duals.cost(nodes, shape), first_duals.first_letters(nodes, shape)),
        "end": (outcome.cost(nodes, layout, shape), outcome.first_letters(nodes, shape)),
    }
    of_phase = phases.cost(nodes, phase, shape), phases.first_letters(nodes, phase, shape)
    cost, first = declared.get(step, of_phase)
    whole = greeting_cost(nodes, first).then(cost)
    assert measured(nodes, work) == (whole.rounds, list(whole.sent))
