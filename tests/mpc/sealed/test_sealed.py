"""A tour searched on shares: the clear search's plan byte for byte, at the declared cost."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import AbortError
from tacit.mpc.local import deal_integers, reveal, run_parties
from tacit.mpc.sealed import generations, state
from tacit.mpc.sealed.generations import find_winners, settle
from tacit.mpc.sealed.moves import TableShape, child_keys
from tacit.search.sealed import ClearTour
from tests.mpc.both import check_cost, three_and_four
from tests.mpc.sealed.searches import Search

SEARCHES = {
    "tour": Search.random(11, children=30),
    "two levels": Search.random(9, children=40, levels=2),
    "three levels": Search.random(9, children=40, levels=3),
    "two windows": Search.random(12, children=20, windows=2, levels=2),
    "directed": Search.random(7, children=12, directed=True),
    "exchanges": Search.random(
        12, children=12, windows=1, swap_percent=0, exchange_percent=80, directed=True
    ),
    "small tour": Search.random(3, children=4, directed=True),
    "nothing moves": Search.random(2, children=4),
    "wide": Search.random(6, spread=10**12, children=8),
    "wide totals": Search.random(64, spread=2**25 - 1, children=3),
    "parents": Search.random(7, children=12, parents=4, meet_every=3),
    "directed windows of parents": Search.random(
        9, children=8, windows=2, directed=True, parents=2, meet_every=2
    ),
    "directed parents": Search.random(6, children=8, directed=True, parents=2, meet_every=2),
    "parents that never meet": Search.random(5, children=9, parents=2, meet_every=0),
    "still parents": Search.random(2, children=4, parents=3, meet_every=1),
}


@three_and_four
@pytest.mark.parametrize("name", SEARCHES)
def test_the_clear_search_finds_the_same_and_costs_are_as_declared(name: str, nodes: int) -> None:
    search = SEARCHES[name]
    begun = search.start(nodes)
    check_cost(begun, state.cost_of_start(nodes, search.about))
    order = reveal([state.table for state in begun.results])[..., -1].astype(np.intp)
    twin = ClearTour(search.values, search.schedule, order)
    begun_with = reveal([state.plan for state in begun.results]).tolist()
    assert begun_with == [twin.value, *twin.plan()]
    twin.advance(6, horizon=9)
    # In two goes, which must not matter.
    moves = search.schedule.generation(0, horizon=1).moves
    states = begun.results
    for first, count in ((0, 2), (2, 4)):
        run = search.advance(states, first, count, horizon=9)
        states = run.results
        pairs = search.pairs(first, count)
        check_cost(run, generations.cost(nodes, moves, count, search.about, pairs=pairs))
    assert reveal([state.plan for state in states]).tolist() == [twin.value, *twin.plan()]
    assert np.array_equal(reveal([state.table for state in states]), twin.table)


@three_and_four
def test_the_start_is_any_order(nodes: int) -> None:
    search = Search.random(3, children=2)
    orders = {
        tuple(reveal([state.table for state in search.start(nodes).results])[0, :, -1])
        for _ in range(80)
    }
    assert len(orders) == 6


@pytest.mark.parametrize(
    ("search", "rounds"),
    [
        (Search.random(100, children=299), {3: 11, 4: 14}),
        (Search.random(100, children=299, spread=4000), {3: 11, 4: 14}),
        (Search.random(100, children=92, parents=3), {3: 11, 4: 14}),
    ],
    ids=["299 children", "wide", "three parents"],
)
@three_and_four
def test_limits_at_100_places(search: Search, rounds: dict[int, int], nodes: int) -> None:
    moves = search.schedule.generation(0, horizon=1).moves
    one, two = (generations.cost(nodes, moves, count, search.about) for count in (1, 2))
    assert two.rounds - one.rounds == rounds[nodes] <= {3: 12, 4: 14}[nodes]
    assert max(b - a for a, b in zip(one.sent, two.sent, strict=True)) < 1_000_000


def test_keys_that_form_no_order_abort() -> None:
    keys = deal_integers([0, 22, 43])  # in 6 bits each is below the next, and the last below 0

    async def node(session):  # type: ignore[no-untyped-def]
        share = keys[session.me]
        await find_winners(session, share, share[:0], children=3, bits=6, label="w")

    with pytest.raises(AbortError, match="form no order"):
        run_parties(node)


@three_and_four
@pytest.mark.parametrize("parents", [1, 2])
def test_plans_as_far_apart_as_can_be_are_settled(parents: int, nodes: int) -> None:
    shape = TableShape(1, key_bits=9, total_bits=9, parents=parents)
    for low, high in ((0, 255), (255, 0)):
        best, plans = (deal_integers([[value, 0]] * parents, nodes=nodes) for value in (low, high))
        run = run_parties(
            lambda s: settle(s, best[s.me], plans[s.me], shape, label="end"),  # noqa: B023
            nodes=nodes,
        )
        assert reveal(run.results).tolist() == [255, 0]


def test_keys_of_children_are_gains_and_offsets_at_all_holders() -> None:
    search = SEARCHES["tour"]
    table = search.start().results
    (step,) = search.steps(0, 1, 1)
    values = reveal([state.table for state in table]).reshape(-1)
    gains = values[step.moves.plus].sum(axis=1) - values[step.moves.minus].sum(axis=1)
    keys = [child_keys(state.table, step) for state in table]
    assert reveal(keys).tolist() == (gains * step.factor + step.offsets).tolist()
