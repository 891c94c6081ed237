"""From four nodes to the three that are left when one is lost: each node by itself, no message.

The lost node's component is added to that of the first one left; the others stay as they are, and
are numbered by the position of their node among those left.

::

    y_first = x_first + x_lost          node i of those left lacks y_i, as with three nodes

From then on nobody vouches for anybody: three nodes trust each other to follow the protocol.
"""

from __future__ import annotations

from typing import TypeVar

from tacit.mpc.shares import Share

S = TypeVar("S", bound=Share)


def left_without(nodes: int, lost: int | None) -> tuple[int, ...]:
    """The numbers of the nodes that are left, in their order.

    >>> left_without(4, 1), left_without(4, None)
    ((0, 2, 3), (0, 1, 2, 3))
    """
    return tuple(node for node in range(nodes) if node != lost)


def share_without(x: S, *, me: int, lost: int) -> S:
    """A node's share among the nodes that are left.

    >>> from tacit.mpc.local import deal_integers, reveal
    >>> x = deal_integers([7], nodes=4)
    >>> reveal([share_without(x[me], me=me, lost=1) for me in (0, 2, 3)])
    array([7])
    """
    left = left_without(len(x.parts) + 1, lost)
    parts = {position: x.parts[node] for position, node in enumerate(left) if node != me}
    if 0 in parts:
        parts[0] = x.plus(parts[0], x.parts[lost])
    return type(x)(parts)
