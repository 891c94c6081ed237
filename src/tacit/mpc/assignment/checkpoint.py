"""Open whether all plans are proved: one bit, after an iteration where that was agreed.

It is 1 if the plans of all weightings are proved. The bits of the proofs are multiplied,
pair by pair, and the product is opened to coordinator and nodes in one round. They learn that bit
and nothing else: each letter is uniform, or follows from the bit and from what its receiver holds.
The nodes would see it anyway, since nothing is asked for after a 1; so they can hold to it.

ceil(log2 k) + 1 rounds for k weightings.
"""

from __future__ import annotations

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import bit_products, opening
from tacit.mpc.protocols.bit_products import both
from tacit.mpc.session import Session
from tacit.mpc.shares import BitShare, concatenate


async def tell_finished(session: Session, proved: BitShare, /) -> bool:
    """A node's side: whether all of these bits are 1.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits
    >>> proved = deal_bits(np.array([1, 1, 0], dtype=np.uint8))
    >>> run = run_parties(lambda s: tell_finished(s, proved[s.me]), hear_finished)
    >>> run.results, run.coordinator
    ([False, False, False], False)
    """
    level = 0
    while (count := len(proved.any)) > 1:
        half = count // 2
        pairs = await both(
            session, proved[:half], proved[half : 2 * half], label=f"finished.{level}"
        )
        proved, level = concatenate([pairs, proved[2 * half :]]), level + 1
    # Components may have more bits than the one that counts.
    told = await opening.disclose(session, proved.map(lambda part: part & np.uint8(1)), told=True)
    assert told is not None
    return bool(told[0])


async def hear_finished(session: Session, /) -> bool:
    """The coordinator's side."""
    return bool((await opening.receive_opened(session, 1, dtype=np.uint8, xor=True))[0] & 1)


def cost(nodes: int, weightings: int) -> Cost:
    """The cost of one checkpoint."""
    total = Cost.free(nodes)
    while weightings > 1:
        total = total.then(bit_products.cost(nodes, weightings // 2))
        weightings -= weightings // 2
    return total.then(opening.cost_to_coordinator(nodes, 1, itemsize=1, told=True))
