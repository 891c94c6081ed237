"""The account of a run, before its plan is opened: everybody's step, and what is told of it.

Steps come from the weights as they were stated, before any factor, and from the plan in shares.
What a participant is told of itself, the saved share, the factor of this run and its balance after
it, is shared afresh: then the components that are sealed to it are uniform but for their sum. What
all are told, the sum of the saved shares and the spread of all balances, stays shares in the
entry. `open_for_all` opens it to the nodes, after all have counted the run: of a run that never
counts nothing is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.equity import after_run, spread
from tacit.equity.after_run import steps_after
from tacit.equity.book import RunEntry, StepBook
from tacit.equity.rule import EquityRule
from tacit.equity.shape import EquityShape
from tacit.equity.spread import balance_spread
from tacit.mpc.cost import Cost
from tacit.mpc.protocols import opening, pairwise
from tacit.mpc.protocols.opening import open_to_nodes
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, concatenate, held_by, public_share

MEAN, SPREAD = "saved", "spread"
"""What the numbers are called that all are told."""


@dataclass(frozen=True, slots=True)
class Telling:
    """What is told of one run."""

    level: bool = False
    """To each what it saved, and its factor in this run."""
    balance: bool = False
    """To each its balance after this run, too."""
    mean: bool = False
    """To all the sum of the saved shares, in 128ths."""
    spread: bool = False
    """To all the largest balance minus the least, of all in the book: who takes part in a run
    does not choose whose balances are compared."""

    @property
    def numbers(self) -> int:
        """How many numbers each participant is told of itself."""
        return 3 if self.balance else 2 if self.level else 0

    @property
    def opened(self) -> tuple[str, ...]:
        """The names of the numbers that all are told."""
        return (MEAN,) * self.mean + (SPREAD,) * self.spread


async def account_of(
    session: Session,
    run: RunEntry,
    weights: ArithmeticShare,
    reference: NDArray[np.integer[Any]],
    plan: NDArray[np.integer[Any]] | ArithmeticShare,
    factors: ArithmeticShare,
    shape: EquityShape,
    /,
    *,
    book: StepBook,
    rule: EquityRule,
    telling: Telling,
) -> RunEntry:
    """The entry with its steps and with what is told; `run` has all of it that is public.

    The names and the factors are those of `shape.active`, in that order. Nothing is opened.
    """
    after = await steps_after(session, weights, reference, plan, shape, label="account")
    entry = replace(run, steps=after.steps)
    ahead = book.prepare(entry).count(run.number, run.attempt)
    balances = ahead.balances(run.participants, rule)
    told = await _told(session, [after.saved, factors, balances][: telling.numbers])
    for_all = []
    if telling.mean:
        for_all.append(after.saved.map(lambda part: part.sum(keepdims=True, dtype=part.dtype)))
    if telling.spread:
        everybody = ahead.balances(ahead.members, rule)
        for_all.append(await balance_spread(session, everybody, label="account.spread"))
    return replace(entry, told=told, for_all=concatenate(for_all) if for_all else None)


async def _told(session: Session, numbers: Sequence[ArithmeticShare]) -> ArithmeticShare | None:
    if not numbers:
        return None
    lines = ArithmeticShare(
        {c: np.stack([each.parts[c] for each in numbers], axis=1) for c in numbers[0].parts}
    )
    one = public_share(
        np.ones(1, dtype=np.uint64), ArithmeticShare, me=session.me, nodes=session.nodes
    )
    return await pairwise.multiply(session, lines, one, label="account.told")


async def open_for_all(
    session: Session, entry: RunEntry, telling: Telling
) -> tuple[tuple[str, int], ...]:
    """What all are told of a run that all nodes have counted."""
    if entry.for_all is None:
        return ()
    values = (await open_to_nodes(session, entry.for_all)).view(np.int64)
    return tuple(zip(telling.opened, map(int, values), strict=True))


def cost(
    nodes: int, shape: EquityShape, telling: Telling, *, members: int, secret: bool = True
) -> Cost:
    """The cost of an account in a book with so many members."""
    count = len(shape.active)
    total = after_run.cost(nodes, shape, secret=secret)
    if telling.numbers:
        total = total.then(pairwise.cost(nodes, count * telling.numbers))
    if telling.spread:
        total = total.then(spread.cost(nodes, members))
    return total


def cost_for_all(nodes: int, telling: Telling) -> Cost:
    """The cost of opening what all are told, if anything is."""
    return (
        opening.cost_to_nodes(nodes, len(telling.opened)) if telling.opened else Cost.of(nodes, [])
    )


def empty_book(me: int, nodes: int, founders: Sequence[str], /) -> StepBook:
    """The book of a series before its first run."""
    return StepBook(held_by(me, nodes), tuple(founders))
