"""What a cluster of three or of four nodes promises, in words for everybody."""

from __future__ import annotations

from tacit.mpc import CLUSTER_SIZES

COUNTS = dict(zip(CLUSTER_SIZES, ("three", "four"), strict=True))
"""How many nodes there may be, in words."""

_KEPT = {
    3: (
        "Three nodes: one that is curious learns nothing. "
        "All three must follow the protocol and stay up; nobody notices if one computes wrongly."
    ),
    4: (
        "Four nodes: one may do whatever it likes and learns nothing. What it falsifies is noticed "
        "before anything depends on it, and the answer is right or there is none."
    ),
}
_LOST = {
    "wait": "If a node is away, the search waits for it.",
    "three": (
        "If all others say that a node is away, they go on without it, once; what three computed "
        "is marked, since nobody checked it."
    ),
}
BROKEN = "Two nodes together, if they break their promise: everything."


def promise_of(nodes: int, /) -> str:
    """What holds as long as at most one node breaks its promise.

    >>> promise_of(4).partition(":")[0]
    'Four nodes'
    """
    return _KEPT[nodes]


def loss_words(nodes: int, on_loss: str, /) -> str:
    """What happens if a node is away."""
    return _LOST[on_loss if nodes > min(CLUSTER_SIZES) else "wait"]
