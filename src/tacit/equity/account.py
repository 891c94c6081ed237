"""The account of a run, before its plan is opened: everybody's step, and what is told of it.

Steps come from the weights as they were stated, before any factor, and from the plan in shares.
What a participant is told of itself, the saved share, the factor of this run and its balance after
it, is shared afresh: then the components that are sealed to it are uniform but for their sum. What
all are told, the sum of the saved shares and the spread of all balances, stays shares in the
entry. `open_for_all` opens it to the nodes, after all have counted the run: of a run that never
counts nothing is told.

The spread is the largest balance minus the least, as one share. Balances and their negatives are
two groups of one minimum (`protocols/minimum`), told apart by their index where they are equal.

Learns   nobody anything before `open_for_all`; then the nodes the agreed numbers
Rounds   those of `steps_after`, 1 to share afresh, those of a minimum for the spread; opening 1
Bytes    see docs/protocols/equity.md
Paper    as `minimum`, `pairwise` and `opening`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.equity import protocol
from tacit.equity.book import RunEntry, StepBook
from tacit.equity.protocol import steps_after
from tacit.equity.rule import BALANCE_BITS, EquityRule, EquityShape
from tacit.equity.terms import Telling
from tacit.mpc.cost import Cost
from tacit.mpc.letters import WORD
from tacit.mpc.protocols import minimum, opening, pairwise
from tacit.mpc.protocols.minimum import find_least, with_ties
from tacit.mpc.protocols.opening import open_to_nodes
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, as_columns, concatenate, held_by, public_share


def _tie_bits(count: int) -> int:
    return (count - 1).bit_length()


async def balance_spread(
    session: Session, balances: ArithmeticShare, *, label: str
) -> ArithmeticShare:
    """Shares of the largest balance minus the least.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> b = deal_integers([5, -7, 2])
    >>> reveal(run_parties(lambda s: balance_spread(s, b[s.me], label="s")).results)
    array([12])
    """
    count = len(balances)
    ties = _tie_bits(count)
    found = await find_least(
        session,
        with_ties(
            concatenate([balances, balances.map(np.negative)]),
            np.tile(np.arange(count), 2),
            tie_bits=ties,
        ),
        (count, count),
        bits=BALANCE_BITS + ties,
        label=label,
    )
    ends = found.lines[:, 1].map(np.negative)
    return ends.map(lambda part: part.sum(keepdims=True, dtype=part.dtype))


def cost_of_spread(nodes: int, count: int) -> Cost:
    bits = BALANCE_BITS + _tie_bits(count)
    return minimum.cost(nodes, (count, count), bits=bits, dtype=WORD, columns=2)


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
    # Counted in a copy only: the book itself changes when all nodes have prepared this entry.
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
    # A product with 1 gives fresh components, uniform but for their sum: those of balances are sums
    # over earlier runs, and sealed to an owner they would tell more than the number.
    lines = as_columns(numbers)
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
    total = protocol.cost_after(nodes, shape, secret=secret)
    if telling.numbers:
        total = total.then(pairwise.cost(nodes, count * telling.numbers))
    if telling.spread:
        total = total.then(cost_of_spread(nodes, members))
    return total


def cost_for_all(nodes: int, telling: Telling) -> Cost:
    """The cost of opening what all are told, if anything is."""
    return (
        opening.cost_to_nodes(nodes, len(telling.opened)) if telling.opened else Cost.of(nodes, [])
    )


def empty_book(me: int, nodes: int, founders: Sequence[str], /) -> StepBook:
    """The book of a series before its first run."""
    return StepBook(held_by(me, nodes), tuple(founders))
