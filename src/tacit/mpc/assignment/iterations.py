"""Iterations on shares: a Bellman-Ford step of the prices, then an exchange along cycles.

::

    a_i  = C_ik - v_k,  row i being matched to column k
    v_j  = least of v_j and of  C_ij - a_i  over the rows i that are allowed for column j
    p(j) = the column that holds row i, if v_j fell; else the parent of before
    exchange along all cycles of parents, cut

With lag 0 the cycles of a step are exchanged before the next step. With lag 1 everything that
follows a minimum runs beside the next one, in about half the rounds: cycles are exchanged one step
later, and the edges that the step in between has set are cut, too.

The rounds of a product, of a minimum, of the way back of its marks and of the exchange; with lag 1
of the product and the larger of the minimum and the rest. Nobody learns anything: orders inside a
minimum are those of uniform rankings, all else stays shares, and how many iterations there are is
public.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.mpc.assignment import exchange, minima
from tacit.mpc.assignment.exchange import Exchanged, keep_parents
from tacit.mpc.assignment.layout import AssignmentShape
from tacit.mpc.assignment.minima import (
    FIRST_PRICES,
    ColumnMinima,
    Ties,
    column_minima,
    offers,
    paid_by_rows,
)
from tacit.mpc.assignment.state import AssignmentState
from tacit.mpc.cost import Cost
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


async def first_state(
    session: Session,
    matched: BitShare,
    matching: ArithmeticShare,
    costs: ArithmeticShare,
    shape: AssignmentShape,
    ties: Ties,
) -> AssignmentState:
    """Return the state before the first iteration: prices are the least costs of the columns.

    `matched` and `matching` are columns x rows of any plan without forbidden pairs, `costs` rows x
    columns.
    """
    drawn = ties.drawn(FIRST_PRICES, shape)
    least = await column_minima(session, offers(costs, shape), None, drawn, shape, label="first")
    nothing = np.zeros(shape.square, dtype=np.uint8)
    parents = BitShare(dict.fromkeys(session.held, nothing))
    return AssignmentState(matched, matching, least.values, parents, 0)


async def advance(
    session: Session,
    state: AssignmentState,
    costs: ArithmeticShare,
    shape: AssignmentShape,
    ties: Ties,
    *,
    iterations: int,
    lag: int = 0,
) -> AssignmentState:
    """Return the state after so many iterations.

    >>> from tacit.mpc.assignment.state import public_matching
    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal, reconstruct
    >>> costs, shape = deal(np.array([[[7, 1], [2, 3]]], dtype=np.uint32)), AssignmentShape(2, 7)
    >>> async def node(s):
    ...     matched, matching = public_matching(s, [[0, 1]], shape)
    ...     state = await first_state(s, matched, matching, costs[s.me], shape, Ties(1))
    ...     state = await advance(s, state, costs[s.me], shape, Ties(1), iterations=2)
    ...     return state.matching
    >>> reconstruct(run_parties(node).results)[0]
    array([[0, 1],
           [1, 0]], dtype=uint32)
    """
    if not iterations:
        return state
    run = _Run(session, state, costs, shape, ties)
    for _ in range(iterations):
        await (run.iterate_beside() if lag else run.iterate())
    return await run.end()


class _Run:
    """Iterations of one session, from one kept state to the next."""

    def __init__(
        self,
        session: Session,
        state: AssignmentState,
        costs: ArithmeticShare,
        shape: AssignmentShape,
        ties: Ties,
    ) -> None:
        self._session, self._costs, self._shape, self._ties = session, costs, shape, ties
        self._lanes = session.substreams(2)
        self._state = state
        self._last: tuple[ColumnMinima, BitShare] | None = None
        """With lag 1: the minimum of the last iteration, whose parents are not known yet, and its
        matching without the columns that moved in the exchange beside it."""

    async def iterate(self) -> None:
        """Lag 0: a minimum, then the exchange along its cycles."""
        state, lane, name = self._state, self._session, f"{self._state.step + 1}"
        least = await self._minimum(lane, await self._paid())
        parents = await self._parents(lane, least, state.matched, name)
        self._take(least, await self._exchange(lane, parents, name))

    async def iterate_beside(self) -> None:
        """Lag 1: a minimum, beside the exchange along the cycles of the minimum before."""
        # What rows pay rests on the matching and the prices together, so it waits for both lanes of
        # the iteration before.
        paid = await self._paid()

        async def minimum(lane: Session) -> ColumnMinima:
            return await self._minimum(lane, paid)

        # Both lanes read the state of before; it changes only once both are through.
        least, exchanged = await self._session.in_parallel(
            minimum, self._follow, substreams=self._lanes
        )
        assert isinstance(least, ColumnMinima)
        assert isinstance(exchanged, Exchanged)
        self._take(least, exchanged)
        # The edges that this minimum sets lead to the columns of before the exchange. Those that
        # moved in it no longer hold the rows that the edges rest on, so they are left out.
        self._last = least, exchanged.unmoved

    async def end(self) -> AssignmentState:
        """Bring the parents of the last minimum into the state, so that it can be kept."""
        if self._last is None:
            return self._state
        name = f"{self._state.step}.end"
        return replace(self._state, parents=await self._parents(self._session, *self._last, name))

    async def _paid(self) -> ArithmeticShare:
        state = self._state
        return await paid_by_rows(
            self._session,
            state.matching,
            self._costs,
            state.prices,
            label=f"{state.step + 1}.paid",
        )

    async def _minimum(self, lane: Session, paid: ArithmeticShare) -> ColumnMinima:
        state, number = self._state, self._state.step + 1
        offered = offers(self._costs, self._shape, paid)
        ties = self._ties.drawn(number, self._shape)
        return await column_minima(
            lane, offered, state.prices, ties, self._shape, label=f"{number}"
        )

    async def _follow(self, lane: Session) -> Exchanged:
        name, parents = f"{self._state.step + 1}.beside", self._state.parents
        if self._last is not None:
            parents = await self._parents(lane, *self._last, name)
        return await self._exchange(lane, parents, name)

    async def _parents(
        self, lane: Session, least: ColumnMinima, holders: BitShare, name: str
    ) -> BitShare:
        own, rows = await least.marks(lane, label=f"{name}.marks")
        return await keep_parents(
            lane, own, rows, self._state.parents, holders, label=f"{name}.keep"
        )

    async def _exchange(self, lane: Session, parents: BitShare, name: str) -> Exchanged:
        return await exchange.exchange(lane, parents, self._state.matched, self._shape, label=name)

    def _take(self, least: ColumnMinima, exchanged: Exchanged) -> None:
        self._state = AssignmentState(
            exchanged.matched,
            exchanged.matching,
            least.values,
            exchanged.parents,
            self._state.step + 1,
        )


def cost_of_start(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of the first prices."""
    return minima.cost(nodes, shape, own=False)


def cost_of_iterations(nodes: int, shape: AssignmentShape, *, count: int, lag: int = 0) -> Cost:
    """Return the cost of some iterations in one session."""
    total = Cost.free(nodes)
    if not count:
        return total
    paid, least = minima.cost_of_paid(nodes, shape), minima.cost(nodes, shape, own=True)
    marks = minima.cost_of_marks(nodes, shape)
    parents = marks.then(exchange.cost_of_keeping(nodes, shape))
    moved = exchange.cost(nodes, shape)
    if not lag:
        for _ in range(count):
            total = total.then(paid).then(least).then(parents).then(moved)
        return total
    total = paid.then(least.beside(moved))
    for _ in range(count - 1):
        total = total.then(paid).then(least.beside(parents.then(moved)))
    return total.then(parents)
