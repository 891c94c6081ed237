"""Do the nodes hold the same data? Equality by comparing hashes.

They compare an HMAC under a key that only they have, since a plain hash of a small secret could be
guessed [rfc2104]. 1 round, 32 bytes to each. The nodes learn whether it is the same, and abort with
the name of the one that differs.
"""

from __future__ import annotations

import hmac

import numpy as np

from tacit.errors import DifferentSharesError
from tacit.mpc.cost import Cost
from tacit.mpc.session import Session
from tacit.mpc.shares import Share


def cost() -> Cost:
    """The cost of either comparison."""
    return Cost.of(1, [32, 32], [32, 32], [32, 32])


async def check_same_components(session: Session, x: Share, *, label: str) -> None:
    """Abort unless the two holders of each component hold the same.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> x = deal_integers([1, 2])
    >>> run_parties(lambda s: check_same_components(s, x[s.me], label="same")).rounds
    1
    """
    ours = {}
    # Component me+1 is held with the next node, component me with the previous one.
    for peer, component in ((session.next, session.next), (session.previous, session.me)):
        key = session.words(f"{label}.key", component, 4).tobytes()
        data = np.ascontiguousarray(x.component(component, me=session.me)).tobytes()
        ours[peer] = hmac.digest(key, data, "sha256")
    for peer, digest in ours.items():
        await session.send(peer, np.frombuffer(digest, dtype=np.uint8))
    different = []
    for peer, digest in ours.items():
        theirs = await session.receive(peer, 32, np.uint8)
        if not hmac.compare_digest(theirs.tobytes(), digest):
            different.append(session.name_of(peer))
    if different:
        what = "a common component differs from ours; nothing was computed"
        raise DifferentSharesError(" and ".join(different), what)
