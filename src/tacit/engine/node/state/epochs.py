"""Epochs of one agreement at a node, and what the nodes tell each other when one begins."""

from __future__ import annotations

from tacit.engine.node.state.counters import Counters
from tacit.engine.node.state.policy import check_epoch
from tacit.engine.node.state.sealed_progress import SealedProgress
from tacit.engine.node.state.store import Store
from tacit.engine.records.events import EpochBegun
from tacit.engine.wire.peer_messages import EpochBegins
from tacit.errors import EngineError


class Epochs:
    """The numbers of epochs, each used once."""

    def __init__(
        self, store: Store, counters: Counters, searches: dict[int, SealedProgress]
    ) -> None:
        self._store, self._counters, self._searches = store, counters, searches
        self.last = -1

    def replay(self, event: EpochBegun) -> None:
        """Remember what the log says."""
        self.last = max(self.last, event.number)

    def begin(self, number: int) -> None:
        """Use up an epoch's number, on the disk: none is ever accepted twice."""
        check_epoch(number, self.last)
        self._store.log.append(EpochBegun(number))
        self._store.log.sync()
        self.last = number

    def tell(self) -> EpochBegins:
        """What is used up here: the last numbers, and searches whose plan is bound."""
        numbers = {k: counter.last() for k, counter in self._counters.by_objective.items()}
        bound = {k: each.opened for k, each in self._searches.items() if each.opened is not None}
        return EpochBegins(numbers, bound)

    async def hear(self, theirs: EpochBegins) -> None:
        """Use up what a peer has used up; searches that are bound here already stay as they are."""
        self._counters.adopt(theirs.numbers)
        for search, attempt in theirs.bound.items():
            if search not in self._searches:
                raise EngineError(f"a peer has opened search {search}, which does not exist")
            await self._searches[search].bind(attempt)
