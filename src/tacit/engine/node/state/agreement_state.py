"""What a node holds for one agreement: inputs, counters of evaluations, sealed searches, epochs.

Everything here is rebuilt from the agreement's folder when the node starts.
"""

from __future__ import annotations

import time

from tacit.engine.agreement.sealed import sealed_terms
from tacit.engine.identity.keys import Keys
from tacit.engine.node.state.counters import Counters
from tacit.engine.node.state.epochs import Epochs
from tacit.engine.node.state.inputs import Inputs
from tacit.engine.node.state.policy import check_still_valid, refuse
from tacit.engine.node.state.sealed_progress import SealedProgress
from tacit.engine.node.state.store import Store
from tacit.engine.records.events import EpochBegun, InputsFrozen
from tacit.engine.wire.attempt import Attempt


class AgreementState:
    """One agreement at one node."""

    def __init__(self, store: Store, *, node: int, keys: Keys) -> None:
        self.store, self.agreement, self.hash = store, store.agreement, store.hash
        self.node = node
        self.inputs = Inputs(store, node=node, keys=keys)
        self.counters = Counters(store, self.inputs)
        count = len(sealed_terms(self.agreement).weightings) if self.agreement.sealed else 0
        self.searches = {search: SealedProgress(store, search) for search in range(count)}
        self.epochs = Epochs(store, self.counters, self.searches)
        for event in store.log.events:
            match event:
                case EpochBegun():
                    self.epochs.replay(event)
                case InputsFrozen():
                    self.inputs.replay(event)
                case _:
                    self.counters.replay(event)
        self.counters.use_up_lost()

    def sealed_states(self) -> dict[int, list[Attempt]]:
        """Per sealed search, the attempts whose state is kept here."""
        return {search: progress.names for search, progress in self.searches.items()}

    def search(self, number: int) -> SealedProgress:
        """A sealed search that may go on, or be opened."""
        check_still_valid(self.agreement, time.time())
        if number not in self.searches:
            raise refuse(f"there is no sealed search {number} in this agreement")
        for objective in self.agreement.confidential():
            self.inputs.check_frozen(objective)
        return self.searches[number]
