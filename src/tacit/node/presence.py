"""Find out whether a peer can be reached, before two of three nodes go on without its vote."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tacit.node.links import PeerLine

ABSENT_SECONDS = 0.15
"""A peer that does not answer for so long is out of reach: an opening at the deadline must not wait
for a node that hangs."""
REMEMBERED_SECONDS = 1.0
"""So long a peer that was out of reach counts as such without being asked again."""


@dataclass(slots=True)
class _Question:
    line: PeerLine
    begun: float
    answer: asyncio.Task[bool]


class PeerPresence:
    """Asks peers whether they are there, over a node's own links."""

    def __init__(self, lines: Callable[[], Mapping[int, PeerLine]], /) -> None:
        self._lines = lines
        self._asked: dict[int, _Question] = {}

    def ask(self, peer: int, /) -> asyncio.Task[bool] | None:
        """Begin to find out whether a peer is there; None if there is no link to it."""
        line, now = self._lines().get(peer), asyncio.get_running_loop().time()
        if line is None:
            return None
        asked = self._asked.get(peer)
        # An answer says nothing of the time since. That there was none holds for a moment, so that
        # the steps of one opening do not wait for the same node one after the other.
        recent = asked is not None and asked.line is line and asked.begun + REMEMBERED_SECONDS > now
        if asked is not None and recent and not (asked.answer.done() and asked.answer.result()):
            return asked.answer
        answer = asyncio.ensure_future(line.answers(timeout=ABSENT_SECONDS))
        self._asked[peer] = _Question(line, now, answer)
        return answer
