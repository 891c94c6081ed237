"""The secret start: the items in an order that nobody knows.

With a public start, the final plan and the public moves would decode to the path of selections.
The lines of [worths | ids] are shuffled obliviously; for a tour the columns are brought into the
same order by a second shuffle of the transposed table under the same permutations and fresh
masks. 2 rounds, for a tour 4; the bytes of these shuffles. Nobody learns anything.
"""

from __future__ import annotations

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import shuffle
from tacit.mpc.sealed.moves import Table
from tacit.mpc.sealed.state import SealedState, as_plan
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, public_share


async def secret_start(
    session: Session, worths: ArithmeticShare, about: Table, *, label: str
) -> SealedState:
    """The first parent, from shares of what each item is worth, items x rows.

    >>> from tacit.mpc.local import deal_integers, reveal, run_trio
    >>> worths = deal_integers([[5, 1], [2, 7]])
    >>> about = Table("assignment", rows=2, columns=2, key_bits=9, total_bits=9)
    >>> run = run_trio(lambda s: secret_start(s, worths[s.me], about, label="start"))
    >>> sorted(reveal([state.table for state in run.results]).tolist())
    [[2, 7, 1], [5, 1, 0]]
    """
    word = about.word
    ids = public_share(
        np.arange(about.columns, dtype=word)[:, None], ArithmeticShare, me=session.me
    )
    lines = ArithmeticShare(
        np.concatenate([worths.mine.astype(word), ids.mine], axis=1),
        np.concatenate([worths.next.astype(word), ids.next], axis=1),
    )
    order = shuffle.draw_order(session, about.columns, label=f"{label}.order")
    table = await shuffle.shuffle(session, lines, order, label=f"{label}.lines")
    if about.is_tour:
        across = ArithmeticShare(
            np.ascontiguousarray(table.mine[:, :-1].T), np.ascontiguousarray(table.next[:, :-1].T)
        )
        turned = await shuffle.shuffle(session, across, order, label=f"{label}.columns")
        table = ArithmeticShare(
            np.concatenate([turned.mine.T, table.mine[:, -1:]], axis=1),
            np.concatenate([turned.next.T, table.next[:, -1:]], axis=1),
        )
    return SealedState(table, as_plan(table, about))


def cost(about: Table) -> Cost:
    """What the start costs.

    >>> cost(Table("tour", rows=5, columns=5, key_bits=20, total_bits=17)).rounds
    4
    """
    size = about.word.itemsize
    total = shuffle.cost(about.columns, row_bytes=size * (about.rows + 1))
    if about.is_tour:
        total = total.then(shuffle.cost(about.columns, row_bytes=size * about.columns))
    return total
