"""Phases of a forest at a node, one after the other, in one session.

::

    filter          where epsilon falls, rows too far from their best go free
    paths           distances of all columns from the free rows, cut short
    sort, rise      prices rise by the distances, up to a cap; then the rows' profits
    trees           beside that: parents and roots of all columns
    choose          the nearest free column of each root
    augment         all chosen paths at once

With three nodes and keys of 18 to 33 bits 34 + 14 L rounds for L steps. The nodes learn orders of
uniform rankings, that is, nothing, and the coordinator learns nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tacit.mpc.cost import Cost
from tacit.mpc.forest import augment, filtering, minima, paths, potentials, trees
from tacit.mpc.forest.coins import Coins
from tacit.mpc.forest.potentials import SortedColumns
from tacit.mpc.forest.schedule import Phase
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.state import ForestState
from tacit.mpc.handover import Handover
from tacit.mpc.letters import Letter
from tacit.mpc.protocols import pairwise
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

_SUBSTREAMS = 6


async def advance(
    session: Session,
    state: ForestState,
    costs: ArithmeticShare,
    phases: Iterable[Phase],
    shape: ForestShape,
    coins: Coins,
) -> ForestState:
    """The state after these phases; `costs` are weightings x rows x columns, scaled.

    A phase depends on the state before it and on public values alone, so it may be done in a
    session of its own, and again.

    >>> from tacit.mpc.forest.first_duals import start
    >>> from tacit.mpc.forest.schedule import plain
    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> from tacit.mpc.shares import reconstruct
    >>> costs = deal_integers([[[21, 3], [6, 9]]])  # scaled by 3
    >>> shape, coins = ForestShape(2, spread=7), Coins(1)
    >>> async def node(s):
    ...     state = await start(s, costs[s.me], shape, coins)
    ...     return await advance(s, state, costs[s.me], plain(2, 2), shape, coins)
    >>> reconstruct([state.matched for state in run_parties(node).results])[0]
    array([[0, 1],
           [1, 0]], dtype=uint8)
    """
    substreams = session.substreams(_SUBSTREAMS)
    for phase in phases:
        state = await _phase(session, substreams, state, costs, phase, shape, coins)
    return state


async def _phase(
    session: Session,
    substreams: list[Session],
    state: ForestState,
    costs: ArithmeticShare,
    phase: Phase,
    shape: ForestShape,
    coins: Coins,
) -> ForestState:
    if phase.falls:
        state = await filtering.filter_rows(session, costs, state, phase, shape)
    found = await paths.shortest_paths(session, substreams, costs, state, phase, shape, coins)
    columns: Handover[SortedColumns] = Handover()
    shortfall: Handover[ArithmeticShare] = Handover()
    reached: Handover[BitShare] = Handover()

    async def sort(t: Session) -> None:
        columns.give(t, await potentials.sort_columns(t, found, phase, shape, coins))

    async def duals(t: Session) -> tuple[ArithmeticShare, ArithmeticShare]:
        if phase.steps == 1:
            prices = state.prices + found.distances
        else:
            prices = await potentials.raise_prices(
                t, await columns.take(t), state.prices, shortfall, phase, shape
            )
        return prices, await potentials.next_profits(t, costs, prices, phase, shape, coins)

    async def reach(t: Session) -> None:
        reached.give(t, await potentials.reached_columns(t, shortfall, phase, shape))

    async def match(t: Session) -> tuple[tuple[BitShare, ArithmeticShare], ArithmeticShare]:
        inner = substreams[4:]
        grown = await trees.grow_trees(t, inner, found, state, phase, shape)
        order = (await columns.take(t)).order
        first = await augment.first_free_columns(t, order, grown, state, phase, shape)
        return await augment.augment(
            t, inner, first, await reached.take(t), order, grown, state, phase, shape
        )

    results: list[Any] = await session.in_parallel(
        sort, duals, reach, match, substreams=substreams[:4]
    )
    prices, profits = results[1]
    (matched, matching), kept = results[3]
    return ForestState(matched, matching, prices, profits, kept, state.first)


def cost(nodes: int, phase: Phase, shape: ForestShape) -> Cost:
    """The cost of one phase."""
    total = filtering.cost(nodes, shape) if phase.falls else Cost.free(nodes)
    total = total.then(paths.cost(nodes, phase, shape))
    sort = potentials.cost_to_sort(nodes, shape)
    sorted_, rise = sort.only_rounds, Cost.free(nodes)
    duals = reached = Cost.free(nodes)
    if phase.steps > 1:
        rise = potentials.cost_of_steps(nodes, shape)
        duals = sorted_.then(rise)
        reached = duals.only_rounds.then(potentials.cost_of_reached(nodes, shape))
    duals = duals.then(potentials.cost_of_profits(nodes, phase, shape))
    match = trees.cost(nodes, phase, shape).beside(sorted_)
    match = match.then(augment.cost_of_choosing(nodes, shape)).beside(reached.only_rounds)
    match = match.then(augment.cost(nodes, shape))
    return total.then(sort.beside(duals).beside(reached).beside(match))


def first_letters(nodes: int, phase: Phase, shape: ForestShape) -> list[Letter]:
    """The letters of the first round, with which greetings go."""
    if phase.falls:
        return pairwise.reshare_letters(nodes, (shape.weightings * shape.size,), shape.word)
    return minima.first_letters(nodes, shape, shape.size)
