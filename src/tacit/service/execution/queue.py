"""Choose the next run: first come, first served, but no operator waits behind all of another's.

Each cluster has so many slots. A free one goes to the operator whose turn is longest ago, and of
its runs to the one that came first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that waits for a slot."""

    run_id: str
    cluster: str
    operator: str


class FairQueue:
    """The waiting and the running, by cluster.

    >>> queue = FairQueue({"main": 1})
    >>> for run, operator in (("a1", "north"), ("a2", "north"), ("b1", "south")):
    ...     queue.add(Waiting(run, "main", operator))
    >>> [each.run_id for each in queue.take()]
    ['a1']
    >>> queue.release("a1")
    >>> [each.run_id for each in queue.take()]
    ['b1']
    """

    def __init__(self, slots: Mapping[str, int], /) -> None:
        self._slots = dict(slots)
        self._waiting: list[Waiting] = []
        self._running: dict[str, str] = {}
        self._served: dict[tuple[str, str], int] = {}
        self._turn = count(1)

    def add(self, waiting: Waiting, /) -> None:
        """Let a run wait, once; one that still has its slot gets the next when it left this one."""
        if all(each.run_id != waiting.run_id for each in self._waiting):
            self._waiting.append(waiting)

    def remove(self, run_id: str, /) -> None:
        """Let a run wait no longer."""
        self._waiting = [each for each in self._waiting if each.run_id != run_id]

    def take(self) -> list[Waiting]:
        """All runs that a slot is free for, in the order in which they get theirs."""
        taken = []
        for cluster, slots in self._slots.items():
            while self.running(cluster) < slots and (chosen := self._next(cluster)) is not None:
                self._waiting.remove(chosen)
                self._running[chosen.run_id] = cluster
                self._served[cluster, chosen.operator] = next(self._turn)
                taken.append(chosen)
        return taken

    def _next(self, cluster: str) -> Waiting | None:
        there = [
            each
            for each in self._waiting
            if each.cluster == cluster and each.run_id not in self._running
        ]
        # `min` takes the first of equals, so that each operator's runs keep their order. An
        # operator who never had a slot comes first.
        return min(
            there, key=lambda each: self._served.get((cluster, each.operator), 0), default=None
        )

    def release(self, run_id: str, /) -> None:
        """A run needs its slot no longer."""
        self._running.pop(run_id, None)

    def running(self, cluster: str, /) -> int:
        """How many slots of a cluster are taken."""
        # A copy, since other threads ask too.
        return sum(each == cluster for each in list(self._running.values()))

    def waiting(self, cluster: str, /) -> int:
        """How many runs wait for a cluster."""
        return sum(each.cluster == cluster for each in self._waiting)
