"""The account of a run, before its plan is opened: everybody's step, and what is told of it.

Steps come from the weights as they were stated, before any factor, and from the plan in shares.
What a participant is told of itself, the saved share, the factor of this run and its balance after
it, is shared afresh: then the components that are sealed to it are uniform but for their sum. What
all are told, the sum of the saved shares and the spread of the balances, is opened to the nodes,
and nothing else is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.equity import after_run, spread
from tacit.mpc.equity.after_run import steps_after
from tacit.mpc.equity.book import RunEntry, StepBook
from tacit.mpc.equity.rule import EquityRule
from tacit.mpc.equity.shape import EquityShape
from tacit.mpc.equity.spread import balance_spread
from tacit.mpc.protocols import opening, pairwise
from tacit.mpc.protocols.opening import open_to_nodes
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, held_by, public_share

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
    """To all the largest balance minus the least."""

    @property
    def numbers(self) -> int:
        """How many numbers each participant is told of itself."""
        return 3 if self.balance else 2 if self.level else 0

    @property
    def opened(self) -> int:
        """How many numbers all are told."""
        return int(self.mean) + int(self.spread)


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
    """The entry with its steps and with what is told; `run` has its number, attempt and names.

    The names and the factors are those of `shape.active`, in that order.
    """
    after = await steps_after(session, weights, reference, plan, shape, label="account")
    entry = replace(run, steps=after.steps)
    ahead = book.prepare(entry).count(run.number, run.attempt)
    balances = ahead.balances(run.participants, rule)
    told = await _told(session, [after.saved, factors, balances][: telling.numbers])
    return replace(entry, told=told, opened=await _opened(session, after.saved, balances, telling))


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


async def _opened(
    session: Session, saved: ArithmeticShare, balances: ArithmeticShare, telling: Telling
) -> tuple[tuple[str, int], ...]:
    named = []
    if telling.mean:
        named.append((MEAN, saved.map(lambda part: part.sum(keepdims=True, dtype=part.dtype))))
    if telling.spread:
        named.append((SPREAD, await balance_spread(session, balances, label="account.spread")))
    made = []
    for name, share in named:
        value = await open_to_nodes(session, share)
        made.append((name, int(value.view(np.int64)[0])))
    return tuple(made)


def cost(nodes: int, shape: EquityShape, telling: Telling, *, secret: bool = True) -> Cost:
    """The cost of an account."""
    count = len(shape.active)
    total = after_run.cost(nodes, shape, secret=secret)
    if telling.numbers:
        total = total.then(pairwise.cost(nodes, count * telling.numbers))
    if telling.spread:
        total = total.then(spread.cost(nodes, count))
    for _ in range(telling.opened):
        total = total.then(opening.cost_to_nodes(nodes, 1))
    return total


def empty_book(me: int, nodes: int, founders: Sequence[str], /) -> StepBook:
    """The book of a series before its first run."""
    return StepBook(held_by(me, nodes), tuple(founders))
