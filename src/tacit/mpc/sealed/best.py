"""The best plan so far, kept beside the parent: the second slot, chosen without noise.

The sign of (best value - parent's value) is a kept share; turned into a number it selects, in
shares, which of the two plans is best from now on. 2 rounds after the comparison; a bit, and one
word per row and one more. Nobody learns anything, not even whether it was an improvement.
"""

from __future__ import annotations

from tacit.mpc.cost import Cost
from tacit.mpc.linear import add, subtract
from tacit.mpc.protocols import b2a, less_than, multiply
from tacit.mpc.sealed.moves import Table
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


async def keep_better(
    session: Session,
    best: ArithmeticShare,
    plan: ArithmeticShare,
    better: BitShare,
    *,
    label: str,
) -> ArithmeticShare:
    """Shares of `plan` where `better` is 1, of `best` where it is 0.

    >>> import numpy as np
    >>> from tacit.mpc.local import deal_integers, reveal, run_trio
    >>> from tacit.mpc.shares import deal_bits
    >>> old, new = deal_integers([7, 0, 1]), deal_integers([9, 1, 0])
    >>> yes = deal_bits(np.array([1], dtype=np.uint8))
    >>> run = run_trio(lambda s: keep_better(s, old[s.me], new[s.me], yes[s.me], label="b"))
    >>> reveal(run.results)
    array([9, 1, 0])
    """
    word = best.mine.dtype
    bit = await b2a.bits_to_arithmetic(session, better, label=f"{label}.bit")
    chosen = ArithmeticShare(bit.mine.astype(word), bit.next.astype(word))
    gain = await multiply.multiply(session, chosen, subtract(plan, best), label=f"{label}.gain")
    return add(best, gain)


async def settle(
    session: Session, best: ArithmeticShare, plan: ArithmeticShare, about: Table, *, label: str
) -> tuple[ArithmeticShare, BitShare]:
    """Compare a plan with the best so far and keep the better; with the shared sign.

    >>> from tacit.mpc.local import deal_integers, reveal, run_trio
    >>> old, new = deal_integers([7, 0, 1]), deal_integers([9, 1, 0])
    >>> about = Table("assignment", rows=2, columns=2, key_bits=9, total_bits=9)
    >>> run = run_trio(lambda s: settle(s, old[s.me], new[s.me], about, label="end"))
    >>> reveal([best for best, _ in run.results])
    array([9, 1, 0])
    """
    less = await less_than.less_than(
        session, best[:1], plan[:1], bits=about.total_bits, label=f"{label}.less"
    )
    return await keep_better(session, best, plan, less, label=label), less


def cost(about: Table) -> Cost:
    """What keeping the better plan costs after the comparison.

    >>> cost(Table("tour", rows=5, columns=5, key_bits=20, total_bits=17)).rounds
    2
    """
    return b2a.cost(1).then(multiply.cost(about.rows + 1, itemsize=about.word.itemsize))


def cost_to_settle(about: Table) -> Cost:
    """What the last comparison and its choice cost.

    >>> cost_to_settle(Table("tour", rows=5, columns=5, key_bits=20, total_bits=17)).rounds
    7
    """
    return less_than.cost(0, 1, bits=about.total_bits).then(cost(about))
