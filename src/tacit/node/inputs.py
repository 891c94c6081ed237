"""The participants' inputs of one agreement at a node: taken, checked, and frozen for good.

Freezing comes first, then the draw of the seed contribution, and neither happens twice: the line
that freezes the inputs also binds all nodes to what they add to the seed.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from threading import Lock

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.agreement.sealing import (
    Manifest,
    box_hash,
    commitment_to,
    manifests_digest,
    open_box,
    read_manifest,
    search_seed,
)
from tacit.errors import EngineError
from tacit.mpc import ArithmeticShare, held_by
from tacit.node.policy import check_still_valid, refuse
from tacit.node.store import Store, Stored, StoredInput, StoredShare
from tacit.records.events import InputsFrozen, InputTaken, SeedDrawn
from tacit.records.log import FreezingEvent, FrozenInputs, frozen_after
from tacit.records.messages import RefusalKind, Submit


class StoredWeighted(Stored, frozen=True, tag="weighted/1"):
    """As a file has it."""

    attempt: str
    factors: StoredShare
    weights: StoredShare


_READ_WEIGHTED = msgspec.msgpack.Decoder(StoredWeighted)


class Weighted:
    """Shares of one run's weights times their owners' factors: what is searched.

    The name of the computation that they come from is part of what all nodes must agree on before
    they compute with them.
    """

    def __init__(self, store: Store, /) -> None:
        self._store = store
        kept = self._load()
        self.attempt = "" if kept is None else kept.attempt
        """The computation that they come from; empty while there are none."""
        self._weights: ArithmeticShare | None = None

    def _load(self) -> StoredWeighted | None:
        data = self._store.load_weighted()
        return _READ_WEIGHTED.decode(data) if data else None

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


class Inputs:
    """The inputs of all confidential objectives."""

    def __init__(self, store: Store, *, node: int, key: X25519PrivateKey | None) -> None:
        self._store, self._agreement = store, store.agreement
        self._node, self._key = node, key
        self._objectives = self._agreement.confidential()
        self._weights: dict[int, ArithmeticShare] = {}
        self._keeping = Lock()
        """Shares that a thread has opened are kept, or erased, but not both at once."""
        self.frozen: dict[int, FrozenInputs] = {}
        """The objectives whose inputs never change again."""
        self.seed_contributions: dict[int, str] = {}
        """Per frozen objective, what the nodes drew together for the search's seed."""
        self.preparing = asyncio.Lock()
        self.weighted = None if self._agreement.equity is None else Weighted(store)
        """The weights with their factors, where equity counts."""

    @property
    def ready(self) -> list[int]:
        """The objectives whose inputs are frozen, and whose seed contribution is drawn.

        Where equity counts, the weights have their factors then, too.
        """
        if self.weighted is not None and not self.weighted.attempt:
            return []
        return sorted(self.seed_contributions)

    def replay(self, event: FreezingEvent) -> None:
        """Remember what the log says."""
        k = event.objective
        self.frozen[k] = frozen_after(self._agreement, self.frozen.get(k), event)
        if self.frozen[k].seed_contribution:
            self.seed_contributions[k] = self.frozen[k].seed_contribution

    def check_frozen_files(self) -> None:
        """Raise an `EngineError` where files are not what was frozen: somebody changed them."""
        for objective, frozen in self.frozen.items():
            for stored in self._checked(objective).values():
                manifest = read_manifest(self._agreement, stored.manifest, stored.signature)
                if box_hash(stored.box) != manifest.boxes[self._node]:
                    raise _changed("sealed rows", objective)
            if frozen.commitments and not frozen.seed_contribution:
                drawn = self._store.contribution(objective) or b""
                if self._commitment(objective, drawn).hex() != frozen.commitments[self._node]:
                    raise _changed("contribution to the seed", objective)

    def _checked(self, objective: int) -> dict[str, StoredInput]:
        """The sealed rows that are here; once they are frozen, these and no others."""
        inputs, frozen = self._store.inputs(objective), self.frozen.get(objective)
        if frozen is not None and _digest(inputs) != frozen.manifests:
            raise _changed("sealed rows", objective)
        return inputs

    def submit(self, message: Submit) -> None:
        """Take a participant's sealed rows, after opening and checking them."""
        manifest = self.examine(message)
        if manifest is not None:
            self.keep(message, manifest)

    def examine(self, message: Submit) -> Manifest | None:
        """Open and check sealed rows, which takes its time; None if just these are here."""
        check_still_valid(self._agreement, time.time())
        manifest = read_manifest(self._agreement, message.manifest, message.signature)
        who, objective = manifest.participant, manifest.objective
        stored = StoredInput(message.manifest, message.signature, message.box)
        earlier = self._store.input(objective, who)
        if earlier == stored:
            return None
        if objective in self.frozen:
            raise refuse(f"the inputs of objective {objective} are frozen; make a new agreement")
        if earlier is not None:
            raise refuse(
                f"{who!r} has sealed its rows already, which it does once per agreement",
                kind=RefusalKind.OTHER_ROWS,
                participants=[who],
            )
        self._open(manifest, message.box)
        return manifest

    def keep(self, message: Submit, manifest: Manifest) -> None:
        """Keep rows that were examined, unless the inputs were frozen or erased meanwhile."""
        who, objective = manifest.participant, manifest.objective
        if self._key is None:
            raise refuse("the agreement has ended, and its inputs are deleted; make a new one")
        if objective in self.frozen:
            raise refuse(f"the inputs of objective {objective} are frozen; make a new agreement")
        stored = StoredInput(message.manifest, message.signature, message.box)
        self._store.save_input(objective, who, stored)
        self._weights.pop(objective, None)
        self._store.log.append(InputTaken(objective, who, manifest.boxes[self._node]))

    def _open(self, manifest: Manifest, box: bytes) -> ArithmeticShare:
        if self._key is None:
            raise refuse("the key that this was sealed to is gone; make a new agreement")
        return open_box(self._agreement, manifest, box, node=self._node, key=self._key)

    def erase(self) -> None:
        """The agreement has ended: nothing is opened any more."""
        with self._keeping:
            self._key = None
            self._weights.clear()
            if self.weighted is not None:
                self.weighted.drop()

    def check_objective(self, objective: int) -> None:
        """Refuse an objective that the nodes do not evaluate, and everything after the expiry."""
        if objective not in self._objectives:
            raise refuse(f"there is no confidential objective {objective}")
        check_still_valid(self._agreement, time.time())

    def check_frozen(self, objective: int) -> None:
        """Refuse an objective while its inputs, or those of another, are not frozen."""
        self.check_objective(objective)
        # Of all, since the seed of the search follows from all: nothing is told before it is fixed.
        for each in (objective, *self._objectives):
            if each not in self.seed_contributions:
                raise refuse(f"the inputs of objective {each} are not prepared yet")
        if self.weighted is not None and not self.weighted.attempt:
            raise refuse("the weights have no factors yet; have the inputs prepared first")

    def digest(self) -> bytes:
        """A hash of all inputs that are frozen: what nodes must have in common to compute."""
        lines = [f"{k}:{frozen.manifests}" for k, frozen in sorted(self.frozen.items())]
        lines += [] if self.weighted is None else [f"weighted:{self.weighted.attempt}"]
        return hashlib.sha256("\n".join(lines).encode()).digest()

    def missing(self, objective: int) -> list[str]:
        """The owners whose rows are not here."""
        owners = [each.participant for each in self._agreement.objectives[objective].owners]
        return [owner for owner in owners if not self._store.has_input(objective, owner)]

    def searched(self, objective: int) -> ArithmeticShare:
        """The node's shares of what is searched: the weights, with factors where equity counts."""
        return self.weights(objective) if self.weighted is None else self.weighted.weights()

    def weights(self, objective: int) -> ArithmeticShare:
        """The node's shares of an objective's whole matrix; may be called in any thread."""
        kept = self._weights.get(objective)
        if kept is None:
            kept = self._open_weights(objective)
            with self._keeping:
                if self._key is not None:  # not erased meanwhile
                    self._weights[objective] = kept
        return kept

    def _open_weights(self, objective: int) -> ArithmeticShare:
        shape = (self._agreement.problem.rows, self._agreement.problem.columns)
        held = held_by(self._node, len(self._agreement.nodes))
        whole = ArithmeticShare({c: np.zeros(shape, np.uint64) for c in held})
        for who, stored in self._checked(objective).items():
            manifest = read_manifest(self._agreement, stored.manifest, stored.signature)
            share = self._open(manifest, stored.box)
            rows = self._agreement.rows_of(who, objective)
            for c in held:
                whole.parts[c][rows] = share.parts[c]
        return whole

    def drop_weights(self) -> None:
        """Keep no shares in memory; they are opened again when they are needed."""
        self._weights.clear()
        if self.weighted is not None:
            self.weighted.drop()

    def forget(self, objective: int, participant: str, box: str) -> None:
        """Drop this box, if it is still the one that is here; the participant may seal another."""
        stored = self._store.input(objective, participant)
        if stored is not None and box_hash(stored.box) == box:
            self._store.drop_input(objective, participant)
            self._weights.pop(objective, None)

    def commit(self, objective: int) -> bytes:
        """The hash that binds this node to its contribution to the seed, which it draws once."""
        if objective in self.frozen:
            return self._commitment(objective, self.contribution(objective))
        return self._commitment(objective, self._store.draw_contribution(objective))

    def _commitment(self, objective: int, contribution: bytes) -> bytes:
        return commitment_to(
            contribution, agreement=self._store.hash, objective=objective, node=self._node
        )

    def freeze(
        self, objective: int, checked: dict[str, StoredInput], *, commitments: list[str]
    ) -> FrozenInputs:
        """From now on the inputs are what they are, and so is what each node adds to the seed."""
        if self._store.inputs(objective) != checked:
            raise refuse("the inputs changed while they were checked; prepare them again")
        if objective not in self.frozen:
            event = InputsFrozen(objective, _digest(checked), commitments)
            self._store.log.append(event)
            self._store.log.sync()
            self.replay(event)
        frozen = self.frozen[objective]
        for node, (then, now) in enumerate(zip(frozen.commitments, commitments, strict=True)):
            if then != now:
                raise refuse(
                    f"node {node} is bound to another contribution to the seed than when the "
                    "inputs were frozen here: its disk was set back, or exchanged; restore it, or "
                    "make a new agreement"
                )
        return frozen

    def contribution(self, objective: int) -> bytes:
        """What this node adds to the seed, once nothing can be changed any more."""
        if objective not in self.frozen:
            raise refuse(f"the inputs of objective {objective} are not frozen; nothing is opened")
        drawn = self._store.contribution(objective)
        if drawn is None:
            raise _changed("contribution to the seed", objective)
        return drawn

    def draw(self, objective: int, contributions: list[bytes]) -> None:
        """All nodes have opened what they were bound to: that is the draw, and there is no other.

        A contribution that its node was not bound to is a `LogError`.
        """
        if objective in self.seed_contributions:
            return
        event = SeedDrawn(objective, [each.hex() for each in contributions])
        frozen_after(self._agreement, self.frozen[objective], event)
        self._store.log.append(event)
        self._store.log.sync()
        self.replay(event)

    def search_seed(self) -> int:
        """The seed that follows from the frozen inputs."""
        digests = {k: self.frozen[k].manifests for k in self._objectives}
        return search_seed(self._agreement, digests, self.seed_contributions)


def _digest(inputs: dict[str, StoredInput]) -> str:
    return manifests_digest(each.manifest for each in inputs.values())


def _changed(what: str, objective: int) -> EngineError:
    return EngineError(
        f"the {what} of objective {objective} on the disk are not what was frozen; restore the "
        "agreement's folder as it was"
    )
