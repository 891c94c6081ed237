"""Shares of a run's weights times their owners' factors: what is searched where equity counts.

All nodes have those of one computation, whose name is part of what they must agree on before they
compute with them. They are under the agreement's key, and go with it.
"""

from __future__ import annotations

import msgspec

from tacit.engine.node.state.policy import refuse
from tacit.engine.node.state.sealed_progress import StoredShare
from tacit.engine.node.state.store import Store
from tacit.engine.node.state.stored import Stored
from tacit.mpc import ArithmeticShare


class StoredWeighted(Stored, frozen=True, tag="weighted/1"):
    """As a file has it."""

    attempt: str
    factors: StoredShare
    weights: StoredShare


_READ = msgspec.msgpack.Decoder(StoredWeighted)


class Weighted:
    """The weighted inputs of one agreement at one node."""

    def __init__(self, store: Store, /) -> None:
        self._store = store
        kept = self._load()
        self.attempt = "" if kept is None else kept.attempt
        """The computation that they come from; empty while there are none."""
        self._weights: ArithmeticShare | None = None

    def _load(self) -> StoredWeighted | None:
        data = self._store.load_weighted()
        return _READ.decode(data) if data else None

    def _kept(self) -> StoredWeighted:
        kept = self._load()
        if kept is None:
            raise refuse("the weights have no factors yet; have the inputs prepared first")
        return kept

    def forget(self) -> None:
        """Have none, on the disk, before others are computed."""
        if self.attempt:
            self._store.save_weighted(b"")
        self.attempt, self._weights = "", None

    def keep(self, attempt: str, factors: ArithmeticShare, weights: ArithmeticShare, /) -> None:
        """Keep what a computation gave."""
        stored = StoredWeighted(attempt, StoredShare.of(factors), StoredShare.of(weights))
        self._store.save_weighted(msgspec.msgpack.encode(stored))
        self.attempt, self._weights = attempt, weights

    def weights(self) -> ArithmeticShare:
        """Shares of what is searched; may be called in any thread."""
        kept = self._weights
        if kept is None:
            self._weights = kept = self._kept().weights.read()
        return kept

    def factors(self) -> ArithmeticShare:
        """Shares of the factor of each participant that has rows."""
        return self._kept().factors.read()

    def drop(self) -> None:
        """Keep no shares in memory; they are read again when they are needed."""
        self._weights = None
