"""Do the nodes hold the same data? Equality by comparing hashes.

They compare an HMAC under a key that only its holders have, since a plain hash of a small secret
could be guessed [rfc2104]. 1 round; each node sends each other 32 bytes per component that both
hold. The nodes learn whether it is the same, and abort with the name of the one that differs.
"""

from __future__ import annotations

import hmac

import numpy as np

from tacit.errors import DifferentSharesError
from tacit.mpc.cost import Cost
from tacit.mpc.letters import HASH_BYTES, Letter
from tacit.mpc.session import Session
from tacit.mpc.shares import Share

_BYTE = np.dtype(np.uint8)


def _letters(nodes: int) -> list[Letter]:
    """Each node's own word to each other: nobody vouches for it."""
    size = (HASH_BYTES * (nodes - 2),)
    return [
        Letter((sender,), to, size, _BYTE)
        for sender in range(nodes)
        for to in range(nodes)
        if sender != to
    ]


def cost(nodes: int) -> Cost:
    """The cost of the comparison."""
    return Cost.of(nodes, _letters(nodes))


async def check_same_components(session: Session, x: Share, *, label: str) -> None:
    """Abort unless all holders of each component hold the same.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> x = deal_integers([1, 2])
    >>> run_parties(lambda s: check_same_components(s, x[s.me], label="same")).rounds
    1
    """
    hashes = {}
    for component, part in sorted(x.parts.items()):
        key = session.words(f"{label}.key", component, 4).tobytes()
        hashes[component] = hmac.digest(key, np.ascontiguousarray(part).tobytes(), "sha256")
    letters = _letters(session.nodes)

    def common(peer: int) -> bytes:
        return b"".join(digest for component, digest in hashes.items() if component != peer)

    contents = {
        number: np.frombuffer(common(letter.to), dtype=np.uint8)
        for number, letter in enumerate(letters)
        if letter.senders == (session.me,)
    }
    different = []
    for number, theirs in (await session.exchange(letters, contents)).items():
        (peer,) = letters[number].senders
        if not hmac.compare_digest(theirs.tobytes(), common(peer)):
            different.append(session.name_of(peer))
    if different:
        what = "a common component differs from ours; nothing was computed"
        raise DifferentSharesError(" and ".join(different), what)
