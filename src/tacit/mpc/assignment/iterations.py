"""Iterations on shares: a Bellman-Ford step of the prices, then an exchange along cycles.

::

    v_j  = least over columns k of  v_k + C_ij - C_ik,  row i being matched to k
    p(j) = the column from which v_j comes, if v_j fell; else the parent of before
    exchange along all cycles of parents, cut

With lag 0 the cycles of a step are exchanged before the next step. With lag 1 everything that
follows a minimum runs beside the next one, in about half the rounds: cycles are exchanged one step
later, and the edges that the step in between has set are cut, too.

The rounds of a minimum, of the way back of its marks, of the exchange and of a product; with lag 1
the larger of the minimum and the rest. Nobody learns anything: orders inside a minimum are those of
uniform rankings, all else stays shares, and how many iterations there are is public.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.mpc.assignment import exchange, minima
from tacit.mpc.assignment.exchange import Exchanged, keep_parents
from tacit.mpc.assignment.minima import LineMinima, line_minima
from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.assignment.state import AssignmentState
from tacit.mpc.assignment.ties import FIRST_PRICES, Ties
from tacit.mpc.cost import Cost
from tacit.mpc.letters import Letter
from tacit.mpc.protocols import pairwise
from tacit.mpc.ring import multiplied
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


def transposed(table: ArithmeticShare, /) -> ArithmeticShare:
    """Return each weighting's matrix with rows and columns exchanged."""
    return table.map(lambda part: np.ascontiguousarray(part.swapaxes(-1, -2)))


async def first_state(
    session: Session,
    matched: BitShare,
    matching: ArithmeticShare,
    costs: ArithmeticShare,
    shape: AssignmentShape,
    ties: Ties,
) -> AssignmentState:
    """Return the state before the first iteration: prices are the least costs of the columns.

    `matched` and `matching` are columns x rows of any plan, `costs` rows x columns.
    """
    drawn = ties.drawn(FIRST_PRICES, shape.size)
    least = await line_minima(session, transposed(costs), drawn, shape, label="first")
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

    >>> from tacit.mpc.assignment.start import public_matching
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
    run = _Run(session, costs, shape, ties)
    await run.begin(state)
    for _ in range(iterations):
        await (run.iterate_beside() if lag else run.iterate())
    return await run.end()


class _Run:
    """Iterations of one session, from one kept state to the next."""

    def __init__(
        self, session: Session, costs: ArithmeticShare, shape: AssignmentShape, ties: Ties
    ) -> None:
        self._session, self._costs, self._shape, self._ties = session, costs, shape, ties
        self._lanes = session.substreams(2)

    async def begin(self, state: AssignmentState) -> None:
        self._state = state
        self._between = await table(
            self._session, state.matching, self._costs, label=f"{state.step}.begin"
        )
        self._last: LineMinima | None = None
        """With lag 1: the minimum of the last iteration, whose parents are not known yet."""
        self._stays: BitShare | None = None
        """Which columns kept their rows in the exchange beside that minimum."""

    async def iterate(self) -> None:
        """Lag 0: a minimum, then the exchange along its cycles."""
        state, name = self._state, f"{self._state.step + 1}"
        least = await self._minimum(self._session)
        marks = await least.marks(self._session, label=f"{name}.marks")
        parents = await keep_parents(self._session, marks, state.parents, label=f"{name}.keep")
        self._take(least, await self._exchange(self._session, parents, name))

    async def iterate_beside(self) -> None:
        """Lag 1: a minimum, beside the exchange along the cycles of the minimum before."""
        # Both lanes read the state of before; it changes only once both are through.
        least, exchanged = await self._session.in_parallel(
            self._minimum, self._follow, substreams=self._lanes
        )
        assert isinstance(least, LineMinima)
        assert isinstance(exchanged, tuple)
        self._take(least, exchanged)
        self._last, self._stays = least, exchanged[0].stays

    async def end(self) -> AssignmentState:
        """Bring the parents of the last minimum into the state, so that it can be kept."""
        if self._last is None:
            return self._state
        name = f"{self._state.step}.end"
        return replace(self._state, parents=await self._parents(self._session, name))

    async def _minimum(self, lane: Session) -> LineMinima:
        state, number = self._state, self._state.step + 1
        candidates = self._between + state.prices[:, None, :]
        ties = self._ties.own_first(number, self._shape.size)
        return await line_minima(lane, candidates, ties, self._shape, label=f"{number}")

    async def _follow(self, lane: Session) -> tuple[Exchanged, ArithmeticShare]:
        name = f"{self._state.step + 1}.beside"
        return await self._exchange(lane, await self._parents(lane, name), name)

    async def _parents(self, lane: Session, name: str) -> BitShare:
        if self._last is None:
            return self._state.parents
        marks = await self._last.marks(lane, label=f"{name}.marks")
        return await keep_parents(
            lane, marks, self._state.parents, self._stays, label=f"{name}.keep"
        )

    async def _exchange(
        self, lane: Session, parents: BitShare, name: str
    ) -> tuple[Exchanged, ArithmeticShare]:
        matched = self._state.matched
        made = await exchange.exchange(lane, parents, matched, self._shape, label=name)
        return made, await table(lane, made.matching, self._costs, label=f"{name}.table")

    def _take(self, least: LineMinima, exchanged: tuple[Exchanged, ArithmeticShare]) -> None:
        made, self._between = exchanged
        self._state = AssignmentState(
            made.matched, made.matching, least.values, made.parents, self._state.step + 1
        )


async def table(
    session: Session, matching: ArithmeticShare, costs: ArithmeticShare, *, label: str
) -> ArithmeticShare:
    """Return C_ij - C_ik for columns j and k, row i being matched to k."""
    return (await table_and_own(session, matching, costs, label=label))[0]


async def table_and_own(
    session: Session, matching: ArithmeticShare, costs: ArithmeticShare, *, label: str
) -> tuple[ArithmeticShare, ArithmeticShare]:
    """Return that table, and C_ik of each column k."""
    rows = await pairwise.product(session, matching, costs, multiplied, label=label)
    own = rows.map(lambda part: np.ascontiguousarray(np.diagonal(part, axis1=1, axis2=2)))
    return transposed(rows - own[:, :, None]), own


def cost_of_table(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of a table of differences."""
    return pairwise.cost(nodes, shape.weightings * shape.size**2, itemsize=shape.word.itemsize)


def cost_of_start(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of the first prices."""
    return minima.cost(nodes, shape, shape.size)


def cost(nodes: int, shape: AssignmentShape, *, iterations: int, lag: int = 0) -> Cost:
    """Return the cost of some iterations in one session."""
    if not iterations:
        return Cost.free(nodes)
    least = minima.cost(nodes, shape, shape.size)
    marks = minima.cost_of_marks(nodes, shape, shape.size)
    moved = exchange.cost(nodes, shape).then(cost_of_table(nodes, shape))
    total = cost_of_table(nodes, shape)
    if not lag:
        keep = exchange.cost_of_keeping(nodes, shape, cuts=False)
        for _ in range(iterations):
            total = total.then(least).then(marks).then(keep).then(moved)
        return total
    keep = exchange.cost_of_keeping(nodes, shape, cuts=True)
    total = total.then(least.beside(moved))
    for _ in range(iterations - 1):
        total = total.then(least.beside(marks.then(keep).then(moved)))
    return total.then(marks).then(keep)


def first_letters(nodes: int, shape: AssignmentShape) -> list[Letter]:
    """Return the letters of the first round, with which greetings go."""
    return pairwise.reshare_letters(nodes, shape.square, shape.word)
