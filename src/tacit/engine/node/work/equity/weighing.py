"""When inputs are frozen: all nodes have counted the same runs, and weights get their factors.

Before anything is frozen the nodes tell each other the heads of their books. A node that died after
it had prepared the last run, and before it heard that all had, counts it now: one that has counted
it knows that all had prepared it. Then the number of the run is used, on the disk: from then on no
earlier run is counted any more.

The weights times factors are computed once. If a node lost them, all forget theirs first, so that
never two nodes have those of different computations: whoever has new ones heard from all others
that they had none. 2 rounds of hashes, and those of the factors (docs/protocols/equity.md).
"""

from __future__ import annotations

import hashlib

from tacit.engine.agreement.equity_check import equity_shape, owners_by_name
from tacit.engine.agreement.terms import Agreement
from tacit.engine.node.state.agreement_state import AgreementState
from tacit.engine.node.state.equity.kept_book import KeptBook
from tacit.engine.node.state.policy import refuse
from tacit.equity import StepBook, factors, multiplied
from tacit.mpc import Session

_HASH = 32


async def use_number(session: Session, agreement: Agreement, book: KeptBook, /) -> None:
    """Make sure that all nodes have counted what the run follows, and use its number. 1 round."""
    assert agreement.equity is not None
    assert agreement.series is not None
    expected = bytes.fromhex(agreement.equity.head)
    ours = bytes.fromhex(book.book.head) + bytes.fromhex(book.book.pending or "00" * _HASH)
    said = {session.me: ours, **await session.tell(ours)}
    counted = any(each[:_HASH] == expected for each in said.values())
    for node, each in said.items():
        if each[:_HASH] != expected and not (counted and each[_HASH:] == expected):
            raise refuse(
                f"{session.name_of(node)} has counted other runs than those that this one follows; "
                "draft it again, or find out whose disk was set back"
            )
    entry = book.book.prepared
    if ours[:_HASH] != expected and entry is not None:
        book.keep(book.book.count(entry.number, entry.attempt))
    book.freeze(agreement.series.number)


async def weigh(
    session: Session, agreement_state: AgreementState, book: StepBook, /, *, attempt: str
) -> None:
    """Have shares of the weights times factors, unless all nodes have them."""
    inputs, agreement = agreement_state.inputs, agreement_state.agreement
    assert agreement.equity is not None
    assert inputs.weighted is not None
    kept = inputs.weighted.attempt
    ours = hashlib.sha256(kept.encode()).digest() if kept else bytes(_HASH)
    if kept and all(each == ours for each in (await session.tell(ours)).values()):
        return
    if not kept:
        await session.tell(ours)
    inputs.weighted.forget()
    shape, rule = equity_shape(agreement), agreement.equity.terms.rule
    names = owners_by_name(agreement, shape)
    made = await factors(
        session,
        book.balances(names, rule),
        rule,
        newcomers=[book.is_newcomer(name) for name in names],
        label="equity.factors",
    )
    weights = await multiplied(
        session, inputs.weights(0), made, shape.places.tolist(), label="equity.weights"
    )
    inputs.weighted.keep(attempt, made, weights)
