"""What each node adds to the seed of a search: committed to first, opened when all is frozen.

A node draws its contribution once per objective and never again. Before the inputs are frozen its
peers see a hash of it; a contribution has 256 random bits, so nobody finds it by trying. What the
nodes have drawn together is a hash of all contributions, which none of them determines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

CONTRIBUTION_BYTES = 32


def commitment_to(contribution: bytes, /, *, agreement: bytes, objective: int, node: int) -> bytes:
    """The hash that binds a node to its contribution; `agreement` is the agreement's hash."""
    about = f"tacit contribution/1\n{objective}\n{node}\n".encode()
    return hashlib.sha256(about + agreement + contribution).digest()


def joint_contribution(contributions: Sequence[bytes], /) -> str:
    """What the nodes drew together, from the contributions in the order of the nodes."""
    return hashlib.sha256(b"tacit contributions/1\n" + b"".join(contributions)).hexdigest()
